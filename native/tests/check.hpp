// The least that a unit test needs: conditions, where they stand, and a count.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstring>

#include "../core.hpp"

namespace check {

inline std::atomic<int> passed = 0, failed = 0;  // tests may run on several threads

inline void that(bool holds, const char* what, const char* file, int line) {
    ++(holds ? passed : failed);
    if (!holds) std::printf("%s:%d: does not hold: %s\n", file, line, what);
}

class NeverInterrupt final : public pocketsvm::Interrupt {
  public:
    bool requested() override { return false; }
};

// The solver's loss of that name. All cores have the same list.
inline const pocketsvm::SolverLoss& choose_loss(const char* name, pocketsvm::Losses& losses) {
    std::size_t n_cores, k = 0;
    const pocketsvm::SolverLossList known = (*pocketsvm::available_cores(n_cores))->solver_losses;
    while (std::strcmp(known.first[k].name, name) != 0) ++k;
    losses.loss = k;
    losses.coupled = known.first[k].coupled;
    return known.first[k];
}

}  // namespace check

#define CHECK(condition) check::that((condition), #condition, __FILE__, __LINE__)
