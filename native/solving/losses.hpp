// Losses in the solver: sums over rows of the values, slopes and curvatures of a loss of
// native/losses/.
#pragma once

#include <cmath>

#include "../losses/list.hpp"
#include "../memory.hpp"

namespace pocketsvm::POCKETSVM_SET {

// One loss for each output; Element returns that of a row and an output.
template <class Element>
struct EachOutput {
    static constexpr bool coupled = false;
    Element element;
    std::size_t n_outputs;

    // Calls use(o, derivatives) for every output.
    template <class Use>
    POCKETSVM_INLINE void at(std::size_t row, const double* f, Use use) const {
        for (std::size_t o = 0; o < n_outputs; ++o) use(o, element(row, o).at(f[o]));
    }
    POCKETSVM_INLINE bool near(std::size_t row, const double* f, double reach) const {
        bool near = false;
        for (std::size_t o = 0; o < n_outputs; ++o) near |= element(row, o).near(f[o], reach);
        return near;
    }
};

template <class Element, class Function>
POCKETSVM_INLINE void with_outputs(const Losses& losses, Element element, Function function) {
    function(EachOutput<Element>{element, losses.n_outputs});
}

template <class Loss, class Function>
void with_targets(const Losses& losses, Function function) {
    const auto element = [&losses](std::size_t row, std::size_t o) POCKETSVM_INLINE_LAMBDA {
        return Loss::of(losses, o,
                        losses.targets[row * losses.n_targets + (losses.n_targets > 1 ? o : 0)]);
    };
    with_outputs(losses, element, function);
}

template <class Loss, class Code, class Function>
void with_codes(const Losses& losses, const Code* codes, Function function) {
    if constexpr (Loss::coupled) {
        function(typename Loss::template OfRows<Code>{codes, losses.n_outputs, losses.widths[0]});
    } else {
        const auto element = [&losses, codes](std::size_t row,
                                              std::size_t o) POCKETSVM_INLINE_LAMBDA {
            return Loss{{2 * double(codes[row] == losses.positives[o]) - 1, losses.widths[o]}};
        };
        with_outputs(losses, element, function);
    }
}

// Calls the function with the loss of a row in all outputs.
template <class Function>
void with_losses(const Losses& losses, Function function) {
    SolverLosses::with(losses.loss, [&](auto type) {
        using Loss = typename decltype(type)::type;
        if constexpr (!Loss::on_classes)
            with_targets<Loss>(losses, function);
        else if (losses.wide_codes)
            with_codes<Loss>(losses, static_cast<const std::int32_t*>(losses.codes), function);
        else
            with_codes<Loss>(losses, static_cast<const std::int8_t*>(losses.codes), function);
    });
}

// The losses of some rows, summed with their weights, and the weighted slopes and curvatures of
// each row. Arrays start with the first row of all.
inline void loss_derivatives(const Losses& losses, const Chunk& rows, const double* decisions,
                             double* sums, double* slopes, double* curvatures) {
    const std::size_t n_outputs = losses.n_outputs;
    // Not summed up in place: threads that write next to each other slow each other down.
    Buffer<double> totals(losses.n_losses());
    with_losses(losses, [&](auto loss) {
        for (std::size_t i = rows.begin; i < rows.end; ++i)
            loss.at(i, decisions + i * n_outputs, [&](std::size_t o, const Derivatives& each) {
                totals[loss.coupled ? 0 : o] += rows.c[i] * each.value;
                slopes[i * n_outputs + o] = rows.c[i] * each.slope;
                curvatures[i * n_outputs + o] = rows.c[i] * each.curvature;
            });
    });
    for (std::size_t k = 0; k < totals.size(); ++k) sums[k] = totals[k];
}

// Tells which of some rows have a slope, or would have one after a small change.
inline void near_rows(const Losses& losses, const Chunk& rows, const double* decisions,
                      bool* near) {
    with_losses(losses, [&](auto loss) {
        for (std::size_t i = rows.begin; i < rows.end; ++i)
            near[i] = loss.near(i, decisions + i * losses.n_outputs, rows.reach);
    });
}

// The first and second derivative of the weighted losses along a change of the decision values, at
// one length for each loss. If one loss couples the outputs, the sums over them are those of it.
// Else outputs with a length of NaN are left out, and their sums are zero.
inline void losses_along(const Losses& losses, const Chunk& rows, const double* decisions,
                         const double* change, const double* lengths, double* first,
                         double* second) {
    const std::size_t n_outputs = losses.n_outputs;
    Buffer<double> slopes(n_outputs), curvatures(n_outputs), f(n_outputs, Unwritten());
    Buffer<std::size_t> chosen(n_outputs);
    std::size_t n_chosen = 0;
    for (std::size_t o = 0; o < n_outputs; ++o)
        if (losses.coupled || !std::isnan(lengths[o])) chosen[n_chosen++] = o;
    with_losses(losses, [&](auto loss) {
        for (std::size_t i = rows.begin; i < rows.end; ++i) {
            const double c = rows.c[i], *step = change + i * n_outputs;
            double mean = 0;  // of the steps, weighted with the probabilities
            const auto add = [&](std::size_t o, const Derivatives& each) POCKETSVM_INLINE_LAMBDA {
                slopes[o] += each.slope * step[o] * c;
                double curvature = each.curvature;
                if constexpr (loss.coupled) {
                    curvature = each.slope + (o == loss.own(i) ? 1 : 0);
                    mean += curvature * step[o];
                }
                curvatures[o] += curvature * step[o] * step[o] * c;
            };
            const double* from = decisions + i * n_outputs;
            if constexpr (loss.coupled) {
                for (std::size_t o = 0; o < n_outputs; ++o) f[o] = from[o] + lengths[0] * step[o];
                loss.at(i, f.data(), add);
                curvatures[loss.own(i)] -= mean * mean * c;
            } else {
                for (std::size_t k = 0; k < n_chosen; ++k) {
                    const std::size_t o = chosen[k];
                    add(o, loss.element(i, o).at(from[o] + lengths[o] * step[o]));
                }
            }
        }
    });
    for (std::size_t o = 0; o < n_outputs; ++o) {
        first[o] = slopes[o];
        second[o] = curvatures[o];
    }
}

// ----- one output on its own

// The losses of one of several outputs; no loss couples them.
inline Losses losses_of(Losses losses, std::size_t output) {
    losses.n_outputs = 1;
    for (const double** each : {&losses.widths, &losses.down, &losses.up})
        if (*each != nullptr) *each += output;
    if (losses.positives != nullptr) losses.positives += output;
    return losses;
}

// How far to go along a step, on which the objective has this slope at the start. The losses of one
// output change with their decision values, and the rest is linear and quadratic in the length.
// Newton's method on the slope is kept within a bracket of the minimum.
inline double minimum_along(const Losses& losses, const Chunk& rows, const double* decisions,
                            const double* change, double start, double linear, double quadratic) {
    constexpr double flat = 0.1;
    constexpr int most_trials = 30;
    double length = 1, low = 0, high = __builtin_inf();
    for (int trial = 0; trial < most_trials; ++trial) {
        double slope, curvature;
        losses_along(losses, rows, decisions, change, &length, &slope, &curvature);
        slope += linear + length * quadratic;
        curvature += quadratic;
        if (std::fabs(slope) <= -flat * start) return length;
        (slope < 0 ? low : high) = length;
        const double newton = length - slope / curvature;
        const double middle = high == __builtin_inf() ? 2 * length : (low + high) / 2;
        length = newton > low && newton < high ? newton : middle;
    }
    return low;
}

}  // namespace pocketsvm::POCKETSVM_SET
