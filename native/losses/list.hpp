// The list of losses. The passes know those with a `step`, and the solver those with a value; the
// names and properties that the bindings know follow from this list.
#pragma once

#include "../named_types.hpp"
#include "epsilon_insensitive.hpp"
#include "hinge.hpp"
#include "huber.hpp"
#include "log_loss.hpp"
#include "quantile.hpp"
#include "softmax.hpp"
#include "squared_hinge.hpp"
#include "tube.hpp"

namespace pocketsvm::POCKETSVM_SET {

template <class Loss>
concept OfPasses = requires { &Loss::step; };
template <class Loss>
concept OfSolver = Loss::coupled || requires { &Loss::near; };

template <class... Each>
struct ListOfLosses {
    template <bool chosen, class Loss>
    using If = std::conditional_t<chosen, NamedTypes<Loss>, NamedTypes<>>;

    using PassesOnClasses =
        decltype((NamedTypes<>() + ... + If<OfPasses<Each> && Each::on_classes, Each>()));
    using PassesOnTargets =
        decltype((NamedTypes<>() + ... + If<OfPasses<Each> && !Each::on_classes, Each>()));
    using Solver = decltype((NamedTypes<>() + ... + If<OfSolver<Each>, Each>()));
};

using AllLosses =
    ListOfLosses<Hinge, SquaredHinge, LogLoss, Softmax, EpsilonInsensitive, Huber, Quantile, Tube>;

using ClassLosses = AllLosses::PassesOnClasses;
using TargetLosses = AllLosses::PassesOnTargets;
using SolverLosses = AllLosses::Solver;

// The losses of the solver, as the bindings see them.
template <class... Each>
constexpr SolverLoss solver_losses[] = {{Each::name, Each::on_classes, Each::coupled}...};
template <class... Each>
constexpr SolverLossList listed(NamedTypes<Each...>) {
    return {solver_losses<Each...>, sizeof...(Each)};
}

}  // namespace pocketsvm::POCKETSVM_SET
