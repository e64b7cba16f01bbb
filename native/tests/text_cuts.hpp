// LIBSVM text, parsed in pieces: the result must not depend on the cuts. The unit tests and the
// fuzz target use it.
#pragma once

#include <cstdio>
#include <cstring>
#include <random>
#include <string>

#include "../text/svmlight.hpp"

namespace pocketsvm {

inline bool same(const SvmlightRows& a, const SvmlightRows& b) {
    const auto equal = [](const auto& left, const auto& right) {
        return left.size() == right.size() &&
               (left.size() == 0 ||
                std::memcmp(left.data(), right.data(), left.size() * sizeof(*left.data())) == 0);
    };
    return equal(a.labels, b.labels) && equal(a.row_lengths, b.row_lengths) &&
           equal(a.indices, b.indices) && equal(a.values, b.values) &&
           equal(a.exact_values, b.exact_values);
}

// All of a file, cut after every so many bytes: its rows, or its first error.
struct Outcome {
    SvmlightRows rows{0};
    std::string error;
    TextPlace place;
    std::uint64_t n_lines = 0;

    void take(const SvmlightChunk& chunk) {
        if (!error.empty()) return;
        rows.append(chunk);
        error = chunk.error;
        place = {n_lines + chunk.error_place.line, chunk.error_place.column};
        n_lines += chunk.n_lines;
    }
    void finish() { rows.finish(false, rows.narrow_columns.need_float64()); }
    bool operator==(const Outcome& other) const {
        if (error != other.error) return false;
        if (!error.empty())
            return place.line == other.place.line && place.column == other.place.column;
        return n_lines == other.n_lines && same(rows, other.rows);
    }
};

// Whether a text gives the same rows, or the same error, as a whole, in two parts, and as a file
// that is read piece by piece.
inline bool cuts_do_not_matter(const std::string& text, std::mt19937_64& random) {
    SvmlightChunk chunk;
    Outcome whole, parts, pieces;
    parse_svmlight({text}, chunk);
    whole.take(chunk);

    const std::string_view view = text;
    const std::size_t middle = text.empty() ? 0 : random() % text.size();
    parse_svmlight({view.substr(0, middle), view.substr(middle)}, chunk);
    parts.take(chunk);

    std::FILE* const file = std::tmpfile();
    if (file == nullptr) return false;
    bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    written = std::fflush(file) == 0 && written;
    const std::size_t step = 1 + random() % 60;
    for (std::size_t begin = 0; begin < text.size(); begin += step) {
        read_svmlight(::fileno(file), begin, begin + step, chunk);
        pieces.take(chunk);
    }
    std::fclose(file);
    for (Outcome* outcome : {&whole, &parts, &pieces}) outcome->finish();
    return written && whole == parts && whole == pieces;
}

}  // namespace pocketsvm
