// Newton's method where the rows are the vectors, with every instruction set that this CPU runs,
// against plain elimination where the problem is quadratic, and against the conditions of a minimum
// elsewhere.
#define POCKETSVM_SET unit

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../random.hpp"
#include "check.hpp"

using namespace pocketsvm;
using namespace pocketsvm::unit;

namespace {

using Numbers = std::vector<double>;

// Kernel values of random points on a line, the first of which are the vectors, and losses.
template <class Real>
struct Problem {
    std::size_t n_rows, n_vectors, n_outputs;
    std::vector<Real> kernel;  // of the rows with the vectors
    Numbers c, targets, widths;
    std::vector<std::int8_t> codes;
    std::vector<std::int32_t> positives;
    Losses losses{};

    Problem(std::size_t rows, std::size_t vectors, std::size_t outputs, const char* loss)
        : n_rows(rows), n_vectors(vectors), n_outputs(outputs), widths(outputs, 0.5) {
        Generator random(rows + 100 * vectors);
        Numbers x;
        const auto uniform = [&] { return double(random.next() >> 11) * 0x1p-53; };
        for (std::size_t i = 0; i < rows; ++i) {
            x.push_back(4 * uniform());
            c.push_back(0.5 + uniform());
            targets.push_back(std::sin(3 * x[i]) + 0.1 * uniform());
            codes.push_back(std::int8_t(int(x[i] + 0.5 * uniform()) % int(outputs + 1)));
        }
        const auto value = [&](std::size_t i, std::size_t j) {
            return std::exp(-(x[i] - x[j]) * (x[i] - x[j]));
        };
        for (std::size_t i = 0; i < rows; ++i)
            for (std::size_t j = 0; j < vectors; ++j) kernel.push_back(Real(value(i, j)));
        for (std::size_t o = 0; o < outputs; ++o) positives.push_back(std::int32_t(o));
        losses.n_outputs = outputs;
        if (check::choose_loss(loss, losses).on_classes) {
            losses.widths = widths.data();
            losses.codes = codes.data();
            losses.positives = positives.data();
        } else {  // residuals are smaller: a squared error
            losses.targets = targets.data();
            losses.n_targets = 1;
            losses.epsilon = 1e3;
        }
    }

    KernelView view() const {
        return {sizeof(Real) == 4 ? Precision::float32 : Precision::float64, n_rows, n_vectors,
                kernel.data()};
    }
    double k(std::size_t i, std::size_t j) const { return double(kernel[i * n_vectors + j]); }

    // The weighted slope of a row's loss.
    double slope(std::size_t i, std::size_t o, double f) const {
        if (losses.codes == nullptr) return c[i] * (f - targets[i]);
        const double y = codes[i] == positives[o] ? 1 : -1, u = 1 - y * f;
        return -y * c[i] * std::clamp((u + 0.5) / (2 * 0.5), 0.0, 1.0);
    }
};

struct Solution {
    bool solved;
    Numbers point, gradient, decisions, objective, predicted;
    std::vector<std::int64_t> steps;

    template <class Real>
    explicit Solution(const Problem<Real>& problem)
        : solved(false), point(problem.n_outputs * (problem.n_vectors + 1), NAN), gradient(point),
          decisions(problem.n_rows * problem.n_outputs, NAN), objective(problem.n_outputs, NAN),
          predicted(objective), steps(problem.n_outputs) {}
};

constexpr double bound = 1, least = 1e-3, tolerance = 1e-12;
constexpr std::size_t n_steps = 60;

template <class Real>
Solution solved_rows(const Core& core, const Problem<Real>& problem, bool fit_intercept,
                     double tilt) {
    Solution found(problem);
    found.solved =
        core.solve_rows({problem.view(), problem.losses, problem.c.data(), tilt, fit_intercept,
                         bound, least, n_steps, tolerance},
                        {found.point.data(), found.gradient.data(), found.decisions.data(),
                         found.objective.data(), found.predicted.data(), found.steps.data()});
    return found;
}

// Solves a linear system by elimination with the largest pivot of each column.
Numbers eliminated(Numbers matrix, Numbers right) {
    const std::size_t n = right.size();
    for (std::size_t k = 0; k < n; ++k) {
        std::size_t best = k;
        for (std::size_t i = k; i < n; ++i)
            if (std::fabs(matrix[i * n + k]) > std::fabs(matrix[best * n + k])) best = i;
        for (std::size_t j = 0; j < n; ++j) std::swap(matrix[k * n + j], matrix[best * n + j]);
        std::swap(right[k], right[best]);
        for (std::size_t i = k + 1; i < n; ++i) {
            const double factor = matrix[i * n + k] / matrix[k * n + k];
            for (std::size_t j = k; j < n; ++j) matrix[i * n + j] -= factor * matrix[k * n + j];
            right[i] -= factor * right[k];
        }
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t j = i + 1; j < n; ++j) right[i] -= matrix[i * n + j] * right[j];
        right[i] /= matrix[i * n + i];
    }
    return right;
}

