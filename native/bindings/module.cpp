// The Python module: bindings check shapes and sizes, release the GIL and call the core. They hold
// no algorithm and no policy.
#include <cstdlib>

#include "common.hpp"

namespace pocketsvm {
namespace {

std::vector<std::string> instruction_sets() {
    std::size_t count;
    const Core* const* cores = available_cores(count);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.emplace_back(cores[i]->name);
    return names;
}

// The best one, or the one that the environment variable names.
const Core* choose_core() {
    std::size_t count;
    const Core* const* cores = available_cores(count);
    const char* wanted = std::getenv("POCKETSVM_INSTRUCTION_SET");
    if (wanted == nullptr || *wanted == '\0') return cores[0];
    std::string names;
    for (std::size_t i = 0; i < count; ++i) {
        if (std::string(cores[i]->name) == wanted) return cores[i];
        names += (i ? ", " : "") + std::string(cores[i]->name);
    }
    throw nb::import_error(("POCKETSVM_INSTRUCTION_SET is '" + std::string(wanted) +
                            "', which this build or this CPU does not have; it has: " + names)
                               .c_str());
}

}  // namespace
}  // namespace pocketsvm

NB_MODULE(_core, module) {
    using namespace pocketsvm;
    core = choose_core();
    nb::set_leak_warnings(false);
    module.def("instruction_set", [] { return std::string(core->name); });
    module.def("instruction_sets", &instruction_sets);
    bind_threads(module);
    bind_drawing(module);
    bind_kernel(module);
    bind_merging(module);
    bind_training(module);
    bind_solving(module);
    bind_pairs(module);
    bind_text(module);
}
