// Lanes: sixteen floats or eight doubles, one cache line, the unit of all vector operations.
//
// They take one AVX-512 register, two of AVX2, four of SSE or NEON. Arithmetic uses the compiler's
// vector types; only what those lack (fused multiply-add, gather) is written per instruction set.
// The compiler never contracts: a multiply-add is fused exactly where multiply_add is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(POCKETSVM_NEON)
#include <arm_neon.h>
#endif

#ifndef POCKETSVM_SET
#error "define POCKETSVM_SET: the namespace of the instruction set"
#endif

#define POCKETSVM_INLINE inline __attribute__((always_inline))
#define POCKETSVM_INLINE_LAMBDA __attribute__((always_inline))

namespace pocketsvm::POCKETSVM_SET {

#if defined(POCKETSVM_AVX512)
constexpr int register_bytes = 64;
#elif defined(POCKETSVM_AVX2)
constexpr int register_bytes = 32;
#else
constexpr int register_bytes = 16;
#endif
constexpr int lane_bytes = 64;

template <class Real>
struct Registers {};

template <>
struct Registers<float> {
    typedef float Value __attribute__((vector_size(register_bytes)));
    typedef std::int32_t Bits __attribute__((vector_size(register_bytes)));
    using Integer = std::int32_t;
};

template <>
struct Registers<double> {
    typedef double Value __attribute__((vector_size(register_bytes)));
    typedef std::int64_t Bits __attribute__((vector_size(register_bytes)));
    using Integer = std::int64_t;
};

// a b + c, fused if the instruction set can, both in lanes and for single numbers.
#if defined(POCKETSVM_AVX512)
POCKETSVM_INLINE __m512 fused(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
POCKETSVM_INLINE __m512d fused(__m512d a, __m512d b, __m512d c) { return _mm512_fmadd_pd(a, b, c); }
#elif defined(POCKETSVM_AVX2)
POCKETSVM_INLINE __m256 fused(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
POCKETSVM_INLINE __m256d fused(__m256d a, __m256d b, __m256d c) { return _mm256_fmadd_pd(a, b, c); }
#elif defined(POCKETSVM_NEON)
POCKETSVM_INLINE float32x4_t fused(float32x4_t a, float32x4_t b, float32x4_t c) {
    return vfmaq_f32(c, a, b);
}
POCKETSVM_INLINE float64x2_t fused(float64x2_t a, float64x2_t b, float64x2_t c) {
    return vfmaq_f64(c, a, b);
}
#else
template <class Value>
POCKETSVM_INLINE Value fused(Value a, Value b, Value c) {
    return a * b + c;
}
#endif

// The smaller and the larger number; the second if one of them is NaN. One instruction of x86 does
// just that, but compilers would emit two. (Masked: see gather_two.)
#if defined(POCKETSVM_AVX512)
POCKETSVM_INLINE __m512 smaller(__m512 a, __m512 b) { return _mm512_maskz_min_ps(0xffff, a, b); }
POCKETSVM_INLINE __m512d smaller(__m512d a, __m512d b) { return _mm512_maskz_min_pd(0xff, a, b); }
POCKETSVM_INLINE __m512 larger(__m512 a, __m512 b) { return _mm512_maskz_max_ps(0xffff, a, b); }
POCKETSVM_INLINE __m512d larger(__m512d a, __m512d b) { return _mm512_maskz_max_pd(0xff, a, b); }
#elif defined(POCKETSVM_AVX2)
POCKETSVM_INLINE __m256 smaller(__m256 a, __m256 b) { return _mm256_min_ps(a, b); }
POCKETSVM_INLINE __m256d smaller(__m256d a, __m256d b) { return _mm256_min_pd(a, b); }
POCKETSVM_INLINE __m256 larger(__m256 a, __m256 b) { return _mm256_max_ps(a, b); }
POCKETSVM_INLINE __m256d larger(__m256d a, __m256d b) { return _mm256_max_pd(a, b); }
#elif defined(__x86_64__)
POCKETSVM_INLINE __m128 smaller(__m128 a, __m128 b) { return _mm_min_ps(a, b); }
POCKETSVM_INLINE __m128d smaller(__m128d a, __m128d b) { return _mm_min_pd(a, b); }
POCKETSVM_INLINE __m128 larger(__m128 a, __m128 b) { return _mm_max_ps(a, b); }
POCKETSVM_INLINE __m128d larger(__m128d a, __m128d b) { return _mm_max_pd(a, b); }
#else
template <class Value>
POCKETSVM_INLINE Value smaller(Value a, Value b) {
    return a < b ? a : b;
}
template <class Value>
POCKETSVM_INLINE Value larger(Value a, Value b) {
    return a > b ? a : b;
}
#endif

#if defined(__x86_64__)
POCKETSVM_INLINE double smaller(double a, double b) {
    return _mm_cvtsd_f64(_mm_min_sd(_mm_set_sd(a), _mm_set_sd(b)));
}
POCKETSVM_INLINE double larger(double a, double b) {
    return _mm_cvtsd_f64(_mm_max_sd(_mm_set_sd(a), _mm_set_sd(b)));
}
#endif

#if defined(POCKETSVM_AVX512) || defined(POCKETSVM_AVX2) || defined(POCKETSVM_NEON)
POCKETSVM_INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
POCKETSVM_INLINE double multiply_add(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}
#else
POCKETSVM_INLINE float multiply_add(float a, float b, float c) { return a * b + c; }
POCKETSVM_INLINE double multiply_add(double a, double b, double c) { return a * b + c; }
#endif

// One bit per lane with AVX-512, else lanes that are all ones or all zeros.
template <class Real>
struct Mask {
#if defined(POCKETSVM_AVX512)
    std::uint16_t part[1];
#else
    typename Registers<Real>::Bits part[lane_bytes / register_bytes];
#endif
};

#if defined(POCKETSVM_AVX512)
POCKETSVM_INLINE std::uint16_t at_most(__m512 a, __m512 b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}
POCKETSVM_INLINE std::uint16_t at_most(__m512d a, __m512d b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_LE_OQ);
}
POCKETSVM_INLINE std::uint16_t above(__m512 a, __m512 b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
POCKETSVM_INLINE std::uint16_t above(__m512d a, __m512d b) {
    return _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ);
}
POCKETSVM_INLINE __m512 choose(std::uint16_t mask, __m512 a, __m512 b) {
    return _mm512_mask_blend_ps(mask, b, a);
}
POCKETSVM_INLINE __m512d choose(std::uint16_t mask, __m512d a, __m512d b) {
    return _mm512_mask_blend_pd(__mmask8(mask), b, a);
}
#else
template <class Value>
POCKETSVM_INLINE auto at_most(Value a, Value b) {
    return a <= b;
}
template <class Value>
POCKETSVM_INLINE auto above(Value a, Value b) {
    return a > b;
}
template <class Bits, class Value>
POCKETSVM_INLINE Value choose(Bits mask, Value a, Value b) {
    return mask ? a : b;
}
#endif

template <class Real>
POCKETSVM_INLINE Mask<Real> operator&(Mask<Real> a, const Mask<Real>& b) {
    for (int p = 0; p < lane_bytes / register_bytes; ++p) a.part[p] &= b.part[p];
    return a;
}

// One bit per lane.
template <class Real>
POCKETSVM_INLINE std::uint32_t bits(const Mask<Real>& mask) {
    constexpr int per_part = register_bytes / sizeof(Real);
    std::uint32_t all = 0;
    for (int p = 0; p < lane_bytes / register_bytes; ++p) {
#if defined(POCKETSVM_AVX512)
        const std::uint32_t some = mask.part[p];
#elif defined(POCKETSVM_AVX2)
        const std::uint32_t some = sizeof(Real) == 4
                                       ? std::uint32_t(_mm256_movemask_ps((__m256)mask.part[p]))
                                       : std::uint32_t(_mm256_movemask_pd((__m256d)mask.part[p]));
#else
        std::uint32_t some = 0;
        for (int i = 0; i < per_part; ++i) some |= std::uint32_t(mask.part[p][i] != 0) << i;
#endif
        all |= some << (p * per_part);
    }
    return all;
}

template <class RealType>
struct Lanes {
    using Real = RealType;
    using Value = typename Registers<Real>::Value;
    using Bits = typename Registers<Real>::Bits;
    using Integer = typename Registers<Real>::Integer;
    static constexpr int count = lane_bytes / sizeof(Real);
    static constexpr int parts = lane_bytes / register_bytes;
    static constexpr int per_part = count / parts;

    Value part[parts];

    template <class Function>
    static POCKETSVM_INLINE Lanes each(Function function) {
        Lanes result;
        for (int p = 0; p < parts; ++p) result.part[p] = function(p);
        return result;
    }
    static POCKETSVM_INLINE Lanes all(Real value) {
        return each([&](int) { return value - Value{}; });
    }
    // From memory that is aligned to 64 bytes.
    static POCKETSVM_INLINE Lanes load(const Real* from) {
        return each([&](int p) { return reinterpret_cast<const Value*>(from)[p]; });
    }
    static POCKETSVM_INLINE Lanes load_anywhere(const Real* from) {
        return each([&](int p) {
            Value value;  // one copy per register: GCC moves a larger one through the stack
            __builtin_memcpy(&value, from + p * per_part, register_bytes);
            return value;
        });
    }
    template <class Other>
    static POCKETSVM_INLINE Lanes convert(const Other* from) {
        Lanes result;
        for (int p = 0; p < parts; ++p)
            for (int i = 0; i < per_part; ++i) result.part[p][i] = Real(from[p * per_part + i]);
        return result;
    }
    POCKETSVM_INLINE void store(Real* to) const {
        for (int p = 0; p < parts; ++p) reinterpret_cast<Value*>(to)[p] = part[p];
    }

    friend POCKETSVM_INLINE Lanes operator+(Lanes a, Lanes b) {
        return each([&](int p) { return a.part[p] + b.part[p]; });
    }
    friend POCKETSVM_INLINE Lanes operator-(Lanes a, Lanes b) {
        return each([&](int p) { return a.part[p] - b.part[p]; });
    }
    friend POCKETSVM_INLINE Lanes operator*(Lanes a, Lanes b) {
        return each([&](int p) { return a.part[p] * b.part[p]; });
    }
    friend POCKETSVM_INLINE Lanes operator/(Lanes a, Lanes b) {
        return each([&](int p) { return a.part[p] / b.part[p]; });
    }
    friend POCKETSVM_INLINE Lanes multiply_add(Lanes a, Lanes b, Lanes c) {
        return each([&](int p) { return fused(a.part[p], b.part[p], c.part[p]); });
    }
    friend POCKETSVM_INLINE Lanes min(Lanes a, Lanes b) {
        return each([&](int p) { return smaller(a.part[p], b.part[p]); });
    }
    friend POCKETSVM_INLINE Lanes max(Lanes a, Lanes b) {
        return each([&](int p) { return larger(a.part[p], b.part[p]); });
    }
    friend POCKETSVM_INLINE Lanes abs(Lanes a) {
        constexpr Integer sign = Integer(1) << (8 * sizeof(Real) - 1);
        return each([&](int p) { return (Value)((Bits)a.part[p] & ~sign); });
    }
    friend POCKETSVM_INLINE Mask<Real> operator<=(Lanes a, Lanes b) {
        Mask<Real> mask;
        for (int p = 0; p < parts; ++p) mask.part[p] = at_most(a.part[p], b.part[p]);
        return mask;
    }
    friend POCKETSVM_INLINE Mask<Real> operator>(Lanes a, Lanes b) {
        Mask<Real> mask;
        for (int p = 0; p < parts; ++p) mask.part[p] = above(a.part[p], b.part[p]);
        return mask;
    }
    friend POCKETSVM_INLINE Lanes select(Mask<Real> mask, Lanes a, Lanes b) {
        return each([&](int p) { return choose(mask.part[p], a.part[p], b.part[p]); });
    }

    POCKETSVM_INLINE Real sum() const {
        return fold([](Value a, Value b) { return a + b; });
    }
    POCKETSVM_INLINE Real least() const {
        return fold([](Value a, Value b) { return smaller(a, b); });
    }

  private:
    // Combines halves until one number is left: the same order for every instruction set.
    template <class Combine>
    POCKETSVM_INLINE Real fold(Combine combine) const {
        Lanes rest = *this;
        for (int half = parts / 2; half > 0; half /= 2)
            for (int p = 0; p < half; ++p)
                rest.part[p] = combine(rest.part[p], rest.part[p + half]);
        return fold_part<per_part / 2>(rest.part[0], combine)[0];
    }
    template <int half, class Combine>
    static POCKETSVM_INLINE Value fold_part(Value value, Combine combine) {
        if constexpr (half == 0)
            return value;
        else
            return fold_part<half / 2>(
                combine(value, rotated<half>(value, std::make_integer_sequence<int, per_part>())),
                combine);
    }
    template <int by, int... lane>
    static POCKETSVM_INLINE Value rotated(Value value, std::integer_sequence<int, lane...>) {
        return __builtin_shufflevector(value, value, (lane + by) % per_part...);
    }
};

// As many floats as a register holds doubles, as doubles. (Masked: see gather_two.)
#if defined(POCKETSVM_AVX512)
POCKETSVM_INLINE __m512d widened(const float* from) {
    return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(from));
}
#elif defined(POCKETSVM_AVX2)
POCKETSVM_INLINE __m256d widened(const float* from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }
#else
POCKETSVM_INLINE Registers<double>::Value widened(const float* from) {
    return Registers<double>::Value{from[0], from[1]};
}
#endif

// Eight doubles, or eight floats as doubles, from anywhere.
POCKETSVM_INLINE Lanes<double> doubles_from(const double* from) {
    return Lanes<double>::load_anywhere(from);
}
POCKETSVM_INLINE Lanes<double> doubles_from(const float* from) {
    return Lanes<double>::each([&](int p) { return widened(from + p * Lanes<double>::per_part); });
}

// The least of lanes(0), lanes(count), ... before `end`. Two independent minima hide latency.
template <class Real, class Function>
POCKETSVM_INLINE Real least_of(std::size_t end, Function lanes) {
    using L = Lanes<Real>;
    L a = L::all(__builtin_huge_val()), b = a;
    std::size_t at = 0;
    for (; at + L::count < end; at += 2 * L::count) {
        a = min(a, lanes(at));
        b = min(b, lanes(at + L::count));
    }
    if (at < end) a = min(a, lanes(at));
    return min(a, b).least();
}

// Calls the function with every position where a or b is not zero, in order. It tests a whole word
// of positions before it branches.
template <class Real, class Function>
POCKETSVM_INLINE void for_each_nonzero(const Real* a, const Real* b, std::size_t count,
                                       Function function) {
    using L = Lanes<Real>;
    constexpr std::size_t word = 64;
    for (std::size_t begin = 0; begin < count; begin += word) {
        const std::size_t end = count - begin < word ? count : begin + word;
        std::uint64_t left = 0;
        std::size_t k = begin;
        for (; k + L::count <= end; k += L::count) {
            const L size = max(abs(L::load_anywhere(a + k)), abs(L::load_anywhere(b + k)));
            left |= std::uint64_t(bits(size > L::all(0))) << (k - begin);
        }
        for (; k < end; ++k) left |= std::uint64_t(a[k] != 0 || b[k] != 0) << (k - begin);
        for (; left != 0; left &= left - 1) function(begin + std::size_t(__builtin_ctzll(left)));
    }
}

// The integer part of non-negative lanes, as lanes and as indices.
template <class L>
struct Floor {
    L value;
    typename L::Bits index[L::parts];
};

template <class L>
POCKETSVM_INLINE Floor<L> floor_below(L x, typename L::Real limit) {
    Floor<L> result;
    const L clamped = min(x, L::all(limit));
    for (int p = 0; p < L::parts; ++p) {
        result.index[p] = __builtin_convertvector(clamped.part[p], typename L::Bits);
        result.value.part[p] = __builtin_convertvector(result.index[p], typename L::Value);
    }
    return result;
}

// table[index] and table[index + 1]. Two adjacent floats are loaded as one word of 8 bytes, because
// a gather costs as much as its number of loads.
template <class Real>
struct Neighbours {
    Lanes<Real> left, right;
};

#if defined(POCKETSVM_AVX512)
// (Masked, because GCC 12 warns of an unused value in its plain gathers.)
typedef std::int32_t Indices __attribute__((vector_size(64)));
POCKETSVM_INLINE void gather_two(const float* table, __m512i index, __m512& left, __m512& right) {
    alignas(64) std::int32_t at[16];
    _mm512_store_si512(at, index);
    const auto pair = [&](int k) {
        long long both;
        __builtin_memcpy(&both, table + at[k], 8);
        return both;
    };
    const __m512 low = (__m512)_mm512_setr_epi64(pair(0), pair(1), pair(2), pair(3), pair(4),
                                                 pair(5), pair(6), pair(7));
    const __m512 high = (__m512)_mm512_setr_epi64(pair(8), pair(9), pair(10), pair(11), pair(12),
                                                  pair(13), pair(14), pair(15));
    const __m512i even =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i odd =
        _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    left = _mm512_permutex2var_ps(low, even, high);
    right = _mm512_permutex2var_ps(low, odd, high);
}
POCKETSVM_INLINE void gather_two(const double* table, __m512i index, __m512d& left,
                                 __m512d& right) {
    left = _mm512_mask_i64gather_pd(__m512d{}, 0xff, index, table, 8);
    right = _mm512_mask_i64gather_pd(__m512d{}, 0xff, index, table + 1, 8);
}
#elif defined(POCKETSVM_AVX2)
POCKETSVM_INLINE void gather_two(const float* table, __m256i index, __m256& left, __m256& right) {
    const double* pairs = reinterpret_cast<const double*>(table);
    const __m256d all = (__m256d)_mm256_set1_epi64x(-1);
    const __m256 low =
        (__m256)_mm256_mask_i32gather_pd(__m256d{}, pairs, _mm256_castsi256_si128(index), all, 4);
    const __m256 high = (__m256)_mm256_mask_i32gather_pd(
        __m256d{}, pairs, _mm256_extracti128_si256(index, 1), all, 4);
    const auto in_order = [](__m256 x) { return (__m256)_mm256_permute4x64_pd((__m256d)x, 0xd8); };
    left = in_order(_mm256_shuffle_ps(low, high, 0x88));
    right = in_order(_mm256_shuffle_ps(low, high, 0xdd));
}
POCKETSVM_INLINE void gather_two(const double* table, __m256i index, __m256d& left,
                                 __m256d& right) {
    const __m256d all = (__m256d)_mm256_set1_epi64x(-1);
    left = _mm256_mask_i64gather_pd(__m256d{}, table, index, all, 8);
    right = _mm256_mask_i64gather_pd(__m256d{}, table + 1, index, all, 8);
}
#endif

template <class Real>
POCKETSVM_INLINE Neighbours<Real> gather_neighbours(
    const Real* table, const typename Lanes<Real>::Bits (&index)[Lanes<Real>::parts]) {
    using L = Lanes<Real>;
    Neighbours<Real> result;
    for (int p = 0; p < L::parts; ++p) {
#if defined(POCKETSVM_AVX512)
        gather_two(table, (__m512i)index[p], result.left.part[p], result.right.part[p]);
#elif defined(POCKETSVM_AVX2)
        gather_two(table, (__m256i)index[p], result.left.part[p], result.right.part[p]);
#else
        for (int i = 0; i < L::per_part; ++i) {
            result.left.part[p][i] = table[index[p][i]];
            result.right.part[p][i] = table[index[p][i] + 1];
        }
#endif
    }
    return result;
}

constexpr double log2_e = 1.4426950408889634;

// The exponential to the base 2, for t >= 0:
//   2^-t = 2^-n 2^-f with n = round(t) and 2^-f - 1 = f P(f) on |f| <= 1/2.
// P minimises the largest relative error of f P(f): 1.1e-8 for float, 1.8e-17 for double.
template <class Real>
struct ExponentialPolynomial {};

template <>
struct ExponentialPolynomial<float> {
    static constexpr float round = 12582912.0f;  // 1.5 x 2^23: adding it leaves n in the low bits
    static constexpr float largest = 125.0f;     // 2^-t stays a normal number
    static constexpr int mantissa = 23;
    static constexpr float coefficients[] = {1.54035123675535462e-4f, -1.3390735477607874e-3f,
                                             9.61823749490701427e-3f, -5.55035743364265986e-2f,
                                             2.40226497949622649e-1f, -6.93147187926693062e-1f};
};

template <>
struct ExponentialPolynomial<double> {
    static constexpr double round = 6755399441055744.0;  // 1.5 x 2^52
    static constexpr double largest = 1021.0;
    static constexpr int mantissa = 52;
    static constexpr double coefficients[] = {
        -4.44553722815444273e-10, 7.07256170193032051e-9,  -1.01781212991657044e-7,
        1.32154427242311276e-6,   -1.52527337012146565e-5, 1.54035304414806799e-4,
        -1.33335581465316329e-3,  9.61812910760706567e-3,  -5.55041086648212365e-2,
        2.40226506959100979e-1,   -6.93147180559945311e-1};
};

template <class L>
struct SplitExponential {
    L fraction;                        // 2^-f - 1
    typename L::Bits shift[L::parts];  // n, in the place of the exponent
};

template <class L>
POCKETSVM_INLINE SplitExponential<L> split_exponential(L t) {
    using P = ExponentialPolynomial<typename L::Real>;
    const L shifted = t + L::all(P::round);
    const L f = t - (shifted - L::all(P::round));
    L p = L::all(P::coefficients[0]);
    for (std::size_t i = 1; i < sizeof(P::coefficients) / sizeof(P::coefficients[0]); ++i)
        p = multiply_add(p, f, L::all(P::coefficients[i]));
    SplitExponential<L> result;
    result.fraction = p * f;
    for (int i = 0; i < L::parts; ++i)
        result.shift[i] = (typename L::Bits)shifted.part[i] << P::mantissa;
    return result;
}

// 2^-t for 0 <= t <= ExponentialPolynomial::largest.
template <class L>
POCKETSVM_INLINE L exp2_minus(L t) {
    const SplitExponential<L> split = split_exponential(t);
    const L y = split.fraction + L::all(1);
    return L::each(
        [&](int p) { return (typename L::Value)((typename L::Bits)y.part[p] - split.shift[p]); });
}

// 1 - 2^-t, to full relative precision even if t is small.
template <class L>
POCKETSVM_INLINE L one_minus_exp2_minus(L t) {
    const SplitExponential<L> split = split_exponential(t);
    const L one = L::all(1);
    const L power = L::each(
        [&](int p) { return (typename L::Value)((typename L::Bits)one.part[p] - split.shift[p]); });
    return (one - power) - power * split.fraction;
}

}  // namespace pocketsvm::POCKETSVM_SET
