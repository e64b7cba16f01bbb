// The support set: B + 1 slots, each with a vector, a coefficient and the step of its birth.
#pragma once

#include "rows.hpp"

namespace pocketsvm::POCKETSVM_SET {

// Vectors laid out for the kernel: in blocks of Lanes::count, feature by feature inside a block, so
// that a row against a block is a sequence of multiply-adds on lanes. Empty lanes hold finite
// numbers.
template <class RealType>
class VectorLanes {
  public:
    using Real = RealType;
    using L = Lanes<Real>;

    VectorLanes() = default;
    VectorLanes(std::size_t capacity, std::size_t n_features)
        : n_features_(n_features), capacity_(blocks_of(capacity) * L::count),
          lanes_(capacity_ * n_features), norms_(capacity_) {}

    std::size_t size() const { return size_; }
    std::size_t n_features() const { return n_features_; }
    std::size_t n_blocks() const { return blocks_of(size_); }
    std::size_t capacity() const { return capacity_; }
    void resize(std::size_t size) { size_ = size; }

    const Real* block(std::size_t b) const { return lanes_.data() + b * n_features_ * L::count; }
    const Real* norms() const { return norms_.data(); }

    void write(std::size_t slot, const Real* vector) {
        Real* to = lane(slot);
        for (std::size_t f = 0; f < n_features_; ++f) to[f * L::count] = vector[f];
    }
    // The sum of the norm is a chain of dependent additions; writing the lane meanwhile is free.
    void write_with_norm(std::size_t slot, const Real* vector) {
        Real* to = lane(slot);
        Real norm = 0;
        for (std::size_t f = 0; f < n_features_; ++f) {
            to[f * L::count] = vector[f];
            norm = multiply_add(vector[f], vector[f], norm);
        }
        norms_[slot] = norm;
    }
    void set_norm(std::size_t slot, Real norm) { norms_[slot] = norm; }

  protected:
    Real* lane(std::size_t slot) {
        return lanes_.data() + (slot / L::count) * n_features_ * L::count + slot % L::count;
    }

  private:
    static std::size_t blocks_of(std::size_t slots) { return (slots + L::count - 1) / L::count; }

    std::size_t n_features_ = 0;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
    Buffer<Real> lanes_;
    Buffer<Real> norms_;
};

// The slots whose vector changed, each once, for code that keeps values of the vectors.
class Changes {
  public:
    Changes() = default;
    explicit Changes(std::size_t capacity) : slots_(capacity), noted_(capacity) {}

    void note(std::size_t slot) {
        if (noted_[slot]) return;
        noted_[slot] = true;
        slots_[count_++] = slot;
    }
    // Calls the function with every slot, and forgets them.
    template <class Function>
    void take(Function function) {
        for (std::size_t k = 0; k < count_; ++k) {
            noted_[slots_[k]] = false;
            function(slots_[k]);
        }
        count_ = 0;
    }

    void forget() {
        take([](std::size_t) {});
    }

  private:
    Buffer<std::size_t> slots_;
    Buffer<bool> noted_;
    std::size_t count_ = 0;
};

// A second copy holds each vector contiguously, for operations on one or two vectors: in lanes, a
// merge would touch one cache line per feature. Coefficients are in units of 1 / (lambda t), so
// that they are never rescaled. Their sign is the label; those of empty slots are zero.
template <class RealType>
class SupportSet : public VectorLanes<RealType> {
  public:
    using Real = RealType;
    using L = Lanes<Real>;

    SupportSet() = default;
    SupportSet(std::size_t capacity, std::size_t n_features)
        : VectorLanes<Real>(capacity, n_features), vectors_(this->capacity() * n_features),
          coefficients_(this->capacity()), births_(this->capacity()), changes_(this->capacity()) {}

    const Real* coefficients() const { return coefficients_.data(); }
    double coefficient(std::size_t slot) const { return coefficients_[slot]; }
    std::int64_t birth(std::size_t slot) const { return births_[slot]; }
    const Real* vector(std::size_t slot) const { return vectors_.data() + slot * n_features(); }
    // A lower bound of all |coefficients|.
    double least_size() const { return least_size_; }
    void find_least_size() {
        least_size_ = __builtin_huge_val();
        for (std::size_t slot = 0; slot < size(); ++slot) note_size(coefficients_[slot]);
    }
    // Divides all coefficients.
    void divide_coefficients(double divisor) {
        for (std::size_t slot = 0; slot < size(); ++slot)
            coefficients_[slot] = in_lane(coefficients_[slot] / divisor);
        find_least_size();
    }
    // The slots whose vector changed.
    Changes& changes() { return changes_; }
    // If most features are zero, operations touch only the others.
    void expect_zeros(bool many) { many_zeros_ = many; }

    template <class Row>
    void add(const Row& row, Real norm, double coefficient, std::int64_t birth) {
        const std::size_t slot = size();
        add_apart(row, norm, coefficient, birth);
        this->write(slot, vector(slot));
        changes_.note(slot);
    }

