// The support set: B + 1 slots, each a vector in a lane, a coefficient and the step of its birth.
//
// Vectors lie in blocks of Lanes::count, feature by feature inside a block: one row against a block
// is multiply-adds down the lanes. A second copy holds each vector in one piece, for what looks at
// one or two of them: a merge would else touch a cache line for every feature. Coefficients are in
// units of 1 / (lambda t), so that nothing is ever scaled; their sign is the label. Empty lanes
// hold zeros.
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
          lanes_(capacity_ * n_features), vectors_(capacity_ * n_features), norms_(capacity_),
          coefficients_(capacity_), births_(capacity_) {}

    std::size_t size() const { return size_; }
    std::size_t n_features() const { return n_features_; }
    std::size_t n_blocks() const { return blocks_of(size_); }
    std::size_t capacity() const { return capacity_; }

    const Real* block(std::size_t b) const { return lanes_.data() + b * n_features_ * L::count; }
    const Real* norms() const { return norms_.data(); }
    const Real* coefficients() const { return coefficients_.data(); }
    double coefficient(std::size_t slot) const { return coefficients_[slot]; }
    std::int64_t birth(std::size_t slot) const { return births_[slot]; }

    // The features of a slot, one after the other.
    const Real* vector(std::size_t slot) const { return vectors_.data() + slot * n_features_; }

    template <class Row>
    void add(const Row& row, Real norm, double coefficient, std::int64_t birth) {
        Real* to = vector(size_);
        for (std::size_t f = 0; f < n_features_; ++f) to[f] = 0;
        for (std::size_t k = 0; k < row.count; ++k) to[row.index(k)] = row.values[k];
        write_lane(size_);
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
            for (std::size_t f = 0; f < n_features_; ++f) to[f] = from[f];
            write_lane(slot);
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
        for (std::size_t f = 0; f < n_features_; ++f) z[f] = Real(h * x[f] + (1 - h) * z[f]);
        // One after the other the sums of the norm wait for each other; the lane is written
        // meanwhile.
        Real* lane = lane_of(second);
        Real norm = 0;
        for (std::size_t f = 0; f < n_features_; ++f) {
            lane[f * L::count] = z[f];
            norm = multiply_add(z[f], z[f], norm);
        }
        norms_[second] = norm;
        coefficients_[second] = in_lane(coefficient);
        births_[second] = birth;
        remove(first);
    }

    // By differences, in double: exact where the kernel row has cancelled its digits away.
    double squared_distance(std::size_t i, std::size_t j) const {
        const Real *x = vector(i), *y = vector(j);
        double part[8] = {};
        std::size_t f = 0;
        for (; f + 8 <= n_features_; f += 8)
            for (int j = 0; j < 8; ++j) {
                const double difference = double(x[f + j]) - double(y[f + j]);
                part[j] += difference * difference;
            }
        for (; f < n_features_; ++f) {
            const double difference = double(x[f]) - double(y[f]);
            part[0] += difference * difference;
        }
        return ((part[0] + part[1]) + (part[2] + part[3])) +
               ((part[4] + part[5]) + (part[6] + part[7]));
    }

    void copy_vector(std::size_t slot, Real* out) const {
        const Real* from = vector(slot);
        for (std::size_t f = 0; f < n_features_; ++f) out[f] = from[f];
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
    Real* vector(std::size_t slot) { return vectors_.data() + slot * n_features_; }
    Real* lane_of(std::size_t slot) {
        return lanes_.data() + (slot / L::count) * n_features_ * L::count + slot % L::count;
    }
    void write_lane(std::size_t slot) {
        const Real* from = vector(slot);
        Real* to = lane_of(slot);
        for (std::size_t f = 0; f < n_features_; ++f) to[f * L::count] = from[f];
    }

    std::size_t n_features_ = 0;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
    Buffer<Real> lanes_;
    Buffer<Real> vectors_;
    Buffer<Real> norms_;
    Buffer<Real> coefficients_;
    Buffer<std::int64_t> births_;
};

// A slot's vector as a sparse row: one that was never merged costs its non-zeros, not all features.
template <class Real>
class SlotRow {
  public:
    explicit SlotRow(std::size_t n_features) : values_(n_features), indices_(n_features) {}

    SparseRow<Real> read(const SupportSet<Real>& set, std::size_t slot) {
        const Real* from = set.vector(slot);
        std::size_t count = 0;
        for (std::size_t f = 0; f < set.n_features(); ++f) {
            values_[count] = from[f];
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
