// The support set: B + 1 slots, each a vector in a lane, a coefficient and the step of its birth.
//
// Vectors lie in blocks of Lanes::count, feature by feature inside a block: one row against a block
// is multiply-adds down the lanes. Coefficients are in units of 1 / (lambda t), so that nothing is
// ever scaled; their sign is the label. Empty lanes hold zeros.
#pragma once

#include "rows.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class RealType>
class SupportSet {
  public:
    using Real = RealType;
    using L = Lanes<Real>;

    SupportSet() = default;
    SupportSet(std::size_t capacity, std::size_t n_features)
        : n_features_(n_features), capacity_(blocks_of(capacity) * L::count),
          vectors_(capacity_ * n_features), norms_(capacity_), coefficients_(capacity_),
          births_(capacity_) {}

    std::size_t size() const { return size_; }
    std::size_t n_features() const { return n_features_; }
    std::size_t n_blocks() const { return blocks_of(size_); }
    std::size_t capacity() const { return capacity_; }

    const Real* block(std::size_t b) const { return vectors_.data() + b * n_features_ * L::count; }
    const Real* norms() const { return norms_.data(); }
    const Real* coefficients() const { return coefficients_.data(); }
    double coefficient(std::size_t slot) const { return coefficients_[slot]; }
    std::int64_t birth(std::size_t slot) const { return births_[slot]; }

    // Feature f of a slot is vector(slot)[f * L::count].
    const Real* vector(std::size_t slot) const { return block(slot / L::count) + slot % L::count; }

    template <class Row>
    void add(const Row& row, Real norm, double coefficient, std::int64_t birth) {
        Real* to = vector(size_);
        for (std::size_t f = 0; f < n_features_; ++f) to[f * L::count] = 0;
        for (std::size_t k = 0; k < row.count; ++k) to[row.index(k) * L::count] = row.values[k];
        norms_[size_] = norm;
        coefficients_[size_] = in_lane(coefficient);
        births_[size_] = birth;
        ++size_;
    }

    void set_coefficient(std::size_t slot, double value) { coefficients_[slot] = in_lane(value); }

    // The last slot fills the hole.
    void remove(std::size_t slot) {
        --size_;
        if (slot != size_) {
            const Real* from = vector(size_);
            Real* to = vector(slot);
            for (std::size_t f = 0; f < n_features_; ++f) to[f * L::count] = from[f * L::count];
            norms_[slot] = norms_[size_];
            coefficients_[slot] = coefficients_[size_];
            births_[slot] = births_[size_];
        }
        coefficients_[size_] = 0;
    }

    // z = h x_first + (1 - h) x_second takes the second's slot; the first one's is filled.
    void merge(std::size_t first, std::size_t second, double h, double coefficient,
               std::int64_t birth) {
        const Real* x = vector(first);
        Real* z = vector(second);
        Real norm = 0;
        for (std::size_t f = 0; f < n_features_; ++f) {
            const double mixed = h * x[f * L::count] + (1 - h) * z[f * L::count];
            z[f * L::count] = Real(mixed);
            norm = multiply_add(Real(mixed), Real(mixed), norm);
        }
        norms_[second] = norm;
        coefficients_[second] = in_lane(coefficient);
        births_[second] = birth;
        remove(first);
    }

    // By differences, in double: exact where the kernel row has cancelled its digits away.
    double squared_distance(std::size_t i, std::size_t j) const {
        const Real *x = vector(i), *y = vector(j);
        double sum = 0;
        for (std::size_t f = 0; f < n_features_; ++f) {
            const double difference = double(x[f * L::count]) - double(y[f * L::count]);
            sum = multiply_add(difference, difference, sum);
        }
        return sum;
    }

    void copy_vector(std::size_t slot, Real* out) const {
        const Real* from = vector(slot);
        for (std::size_t f = 0; f < n_features_; ++f) out[f] = from[f * L::count];
    }

  private:
    // A coefficient too small for its lane is the smallest one, not zero, which is no coefficient.
    static Real in_lane(double coefficient) {
        const double smallest = sizeof(Real) == 4 ? 0x1p-126 : 0x1p-1022;
        if (coefficient > 0 && coefficient < smallest) return Real(smallest);
        if (coefficient < 0 && coefficient > -smallest) return Real(-smallest);
        return Real(coefficient);
    }
    static std::size_t blocks_of(std::size_t slots) { return (slots + L::count - 1) / L::count; }
    Real* vector(std::size_t slot) {
        return vectors_.data() + (slot / L::count) * n_features_ * L::count + slot % L::count;
    }

    std::size_t n_features_ = 0;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
    Buffer<Real> vectors_;
    Buffer<Real> norms_;
    Buffer<Real> coefficients_;
    Buffer<std::int64_t> births_;
};

// A slot's vector as a row of its own: dense, or its non-zeros only, which is what a set of sparse
// rows wants (a vector that was never merged costs its non-zeros, not all features).
template <class Real>
class SlotRow {
  public:
    explicit SlotRow(std::size_t n_features) : values_(n_features), indices_(n_features) {}

    SparseRow<Real> read(const SupportSet<Real>& set, std::size_t slot) {
        const Real* from = set.vector(slot);
        std::size_t count = 0;
        for (std::size_t f = 0; f < set.n_features(); ++f) {
            values_[count] = from[f * SupportSet<Real>::L::count];
            indices_[count] = std::int32_t(f);
            count += values_[count] != 0;
        }
        return {values_.data(), indices_.data(), count};
    }

  private:
    Buffer<Real> values_;
    Buffer<std::int32_t> indices_;
};

}  // namespace pocketsvm::POCKETSVM_SET
