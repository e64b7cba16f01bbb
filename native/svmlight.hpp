// LIBSVM text into rows: "label index:value index:value ... # comment", one row a line.
//
// A file is cut into chunks at line ends and each is parsed on its own, so that any number of
// threads can share the work and the result depends on neither their number nor the cuts. Chunks
// are then appended in order. Whether indices count from 0 or from 1 is known only at the very end.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#if !defined(__cpp_lib_to_chars)  // libc++ reads no floating-point numbers by from_chars
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace pocketsvm {

// Line and column, from 1. Columns count bytes.
struct TextPlace {
    std::uint64_t line = 0, column = 0;
};

// An array that is written before it is read.
template <class T>
class Scratch {
  public:
    T* data() const { return data_.get(); }
    // What it held is lost, unless some of it is to be kept.
    void reserve(std::size_t size, std::size_t kept = 0) {
        if (size <= size_) return;
        std::unique_ptr<T[]> data(new T[size]);
        std::copy_n(data_.get(), kept, data.get());
        data_ = std::move(data);
        size_ = size;
    }

  private:
    std::unique_ptr<T[]> data_;
    std::size_t size_ = 0;
};

// What a piece of text says. Meant to be filled again and again: it keeps its memory, because
// fresh memory costs about as much time as parsing.
struct SvmlightChunk {
    Scratch<char> text;
    std::vector<double> labels;
    std::vector<std::size_t> label_places;  // where in the text they are spelled
    std::vector<std::int32_t> row_lengths;  // how many features each row has
    Scratch<std::int32_t> indices;          // as written
    Scratch<float> values;
    std::size_t n_values = 0;
    std::uint64_t n_lines = 0;  // all lines, empty ones too
    std::int32_t least_index = std::numeric_limits<std::int32_t>::max();
    std::int32_t largest_index = -1;
    TextPlace largest_place;   // of its first occurrence
    TextPlace infinite_place;  // of the first label or value that is not finite; line 0: none
    std::string error;         // what was wrong, if anything; what follows it was not parsed
    TextPlace error_place;

    void clear() {
        labels.clear();
        label_places.clear();
        row_lengths.clear();
        n_values = 0;
        n_lines = 0;
        least_index = std::numeric_limits<std::int32_t>::max();
        largest_index = -1;
        infinite_place = {};
        error.clear();
    }
};

namespace svmlight {

// ----- characters ------------------------------------------------------------------------------

// Python's bytes.split() knows the same blanks.
inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r' && c != '\n'); }
inline bool ends_content(char c) { return c == '\n' || c == '#'; }
inline bool ends_token(char c) { return is_blank(c) || ends_content(c); }
inline unsigned digit(char c) { return static_cast<unsigned char>(c) - unsigned('0'); }
inline bool is_digit(char c) { return digit(c) < 10; }

inline const char* skip_blanks(const char* p) {
    while (is_blank(*p)) ++p;
    return p;
}
inline const char* skip_token(const char* p) {
    while (!ends_token(*p)) ++p;
    return p;
}

// A token as an error message shows it: printable ASCII, of bounded length.
inline std::string quoted(std::string_view token) {
    constexpr std::size_t longest = 30;
    std::string text = "'";
    for (const char c : token.substr(0, longest)) {
        if (c >= ' ' && c <= '~') {
            text += c;
        } else {
            constexpr char hexadecimal[] = "0123456789abcdef";
            const unsigned code = static_cast<unsigned char>(c);
            text += {'\\', 'x', hexadecimal[code / 16], hexadecimal[code % 16]};
        }
    }
    return text + (token.size() > longest ? "...'" : "'");
}

// ----- numbers ---------------------------------------------------------------------------------

// mantissa * 10^exponent, the mantissa being the first 19 significant digits.
struct Decimal {
    std::uint64_t mantissa = 0;
    std::int64_t exponent = 0;
    bool negative = false;
    bool truncated = false;  // there were more than 19 digits
};

inline constexpr int most_digits = 19;   // 10^19 - 1 fits into 64 bits
inline constexpr int exact_powers = 22;  // 10^22 is the largest power of ten that is a double
inline constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                           1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                           1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
inline constexpr double inverse_powers_of_ten[] = {
    1e-0,  1e-1,  1e-2,  1e-3,  1e-4,  1e-5,  1e-6,  1e-7,  1e-8,  1e-9,  1e-10, 1e-11,
    1e-12, 1e-13, 1e-14, 1e-15, 1e-16, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21, 1e-22};
inline constexpr std::uint64_t short_powers_of_ten[] = {1,     10,     100,     1000,
                                                        10000, 100000, 1000000, 10000000};

// The number that eight digits write, the first in the lowest byte.
inline std::uint64_t eight_digits(std::uint64_t digits) {
    const std::uint64_t pairs = digits * 10 + (digits >> 8);
    return ((pairs & 0x000000ff000000ff) * (100 + (std::uint64_t(1000000) << 32)) +
            ((pairs >> 16) & 0x000000ff000000ff) * (1 + (std::uint64_t(10000) << 32))) >>
           32;
}

// Appends the digits at p to the number, modulo 2^64, up to eight at a time; returns where they
// end. Reads up to eight bytes from there on.
inline const char* append_digits(const char* p, std::uint64_t& number) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    for (;;) {
        std::uint64_t word;
        std::memcpy(&word, p, 8);
        if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
        const std::uint64_t digits = word - ones * '0';
        // The first byte that is marked is no digit, and those before it are: they neither carry
        // into it nor borrow from it.
        const std::uint64_t others = (digits | (word + ones * (0x7f - '9'))) & (ones * 0x80);
        if (others != 0) {
            const unsigned count = unsigned(std::countr_zero(others)) / 8;
            if (count == 0) return p;
            // Zeros move in before the digits, what follows them out.
            number = number * short_powers_of_ten[count] + eight_digits(digits << (64 - 8 * count));
            return p + count;
        }
        number = number * 100000000 + eight_digits(digits);
        p += 8;
    }
}

// The usual number, with at most 19 digits: returns its end, or nullptr where it is not of that
// kind.
inline const char* scan_short(const char* p, Decimal& number) {
    number.negative = *p == '-';
    p += *p == '-' || *p == '+';
    const char* const first = p;
    for (; is_digit(*p); ++p) number.mantissa = number.mantissa * 10 + digit(*p);
    std::ptrdiff_t n_digits = p - first;
    if (*p == '.') {
        const char* const fraction = ++p;
        p = append_digits(p, number.mantissa);
        number.exponent = fraction - p;
        n_digits += p - fraction;
    }
    if (n_digits == 0 || n_digits > most_digits) return nullptr;
    if (ends_token(*p)) return p;
    if ((*p | 0x20) != 'e') return nullptr;
    ++p;
    const bool negative = *p == '-';
    p += *p == '-' || *p == '+';
    const char* const power = p;
    int exponent = 0;
    for (; is_digit(*p) && p - power < 4; ++p) exponent = exponent * 10 + int(digit(*p));
    number.exponent += negative ? -exponent : exponent;
    return p != power && ends_token(*p) ? p : nullptr;
}

// Whether the token, without its sign, is a number in the syntax of Python's float(), but for
// underscores; infinities and nan apart.
inline bool scan_any(std::string_view token, Decimal& number) {
    std::size_t i = 0;
    int kept = 0;
    bool any = false;
    const auto take_digits = [&](bool fraction) {
        for (; i < token.size() && is_digit(token[i]); ++i) {
            any = true;
            if (kept == most_digits) {
                number.truncated = true;
                number.exponent += !fraction;
                continue;
            }
            number.mantissa = number.mantissa * 10 + digit(token[i]);
            number.exponent -= fraction;
            kept += number.mantissa != 0;
        }
    };
    take_digits(false);
    if (i < token.size() && token[i] == '.') {
        ++i;
        take_digits(true);
    }
    if (!any) return false;
    if (i == token.size()) return true;
    if ((token[i++] | 0x20) != 'e') return false;
    const bool negative = i < token.size() && token[i] == '-';
    i += i < token.size() && (token[i] == '-' || token[i] == '+');
    if (i == token.size()) return false;
    std::int64_t exponent = 0;
    for (; i < token.size() && is_digit(token[i]); ++i)
        if (exponent < std::numeric_limits<std::int64_t>::max() / 100)
            exponent = exponent * 10 + digit(token[i]);
    number.exponent += negative ? -exponent : exponent;
    return i == token.size();
}

// The double nearest to a token that scan_any accepts.
inline double nearest(std::string_view token, const Decimal& number) {
    if (number.mantissa == 0) return 0;
#if defined(__cpp_lib_to_chars)
    double value;
    const std::from_chars_result result =
        std::from_chars(token.data(), token.data() + token.size(), value);
    if (result.ec == std::errc()) return value;
    int n_digits = 0;
    for (std::uint64_t rest = number.mantissa; rest != 0; rest /= 10) ++n_digits;
    return number.exponent + n_digits > 0 ? std::numeric_limits<double>::infinity() : 0;
#else
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", locale_t());
    return strtod_l(std::string(token).c_str(), nullptr, plain);
#endif
}

// The double nearest to the number, where one operation on exact operands gives it.
inline bool to_double(const Decimal& number, double& value) {
    if (number.truncated || number.mantissa > (std::uint64_t(1) << 53)) return false;
    if (number.exponent < -exact_powers || number.exponent > exact_powers) return false;
    value = double(number.mantissa);
    if (number.exponent < 0) value /= powers_of_ten[-number.exponent];
    if (number.exponent > 0) value *= powers_of_ten[number.exponent];
    if (number.negative) value = -value;
    return true;
}

// The nearest double, rounded to float: found by way of a double that is at most 4 units off,
// unless that lies so close to the middle between two floats that it may be on the wrong side.
inline bool to_float(const Decimal& number, float& value) {
    if (number.exponent < -exact_powers || number.exponent > exact_powers) return false;
    double near = double(number.mantissa);
    if (number.exponent <= 0)
        near *= inverse_powers_of_ten[-number.exponent];  // quicker than a division
    else
        near *= powers_of_ten[number.exponent];
    if (number.mantissa != 0) {
        constexpr std::uint64_t dropped = (std::uint64_t(1) << 29) - 1, margin = 8;
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(near);
        if (((bits - (dropped + 1) / 2 + margin) & dropped) <= 2 * margin) return false;
        if (!(near >= std::numeric_limits<float>::min() && near < 1e38)) return false;
    }
    value = number.negative ? -float(near) : float(near);
    return true;
}

inline bool equals_ignoring_case(std::string_view token, std::string_view lower) {
    if (token.size() != lower.size()) return false;
    for (std::size_t i = 0; i < token.size(); ++i)
        if (!(token[i] == lower[i] || token[i] == lower[i] - 'a' + 'A')) return false;
    return true;
}

// Any number that Python's float() reads. False if the token is none.
inline bool parse_double(std::string_view token, double& value) {
    Decimal number;
    const bool is_signed = !token.empty() && (token[0] == '-' || token[0] == '+');
    number.negative = is_signed && token[0] == '-';
    token.remove_prefix(is_signed);
    if (scan_any(token, number)) {
        if (to_double(number, value)) return true;
        value = nearest(token, number);
    } else if (equals_ignoring_case(token, "inf") || equals_ignoring_case(token, "infinity")) {
        value = std::numeric_limits<double>::infinity();
    } else if (equals_ignoring_case(token, "nan")) {
        value = std::numeric_limits<double>::quiet_NaN();
    } else {
        return false;
    }
    if (number.negative) value = -value;
    return true;
}

// ----- lines -----------------------------------------------------------------------------------

class Parser {
  public:
    explicit Parser(SvmlightChunk& chunk) : chunk_(chunk) {}

    // Lines, the last of which has its line end; after it, eight more bytes can be read.
    void parse(const char* begin, const char* end) {
        // Written without asking for room: a feature takes at least four bytes, " 1:1".
        chunk_.indices.reserve(std::size_t(end - begin) / 4);
        chunk_.values.reserve(std::size_t(end - begin) / 4);
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
            if (*p == 'q') p = skip_blanks(skip_query(p));
            p = parse_features(p);
        }
        if (*p == '#') p = static_cast<const char*>(std::memchr(p, '\n', std::size_t(end_ - p)));
        return p + 1;
    }

    const char* parse_features(const char* p) {
        std::int32_t* const first_index = chunk_.indices.data() + chunk_.n_values;
        std::int32_t* index = first_index;
        float* value = chunk_.values.data() + chunk_.n_values;
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
                   "; files with several labels a row are not supported";
        if (token.find(':') != token.npos)
            return "expected a label at the beginning of the row, got " + quoted(token);
        return "expected a label, a number, got " + quoted(token);
    }

    // A query's number, which only ranking needs, is skipped as scikit-learn does.
    static const char* skip_query(const char* p) {
        const char* const end = skip_token(p);
        const std::string_view token(p, std::size_t(end - p));
        const bool is_query = token.starts_with("qid") && token.find(':') != token.npos;
        return is_query ? end : p;
    }

    // Moves p behind the colon.
    static std::int32_t parse_index(const char*& p, std::int32_t last) {
        const char* const first = p;
        std::int32_t index = 0;
        for (; is_digit(*p) && p - first < 9; ++p) index = index * 10 + std::int32_t(digit(*p));
        if (p == first || *p != ':') [[unlikely]]
            index = parse_any_index(first, p);
        if (index <= last) [[unlikely]]
            throw Failure{first, "index " + std::to_string(index) + " comes after " +
                                     std::to_string(last) +
                                     "; the indices of a row must be strictly increasing"};
        ++p;
        return index;
    }

    // One that is long, signed or wrong.
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

    // Returns where it ends.
    const char* parse_value(const char* p, float& value) {
        const char* end = p + 1;
        if (is_digit(*p) && *end != '.') {
            std::int32_t integer =
                std::int32_t(digit(*p));  // of at most 7 digits, which a float holds
            while (is_digit(*end) && end - p < 7)
                integer = integer * 10 + std::int32_t(digit(*end++));
            if (ends_token(*end)) {
                value = float(integer);
                return end;
            }
        }
        Decimal number;
        end = scan_short(p, number);
        if (end != nullptr && to_float(number, value)) [[likely]]
            return end;
        end = skip_token(p);
        value = parse_any_value(std::string_view(p, std::size_t(end - p)));
        if (!std::isfinite(value)) note_infinite(p);
        return end;
    }

    void note_infinite(const char* p) {
        if (chunk_.infinite_place.line == 0) chunk_.infinite_place = place(p);
    }

    static float parse_any_value(std::string_view token) {
        double value;
        if (!parse_double(token, value))
            throw Failure{token.data(), "expected a number after ':', got " + quoted(token)};
        return float(value);
    }

    SvmlightChunk& chunk_;
    const char* line_ = nullptr;
    const char* end_ = nullptr;
};

