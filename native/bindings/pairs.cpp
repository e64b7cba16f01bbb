// The Python bindings of sums over pairs of rows.
#include <algorithm>

#include "../solving/pair_sums.hpp"
#include "common.hpp"

namespace pocketsvm {
namespace {

// Queries between two checks for an interrupt.
constexpr std::size_t queries_at_once = 64;
constexpr std::size_t max_levels = std::size_t(1) << 30;

using Levels = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Begins = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

void check_queries(const Vector& decisions, const Levels& levels, const Begins& begins) {
    const std::size_t n_rows = decisions.shape(0);
    require(levels.shape(0) == n_rows, "levels must have one entry per decision value");
    require(begins.shape(0) > 0 && begins.data()[0] == 0 &&
                begins.data()[begins.shape(0) - 1] == std::int64_t(n_rows),
            "begins must start with 0 and end with the number of rows");
    for (std::size_t q = 1; q < begins.shape(0); ++q)
        require(begins.data()[q - 1] < begins.data()[q], "begins must increase");
    for (std::size_t i = 0; i < n_rows; ++i)
        require(levels.data()[i] >= 0 && std::size_t(levels.data()[i]) < max_levels,
                "levels must not be negative, and below 2^30");
}

nb::object pair_sums(Vector decisions, Levels levels, Begins begins, Vector scales, double width) {
    check_queries(decisions, levels, begins);
    require_positive(width, "width");
    const std::size_t n_rows = decisions.shape(0), n_queries = begins.shape(0) - 1;
    require(scales.shape(0) == n_queries, "scales must have one entry per query");
    const std::int64_t* begin = begins.data();
    double *values, *slopes, *curvatures, *products;
    auto values_array = make_array<double>({n_rows}, &values);
    auto slopes_array = make_array<double>({n_rows}, &slopes);
    auto curvatures_array = make_array<double>({n_rows}, &curvatures);
    auto products_array = make_array<double>({n_rows}, &products);
    without_gil([&](Interrupt& interrupt) {
        PairSums sums(width);
        for (std::size_t q = 0; q < n_queries; ++q) {
            if (q % queries_at_once == 0 && interrupt.requested()) return false;
            const std::size_t at = std::size_t(begin[q]);
            sums.add(std::size_t(begin[q + 1]) - at, levels.data() + at, decisions.data() + at,
                     scales.data()[q], {values + at, slopes + at, curvatures + at, products + at});
        }
        return true;
    });
    return nb::make_tuple(values_array, slopes_array, curvatures_array, products_array);
}

nb::object bent_partners(Vector decisions, Levels levels, Begins begins, double width, Begins rows,
                         Vector draws) {
    check_queries(decisions, levels, begins);
    require_positive(width, "width");
    require(draws.shape(0) == rows.shape(0), "draws must have one entry per entry of rows");
    for (std::size_t k = 0; k < rows.shape(0); ++k) {
        require(rows.data()[k] >= 0 && std::size_t(rows.data()[k]) < decisions.shape(0),
                "rows must be positions of decision values");
        require(draws.data()[k] >= 0 && draws.data()[k] < 1, "draws must be in [0, 1)");
    }
    std::int64_t* out;
    auto result = make_array<std::int64_t>({rows.shape(0)}, &out);
    const std::int64_t *begin = begins.data(), *end = begin + begins.shape(0);
    without_gil([&](Interrupt& interrupt) {
        BentPartners partners(width);
        const std::int64_t* known = nullptr;  // the end of the query whose rows are set
        for (std::size_t k = 0; k < rows.shape(0); ++k) {
            if (k % queries_at_once == 0 && interrupt.requested()) return false;
            const std::int64_t* next = std::upper_bound(begin, end, rows.data()[k]);
            const std::size_t at = std::size_t(next[-1]);
            if (next != known) {
                partners.set(std::size_t(*next) - at, levels.data() + at, decisions.data() + at);
                known = next;
            }
            const std::size_t row = std::size_t(rows.data()[k]) - at;
            out[k] = std::int64_t(at + partners.draw(row, draws.data()[k]));
        }
        return true;
    });
    return nb::cast(result);
}

}  // namespace

void bind_pairs(nb::module_& module) {
    module.def("pair_sums", &pair_sums, "decisions"_a, "levels"_a.noconvert(),
               "begins"_a.noconvert(), "scales"_a, "width"_a);
    module.def("bent_partners", &bent_partners, "decisions"_a, "levels"_a.noconvert(),
               "begins"_a.noconvert(), "width"_a, "rows"_a.noconvert(), "draws"_a);
}

}  // namespace pocketsvm
