// The core of one instruction set: this file is compiled once for each of them, and POCKETSVM_SET
// is both the name of the set and the namespace of its code.
#include "kernel/prediction.hpp"
#include "merging/pairs.hpp"
#include "solving/kernel_sums.hpp"
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

void kernel_decisions(const KernelView& kernel, std::size_t n_outputs, const double* coefficients,
                      const double* intercepts, double* out) {
    if (kernel.precision == Precision::float32)
        KernelSums<float>(kernel).decisions(n_outputs, coefficients, intercepts, out);
    else
        KernelSums<double>(kernel).decisions(n_outputs, coefficients, intercepts, out);
}

void kernel_pull(const KernelView& kernel, std::size_t n_outputs, const double* slopes,
                 double* out) {
    if (kernel.precision == Precision::float32)
        KernelSums<float>(kernel).pull(n_outputs, slopes, out);
    else
        KernelSums<double>(kernel).pull(n_outputs, slopes, out);
}

}  // namespace

extern const Core core;
const Core core = {POCKETSVM_TEXT(POCKETSVM_SET),
                   Strategies<float>::all,
                   ClassLosses::all,
                   TargetLosses::all,
                   make_trainer,
                   make_predictor,
                   make_table,
                   solve_pairs,
                   kernel_decisions,
                   kernel_pull};

}  // namespace pocketsvm::POCKETSVM_SET