// After the text: a line end, and what append_digits reads beyond it.
inline constexpr std::size_t padding = 9;

// Whole lines in the chunk's own text, from first to size; the last may lack its line end.
inline void parse_own_text(SvmlightChunk& chunk, std::size_t first, std::size_t size) {
    chunk.text.reserve(size + padding, size);
    char* const text = chunk.text.data();
    std::fill_n(text + size, padding, '\n');
    if (size > first && text[size - 1] != '\n') ++size;
    Parser(chunk).parse(text + first, text + size);
}

}  // namespace svmlight

// How the label of a row is spelled.
inline std::string_view label_spelling(const SvmlightChunk& chunk, std::size_t row) {
    const char* const begin = chunk.text.data() + chunk.label_places[row];
    return {begin, std::size_t(svmlight::skip_token(begin) - begin)};
}

// Whole lines in parts; the last line may lack its line end.
inline void parse_svmlight(const std::vector<std::string_view>& parts, SvmlightChunk& chunk) {
    chunk.clear();
    std::size_t size = 0;
    for (const std::string_view part : parts) size += part.size();
    chunk.text.reserve(size + svmlight::padding);
    char* out = chunk.text.data();
    for (const std::string_view part : parts) out = std::copy(part.begin(), part.end(), out);
    svmlight::parse_own_text(chunk, 0, size);
}

