// The support set. (Kernel values are tested through training and prediction.)
#define POCKETSVM_SET unit

#include "../kernel/support_set.hpp"
#include "check.hpp"

using namespace pocketsvm;
using namespace pocketsvm::unit;

namespace {

void support_set_keeps_its_slots() {
    SupportSet<float> set(20, 3);
    for (int i = 0; i < 20; ++i) {
        const float x[3] = {float(i), 0, float(-i)};
        const DenseRow<float> row{x, 3};
        set.add(row, squared_norm(row), i % 2 ? 1 : -1, i);
    }
    set.remove(3);  // 19 moves to the free slot
    float out[3];
    set.copy_vector(3, out);
    CHECK(set.size() == 19 && out[0] == 19 && set.birth(3) == 19);
    set.merge(0, 2, 0.25, -1.5, 99);  // 2 becomes 0.25 * 0 + 0.75 * 2, 18 moves to slot 0
    set.copy_vector(2, out);
    CHECK(set.size() == 18 && out[0] == 1.5f && out[2] == -1.5f);
    CHECK(set.coefficient(2) == -1.5 && set.birth(2) == 99 && set.norms()[2] == 4.5f);
    CHECK(set.birth(0) == 18);
    CHECK(set.squared_distance(0, 2) == 2 * 16.5 * 16.5);
}

}  // namespace

void kernel_tests() { support_set_keeps_its_slots(); }
