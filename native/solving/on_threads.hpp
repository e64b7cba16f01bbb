// Sums over rows on several threads. Rows are cut into chunks whose size does not depend on the
// number of threads, and the sums of chunks are added in their order: so the bits of a sum do not
// depend on it, either.
//
// All functions return false if there was an interruption.
#pragma once

#include <algorithm>
#include <vector>

#include "../large_arrays.hpp"
#include "../threads.hpp"

namespace pocketsvm {

// What the sums of chunks need at once, in numbers: the memory is bounded.
inline constexpr std::size_t most_sums = std::size_t(1) << 22;

// Adds parts of `size` sums each to the total, in their order.
inline bool add_parts(const double* parts, std::size_t n_parts, std::size_t size, double* total,
                      std::size_t n_threads, Interrupt& interrupt) {
    constexpr std::size_t at_once = 512, least_work = std::size_t(1) << 16;
    if (n_parts * size < least_work) n_threads = 1;
    return parallel((size + at_once - 1) / at_once, n_threads, interrupt,
                    [&](std::size_t k, Interrupt&) {
                        const std::size_t end = std::min((k + 1) * at_once, size);
                        for (std::size_t part = 0; part < n_parts; ++part)
                            for (std::size_t i = k * at_once; i < end; ++i)
                                total[i] += parts[part * size + i];
                        return true;
                    });
}

// Calls task(k, sums) for chunks, each of which writes `size` sums, and adds these to the total.
template <class Task>
bool add_chunks(std::size_t n_chunks, std::size_t size, double* total, std::size_t n_threads,
                Interrupt& interrupt, Task task) {
    const std::size_t at_once = std::min(n_chunks, std::max(4 * n_threads, most_sums / (size + 1)));
    const LargeArray<double> sums = large_array<double>(at_once * size);
    std::fill_n(total, size, 0.0);
    for (std::size_t first = 0; first < n_chunks; first += at_once) {
        const std::size_t count = std::min(at_once, n_chunks - first);
        const auto call = [&](std::size_t k, Interrupt& own) {
            if (own.requested()) return false;
            task(first + k, sums.get() + k * size);
            return true;
        };
        if (!parallel(count, n_threads, interrupt, call) ||
            !add_parts(sums.get(), count, size, total, n_threads, interrupt))
            return false;
    }
    return true;
}

// ----- rows of kernel values

inline constexpr std::size_t kernel_rows_at_once = 64;

inline std::size_t n_kernel_chunks(const KernelView& kernel,
                                   std::size_t at_once = kernel_rows_at_once) {
    return (kernel.n_rows + at_once - 1) / at_once;
}

inline KernelView kernel_chunk(const KernelView& kernel, std::size_t k,
                               std::size_t at_once = kernel_rows_at_once) {
    const std::size_t first = k * at_once;
    const std::size_t size =
        kernel.precision == Precision::float32 ? sizeof(float) : sizeof(double);
    const auto* values = static_cast<const unsigned char*>(kernel.values);
    return {kernel.precision, std::min(at_once, kernel.n_rows - first), kernel.n_vectors,
            values + first * kernel.n_vectors * size};
}

// Writes the decision values of the rows (n_rows x n_outputs).
inline bool decide(const Core& core, const KernelView& kernel, std::size_t n_outputs,
                   const double* coefficients, const double* intercepts, double* out,
                   std::size_t n_threads, Interrupt& interrupt) {
    return parallel(
        n_kernel_chunks(kernel), n_threads, interrupt, [&](std::size_t k, Interrupt& own) {
            if (own.requested()) return false;
            core.kernel_decisions(kernel_chunk(kernel, k), n_outputs, coefficients, intercepts,
                                  out + k * kernel_rows_at_once * n_outputs);
            return true;
        });
}

// Writes the pull of the rows (n_outputs x n_vectors). With several outputs, most slopes are zero,
// and a chunk has more rows: else it would take longer to add up the sums of chunks.
inline bool pull(const Core& core, const KernelView& kernel, std::size_t n_outputs,
                 const double* slopes, double* out, std::size_t n_threads, Interrupt& interrupt) {
    constexpr std::size_t least = 1, most = 8;
    const std::size_t at_once = kernel_rows_at_once * std::clamp(n_outputs, least, most);
    return add_chunks(n_kernel_chunks(kernel, at_once), n_outputs * kernel.n_vectors, out,
                      n_threads, interrupt, [&](std::size_t k, double* sums) {
                          core.kernel_pull(kernel_chunk(kernel, k, at_once), n_outputs,
                                           slopes + k * at_once * n_outputs, sums);
                      });
}

// ----- outer products

// Panels, and those with which a thread multiplies them.
struct PanelTask {
    PanelRange left, right;
};

// Squares of panels: their rows stay in the second-level cache, and there are enough of them for
// many threads. The large ones come first.
inline std::vector<PanelTask> panel_tasks(std::size_t n_panels) {
    constexpr std::size_t at_once = 2;
    std::vector<PanelTask> tasks, on_diagonal;
    for (std::size_t p = 0; p < n_panels; p += at_once)
        for (std::size_t q = p; q < n_panels; q += at_once)
            (p == q ? on_diagonal : tasks)
                .push_back(
                    {{p, std::min(p + at_once, n_panels)}, {q, std::min(q + at_once, n_panels)}});
    tasks.insert(tasks.end(), on_diagonal.begin(), on_diagonal.end());
    return tasks;
}

// Adds the outer products of rows, times a sign, to the upper triangle of a square matrix. The
// packed rows have a bounded memory, and their number does not depend on the threads.
inline bool add_outer_products(const Core& core, const KernelView& kernel, const ScaledRows& all,
                               double sign, double* square, std::size_t n_threads,
                               Interrupt& interrupt) {
    constexpr std::size_t most_values = std::size_t(1) << 20, least_rows = 1024, pack_at_once = 64;
    const std::size_t n = kernel.n_vectors, n_panels = (n + core.panel - 1) / core.panel;
    const std::vector<PanelTask> tasks = panel_tasks(n_panels);
    const std::size_t at_once = std::min(all.n_rows, std::max(least_rows, most_values / (n + 1)));
    const LargeArray<double> packed = large_array<double>(at_once * n_panels * core.panel);
    for (std::size_t first = 0; first < all.n_rows; first += at_once) {
        const ScaledRows rows{std::min(at_once, all.n_rows - first), n, all.chosen + first,
                              all.scales + first};
        const auto pack = [&](std::size_t k, Interrupt&) {
            const std::size_t begin = k * pack_at_once;
            core.pack_rows(kernel, rows, begin, std::min(begin + pack_at_once, rows.n_rows),
                           packed.get());
            return true;
        };
        const auto add = [&](std::size_t k, Interrupt& own) {
            if (own.requested()) return false;
            core.add_products(packed.get(), rows.n_rows, n, tasks[k].left, tasks[k].right, sign,
                              square);
            return true;
        };
        const std::size_t n_packs = (rows.n_rows + pack_at_once - 1) / pack_at_once;
        if (!parallel(n_packs, n_threads, interrupt, pack) ||
            !parallel(tasks.size(), n_threads, interrupt, add))
            return false;
    }
    return true;
}

// ----- losses

// Calls task(rows, sums) for chunks of rows, each of which writes n_sums numbers.
template <class Task>
bool add_losses(std::size_t n_rows, std::size_t n_outputs, const double* c, std::size_t n_sums,
                double* total, std::size_t n_threads, Interrupt& interrupt, Task task) {
    constexpr std::size_t values_at_once = std::size_t(1) << 12;
    const std::size_t at_once = std::max<std::size_t>(1, values_at_once / n_outputs);
    const std::size_t n_chunks = (n_rows + at_once - 1) / at_once;
    // Starting a thread takes as long as a few chunks.
    return add_chunks(n_chunks, n_sums, total, std::min(n_threads, 1 + n_chunks / 4), interrupt,
                      [&](std::size_t k, double* sums) {
                          task(Chunk{k * at_once, std::min((k + 1) * at_once, n_rows), c, 0}, sums);
                      });
}

// The rows that a thread reads at once: few if a row is much work, so that it reacts to an
// interrupt.
inline std::size_t rows_read_at_once(const ModelView& model) {
    constexpr std::size_t most_work = std::size_t(1) << 25, least = 64, most = 4096;
    constexpr std::size_t exponential_work = 16;
    const std::size_t row_work =
        model.n_vectors * (exponential_work + model.n_features + 2 * model.n_outputs);
    return std::clamp(most_work / (row_work + 1), least, most);
}

// Reads all rows; there are n_losses sums of losses, and no pull if the place for it is null.
inline bool read_all(const Reader& reader, const ModelView& model, const RowsView& rows,
                     const Losses& losses, const Chunk& all, std::size_t n_losses,
                     const Sums& total, std::size_t n_threads, Interrupt& interrupt) {
    const std::size_t n_pull = total.pull ? losses.n_outputs * (model.n_vectors + 1) : 0;
    const std::size_t at_once = rows_read_at_once(model);
    std::vector<double> found(n_losses + n_pull);
    const bool finished =
        add_chunks((rows.n_rows + at_once - 1) / at_once, found.size(), found.data(), n_threads,
                   interrupt, [&](std::size_t k, double* sums) {
                       Chunk chunk = all;
                       chunk.begin = k * at_once;
                       chunk.end = std::min(chunk.begin + at_once, rows.n_rows);
                       reader.read(rows, losses, chunk, {sums, sums + n_losses, total.near});
                   });
    std::copy_n(found.begin(), n_losses, total.losses);
    std::copy_n(found.begin() + std::ptrdiff_t(n_losses), n_pull, total.pull);
    return finished;
}

}  // namespace pocketsvm
