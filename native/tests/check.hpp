// The least that a unit test needs: a condition, where it stands, and a count.
#pragma once

#include <cstdio>

namespace check {

inline int passed = 0, failed = 0;

inline void that(bool holds, const char* what, const char* file, int line) {
    ++(holds ? passed : failed);
    if (!holds) std::printf("%s:%d: does not hold: %s\n", file, line, what);
}

}  // namespace check

#define CHECK(condition) check::that((condition), #condition, __FILE__, __LINE__)
