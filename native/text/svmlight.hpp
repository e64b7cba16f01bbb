// LIBSVM text into rows: "label qid:number index:value index:value ... # comment", one row per
// line.
//
// A file is cut into chunks at line ends and each chunk is parsed on its own, so that threads can
// share the work; the result depends neither on their number nor on the cuts. Chunks are then
// appended in order. Only the whole file tells whether indices count from 0 or from 1.
#pragma once

#include <charconv>
#include <vector>

#include "arrays.hpp"
#include "narrow_columns.hpp"
#include "numbers.hpp"

namespace pocketsvm {

// Line and column, from 1. Columns count bytes.
struct TextPlace {
    std::uint64_t line = 0, column = 0;
};

// The content of a piece of text. It keeps its memory when it is filled again, because new memory
// costs about as much time as parsing.
struct SvmlightChunk {
    Scratch<char> text;
    std::vector<double> labels;
    std::vector<std::size_t> label_places;  // where they start in the text
    std::vector<std::int32_t> row_lengths;  // the number of features of each row
    std::vector<std::int64_t> queries;      // the number after "qid:" of each row; 0: none
    Scratch<std::int32_t> indices;          // as written
    Scratch<float> values;                  // if all columns are wide,
    Scratch<double> exact_values;           // or else these
    NarrowColumns narrow_columns;
    std::size_t n_values = 0;
    std::uint64_t n_lines = 0;  // all lines, including empty ones
    std::int32_t least_index = std::numeric_limits<std::int32_t>::max();
    std::int32_t largest_index = -1;
    TextPlace largest_place;   // of its first occurrence
    TextPlace infinite_place;  // of the first label or value that is not finite; line 0: none
    TextPlace unasked_place;   // after the first label without a query; line 0: none
    std::string error;         // empty: none; the text after an error is not parsed
    TextPlace error_place;

    void clear() {
        labels.clear();
        label_places.clear();
        row_lengths.clear();
        queries.clear();
        narrow_columns.clear();
        n_values = 0;
        n_lines = 0;
        least_index = std::numeric_limits<std::int32_t>::max();
        largest_index = -1;
        infinite_place = {};
        unasked_place = {};
        error.clear();
    }

    template <class Real>
    void copy_values(Real* out) const {
        if (narrow_columns.all_are_wide())
            std::copy_n(values.data(), n_values, out);
        else
            std::copy_n(exact_values.data(), n_values, out);
    }
};

namespace text {

class SvmlightParser {
  public:
    explicit SvmlightParser(SvmlightChunk& chunk) : chunk_(chunk) {}

    // Parses lines. The last one has its line end, and eight more bytes after it can be read.
    void parse(const char* begin, const char* end) {
        constexpr std::size_t shortest =
            4;  // bytes of a feature, " 1:1": the arrays cannot overflow
        chunk_.indices.reserve(std::size_t(end - begin) / shortest);
        chunk_.values.reserve(std::size_t(end - begin) / shortest);
        chunk_.exact_values.reserve(std::size_t(end - begin) / shortest);
        end_ = end;
        try {
            for (const char* p = begin; p != end;) {
                line_ = p;
                ++chunk_.n_lines;
                p = parse_line(p);
            }
        } catch (const Failure& failure) {
            chunk_.error = failure.message;
            chunk_.error_place = place(failure.at);
        }
    }

  private:
    struct Failure {
        const char* at;
        std::string message;
    };

    TextPlace place(const char* p) const { return {chunk_.n_lines, std::uint64_t(p - line_) + 1}; }

    const char* parse_line(const char* p) {
        p = skip_blanks(p);
        if (!ends_content(*p)) {
            p = skip_blanks(parse_label(p));
            p = skip_blanks(parse_query(p));
            p = chunk_.narrow_columns.all_are_wide() ? parse_features(p, chunk_.values.data())
                                                     : parse_exact_features(p);
        }
        if (*p == '#') p = static_cast<const char*>(std::memchr(p, '\n', std::size_t(end_ - p)));
        return p + 1;
    }