    // Adds a vector that will not stay in this slot: its lane is not written.
    template <class Row>
    void add_apart(const Row& row, Real norm, double coefficient, std::int64_t birth) {
        const std::size_t slot = size();
        Real* to = writable(slot);
        for (std::size_t f = 0; f < n_features(); ++f) to[f] = 0;
        for (std::size_t k = 0; k < row.count; ++k) to[row.index(k)] = row.values[k];
        this->set_norm(slot, norm);
        set_coefficient(slot, coefficient);
        births_[slot] = birth;
        this->resize(slot + 1);
    }

    void set_coefficient(std::size_t slot, double value) {
        coefficients_[slot] = in_lane(value);
        note_size(coefficients_[slot]);
    }

    // The last vector moves to the free slot.
    void remove(std::size_t slot) {
        const std::size_t last = size() - 1;
        this->resize(last);
        if (slot != last) {
            const Real* from = vector(last);
            Real* to = writable(slot);
            if (many_zeros_) {
                Real* to_lane = this->lane(slot);
                for_each_nonzero(from, to, n_features(),
                                 [&](std::size_t f) { to[f] = to_lane[f * L::count] = from[f]; });
            } else {
                for (std::size_t f = 0; f < n_features(); ++f) to[f] = from[f];
                this->write(slot, to);
            }
            changes_.note(slot);
            this->set_norm(slot, this->norms()[last]);
            coefficients_[slot] = coefficients_[last];
            births_[slot] = births_[last];
        }
        coefficients_[last] = 0;
    }

    // z = h x_first + (1 - h) x_second takes the second slot; the first slot becomes free.
    void merge(std::size_t first, std::size_t second, double h, double coefficient,
               std::int64_t birth) {
        const Real* x = vector(first);
        Real* z = writable(second);
        if (many_zeros_) {
            Real* z_lane = this->lane(second);
            Real norm = 0;
            for_each_nonzero(x, z, n_features(), [&](std::size_t f) {
                z[f] = z_lane[f * L::count] = Real(h * x[f] + (1 - h) * z[f]);
                norm = multiply_add(z[f], z[f], norm);
            });
            this->set_norm(second, norm);
        } else {
            for (std::size_t f = 0; f < n_features(); ++f) z[f] = Real(h * x[f] + (1 - h) * z[f]);
            this->write_with_norm(second, z);
        }
        changes_.note(second);
        set_coefficient(second, coefficient);
        births_[second] = birth;
        remove(first);
    }

    // Computed from differences, in double: accurate where the kernel row has lost its digits.
    double squared_distance(std::size_t i, std::size_t j) const {
        const Real *x = vector(i), *y = vector(j);
        return sum_in_parts(0, n_features(), [&](std::size_t f) {
            const double difference = double(x[f]) - double(y[f]);
            return difference * difference;
        });
    }

    void copy_vector(std::size_t slot, Real* out) const {
        const Real* from = vector(slot);
        for (std::size_t f = 0; f < n_features(); ++f) out[f] = from[f];
    }

    using VectorLanes<Real>::n_features;
    using VectorLanes<Real>::size;

  private:
    // Rounds away from zero, because a coefficient of zero marks an empty slot.
    static Real in_lane(double coefficient) {
        const double smallest = sizeof(Real) == 4 ? 0x1p-126 : 0x1p-1022;
        if (coefficient > 0 && coefficient < smallest) return Real(smallest);
        if (coefficient < 0 && coefficient > -smallest) return Real(-smallest);
        return Real(coefficient);
    }
    void note_size(Real coefficient) {
        const double size = coefficient < 0 ? -coefficient : coefficient;
        if (size < least_size_) least_size_ = size;
    }
    Real* writable(std::size_t slot) { return vectors_.data() + slot * n_features(); }

    bool many_zeros_ = false;
    double least_size_ = __builtin_huge_val();
    Buffer<Real> vectors_;
    Buffer<Real> coefficients_;
    Buffer<std::int64_t> births_;
    Changes changes_;
};

// Reads a slot's vector as a sparse row, so that the cost depends on its non-zeros only.
template <class Real>
class SlotRow {
  public:
    explicit SlotRow(std::size_t n_features) : values_(n_features), indices_(n_features) {}

    SparseRow<Real> read(const SupportSet<Real>& set, std::size_t slot) {
        const Real* from = set.vector(slot);
        std::size_t count = 0;
        for_each_nonzero(from, from, set.n_features(), [&](std::size_t f) {
            values_[count] = from[f];
            indices_[count++] = std::int32_t(f);
        });
        return {values_.data(), indices_.data(), count};
    }

  private:
    Buffer<Real> values_;
    Buffer<std::int32_t> indices_;
};

}  // namespace pocketsvm::POCKETSVM_SET
