// Sixteen lanes at a time: one register of AVX-512, two of AVX2, four of SSE2 or NEON.
//
// The file is compiled once per instruction set, each time into a namespace of its own
// (TABPE_ISA). Nothing here, and nothing that includes it, may use inline functions of the
// standard library: the linker keeps one copy of those, which could be the one with instructions
// that the machine does not have.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tabpe::TABPE_ISA {

constexpr int kLanes = 16;

#if defined(__AVX512F__)
constexpr int kRegisterBytes = 64;
#elif defined(__AVX2__)
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;
#endif

constexpr int kParts = kLanes * 4 / kRegisterBytes;

typedef float FloatPart __attribute__((vector_size(kRegisterBytes)));
typedef int32_t IntPart __attribute__((vector_size(kRegisterBytes)));
// The same in memory: at any address of a number, and over whatever lies there.
typedef float LooseFloatPart __attribute__((vector_size(kRegisterBytes), aligned(4), may_alias));
typedef int32_t LooseIntPart __attribute__((vector_size(kRegisterBytes), aligned(4), may_alias));

struct Floats {
    FloatPart part[kParts];
};
struct Ints {
    IntPart part[kParts];
};

#define TABPE_INLINE static inline __attribute__((always_inline))
#define TABPE_UNROLL _Pragma("GCC unroll 16")
#define TABPE_EACH_PART TABPE_UNROLL for (int p = 0; p < kParts; ++p)

TABPE_INLINE Floats load(const float* from) {
    Floats out;
    TABPE_EACH_PART out.part[p] = reinterpret_cast<const LooseFloatPart*>(from)[p];
    return out;
}
TABPE_INLINE Ints load(const int32_t* from) {
    Ints out;
    TABPE_EACH_PART out.part[p] = reinterpret_cast<const LooseIntPart*>(from)[p];
    return out;
}
TABPE_INLINE void store(float* to, const Floats& value) {
    TABPE_EACH_PART reinterpret_cast<LooseFloatPart*>(to)[p] = value.part[p];
}
TABPE_INLINE void store(int32_t* to, const Ints& value) {
    TABPE_EACH_PART reinterpret_cast<LooseIntPart*>(to)[p] = value.part[p];
}

TABPE_INLINE Floats all(float value) {
    Floats out;
    TABPE_EACH_PART out.part[p] = value - FloatPart{};  // adding zero would not keep -0
    return out;
}
TABPE_INLINE Ints all(int32_t value) {
    Ints out;
    TABPE_EACH_PART out.part[p] = IntPart{} + value;
    return out;
}

TABPE_INLINE Floats operator+(Floats a, const Floats& b) {
    TABPE_EACH_PART a.part[p] += b.part[p];
    return a;
}
TABPE_INLINE Floats operator-(Floats a, const Floats& b) {
    TABPE_EACH_PART a.part[p] -= b.part[p];
    return a;
}
TABPE_INLINE Floats operator*(Floats a, const Floats& b) {
    TABPE_EACH_PART a.part[p] *= b.part[p];
    return a;
}

TABPE_INLINE Floats larger(Floats a, const Floats& b) {
    TABPE_EACH_PART {
#if defined(__AVX512F__)
        a.part[p] = (FloatPart)_mm512_max_ps((__m512)a.part[p], (__m512)b.part[p]);
#elif defined(__AVX2__)
        a.part[p] = (FloatPart)_mm256_max_ps((__m256)a.part[p], (__m256)b.part[p]);
#else
        a.part[p] = a.part[p] > b.part[p] ? a.part[p] : b.part[p];
#endif
    }
    return a;
}
TABPE_INLINE Floats smaller(Floats a, const Floats& b) {
    TABPE_EACH_PART {
#if defined(__AVX512F__)
        a.part[p] = (FloatPart)_mm512_min_ps((__m512)a.part[p], (__m512)b.part[p]);
#elif defined(__AVX2__)
        a.part[p] = (FloatPart)_mm256_min_ps((__m256)a.part[p], (__m256)b.part[p]);
#else
        a.part[p] = a.part[p] < b.part[p] ? a.part[p] : b.part[p];
#endif
    }
    return a;
}

// By halves, so that the smaller ones of pairs are found side by side.
template <int kCount>
TABPE_INLINE Floats smallest_of(const Floats* from) {
    if constexpr (kCount == 1) return from[0];
    else return smaller(smallest_of<kCount / 2>(from), smallest_of<kCount / 2>(from + kCount / 2));
}

// a - b * c, with or without a rounding in between: only for scores whose error is bounded.
TABPE_INLINE Floats minus_product(Floats a, const Floats& b, const Floats& c) {
    TABPE_EACH_PART {
#if defined(__AVX512F__)
        a.part[p] = (FloatPart)_mm512_fnmadd_ps((__m512)b.part[p], (__m512)c.part[p], (__m512)a.part[p]);
#elif defined(__FMA__)
        a.part[p] = (FloatPart)_mm256_fnmadd_ps((__m256)b.part[p], (__m256)c.part[p], (__m256)a.part[p]);
#else
        a.part[p] -= b.part[p] * c.part[p];
#endif
    }
    return a;
}