    const char* parse_exact_features(const char* p) {
        const std::size_t n_before = chunk_.n_values;
        double* const values = chunk_.exact_values.data();
        p = parse_features(p, values);
        chunk_.narrow_columns.add(chunk_.indices.data() + n_before, values + n_before,
                                  chunk_.n_values - n_before);
        if (chunk_.narrow_columns.all_are_wide())
            std::copy_n(values, chunk_.n_values, chunk_.values.data());
        return p;
    }

    template <class Real>
    const char* parse_features(const char* p, Real* values) {
        std::int32_t* const first_index = chunk_.indices.data() + chunk_.n_values;
        std::int32_t* index = first_index;
        Real* value = values + chunk_.n_values;
        std::int32_t last = -1;
        const char* last_place = p;
        while (!ends_content(*p)) {
            last_place = p;
            last = parse_index(p, last);
            *index++ = last;
            p = parse_value(p, *value++);
            if (*p == ' ' && is_digit(p[1])) [[likely]]
                ++p;
            else
                p = skip_blanks(p);
        }
        const std::size_t length = std::size_t(index - first_index);
        chunk_.row_lengths.push_back(std::int32_t(length));
        chunk_.n_values += length;
        if (length > 0) chunk_.least_index = std::min(chunk_.least_index, *first_index);
        if (last > chunk_.largest_index) {
            chunk_.largest_index = last;
            chunk_.largest_place = place(last_place);
        }
        return p;
    }

    const char* parse_label(const char* p) {
        Decimal number;
        double label;
        const char* end = scan_short(p, number);
        if (end == nullptr || !to_double(number, label)) {
            end = skip_token(p);
            const std::string_view token(p, std::size_t(end - p));
            if (!parse_double(token, label)) throw Failure{p, what_is_wrong_with_label(token)};
            if (!std::isfinite(label)) note_infinite(p);
        }
        chunk_.labels.push_back(label);
        chunk_.label_places.push_back(std::size_t(p - chunk_.text.data()));
        return end;
    }

    static std::string what_is_wrong_with_label(std::string_view token) {
        if (token.find(',') != token.npos)
            return "expected one label, got " + quoted(token) +
                   "; files with several labels per row are not supported";
        if (token.find(':') != token.npos)
            return "expected a label at the beginning of the row, got " + quoted(token);
        return "expected a label, a number, got " + quoted(token);
    }

    // Only ranking needs the number of the query: a row without one is noted, and no error.
    const char* parse_query(const char* p) {
        const char* end = p;
        std::int64_t query = 0;
        bool is_number = false;
        if (*p == 'q') {
            const std::string_view token(p, std::size_t(skip_token(p) - p));
            const std::size_t colon = token.find(':');
            if (token.starts_with("qid") && colon != token.npos) {
                end = p + token.size();
                const char* const last = token.data() + token.size();
                const auto [stop, error] = std::from_chars(p + colon + 1, last, query);
                is_number = colon == 3 && stop == last && error == std::errc();
            }
        }
        if (!is_number && chunk_.unasked_place.line == 0) chunk_.unasked_place = place(p);
        chunk_.queries.push_back(is_number ? query : 0);
        return end;
    }

    // Moves p past the colon.
    static std::int32_t parse_index(const char*& p, std::int32_t last) {
        const char* const first = p;
        std::int32_t index = 0;
        constexpr int safe_digits = 9;  // so many digits fit into 32 bits
        for (; is_digit(*p) && p - first < safe_digits; ++p)
            index = index * 10 + std::int32_t(digit(*p));
        if (p == first || *p != ':') [[unlikely]]
            index = parse_any_index(first, p);
        if (index <= last) [[unlikely]]
            throw Failure{first, "index " + std::to_string(index) + " comes after " +
                                     std::to_string(last) +
                                     "; the indices of a row must be strictly increasing"};
        ++p;
        return index;
    }