// Those lines of a file that begin in [begin, end), by positioned reads, which threads can make
// side by side. A file that shrinks in the meantime just ends early.
inline void read_svmlight(int file, std::uint64_t begin, std::uint64_t end, SvmlightChunk& chunk) {
    chunk.clear();
    // A line begins where the file does, or after a line end.
    const std::uint64_t origin = begin == 0 ? 0 : begin - 1;
    Scratch<char>& text = chunk.text;
    std::size_t size = 0;
    const auto read_more = [&](std::size_t wanted) {  // false at the end of the file
        text.reserve(size + wanted, size);
        while (wanted > 0) {
            const ssize_t count = ::pread(file, text.data() + size, wanted, off_t(origin + size));
            if (count == 0) return false;
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) throw std::system_error(errno, std::generic_category());
            size += std::size_t(count);
            wanted -= std::size_t(count);
        }
        return true;
    };
    bool more = read_more(std::size_t(end - origin));
    std::size_t first = 0;
    if (begin != 0) {  // a line end in the last byte is the next chunk's affair
        const std::string_view head(text.data(), std::min(size, std::size_t(end - origin - 1)));
        first = head.find('\n') + 1;
        if (first == 0) return;
    }
    while (more && text.data()[size - 1] != '\n') {
        const std::size_t seen = size;
        more = read_more(size / 8 + 4096);
        const void* const found = std::memchr(text.data() + seen, '\n', size - seen);
        if (found == nullptr) continue;
        size = std::size_t(static_cast<const char*>(found) - text.data()) + 1;
        break;
    }
    svmlight::parse_own_text(chunk, first, size);
}

