// Newton's method on a small problem: the second derivative is factored again after every step. All
// kernel values are in the cache, and there are no calls between the steps, which would take longer
// than the steps themselves.
#pragma once

#include "kernel_sums.hpp"
#include "losses.hpp"

namespace pocketsvm::POCKETSVM_SET {

// A symmetric matrix, of which the lower triangle is used, and its Cholesky factor.
class SmallMatrix {
  public:
    explicit SmallMatrix(std::size_t size)
        : size_(size), width_((size + group - 1) / group * group), values_(width_ * width_) {}

    // The length of rows that are padded with zeros.
    std::size_t width() const { return width_; }
    std::size_t size() const { return size_; }
    double& at(std::size_t i, std::size_t j) { return values_[i * width_ + j]; }

    // Takes the values of a matrix of the same size.
    void copy(const SmallMatrix& other) {
        for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = other.values_[i];
    }

    // The sum of the outer products of padded rows.
    void set_products(const double* rows, std::size_t n_rows) {
        for (std::size_t a = 0; a < width_; a += tile)
            for (std::size_t b = 0; b < a + tile; b += group) {
                Doubles sums[tile];
                for (Doubles& sum : sums) sum = Doubles::all(0);
                for (std::size_t i = 0; i < n_rows; ++i) {
                    const double* row = rows + i * width_;
                    const Doubles right = Doubles::load(row + b);
#pragma GCC unroll 4
                    for (std::size_t r = 0; r < tile; ++r)
                        sums[r] = multiply_add(Doubles::all(row[a + r]), right, sums[r]);
                }
                for (std::size_t r = 0; r < tile; ++r) sums[r].store(&at(a + r, b));
            }
    }

    // Replaces the matrix by its factor; false if it is not positive definite. The last pivot is at
    // least `least`.
    bool factor(double least) {
        for (std::size_t i = 0; i < size_; ++i) {
            double* row = &at(i, 0);
            for (std::size_t j = 0; j < i; ++j)
                row[j] = (row[j] - dot(row, &at(j, 0), j)) / at(j, j);
            double pivot = row[i] - dot(row, row, i);
            if (i + 1 == size_ && pivot < least) pivot = least;
            if (!(pivot > 0)) return false;
            row[i] = std::sqrt(pivot);
        }
        return true;
    }

    // Solves a linear system in place, with the factor.
    void solve(double* x) {
        for (std::size_t i = 0; i < size_; ++i) x[i] = (x[i] - dot(&at(i, 0), x, i)) / at(i, i);
        for (std::size_t i = size_; i-- > 0;) {
            const double* row = &at(i, 0);
            x[i] /= row[i];
            for (std::size_t j = 0; j < i; ++j) x[j] -= x[i] * row[j];
        }
    }

    static double dot(const double* a, const double* b, std::size_t n) {
        Doubles sum = Doubles::all(0);
        std::size_t i = 0;
        for (; i + group <= n; i += group)
            sum = multiply_add(Doubles::load(a + i), Doubles::load(b + i), sum);
        double rest = 0;
        for (; i < n; ++i) rest += a[i] * b[i];
        return sum.sum() + rest;
    }

  private:
    using Doubles = Lanes<double>;
    static constexpr std::size_t group = Doubles::count, tile = 4;

    std::size_t size_, width_;
    Buffer<double> values_;
};

// Solves for one output after the other. Points, gradients and directions have the intercept after
// the coefficients, even if it is fixed at zero.
template <class Real>
class SmallSolver {
  public:
    explicit SmallSolver(const SmallProblem& problem)
        : problem_(problem), losses_(problem.losses), output_(0), n_rows_(problem.kernel.n_rows),
          n_vectors_(problem.kernel.n_vectors), sums_(n_vectors_),
          matrix_(n_vectors_ + (problem.fit_intercept ? 1 : 0)),
          bound_(problem.near ? 0 : matrix_.size()), bent_(n_rows_ * matrix_.width()),
          decisions_(n_rows_), change_(n_rows_), slopes_(n_rows_), curvatures_(n_rows_),
          point_(sums_.width() + 1), penalised_(n_vectors_), gradient_(n_vectors_ + 1),
          newton_(matrix_.width() + 1), bend_(n_vectors_), pull_(sums_.width()) {}

    void solve(const SmallSolution& solution) {
        if (problem_.near == nullptr) factor_bound();
        for (std::size_t o = 0; o < problem_.losses.n_outputs; ++o) {
            output_ = o;
            losses_ = losses_of(problem_.losses, o);
            for (std::size_t j = 0; j < point_.size(); ++j) point_[j] = 0;
            if (problem_.near != nullptr)
                start();
            else
                matrix_.copy(bound_);
            descend(solution);
        }
    }

