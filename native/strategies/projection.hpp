// `projection`: drops the smallest coefficient and projects its vector onto those that stay.
//
// Besides the set, it keeps the Cholesky factor U of K + jitter I = U^T U (rows of U contiguous),
// where K is the kernel matrix of the set. Adding a vector is one triangular solve, and dropping
// one is a rank-one update of the rows after it: O(B^2) each. With Q = (K + jitter I)^-1, dropping
// vector p with coefficient c changes the other coefficients by -c Q_jp / Q_pp.
#pragma once

#include <cmath>

#include "first_partner.hpp"
#include "maintenance.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Real>
class Projection final : public Maintenance<Real> {
  public:
    static constexpr const char* name = "projection";
    explicit Projection(const Setting<Real>& setting)
        : kernel_(setting.kernel), interruption_(setting.interruption), capacity_(setting.capacity),
          factor_(capacity_ * capacity_, Unwritten()), slots_(capacity_), solution_(capacity_),
          changes_(capacity_) {}

    void begin(const SupportSet<Real>& set) override {
        n_ = 0;
        updates_ = 0;
        for (std::size_t slot = 0; slot < set.size(); ++slot) append(set, slot);
    }

    void added(const SupportSet<Real>& set) override { append(set, set.size() - 1); }

    std::size_t first_partner(const SupportSet<Real>& set) const override {
        return LowestSlot::choose(set);
    }

    Decision decide(const SupportSet<Real>& set, std::size_t first, const Real*,
                    Stopwatch& watch) override {
        const double c = set.coefficient(first);
        watch.lap_rest();
        for (std::size_t k = 0; k < n_; ++k) solution_[k] = slots_[k] == first ? 1 : 0;
        solve_transposed(0);
        solve();
        const double pivot = solution_[position(first)];
        double squares = c * c;
        for (std::size_t k = 0; k < n_; ++k) {
            changes_[k] = slots_[k] == first ? 0 : -c * solution_[k] / pivot;
            squares += changes_[k] * changes_[k];
        }
        watch.lap_solve();
        // c^2 / Q_pp is the residual in the norm of K + jitter I.
        residual_ = c * c / pivot - jitter * squares;
        Decision decision;
        decision.first = first;
        return decision;
    }

    double degradation(const SupportSet<Real>&, const Decision&) const override {
        return residual_ > 0 ? residual_ : 0;
    }

    void apply(SupportSet<Real>& set, const Decision& decision, std::int64_t) override {
        for (std::size_t k = 0; k < n_; ++k)
            set.set_coefficient(slots_[k], set.coefficient(slots_[k]) + changes_[k]);
        drop(position(decision.first));
        const std::size_t last = set.size() - 1;
        set.remove(decision.first);
        for (std::size_t k = 0; k < n_; ++k)
            if (slots_[k] == last) slots_[k] = decision.first;
        if (++updates_ > updates_per_row * n_) begin(set);
    }

  private:
    static constexpr double jitter = 1e-8;  // keeps the factor regular if two vectors are equal
    // Rounding errors grow with every update. Factorising again this rarely costs O(B^2) per event.
    static constexpr std::size_t updates_per_row = 4;

    double* row(std::size_t k) { return factor_.data() + k * capacity_; }

    std::size_t position(std::size_t slot) const {
        std::size_t k = 0;
        while (slots_[k] != slot) ++k;
        return k;
    }

    void append(const SupportSet<Real>& set, std::size_t slot) {
        for (std::size_t k = 0; k < n_; ++k) {
            interruption_.check(set.n_features());
            solution_[k] = std::exp2(-kernel_.exponent(set.squared_distance(slots_[k], slot)));
        }
        solve_transposed(0);
        double pivot = 1 + jitter;
        for (std::size_t k = 0; k < n_; ++k) {
            row(k)[n_] = solution_[k];
            pivot -= solution_[k] * solution_[k];
        }
        row(n_)[n_] = std::sqrt(pivot > jitter ? pivot : jitter);
        slots_[n_++] = slot;
    }

    // Solves U^T x = b in place, by columns of U^T, which are contiguous.
    void solve_transposed(std::size_t from) {
        for (std::size_t k = from; k < n_; ++k) {
            interruption_.check(n_ - k);
            const double* u = row(k);
            const double x = solution_[k] / u[k];
            solution_[k] = x;
            if (x == 0) continue;
            for (std::size_t i = k + 1; i < n_; ++i) solution_[i] -= x * u[i];
        }
    }

    // Solves U x = b in place.
    void solve() {
        for (std::size_t k = n_; k-- > 0;) {
            interruption_.check(n_ - k);
            const double* u = row(k);
            const double dot =
                sum_in_parts(k + 1, n_, [&](std::size_t i) { return u[i] * solution_[i]; });
            solution_[k] = (solution_[k] - dot) / u[k];
        }
    }

    // Removes vector p: deletes column p and adds row p to the rows below it.
    void drop(std::size_t p) {
        for (std::size_t i = p + 1; i < n_; ++i) solution_[i] = row(p)[i];
        for (std::size_t k = p + 1; k < n_; ++k) {
            interruption_.check(n_ - k);
            double* u = row(k);
            const double diagonal = std::hypot(u[k], solution_[k]);
            const double cosine = diagonal / u[k], sine = solution_[k] / u[k];
            u[k] = diagonal;
            for (std::size_t i = k + 1; i < n_; ++i) {
                u[i] = (u[i] + sine * solution_[i]) / cosine;
                solution_[i] = cosine * solution_[i] - sine * u[i];
            }
        }
        for (std::size_t k = 0; k < p; ++k) {
            interruption_.check(n_ - p);
            for (std::size_t i = p; i + 1 < n_; ++i) row(k)[i] = row(k)[i + 1];
        }
        for (std::size_t k = p; k + 1 < n_; ++k) {
            interruption_.check(n_ - k);
            for (std::size_t i = k; i + 1 < n_; ++i) row(k)[i] = row(k + 1)[i + 1];
        }
        for (std::size_t k = p; k + 1 < n_; ++k) slots_[k] = slots_[k + 1];
        --n_;
    }

    const Gaussian<Real>& kernel_;
    Interruption& interruption_;
    std::size_t capacity_;
    std::size_t n_ = 0;
    std::size_t updates_ = 0;
    Buffer<double> factor_;
    Buffer<std::size_t> slots_;  // the slot of each row of the factor
    Buffer<double> solution_;
    Buffer<double> changes_;
    double residual_ = 0;
};

}  // namespace pocketsvm::POCKETSVM_SET
