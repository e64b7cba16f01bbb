// Numbers in text: fast paths for the usual ones, and exact rounding for all.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#if !defined(__cpp_lib_to_chars)  // libc++ has no std::from_chars for floating-point numbers
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace pocketsvm::text {

// ----- characters ------------------------------------------------------------------------------

// The same blanks as in Python's bytes.split().
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

// A token for an error message: printable ASCII of bounded length.
inline std::string quoted(std::string_view token) {
    constexpr std::size_t longest = 30;  // keeps the message on one line
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

// mantissa * 10^exponent, where the mantissa holds the first 19 significant digits.
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
inline constexpr std::uint64_t short_powers_of_ten[] = {1,     10,     100,     1000,
                                                        10000, 100000, 1000000, 10000000};

// The value of eight digits, the first of which is in the lowest byte.
inline std::uint64_t eight_digits(std::uint64_t digits) {
    const std::uint64_t pairs = digits * 10 + (digits >> 8);
    return ((pairs & 0x000000ff000000ff) * (100 + (std::uint64_t(1000000) << 32)) +
            ((pairs >> 16) & 0x000000ff000000ff) * (1 + (std::uint64_t(10000) << 32))) >>
           32;
}

// Appends the digits at p to the number, modulo 2^64, up to eight at a time, and returns their end.
// Reads up to eight bytes beyond it.
inline const char* append_digits(const char* p, std::uint64_t& number) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    for (;;) {
        std::uint64_t word;
        std::memcpy(&word, p, 8);
        if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
        const std::uint64_t digits = word - ones * '0';
        // The first marked byte is not a digit and those before it are: digits neither carry into
        // the next byte nor borrow from it.
        const std::uint64_t others = (digits | (word + ones * (0x7f - '9'))) & (ones * 0x80);
        if (others != 0) {
            const unsigned count = unsigned(std::countr_zero(others)) / 8;
            if (count == 0) return p;
            // Shifts zeros in before the digits, and what follows them out.
            number = number * short_powers_of_ten[count] + eight_digits(digits << (64 - 8 * count));
            return p + count;
        }
        number = number * 100000000 + eight_digits(digits);
        p += 8;
    }
}

// Scans a number of the usual form with at most 19 digits. Returns its end, or nullptr if it has
// another form.
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

// Whether the token, without its sign, is a finite number in the syntax of Python's float(), except
// for underscores.
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

// 10^-k for k up to 22, as mantissa * 2^exponent. The mantissa has 64 bits and is rounded down.
struct InversePower {
    std::uint64_t mantissa;
    int exponent;
};

inline constexpr auto inverse_powers_of_ten = [] {
    std::array<InversePower, exact_powers + 1> powers{};
    std::uint64_t power_of_five = 1;
    for (int k = 0; k <= exact_powers; ++k, power_of_five *= 5) {
        const int shift = 63 + std::bit_width(power_of_five);
        const unsigned __int128 most = (static_cast<unsigned __int128>(1) << shift) - 1;
        powers[std::size_t(k)] = {std::uint64_t(most / power_of_five), -shift - k};
    }
    return powers;
}();

// The double nearest to mantissa / 10^k. It rounds the upper half of a product, which is at most 2
// below the exact one, unless that is so close to the middle between two doubles that it may be on
// the wrong side.
inline bool divide(std::uint64_t mantissa, std::int64_t k, double& value) {
    const auto [power, exponent] = inverse_powers_of_ten[std::size_t(k)];
    const int n_zeros = std::countl_zero(mantissa | 1);
    const auto product = static_cast<unsigned __int128>(mantissa << n_zeros) * power;
    const auto upper = std::uint64_t(product >> 64);
    const int n_dropped = 10 + int(upper >> 63);  // 53 bits are left, the first of which is set
    const std::uint64_t middle = std::uint64_t(1) << (n_dropped - 1);
    const std::uint64_t dropped = upper & (2 * middle - 1);
    if (dropped - (middle - 1) <= 1) return false;
    const double nearest = double((upper >> n_dropped) + (dropped > middle));
    const int power_of_two = exponent + 64 - n_zeros + n_dropped;
    value = nearest * std::bit_cast<double>(std::uint64_t(1023 + power_of_two) << 52);
    return true;
}

// The double nearest to the number, if few operations give it.
inline bool to_double(const Decimal& number, double& value) {
    if (number.truncated) return false;
    if (number.exponent < -exact_powers || number.exponent > exact_powers) return false;
    if (number.mantissa <= std::uint64_t(1) << 53) {  // both operands are exact
        value = double(number.mantissa);
        if (number.exponent < 0) value /= powers_of_ten[-number.exponent];
        if (number.exponent > 0) value *= powers_of_ten[number.exponent];
    } else if (number.exponent > 0 || !divide(number.mantissa, -number.exponent, value)) {
        return false;
    }
    if (number.negative) value = -value;
    return true;
}

inline bool equals_ignoring_case(std::string_view token, std::string_view lower) {
    if (token.size() != lower.size()) return false;
    for (std::size_t i = 0; i < token.size(); ++i)
        if (!(token[i] == lower[i] || token[i] == lower[i] - 'a' + 'A')) return false;
    return true;
}

// Reads any number that Python's float() reads; returns false if the token is not a number.
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

}  // namespace pocketsvm::text