  private:
    // Makes steps with the factor of the start, and then with one of each point.
    void descend(const SmallSolution& solution) {
        std::size_t step = 0;
        double predicted, objective;
        for (;; ++step) {
            objective = look();
            predicted = predict();
            const bool first = step == 0 && problem_.near == nullptr;
            // The factor is of an earlier point, and the first of all may be that of a bound.
            if (!first && (step == 1 || predicted > problem_.tolerance * objective)) {
                factor();
                predicted = predict();
            }
            // With a tiny gamma, the zero model is nearly optimal, but it predicts nothing.
            if (!first && predicted <= problem_.tolerance * objective) break;
            if (step == problem_.n_steps) break;
            go(predicted);
        }
        write(solution, step, predicted, objective);
    }

    static Losses losses_of(Losses losses, std::size_t output) {
        losses.n_outputs = 1;
        losses.widths += output;
        losses.positives += output;
        losses.down += output;
        losses.up += output;
        return losses;
    }

    const Real* kernel() const { return static_cast<const Real*>(problem_.kernel.values); }

    // Newton's point from the decision values that are close to the solution.
    void start() {
        const std::size_t n_outputs = problem_.losses.n_outputs;
        for (std::size_t i = 0; i < n_rows_; ++i)
            decisions_[i] = problem_.near[i * n_outputs + output_];
        read();
        factor();
        for (std::size_t i = 0; i < n_rows_; ++i)
            change_[i] = curvatures_[i] * decisions_[i] - slopes_[i];
        pull(change_.data(), newton_.data());
        newton_[n_vectors_] -= problem_.tilt;
        matrix_.solve(newton_.data());
        for (std::size_t j = 0; j < n_vectors_; ++j) point_[j] = newton_[j];
        point_[sums_.width()] = problem_.fit_intercept ? newton_[n_vectors_] : 0;
    }

    // Losses, weighted slopes and weighted curvatures at the decision values.
    double read() {
        double total = 0;
        with_losses(losses_, [&](auto loss) {
            for (std::size_t i = 0; i < n_rows_; ++i) {
                const double c = problem_.c[i];
                loss.at(i, decisions_.data() + i, [&](std::size_t, const Bend& bend) {
                    total += c * bend.value;
                    slopes_[i] = c * bend.slope;
                    curvatures_[i] = c * bend.curvature;
                });
            }
        });
        return total;
    }

    // The derivative of losses with these slopes.
    void pull(const double* slopes, double* out) {
        for (std::size_t j = 0; j < pull_.size(); ++j) pull_[j] = 0;
        sums_.add_pull(kernel(), n_rows_, 1, slopes, pull_.data());
        for (std::size_t j = 0; j < n_vectors_; ++j) out[j] = pull_[j];
        out[n_vectors_] = sum_in_parts(0, n_rows_, [&](std::size_t i) { return slopes[i]; });
    }

    void penalise(const double* coefficients, double* out) const {
        for (std::size_t j = 0; j < n_vectors_; ++j) {
            const double* row = problem_.penalty + j * n_vectors_;
            out[j] = sum_in_parts(0, n_vectors_,
                                  [&](std::size_t l) { return row[l] * coefficients[l]; });
        }
    }

    // The objective at the point, and its gradient.
    double look() {
        const double intercept = point_[sums_.width()];
        sums_.decide(kernel(), n_rows_, 1, point_.data(), &intercept, decisions_.data());
        const double losses = read();
        penalise(point_.data(), penalised_.data());
        pull(slopes_.data(), gradient_.data());
        double penalty = 0;
        for (std::size_t j = 0; j < n_vectors_; ++j) {
            gradient_[j] += penalised_[j];
            penalty += point_[j] * penalised_[j];
        }
        gradient_[n_vectors_] = problem_.fit_intercept ? gradient_[n_vectors_] + problem_.tilt : 0;
        return 0.5 * penalty + losses + problem_.tilt * intercept;
    }

    // Factors a bound on the second derivative, which is the same for all outputs.
    void factor_bound() {
        for (std::size_t i = 0; i < n_rows_; ++i) curvatures_[i] = problem_.c[i] * problem_.bound;
        factor();
        bound_.copy(matrix_);
    }

