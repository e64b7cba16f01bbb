// Rows: a checked view of arrays, which it keeps alive.
#pragma once

#include <limits>
#include <optional>

#include "common.hpp"

namespace pocketsvm {

class Rows {
  public:
    static Rows dense(AnyMatrix X) {
        Rows rows;
        rows.view_.n_rows = X.shape(0);
        rows.view_.n_features = X.shape(1);
        rows.set_values(nb::cast(X), X.data(), precision_of(X.dtype(), "X"));
        return rows;
    }

    // None if the structure is sound, but the indices of a row are not strictly increasing.
    static std::optional<Rows> csr(AnyVector data, AnyVector indices, AnyVector indptr,
                                   std::size_t n_features) {
        require(indptr.shape(0) > 0, "X.indptr must have at least 1 entry, got 0.");
        require(n_features <= std::numeric_limits<std::int32_t>::max(),
                "X must have fewer than 2^31 columns, got " + std::to_string(n_features) + ".");
        Rows rows;
        rows.n_values_ = data.shape(0);
        rows.view_.sparse = true;
        rows.view_.wide_indices = is_wide(indices.dtype(), "X.indices");
        rows.view_.wide_pointers = is_wide(indptr.dtype(), "X.indptr");
        rows.view_.n_rows = indptr.shape(0) - 1;
        rows.view_.n_features = n_features;
        rows.view_.indices = indices.data();
        rows.view_.pointers = indptr.data();
        rows.structure_ = {nb::cast(indices), nb::cast(indptr)};
        rows.set_values(nb::cast(data), data.data(), precision_of(data.dtype(), "X.data"));
        if (!rows.check_structure(indices.shape(0))) return std::nullopt;
        return rows;
    }

    // The same rows with other values: checks the shape, but not the structure again.
    Rows with_values(AnyArray data) const {
        if (view_.sparse)
            require(data.ndim() == 1 && data.shape(0) == n_values_,
                    "data must have " + std::to_string(n_values_) + " entries");
        else
            require(data.ndim() == 2 && data.shape(0) == view_.n_rows &&
                        data.shape(1) == view_.n_features,
                    "data must have the shape (" + std::to_string(view_.n_rows) + ", " +
                        std::to_string(view_.n_features) + ")");
        Rows rows = *this;
        rows.set_values(nb::cast(data), data.data(), precision_of(data.dtype(), "data"));
        return rows;
    }

    const RowsView& view() const { return view_; }

  private:
    static bool is_wide(nb::dlpack::dtype type, const char* name) {
        if (type == nb::dtype<std::int32_t>()) return false;
        if (type == nb::dtype<std::int64_t>()) return true;
        refuse(std::string(name) + " must be int32 or int64");
    }

    void set_values(nb::object owner, const void* values, Precision precision) {
        values_ = std::move(owner);
        view_.values = values;
        view_.precision = precision;
    }

    // Refuses broken structure; returns whether the indices of all rows are strictly increasing.
    bool check_structure(std::size_t n_indices) const {
        const std::size_t n_entries = n_indices < n_values_ ? n_indices : n_values_;
        bool increasing = true;
        with_type(view_.pointers, view_.wide_pointers, [&](const auto* pointers) {
            check_pointers(pointers, n_entries);
            require(n_values_ == n_indices, "X.data and X.indices must have the same length, got " +
                                                std::to_string(n_values_) + " and " +
                                                std::to_string(n_indices) + ".");
            with_type(view_.indices, view_.wide_indices,
                      [&](const auto* indices) { increasing = check_indices(pointers, indices); });
        });
        return increasing;
    }
    template <class Function>
    static void with_type(const void* array, bool wide, Function function) {
        if (wide)
            function(static_cast<const std::int64_t*>(array));
        else
            function(static_cast<const std::int32_t*>(array));
    }

    template <class Pointer>
    void check_pointers(const Pointer* pointers, std::size_t n_entries) const {
        const std::size_t n_rows = view_.n_rows;
        if (pointers[0] != 0)
            refuse("X.indptr must start with 0, got " + std::to_string(pointers[0]) + ".");
        for (std::size_t i = 0; i < n_rows; ++i)
            if (pointers[i + 1] < pointers[i])
                refuse("X.indptr must not decrease, but it falls from " +
                       std::to_string(pointers[i]) + " to " + std::to_string(pointers[i + 1]) +
                       " at position " + std::to_string(i + 1) + ".");
        if (std::uint64_t(pointers[n_rows]) > n_entries)
            refuse("X.indptr ends at " + std::to_string(pointers[n_rows]) +
                   ", but X.indices and X.data hold " + std::to_string(n_entries) + " entries.");
    }

    template <class Pointer, class Index>
    bool check_indices(const Pointer* pointers, const Index* indices) const {
        bool increasing = true;
        for (std::size_t i = 0; i < view_.n_rows; ++i)
            for (Pointer k = pointers[i]; k < pointers[i + 1]; ++k) {
                const Index column = indices[k];
                if (column < 0 || std::uint64_t(column) >= view_.n_features)
                    refuse("X.indices must lie in [0, " + std::to_string(view_.n_features) +
                           "), got " + std::to_string(column) + " at position " +
                           std::to_string(k) + ".");
                increasing = increasing && (k == pointers[i] || column > indices[k - 1]);
            }
        return increasing;
    }

    RowsView view_{};
    std::size_t n_values_ = 0;  // of sparse rows
    nb::object values_;
    std::vector<nb::object> structure_;
};

inline void check_model(const AnyMatrix& vectors, double gamma, const RowsView& rows) {
    require(vectors.shape(1) == rows.n_features,
            "rows must have " + std::to_string(vectors.shape(1)) + " features, got " +
                std::to_string(rows.n_features));
    require(precision_of(vectors.dtype(), "vectors") == rows.precision,
            "vectors and rows must have the same dtype");
    require_positive(gamma, "gamma");
}

}  // namespace pocketsvm
