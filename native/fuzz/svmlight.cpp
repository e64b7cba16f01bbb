// The fuzz target of the parser of LIBSVM text. The sanitizers find bytes that are read or written
// out of bounds; the target itself compares several ways to cut the same text.
#include <cstdint>
#include <cstdlib>

#include "../tests/text_cuts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::mt19937_64 random(size);
    if (!pocketsvm::cuts_do_not_matter(text, random)) {
        std::fprintf(stderr, "the rows depend on where the text is cut\n");
        std::abort();
    }
    return 0;
}
