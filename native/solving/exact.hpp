// Newton's method on a small problem whose vectors are the rows themselves: the exact SVM.
//
// At the solution, the coefficient of a row is minus the slope of its loss. So a step only has to
// solve for the rows of the working set, which are few, instead of all vectors:
//
//     a_i = -g_i where the loss is linear, and else  (K a)_i + b + a_i / h_i = f_i - g_i / h_i,
//
// with the weighted slopes g and curvatures h at the decision values f.
#pragma once

#include "kernel_sums.hpp"
#include "losses.hpp"
#include "small_matrix.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Solves for one output after the other.
template <class Real>
class RowSolver {
  public:
    explicit RowSolver(const RowProblem& problem)
        : problem_(problem), losses_(problem.losses), n_rows_(problem.kernel.n_rows), output_(0),
          sums_(n_rows_), matrix_(n_rows_), bound_(problem.losses.n_outputs > 1 ? n_rows_ : 0),
          bent_(n_rows_), found_(n_rows_), ones_(n_rows_), slopes_(n_rows_), curvatures_(n_rows_),
          pull_(sums_.width()), places_{Place(sums_.width()), Place(sums_.width())},
          change_(n_rows_) {}

    // False if a matrix is not positive definite, because of rounding with a large c.
    bool solve(const RowSolution& solution) {
        for (std::size_t i = 0; i < n_rows_; ++i) curvatures_[i] = problem_.c[i] * problem_.bound;
        if (!factor(first())) return false;
        for (std::size_t o = 0; o < problem_.losses.n_outputs; ++o) {
            output_ = o;
            losses_ = losses_of(problem_.losses, o);
            if (!descend(solution)) return false;
        }
        return true;
    }

  private:
    // All outputs share the first factor, which is of a bound on the curvatures.
    SmallMatrix& first() { return problem_.losses.n_outputs > 1 ? bound_ : matrix_; }

    // Coefficients, intercept, and what is linear in them.
    struct Place {
        explicit Place(std::size_t width) : coefficients(width), decisions(width) {}
        Buffer<double> coefficients, decisions;
        double intercept = 0;
    };

    bool descend(const RowSolution& solution) {
        Place& here = this->here();
        for (std::size_t i = 0; i < n_rows_; ++i) here.coefficients[i] = here.decisions[i] = 0;
        here.intercept = 0;
        std::size_t step = 0;
        double predicted, objective = look();
        for (;;) {
            if (step == 0)
                for (std::size_t i = 0; i < n_rows_; ++i)
                    curvatures_[i] = problem_.c[i] * problem_.bound;
            if (step > 0 && !factor(matrix_)) return false;
            newton(step == 0 ? first() : matrix_);
            predicted = predict();
            // With a tiny gamma, the zero model is nearly optimal, but it predicts nothing.
            const bool converged = step > 0 && predicted <= problem_.tolerance * objective;
            if (converged) break;
            go(predicted);
            objective = look();
            if (++step == problem_.n_steps) break;
        }
        finish(objective);
        write(solution, step, predicted, objective);
        return true;
    }

    const Real* kernel() const { return static_cast<const Real*>(problem_.kernel.values); }

    // The objective at the place, and the slopes and curvatures of all rows.
    double look() {
        const Place& here = this->here();
        double losses;
        loss_derivatives(losses_, rows(), here.decisions.data(), &losses, slopes_.data(),
                         curvatures_.data());
        const double penalty = sum_in_parts(0, n_rows_, [&](std::size_t i) {
            return here.coefficients[i] * (here.decisions[i] - here.intercept);
        });
        return 0.5 * penalty + losses + problem_.tilt * here.intercept;
    }

    Chunk rows() const { return {0, n_rows_, problem_.c, 0}; }

    // Factors the matrix of the working set.
    bool factor(SmallMatrix& matrix) {
        n_bent_ = 0;
        for (std::size_t i = 0; i < n_rows_; ++i)
            if (curvatures_[i] > 0) bent_[n_bent_++] = i;
        matrix.resize(n_bent_);
        matrix.set([&](std::size_t r, std::size_t s) {
            const double value = double(kernel()[bent_[r] * n_rows_ + bent_[s]]);
            return r == s ? value + 1 / curvatures_[bent_[r]] : value;
        });
        return matrix.factor(0);
    }