    // Factors the second derivative of rows with these curvatures.
    void factor() {
        const std::size_t width = matrix_.width();
        std::size_t n_bent = 0;
        double corner = 0;
        for (std::size_t i = 0; i < n_rows_; ++i) {
            if (!(curvatures_[i] > 0)) continue;
            const double root = std::sqrt(curvatures_[i]);
            double* row = bent_.data() + n_bent++ * width;
            const Real* values = kernel() + i * n_vectors_;
            for (std::size_t j = 0; j < n_vectors_; ++j) row[j] = root * double(values[j]);
            if (problem_.fit_intercept) row[n_vectors_] = root;
            corner += curvatures_[i];
        }
        corner = corner > problem_.least ? corner : problem_.least;
        // A ridge for a matrix that rounding has made indefinite, relative to its diagonal.
        constexpr double first_ridge = 1e-14, next_ridge = 100, least_rest = 1e-14;
        for (double ridge = 0;;) {
            matrix_.set_products(bent_.data(), n_bent);
            double largest = 0;
            for (std::size_t i = 0; i < n_vectors_; ++i) {
                for (std::size_t j = 0; j <= i; ++j)
                    matrix_.at(i, j) += problem_.penalty[i * n_vectors_ + j];
                matrix_.at(i, i) += ridge;
                largest = matrix_.at(i, i) > largest ? matrix_.at(i, i) : largest;
            }
            if (problem_.fit_intercept) matrix_.at(n_vectors_, n_vectors_) = corner;
            if (matrix_.factor(problem_.fit_intercept ? least_rest * corner : 0)) return;
            ridge = next_ridge * ridge > first_ridge * largest ? next_ridge * ridge
                                                               : first_ridge * largest;
        }
    }

    // Newton's step, less its sign; returns twice the decrease that it predicts.
    double predict() {
        for (std::size_t j = 0; j <= n_vectors_; ++j) newton_[j] = gradient_[j];
        matrix_.solve(newton_.data());
        if (!problem_.fit_intercept) newton_[n_vectors_] = 0;
        return SmallMatrix::dot(gradient_.data(), newton_.data(), n_vectors_ + 1);
    }

    // Goes against Newton's step, as far as the objective falls.
    void go(double predicted) {
        for (std::size_t j = 0; j < n_vectors_; ++j) pull_[j] = -newton_[j];
        for (std::size_t j = n_vectors_; j < pull_.size(); ++j) pull_[j] = 0;
        const double intercept = -newton_[n_vectors_];
        sums_.decide(kernel(), n_rows_, 1, pull_.data(), &intercept, change_.data());
        penalise(pull_.data(), bend_.data());
        const double linear = SmallMatrix::dot(pull_.data(), penalised_.data(), n_vectors_) +
                              problem_.tilt * intercept;
        const double quadratic = SmallMatrix::dot(pull_.data(), bend_.data(), n_vectors_);
        const double length = search(-predicted, linear, quadratic);
        for (std::size_t j = 0; j < n_vectors_; ++j) point_[j] += length * pull_[j];
        point_[sums_.width()] += length * intercept;
    }

    // Newton's method on the slope along the step, kept within a bracket of the minimum.
    double search(double start, double linear, double quadratic) const {
        constexpr double flat = 0.1;
        constexpr int most_trials = 30;
        const Chunk rows{0, n_rows_, problem_.c, 0};
        double length = 1, low = 0, high = __builtin_inf();
        for (int trial = 0; trial < most_trials; ++trial) {
            double slope, bend;
            losses_along(losses_, rows, decisions_.data(), change_.data(), &length, &slope, &bend);
            slope += linear + length * quadratic;
            bend += quadratic;
            if (std::fabs(slope) <= -flat * start) return length;
            (slope < 0 ? low : high) = length;
            const double newton = length - slope / bend;
            const double middle = high == __builtin_inf() ? 2 * length : (low + high) / 2;
            length = newton > low && newton < high ? newton : middle;
        }
        return low;
    }

    void write(const SmallSolution& solution, std::size_t step, double predicted,
               double objective) const {
        const std::size_t n_outputs = problem_.losses.n_outputs;
        for (std::size_t j = 0; j < n_vectors_; ++j) {
            solution.point[output_ * (n_vectors_ + 1) + j] = point_[j];
            solution.penalised[output_ * n_vectors_ + j] = penalised_[j];
        }
        solution.point[output_ * (n_vectors_ + 1) + n_vectors_] = point_[sums_.width()];
        for (std::size_t j = 0; j <= n_vectors_; ++j)
            solution.gradient[output_ * (n_vectors_ + 1) + j] = gradient_[j];
        for (std::size_t i = 0; i < n_rows_; ++i)
            solution.decisions[i * n_outputs + output_] = decisions_[i];
        solution.objective[output_] = objective;
        solution.predicted[output_] = predicted;
        solution.steps[output_] = std::int64_t(step);
    }

    const SmallProblem& problem_;
    Losses losses_;
    std::size_t output_, n_rows_, n_vectors_;
    KernelSums<Real> sums_;
    SmallMatrix matrix_, bound_;
    Buffer<double> bent_;  // rows of kernel values, times the roots of their curvatures
    Buffer<double> decisions_, change_, slopes_, curvatures_;
    Buffer<double> point_;  // padded, and then the intercept
    Buffer<double> penalised_, gradient_, newton_, bend_, pull_;
};

}  // namespace pocketsvm::POCKETSVM_SET