// The decision values of a squared error: (K + 1/c) a + b = y, and the coefficients a sum to zero.
template <class Real>
Numbers squared_error_of_rows(const Problem<Real>& problem, bool fit_intercept) {
    const std::size_t m = problem.n_rows, n = m + (fit_intercept ? 1 : 0);
    Numbers matrix(n * n), right(n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < m; ++j) matrix[i * n + j] = problem.k(i, j);
        matrix[i * n + i] += 1 / problem.c[i];
        right[i] = problem.targets[i];
        if (fit_intercept) matrix[i * n + m] = matrix[m * n + i] = 1;
    }
    const Numbers point = eliminated(matrix, right);
    Numbers decisions(m, fit_intercept ? point[m] : 0);
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < m; ++j) decisions[i] += problem.k(i, j) * point[j];
    return decisions;
}

bool close(const Numbers& a, const Numbers& b, double error) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::fabs(a[i] - b[i]) <= error)) return false;
    return a.size() == b.size();
}

// The decision values are those of the point, and the gradient, with these losses, is zero.
template <class Real>
bool minimal(const Problem<Real>& problem, const Solution& found, const Numbers& penalty,
             bool fit_intercept, double tilt) {
    const std::size_t m = problem.n_vectors;
    for (std::size_t o = 0; o < problem.n_outputs; ++o) {
        const double* const point = found.point.data() + o * (m + 1);
        Numbers gradient(m + 1);
        for (std::size_t i = 0; i < problem.n_rows; ++i) {
            double f = point[m];
            for (std::size_t j = 0; j < m; ++j) f += problem.k(i, j) * point[j];
            if (!(std::fabs(f - found.decisions[i * problem.n_outputs + o]) < 1e-9)) return false;
            const double slope = problem.slope(i, o, f);
            for (std::size_t j = 0; j < m; ++j) gradient[j] += slope * problem.k(i, j);
            gradient[m] += slope;
        }
        for (std::size_t j = 0; j < m; ++j)
            for (std::size_t l = 0; l < m; ++l) gradient[j] += penalty[j * m + l] * point[l];
        gradient[m] = fit_intercept ? gradient[m] + tilt : 0;
        if (!fit_intercept && point[m] != 0) return false;
        if (!close(gradient, Numbers(m + 1), 1e-4)) return false;
    }
    return true;
}

template <class Real>
void rows_as_vectors_are_solved(const Core& core) {
    for (std::size_t n_rows : {1, 2, 7, 8, 9, 70})
        for (bool fit_intercept : {true, false}) {
            const Problem<Real> squared(n_rows, n_rows, 1, "huber");
            const Solution found = solved_rows(core, squared, fit_intercept, 0);
            CHECK(found.solved);
            CHECK(close(found.decisions, squared_error_of_rows(squared, fit_intercept), 1e-6));
            Numbers penalty;
            for (std::size_t i = 0; i < n_rows; ++i)
                for (std::size_t j = 0; j < n_rows; ++j) penalty.push_back(squared.k(i, j));
            for (double tilt : {0.0, fit_intercept && n_rows > 2 ? 0.2 : 0.0}) {
                const Problem<Real> hinge(n_rows, n_rows, 2, "hinge");
                const Solution classes = solved_rows(core, hinge, fit_intercept, tilt);
                CHECK(classes.solved);
                CHECK(minimal(hinge, classes, penalty, fit_intercept, tilt));
                // A coefficient is minus the slope of its row, and exactly zero without a loss.
                for (std::size_t i = 0; i < n_rows; ++i)
                    for (std::size_t o = 0; o < 2; ++o) {
                        const double slope = hinge.slope(i, o, classes.decisions[i * 2 + o]);
                        const double coefficient = classes.point[o * (n_rows + 1) + i];
                        CHECK(std::fabs(coefficient + slope) < 1e-6);
                        CHECK(slope != 0 || coefficient == 0);
                    }
            }
        }
}

void numbers_that_are_not_finite_end_the_solver(const Core& core) {
    for (double wrong : {double(NAN), std::numeric_limits<double>::infinity()}) {
        Problem<double> problem(20, 20, 1, "hinge");
        problem.kernel[1] = wrong;
        CHECK(!solved_rows(core, problem, true, 0).solved);
    }
}

}  // namespace

void exact_tests() {
    std::size_t count;
    const Core* const* cores = available_cores(count);
    for (std::size_t c = 0; c < count; ++c) {
        rows_as_vectors_are_solved<float>(*cores[c]);
        rows_as_vectors_are_solved<double>(*cores[c]);
        numbers_that_are_not_finite_end_the_solver(*cores[c]);
    }
}
