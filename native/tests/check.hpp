// The least that a unit test needs: conditions, where they stand, and a count.
#pragma once

#include <cstdio>

#include "../core.hpp"

namespace check {

inline int passed = 0, failed = 0;

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
