// The core of one instruction set: this file is compiled once for each of them, and POCKETSVM_SET
// is both the name of the set and the namespace of its code.
#include "drawing.hpp"
#include "kernel/prediction.hpp"
#include "merging/pairs.hpp"
#include "solving/exact.hpp"
#include "solving/outer_products.hpp"
#include "solving/reading.hpp"
#include "training/trainer.hpp"

#define POCKETSVM_TEXT_OF(x) #x
#define POCKETSVM_TEXT(x) POCKETSVM_TEXT_OF(x)

namespace pocketsvm::POCKETSVM_SET {
namespace {

template <class Real>
Trainer* make_trainer_of(const TrainerOptions& options) {
    const MakeMaintenance<Real> strategy = find_strategy<Real>(options.maintenance);
    return strategy == nullptr ? nullptr : new BudgetTrainer<Real>(options, strategy);
}

Trainer* make_trainer(Precision precision, const TrainerOptions& options) {
    return precision == Precision::float32 ? make_trainer_of<float>(options)
                                           : make_trainer_of<double>(options);
}

Predictor* make_predictor(Precision precision, const ModelView& model) {
    if (precision == Precision::float32) return new BlockPredictor<float>(model);
    return new BlockPredictor<double>(model);
}

Table* make_table(std::size_t size, bool scaled) { return new PairTable(size, scaled); }

template <class Real>
void kernel_decisions_of(const KernelView& kernel, std::size_t n_outputs,
                         const double* coefficients, const double* intercepts, double* out) {
    const KernelSums<Real> sums(kernel.n_vectors);
    sums.decide(static_cast<const Real*>(kernel.values), kernel.n_rows, n_outputs,
                sums.padded(n_outputs, coefficients).data(), intercepts, out);
}

void kernel_decisions(const KernelView& kernel, std::size_t n_outputs, const double* coefficients,
                      const double* intercepts, double* out) {
    if (kernel.precision == Precision::float32)
        kernel_decisions_of<float>(kernel, n_outputs, coefficients, intercepts, out);
    else
        kernel_decisions_of<double>(kernel, n_outputs, coefficients, intercepts, out);
}

template <class Real>
void kernel_pull_of(const KernelView& kernel, std::size_t n_outputs, const double* slopes,
                    double* out) {
    const KernelSums<Real> sums(kernel.n_vectors);
    Buffer<double> pull(n_outputs * sums.width());
    sums.add_pull(static_cast<const Real*>(kernel.values), kernel.n_rows, n_outputs, slopes,
                  pull.data());
    for (std::size_t o = 0; o < n_outputs; ++o)
        for (std::size_t j = 0; j < kernel.n_vectors; ++j)
            out[o * kernel.n_vectors + j] = pull[o * sums.width() + j];
}

void kernel_pull(const KernelView& kernel, std::size_t n_outputs, const double* slopes,
                 double* out) {
    if (kernel.precision == Precision::float32)
        kernel_pull_of<float>(kernel, n_outputs, slopes, out);
    else
        kernel_pull_of<double>(kernel, n_outputs, slopes, out);
}

void pack_rows(const KernelView& matrix, const ScaledRows& rows, std::size_t begin, std::size_t end,
               double* packed) {
    if (matrix.precision == Precision::float32)
        OuterProducts::pack(rows, static_cast<const float*>(matrix.values), begin, end, packed);
    else
        OuterProducts::pack(rows, static_cast<const double*>(matrix.values), begin, end, packed);
}

Reader* make_reader(Precision precision, const ModelView& model, const double* lengths,
                    std::size_t n_lengths) {
    if (precision == Precision::float32) return new LossReader<float>(model, lengths, n_lengths);
    return new LossReader<double>(model, lengths, n_lengths);
}

bool solve_rows(const RowProblem& problem, const RowSolution& solution) {
    if (problem.kernel.precision == Precision::float32)
        return RowSolver<float>(problem).solve(solution);
    return RowSolver<double>(problem).solve(solution);
}

}  // namespace

extern const Core core;
const Core core = {POCKETSVM_TEXT(POCKETSVM_SET),
                   Strategies<float>::all,
                   ClassLosses::all,
                   TargetLosses::all,
                   listed(SolverLosses()),
                   make_trainer,
                   make_predictor,
                   make_table,
                   solve_pairs,
                   kernel_decisions,
                   kernel_pull,
                   OuterProducts::panel,
                   pack_rows,
                   OuterProducts::add,
                   loss_derivatives,
                   near_rows,
                   losses_along,
                   make_reader,
                   solve_rows,
                   random_numbers,
                   split_rows,
                   write_below};

}  // namespace pocketsvm::POCKETSVM_SET
