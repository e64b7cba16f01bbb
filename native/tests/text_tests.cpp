// LIBSVM text: numbers against the C library's, cuts against no cuts, and arbitrary bytes. Under
// the sanitizers, this shows that nothing is read or written out of bounds.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "check.hpp"
#include "text_cuts.hpp"

using namespace pocketsvm;

namespace {

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

std::string printed(const char* format, int precision, double number) {
    char text[512];
    std::snprintf(text, sizeof(text), format, precision, number);
    return text;
}

void numbers_are_those_of_the_c_library() {
    std::mt19937_64 random(1);
    std::size_t wrong = 0;
    SvmlightChunk chunk;
    for (int k = 0; k < 20000; ++k) {
        // A float of any size, the middle between it and the next, and that middle's neighbours.
        const float low = std::bit_cast<float>(std::uint32_t(random()) % 0x7f000000u);
        double number = low;
        if (k % 4 != 0) number = (number + double(std::nextafter(low, INFINITY))) / 2;
        if (k % 4 == 2) number = std::nextafter(number, 0.0);
        if (k % 4 == 3) number = std::nextafter(number, double(INFINITY));
        if (k % 3 == 0) number = std::ldexp(std::fmod(number, 1), int(random() % 20));
        if (random() % 2) number = -number;
        const char* const formats[] = {"%.*f", "%.*e", "%.*g"};
        const std::string text = printed(formats[random() % 3], int(random() % 25), number);
        const std::string line = text + " 1:" + text;
        parse_svmlight({line}, chunk);
        const double expected = std::strtod(text.c_str(), nullptr);
        wrong += !chunk.error.empty() || chunk.n_values != 1 ||
                 !same_bits(chunk.labels[0], expected) ||
                 !same_bits(chunk.values.data()[0], float(expected));
    }
    CHECK(wrong == 0);
}

void cuts_and_bytes_are_arbitrary() {
    std::mt19937_64 random(2);
    const std::string plain =
        "# comment\n\n+1 1:0.5 3:-2e-3 7:1234567890.12345678901234567890\n-1.0\n"
        " 2\t2:1\v3:+.5\f4:5. # 1:2\n1 qid:7 1:1E5 10:1e400\r\n1e1 1:inf 2:-nan 2147483647:1";
    const std::string meant = " \t\n\r#:+-.,eEnaif0123456789qd";
    std::size_t wrong = 0;
    for (int k = 0; k < 3000; ++k) {
        std::string text = plain;
        for (std::uint64_t change = random() % 6; change > 0 && !text.empty(); --change) {
            const std::size_t at = random() % text.size();
            switch (random() % 4) {
                case 0:
                    text[at] = char(random());
                    break;
                case 1:
                    text.insert(at, 1 + random() % 30, meant[random() % meant.size()]);
                    break;
                case 2:
                    text.erase(at, random() % 20);
                    break;
                default:
                    text.insert(at, text.substr(random() % text.size(), random() % 50));
            }
        }
        wrong += !cuts_do_not_matter(text, random);
    }
    CHECK(wrong == 0);
}

void the_densest_text_has_room() {
    std::string text;
    for (int k = 0; k < 1000; ++k) text += "1 1:1 2:2 3:3 4:4 5:5 6:6 7:7 8:8 9:9\n";
    for (const char* last : {"1 1:1", "1 1:", "1 1:1 2:", "1", ""}) {
        for (const std::string& whole : {text + last, std::string(last)}) {
            SvmlightChunk chunk;
            parse_svmlight({whole}, chunk);
            CHECK(chunk.n_values >= (whole.size() > 10 ? 9000 : 0));
            CHECK(chunk.error.empty() == (last[0] == '\0' || whole.back() == '1'));
        }
    }
}

void spellings_and_infinities_are_found() {
    SvmlightChunk chunk;
    parse_svmlight({"# none\n +1 1:2\n", "-1.0#\n1e999 1:1\n", "007\t1:1 2:nan"}, chunk);
    const char* const expected[] = {"+1", "-1.0", "1e999", "007"};
    for (std::size_t row = 0; row < 4; ++row) CHECK(label_spelling(chunk, row) == expected[row]);
    CHECK(chunk.infinite_place.line == 4 && chunk.infinite_place.column == 1);
    parse_svmlight({"1 1:2\n1 2:1 3:1e39\n1 1:inf"}, chunk);
    CHECK(chunk.infinite_place.line == 2 && chunk.infinite_place.column == 9);
    parse_svmlight({"1 1:2"}, chunk);
    CHECK(chunk.infinite_place.line == 0);
}

void arrays_grow_and_shrink() {
    GrowingArray<std::int32_t> array(0);
    for (std::int32_t i = 0; i < 3000000;) {
        const std::int32_t n = 1 + i % 70000;
        std::int32_t* const out = array.extend(std::size_t(n));
        for (std::int32_t k = 0; k < n; ++k) out[k] = i++;
    }
    array.shrink_to_fit();
    GrowingArray<std::int32_t> moved = std::move(array);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < moved.size(); ++i) wrong += moved.data()[i] != std::int32_t(i);
    CHECK(wrong == 0);
    CHECK(moved.size() >= 3000000);
    bool refused = false;
    try {
        moved.extend(~std::size_t(0) / 8);
    } catch (const std::bad_alloc&) {
        refused = true;
    }
    CHECK(refused);
}

}  // namespace

void text_tests() {
    numbers_are_those_of_the_c_library();
    cuts_and_bytes_are_arbitrary();
    the_densest_text_has_room();
    spellings_and_infinities_are_found();
    arrays_grow_and_shrink();
}
