// Newton's method on a small problem: the second derivative is factored again after every step. All
// kernel values are in the cache, and there are no calls between the steps, which would take longer
// than the steps themselves.
#pragma once

#include "kernel_sums.hpp"
#include "losses.hpp"
#include "small_matrix.hpp"

namespace pocketsvm::POCKETSVM_SET {

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

    // False if the second derivative is not finite.
    bool solve(const SmallSolution& solution) {
        if (problem_.near == nullptr && !factor_bound()) return false;
        for (std::size_t o = 0; o < problem_.losses.n_outputs; ++o) {
            output_ = o;
            losses_ = losses_of(problem_.losses, o);
            for (std::size_t j = 0; j < point_.size(); ++j) point_[j] = 0;
            if (problem_.near == nullptr)
                matrix_.copy(bound_);
            else if (!start())
                return false;
            if (!descend(solution)) return false;
        }
        return true;
    }

  private:
    // Makes steps with the factor of the start, and then with one of each point.
    bool descend(const SmallSolution& solution) {
        std::size_t step = 0;
        double predicted, objective;
        for (;; ++step) {
            objective = look();
            predicted = predict();
            const bool first = step == 0 && problem_.near == nullptr;
            // The factor is of an earlier point, and the first of all may be that of a bound.
            if (!first && (step == 1 || predicted > problem_.tolerance * objective)) {
                if (!factor()) return false;
                predicted = predict();
            }
            // With a tiny gamma, the zero model is nearly optimal, but it predicts nothing.
            if (!first && predicted <= problem_.tolerance * objective) break;
            if (step == problem_.n_steps) break;
            go(predicted);
        }
        write(solution, step, predicted, objective);
        return true;
    }

    const Real* kernel() const { return static_cast<const Real*>(problem_.kernel.values); }

    // Newton's point from the decision values that are close to the solution.
    bool start() {
        const std::size_t n_outputs = problem_.losses.n_outputs;
        for (std::size_t i = 0; i < n_rows_; ++i)
            decisions_[i] = problem_.near[i * n_outputs + output_];
        read();
        if (!factor()) return false;
        for (std::size_t i = 0; i < n_rows_; ++i)
            change_[i] = curvatures_[i] * decisions_[i] - slopes_[i];
        pull(change_.data(), newton_.data());
        newton_[n_vectors_] -= problem_.tilt;
        matrix_.solve(newton_.data());
        for (std::size_t j = 0; j < n_vectors_; ++j) point_[j] = newton_[j];
        point_[sums_.width()] = problem_.fit_intercept ? newton_[n_vectors_] : 0;
        return true;
    }

    double read() {
        double total;
        loss_bends(losses_, {0, n_rows_, problem_.c, 0}, decisions_.data(), &total, slopes_.data(),
                   curvatures_.data());
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
    bool factor_bound() {
        for (std::size_t i = 0; i < n_rows_; ++i) curvatures_[i] = problem_.c[i] * problem_.bound;
        if (!factor()) return false;
        bound_.copy(matrix_);
        return true;
    }

    // Factors the second derivative of rows with these curvatures; false if it is not finite.
    bool factor() {
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
        constexpr double first_ridge = 1e-14, next_ridge = 100, most_ridge = 1e6;
        constexpr double least_rest = 1e-14;
        for (double ridge = 0;;) {
            matrix_.set_products(bent_.data(), n_bent);
            double largest = 0;
            for (std::size_t i = 0; i < n_vectors_; ++i) {
                double* const row = matrix_.row(i);
                for (std::size_t j = i; j < n_vectors_; ++j)
                    row[j] += problem_.penalty[i * n_vectors_ + j];
                row[i] += ridge;
                largest = row[i] > largest ? row[i] : largest;
            }
            if (problem_.fit_intercept) matrix_.at(n_vectors_, n_vectors_) = corner;
            if (matrix_.factor(problem_.fit_intercept ? least_rest * corner : 0)) return true;
            ridge = next_ridge * ridge > first_ridge * largest ? next_ridge * ridge
                                                               : first_ridge * largest;
            // With such a ridge, every finite matrix has a factor.
            if (!(ridge < most_ridge * largest)) return false;
        }
    }

    // Newton's step, less its sign; returns twice the decrease that it predicts.
    double predict() {
        for (std::size_t j = 0; j <= n_vectors_; ++j) newton_[j] = gradient_[j];
        matrix_.solve(newton_.data());
        if (!problem_.fit_intercept) newton_[n_vectors_] = 0;
        return dot(gradient_.data(), newton_.data(), n_vectors_ + 1);
    }

    // Goes against Newton's step, as far as the objective falls.
    void go(double predicted) {
        for (std::size_t j = 0; j < n_vectors_; ++j) pull_[j] = -newton_[j];
        for (std::size_t j = n_vectors_; j < pull_.size(); ++j) pull_[j] = 0;
        const double intercept = -newton_[n_vectors_];
        sums_.decide(kernel(), n_rows_, 1, pull_.data(), &intercept, change_.data());
        penalise(pull_.data(), bend_.data());
        const double linear =
            dot(pull_.data(), penalised_.data(), n_vectors_) + problem_.tilt * intercept;
        const double quadratic = dot(pull_.data(), bend_.data(), n_vectors_);
        const double length = minimum_along(losses_, {0, n_rows_, problem_.c, 0}, decisions_.data(),
                                            change_.data(), -predicted, linear, quadratic);
        for (std::size_t j = 0; j < n_vectors_; ++j) point_[j] += length * pull_[j];
        point_[sums_.width()] += length * intercept;
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