    // Parses an index that is long, signed or wrong.
    static std::int32_t parse_any_index(const char* first, const char*& colon) {
        const std::string_view token(first, std::size_t(skip_token(first) - first));
        const std::size_t size = token.find(':');
        if (size == token.npos) throw Failure{first, "expected index:value, got " + quoted(token)};
        colon = first + size;
        const std::string_view text = token.substr(0, size);
        const bool is_signed = size > 0 && (text[0] == '-' || text[0] == '+');
        std::uint64_t index = 0;
        bool is_integer = size > is_signed;
        for (const char c : text.substr(is_signed)) {
            is_integer = is_integer && is_digit(c);
            if (index <= std::numeric_limits<std::uint32_t>::max()) index = index * 10 + digit(c);
        }
        if (!is_integer)
            throw Failure{first, "expected an integer index before ':', got " + quoted(text)};
        if (text[0] == '-' && index != 0)
            throw Failure{first, "index " + quoted(text) + " is negative"};
        if (index > std::numeric_limits<std::int32_t>::max())
            throw Failure{first, "index " + quoted(text) + " is too large; it must be below 2^31"};
        return std::int32_t(index);
    }

    // Returns its end.
    template <class Real>
    const char* parse_value(const char* p, Real& value) {
        const char* end = p + 1;
        if (is_digit(*p) && *end != '.') {
            constexpr int most = 9;  // so many digits fit into 32 bits
            std::int32_t integer = std::int32_t(digit(*p));
            while (is_digit(*end) && end - p < most)
                integer = integer * 10 + std::int32_t(digit(*end++));
            if (ends_token(*end)) {
                value = Real(integer);
                return end;
            }
        }
        Decimal number;
        double exact;
        end = scan_short(p, number);
        if (end != nullptr && to_double(number, exact)) [[likely]] {
            value = Real(exact);
            return end;
        }
        end = skip_token(p);
        const std::string_view token(p, std::size_t(end - p));
        if (!parse_double(token, exact))
            throw Failure{p, "expected a number after ':', got " + quoted(token)};
        value = Real(exact);
        if (!std::isfinite(float(exact))) note_infinite(p);
        return end;
    }

    void note_infinite(const char* p) {
        if (chunk_.infinite_place.line == 0) chunk_.infinite_place = place(p);
    }

