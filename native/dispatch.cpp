// Chooses the compiled cores that this CPU can run.
#include "core.hpp"

namespace pocketsvm {

Trainer::~Trainer() = default;
Predictor::~Predictor() = default;
Reader::~Reader() = default;
Table::~Table() = default;

#if defined(POCKETSVM_X86)
namespace avx512 {
extern const Core core;
}
namespace avx2 {
extern const Core core;
}
namespace baseline {
extern const Core core;
}

const Core* const* available_cores(std::size_t& count) {
    // Each set contains the later ones, so the sets that run are the end of the list.
    static const Core* const cores[] = {&avx512::core, &avx2::core, &baseline::core};
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512bw");
    const int first = avx512 ? 0 : avx2 ? 1 : 2;
    count = std::size_t(3 - first);
    return cores + first;
}
#elif defined(POCKETSVM_ARM)
namespace neon {
extern const Core core;
}

const Core* const* available_cores(std::size_t& count) {
    static const Core* const cores[] = {&neon::core};
    count = 1;
    return cores;
}
#else
namespace baseline {
extern const Core core;
}

const Core* const* available_cores(std::size_t& count) {
    static const Core* const cores[] = {&baseline::core};
    count = 1;
    return cores;
}
#endif

}  // namespace pocketsvm