    // Newton's point.
    void newton(const SmallMatrix& matrix) {
        const Place& here = this->here();
        Place& next = this->next();
        if (matrix.size() == n_rows_) {  // the matrix of the bound is of all rows
            n_bent_ = n_rows_;
            for (std::size_t i = 0; i < n_rows_; ++i) bent_[i] = i;
        }
        double* const a = next.coefficients.data();
        for (std::size_t i = 0; i < n_rows_; ++i) a[i] = curvatures_[i] > 0 ? 0 : -slopes_[i];
        double* const f = next.decisions.data();
        for (std::size_t i = 0; i < sums_.width(); ++i) f[i] = 0;
        sums_.add_pull(kernel(), n_rows_, 1, a, f);
        for (std::size_t r = 0; r < n_bent_; ++r) {
            const std::size_t i = bent_[r];
            found_[r] = here.decisions[i] - slopes_[i] / curvatures_[i] - f[i];
            ones_[r] = 1;
        }
        matrix.solve(found_.data());
        double b = 0;
        if (problem_.fit_intercept) {
            matrix.solve(ones_.data());
            double curvature = 0, sum = -problem_.tilt, inverse = 0;
            for (std::size_t i = 0; i < n_rows_; ++i) {
                curvature += curvatures_[i];
                sum += a[i];
            }
            for (std::size_t r = 0; r < n_bent_; ++r) {
                sum += found_[r];
                inverse += ones_[r];
            }
            const double more = curvature < problem_.least ? problem_.least - curvature : 0;
            b = (sum + more * here.intercept) / (inverse + more);
        }
        for (std::size_t i = 0; i < n_rows_; ++i) change_[i] = 0;
        for (std::size_t r = 0; r < n_bent_; ++r)
            a[bent_[r]] = change_[bent_[r]] = found_[r] - b * ones_[r];
        sums_.add_pull(kernel(), n_rows_, 1, change_.data(), f);
        for (std::size_t i = 0; i < n_rows_; ++i) f[i] += b;
        next.intercept = b;
    }

    // Twice the decrease that the step to Newton's point predicts.
    double predict() {
        const Place &here = this->here(), &next = this->next();
        const double shift = next.intercept - here.intercept;
        double slope = problem_.tilt;
        for (std::size_t i = 0; i < n_rows_; ++i) slope += slopes_[i];
        const double sum = sum_in_parts(0, n_rows_, [&](std::size_t i) {
            return (here.coefficients[i] + slopes_[i]) *
                   (next.decisions[i] - here.decisions[i] - shift);
        });
        return -sum - (problem_.fit_intercept ? slope * shift : 0);
    }

    // Goes towards Newton's point, as far as the objective falls.
    void go(double predicted) {
        Place& here = this->here();
        const Place& next = this->next();
        const double shift = next.intercept - here.intercept;
        double linear = problem_.tilt * shift, quadratic = 0;
        for (std::size_t i = 0; i < n_rows_; ++i) {
            change_[i] = next.decisions[i] - here.decisions[i];
            const double step = next.coefficients[i] - here.coefficients[i];
            linear += step * (here.decisions[i] - here.intercept);
            quadratic += step * (change_[i] - shift);
        }
        const double length = minimum_along(losses_, rows(), here.decisions.data(), change_.data(),
                                            -predicted, linear, quadratic);
        for (std::size_t i = 0; i < n_rows_; ++i) {
            here.coefficients[i] += length * (next.coefficients[i] - here.coefficients[i]);
            here.decisions[i] += length * change_[i];
        }
        here.intercept += length * shift;
    }

    // Takes Newton's point, where rows without a loss have a coefficient of exactly zero, unless
    // the objective is larger there.
    void finish(double& objective) {
        exchange();
        const double there = look();
        if (there <= objective) {
            objective = there;
        } else {
            exchange();
            look();
        }
    }

    Place& here() { return places_[current_]; }
    Place& next() { return places_[1 - current_]; }
    void exchange() { current_ = 1 - current_; }

    void write(const RowSolution& solution, std::size_t step, double predicted, double objective) {
        const Place& here = this->here();
        const std::size_t n_outputs = problem_.losses.n_outputs;
        for (std::size_t i = 0; i < n_rows_; ++i) {
            solution.point[output_ * (n_rows_ + 1) + i] = here.coefficients[i];
            solution.decisions[i * n_outputs + output_] = here.decisions[i];
            change_[i] = here.coefficients[i] + slopes_[i];
        }
        for (std::size_t i = 0; i < pull_.size(); ++i) pull_[i] = 0;
        sums_.add_pull(kernel(), n_rows_, 1, change_.data(), pull_.data());
        double slope = problem_.tilt;
        for (std::size_t i = 0; i < n_rows_; ++i) {
            solution.gradient[output_ * (n_rows_ + 1) + i] = pull_[i];
            slope += slopes_[i];
        }
        solution.gradient[output_ * (n_rows_ + 1) + n_rows_] = problem_.fit_intercept ? slope : 0;
        solution.point[output_ * (n_rows_ + 1) + n_rows_] = here.intercept;
        solution.objective[output_] = objective;
        solution.predicted[output_] = predicted;
        solution.steps[output_] = std::int64_t(step);
    }

    const RowProblem& problem_;
    Losses losses_;
    std::size_t n_rows_, output_;
    KernelSums<Real> sums_;
    SmallMatrix matrix_, bound_;
    Buffer<std::size_t> bent_;
    std::size_t n_bent_ = 0;
    Buffer<double> found_, ones_;
    Buffer<double> slopes_, curvatures_, pull_;
    Place places_[2];  // the current place, and Newton's point
    std::size_t current_ = 0;
    Buffer<double> change_;
};

}  // namespace pocketsvm::POCKETSVM_SET