    SvmlightChunk& chunk_;
    const char* line_ = nullptr;
    const char* end_ = nullptr;
};

// Bytes after the text: a line end, and what append_digits reads beyond it.
inline constexpr std::size_t padding = 9;

// Parses whole lines in the chunk's own text, from first to size; the last may lack its line end.
inline void parse_own_text(SvmlightChunk& chunk, std::size_t first, std::size_t size) {
    chunk.text.reserve(size + padding, size);
    char* const text = chunk.text.data();
    std::fill_n(text + size, padding, '\n');
    if (size > first && text[size - 1] != '\n') ++size;
    SvmlightParser(chunk).parse(text + first, text + size);
}

}  // namespace text

// The label of a row as it is written.
inline std::string_view label_spelling(const SvmlightChunk& chunk, std::size_t row) {
    const char* const begin = chunk.text.data() + chunk.label_places[row];
    return {begin, std::size_t(text::skip_token(begin) - begin)};
}

// Parses whole lines in several parts; the last line may lack its line end.
inline void parse_svmlight(const std::vector<std::string_view>& parts, SvmlightChunk& chunk) {
    chunk.clear();
    std::size_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    chunk.text.reserve(size + text::padding);
    char* out = chunk.text.data();
    for (const std::string_view part : parts) out = std::copy(part.begin(), part.end(), out);
    text::parse_own_text(chunk, 0, size);
}

// Parses the lines of a file that begin in [begin, end). Positioned reads allow several threads to
// read one file. If the file shrinks meanwhile, it ends early.
inline void read_svmlight(int file, std::uint64_t begin, std::uint64_t end, SvmlightChunk& chunk) {
    chunk.clear();
    // A line begins at the start of the file or after a line end.
    const std::uint64_t origin = begin == 0 ? 0 : begin - 1;
    constexpr std::size_t page = 4096;
    Scratch<char>& bytes = chunk.text;
    std::size_t size = 0;
    const auto read_more = [&](std::size_t wanted) {  // false at the end of the file
        bytes.reserve(size + wanted, size);
        while (wanted > 0) {
            const std::size_t count = read_at(file, bytes.data() + size, wanted, origin + size);
            if (count == 0) return false;
            size += count;
            wanted -= count;
        }
        return true;
    };
    bool more = read_more(std::size_t(end - origin));
    std::size_t first = 0;
    if (begin != 0) {  // a line end in the last byte belongs to the next chunk
        const std::string_view head(bytes.data(), std::min(size, std::size_t(end - origin - 1)));
        first = head.find('\n') + 1;
        if (first == 0) return;
    }
    while (more && bytes.data()[size - 1] != '\n') {
        const std::size_t seen = size;
        more = read_more(size / 8 + page);  // a line longer than its chunk is rare
        const void* const found = std::memchr(bytes.data() + seen, '\n', size - seen);
        if (found == nullptr) continue;
        size = std::size_t(static_cast<const char*>(found) - bytes.data()) + 1;
        break;
    }
    text::parse_own_text(chunk, first, size);
}

// The rows of a file, appended chunk by chunk, as the arrays of a CSR matrix.
struct SvmlightRows {
    // The text of short rows and features; the arrays grow if a file is denser.
    static constexpr std::size_t row_bytes = 32, feature_bytes = 8;

    GrowingArray<double> labels;
    GrowingArray<std::int64_t> queries;
    GrowingArray<std::int32_t> row_lengths;  // after a zero
    GrowingArray<std::int32_t> indices;      // counted from 0, if the text counts from 1
    GrowingArray<double> exact_values;       // until all columns are wide,
    GrowingArray<float> values;              // and then these
    NarrowColumns narrow_columns;

    // Reserves memory for about so many bytes of text.
    explicit SvmlightRows(std::size_t n_bytes)
        : labels(n_bytes / row_bytes), queries(n_bytes / row_bytes),
          row_lengths(n_bytes / row_bytes), indices(n_bytes / feature_bytes),
          exact_values(n_bytes / feature_bytes), values(0) {
        *row_lengths.extend(1) = 0;
    }

    void append(const SvmlightChunk& chunk) {
        const std::size_t n_rows = chunk.row_lengths.size(), n_values = chunk.n_values;
        std::copy_n(chunk.labels.data(), n_rows, labels.extend(n_rows));
        std::copy_n(chunk.queries.data(), n_rows, queries.extend(n_rows));
        std::copy_n(chunk.row_lengths.data(), n_rows, row_lengths.extend(n_rows));
        std::transform(chunk.indices.data(), chunk.indices.data() + n_values,
                       indices.extend(n_values), [](std::int32_t index) { return index - 1; });
        narrow_columns.merge(chunk.narrow_columns);
        if (narrow_columns.all_are_wide()) {
            round_values();
            chunk.copy_values(values.extend(n_values));
        } else {
            chunk.copy_values(exact_values.extend(n_values));
        }
    }

    // Exact values are there only if there are narrow columns, or no rows.
    void finish(bool written_from_0, bool exact) {
        if (written_from_0)
            for (std::size_t i = 0; i < indices.size(); ++i) ++indices.data()[i];
        if (!exact) round_values();
        labels.shrink_to_fit();
        queries.shrink_to_fit();
        row_lengths.shrink_to_fit();
        indices.shrink_to_fit();
        exact_values.shrink_to_fit();
        values.shrink_to_fit();
    }

  private:
    void round_values() {
        if (exact_values.size() > 0) values = std::move(exact_values).converted<float>();
    }
};

}  // namespace pocketsvm