// ----- all rows --------------------------------------------------------------------------------

// An array that grows without being copied, where the system can (Linux).
template <class T>
class GrowingArray {
  public:
    explicit GrowingArray(std::size_t capacity) { resize_memory(capacity); }
    GrowingArray(GrowingArray&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    ~GrowingArray() { free_memory(); }

    T* data() { return data_; }
    const T* data() const { return data_; }
    std::size_t size() const { return size_; }

    // Room for n more, to be written at once.
    T* extend(std::size_t n) {
        if (bytes_ / sizeof(T) - size_ < n) resize_memory(size_ + std::max(size_ / 4, n));
        size_ += n;
        return data_ + (size_ - n);
    }
    void shrink_to_fit() { resize_memory(size_); }

  private:
    void resize_memory(std::size_t capacity) {
        if (capacity > (~std::size_t(0) >> 2) / sizeof(T)) throw std::bad_alloc();
        // Large pages are several times quicker to come by than small ones. Where the system has
        // none, nothing is lost: memory that is not used costs nothing.
        constexpr std::size_t page = 1 << 12, large_page = 1 << 21;
        std::size_t bytes = std::max(capacity * sizeof(T), std::size_t(1));
        const bool large = bytes >= large_page / 4 && bytes > bytes_;
        const std::size_t unit = large ? large_page : page;
        bytes = (bytes + unit - 1) / unit * unit;
        if (bytes == bytes_) return;
#if defined(__linux__)
        void* const memory = data_ == nullptr ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                              : ::mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        if (large) ::madvise(memory, bytes, MADV_HUGEPAGE);
#else
        void* const memory = std::realloc(data_, bytes);
        if (memory == nullptr) throw std::bad_alloc();
#endif
        data_ = static_cast<T*>(memory);
        bytes_ = bytes;
    }

    void free_memory() {
#if defined(__linux__)
        if (data_ != nullptr) ::munmap(data_, bytes_);
#else
        std::free(data_);
#endif
    }

    T* data_ = nullptr;
    std::size_t size_ = 0, bytes_ = 0;
};

// The rows of a file, chunk after chunk, as the arrays of a CSR matrix.
struct SvmlightRows {
    GrowingArray<double> labels;
    GrowingArray<std::int32_t> row_lengths;  // after a zero
    GrowingArray<std::int32_t> indices;      // from 0 on, if they were written from 1 on
    GrowingArray<float> values;

    // With memory for about so much text.
    explicit SvmlightRows(std::size_t n_bytes)
        : labels(n_bytes / 32), row_lengths(n_bytes / 32), indices(n_bytes / 8),
          values(n_bytes / 8) {
        *row_lengths.extend(1) = 0;
    }

    void append(const SvmlightChunk& chunk) {
        const std::size_t n_rows = chunk.row_lengths.size(), n_values = chunk.n_values;
        std::copy_n(chunk.labels.data(), n_rows, labels.extend(n_rows));
        std::copy_n(chunk.row_lengths.data(), n_rows, row_lengths.extend(n_rows));
        std::copy_n(chunk.values.data(), n_values, values.extend(n_values));
        std::transform(chunk.indices.data(), chunk.indices.data() + n_values,
                       indices.extend(n_values), [](std::int32_t index) { return index - 1; });
    }

    void finish(bool written_from_0) {
        if (written_from_0)
            for (std::size_t i = 0; i < indices.size(); ++i) ++indices.data()[i];
        labels.shrink_to_fit();
        row_lengths.shrink_to_fit();
        indices.shrink_to_fit();
        values.shrink_to_fit();
    }
};

}  // namespace pocketsvm
