// The least that a unit test needs: conditions, where they stand, and a count.
#pragma once

#include <atomic>
#include <cstdio>

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

}  // namespace check

#define CHECK(condition) check::that((condition), #condition, __FILE__, __LINE__)