// Masks are integers: all bits set where true.
TABPE_INLINE Ints less(const Floats& a, const Floats& b) {
    Ints out;
    TABPE_EACH_PART out.part[p] = a.part[p] < b.part[p];
    return out;
}
TABPE_INLINE Ints equal(const Floats& a, const Floats& b) {
    Ints out;
    TABPE_EACH_PART out.part[p] = a.part[p] == b.part[p];
    return out;
}
TABPE_INLINE Ints equal(const Ints& a, const Ints& b) {
    Ints out;
    TABPE_EACH_PART out.part[p] = a.part[p] == b.part[p];
    return out;
}
TABPE_INLINE Ints less(const Ints& a, const Ints& b) {
    Ints out;
    TABPE_EACH_PART out.part[p] = a.part[p] < b.part[p];
    return out;
}
TABPE_INLINE Ints differs(const Ints& a, const Ints& b) {
    Ints out;
    TABPE_EACH_PART out.part[p] = a.part[p] != b.part[p];
    return out;
}
TABPE_INLINE Ints operator&(Ints a, const Ints& b) {
    TABPE_EACH_PART a.part[p] &= b.part[p];
    return a;
}
TABPE_INLINE Ints operator|(Ints a, const Ints& b) {
    TABPE_EACH_PART a.part[p] |= b.part[p];
    return a;
}
TABPE_INLINE Ints operator-(Ints a, const Ints& b) {
    TABPE_EACH_PART a.part[p] -= b.part[p];
    return a;
}
TABPE_INLINE Floats choose(const Ints& mask, const Floats& yes, Floats no) {
    TABPE_EACH_PART no.part[p] = mask.part[p] ? yes.part[p] : no.part[p];
    return no;
}
TABPE_INLINE Ints choose(const Ints& mask, const Ints& yes, Ints no) {
    TABPE_EACH_PART no.part[p] = mask.part[p] ? yes.part[p] : no.part[p];
    return no;
}

TABPE_INLINE Floats to_floats(const Ints& a) {
    Floats out;
    TABPE_EACH_PART out.part[p] = __builtin_convertvector(a.part[p], FloatPart);
    return out;
}
TABPE_INLINE Ints from_bytes(const uint8_t* bytes) {
    int32_t wide[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) wide[lane] = bytes[lane];
    return load(wide);
}

// One bit per lane: whether a > b does not hold. Lanes that are no numbers count as not above.
TABPE_INLINE uint32_t not_above(const Floats& a, const Floats& b) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask((__m512)a.part[0], (__m512)b.part[0], _CMP_NGT_UQ);
#elif defined(__AVX2__)
    uint32_t bits = 0;
    TABPE_EACH_PART bits |= uint32_t(_mm256_movemask_ps(_mm256_cmp_ps(
                                (__m256)a.part[p], (__m256)b.part[p], _CMP_NGT_UQ))) << (8 * p);
    return bits;
#else
    uint32_t bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
        const int p = lane / (kLanes / kParts), place = lane % (kLanes / kParts);
        bits |= uint32_t(!(a.part[p][place] > b.part[p][place])) << lane;
    }
    return bits;
#endif
}

TABPE_INLINE float largest_lane(const Floats& a) {
    float lanes[kLanes];
    store(lanes, a);
    float top = lanes[0];
    for (int lane = 1; lane < kLanes; ++lane) top = lanes[lane] > top ? lanes[lane] : top;
    return top;
}

// Thirty-two bytes at a time, for the codes of categories.
typedef uint8_t Bytes __attribute__((vector_size(32)));
constexpr int kByteLanes = 32;
constexpr int kByteParts = kRegisterBytes < 32 ? 2 : 1;

TABPE_INLINE Bytes load_bytes(const uint8_t* from) {
    Bytes out;
    std::memcpy(&out, from, sizeof out);
    return out;
}
TABPE_INLINE uint32_t equal_bits(const Bytes& a, const Bytes& b) {
#if defined(__AVX2__)
    return uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8((__m256i)a, (__m256i)b)));
#else
    uint32_t bits = 0;
    for (int lane = 0; lane < kByteLanes; ++lane) bits |= uint32_t(a[lane] == b[lane]) << lane;
    return bits;
#endif
}
TABPE_INLINE Bytes smaller(const Bytes& a, const Bytes& b) {
#if defined(__AVX2__)
    return (Bytes)_mm256_min_epu8((__m256i)a, (__m256i)b);
#else
    return a < b ? a : b;
#endif
}

}  // namespace tabpe::TABPE_ISA
