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
                 !same_bits(chunk.exact_values.data()[0], expected);
        parse_svmlight({line, "\n1\n", line}, chunk);  // the second row has a zero
        wrong += chunk.n_values != 2;
        for (std::size_t i = 0; i < chunk.n_values; ++i)
            wrong += !same_bits(chunk.values.data()[i], float(expected));
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

// Whether float64 is needed, for a text as a whole and for its lines, appended one by one.
int n_that_need_float64(std::string_view text) {
    SvmlightRows whole(0), lines(0);
    SvmlightChunk chunk;
    parse_svmlight({text}, chunk);
    whole.append(chunk);
    while (!text.empty()) {
        const std::size_t size = text.find('\n') + 1;
        parse_svmlight({text.substr(0, size)}, chunk);
        lines.append(chunk);
        text.remove_prefix(size);
    }
    return whole.narrow_columns.need_float64() + lines.narrow_columns.need_float64();
}

void exact_values_are_kept_where_float_loses_them() {
    const char* const in_float32[] = {
        "",
        "1\n1\n",
        "1 1:2 2:0.5\n",
        "1 1:0.1\n1 1:0.2\n",
        "1 1:0.1\n1 2:0.1\n",
        "1 1:1700000001\n1 2:17000000\n",  // a row without an entry has a zero
        "1 1:16777215\n1 1:16777216\n",
        "1 1:16777217\n1 1:18777217\n",
        "1 1:1700000000\n1 1:1700000128\n",
        "1 1:inf\n1 1:nan\n",
        "1 1:1e39\n1 1:1e39\n",
        "1 1048576:0.1\n1 1048576:0.1\n",
    };
    const char* const in_float64[] = {
        "1 1:0.1\n",
        "1 1:0.1\n1 1:0.1\n",
        "1 1:1700000001\n1 1:1700000100\n",
        "1 2:1 3:-1700000001\n1 1:5 3:-1700000100\n",
        "1 1:16777216\n1 1:16777217\n",
        "1 1:16777217\n1 1:16877217\n",
        "1 1:1.000001\n1 1:1.000002\n",
        "1 1:1e-42\n1 1:2e-42\n",
        "1 1:nan\n1 1:1700000001\n",
        "1 1048575:0.1\n1 1048575:0.1\n",
    };
    for (const char* text : in_float32) CHECK(n_that_need_float64(text) == 0);
    for (const char* text : in_float64) CHECK(n_that_need_float64(text) == 2);
}

void appended_values_are_exact_or_rounded() {
    SvmlightRows rows(0);
    SvmlightChunk chunk;
    const auto append = [&](const std::string& text) {
        parse_svmlight({text}, chunk);
        rows.append(chunk);
    };
    append("1 1:1700000001 2:0.1\n");
    append("1 1:1700000002 2:0.2\n1 1:1700000003 2:0.5\n");
    CHECK(rows.exact_values.size() == 6 && rows.values.size() == 0);
    CHECK(rows.exact_values.data()[4] == 1700000003 && rows.exact_values.data()[3] == 0.2);
    append("1 1:1\n1 1:0.3\n1 1:1\n");
    CHECK(rows.exact_values.size() == 0 && rows.values.size() == 9);
    const float expected[] = {1.7e9f, .1f, 1.7e9f, .2f, 1.7e9f, .5f, 1, .3f, 1};
    for (std::size_t i = 0; i < 9; ++i) CHECK(rows.values.data()[i] == expected[i]);
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
    GrowingArray<std::int16_t> small = std::move(moved).converted<std::int16_t>();
    for (std::size_t i = 0; i < small.size(); ++i) wrong += small.data()[i] != std::int16_t(i);
    CHECK(wrong == 0 && small.size() >= 3000000 && moved.size() == 0);
    small = GrowingArray<std::int16_t>(5);
    CHECK(small.size() == 0);
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
    exact_values_are_kept_where_float_loses_them();
    appended_values_are_exact_or_rounded();
    arrays_grow_and_shrink();
}
