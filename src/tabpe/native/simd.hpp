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

// Sixteen numbers that lie `stride` apart.
TABPE_INLINE Floats load_apart(const float* from, int stride) {
#if defined(__AVX512F__)
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i place = _mm512_mullo_epi32(lane, _mm512_set1_epi32(stride));
    return {{(FloatPart)_mm512_i32gather_ps(place, from, sizeof(float))}};
#else
    float lanes[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = from[int64_t(lane) * stride];
    return load(lanes);
#endif
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
TABPE_INLINE Ints equal(const Ints& a, const Ints& b) {
    Ints out;
    TABPE_EACH_PART out.part[p] = a.part[p] == b.part[p];
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
TABPE_INLINE Ints operator-(Ints a, const Ints& b) {
    TABPE_EACH_PART a.part[p] -= b.part[p];
    return a;
}
TABPE_INLINE Floats choose(const Ints& mask, const Floats& yes, Floats no) {
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
    constexpr int kEach = kLanes / kParts;
    IntPart found{}, lane_bit{};
    for (int lane = 0; lane < kEach; ++lane) lane_bit[lane] = 1 << lane;
    TABPE_EACH_PART found |= ~(a.part[p] > b.part[p]) & (lane_bit << (kEach * p));
    uint32_t bits = 0;
    for (int lane = 0; lane < kEach; ++lane) bits |= uint32_t(found[lane]);
    return bits;
#endif
}

TABPE_INLINE float largest_lane(const Floats& a) {
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps((__m512)a.part[0]);
#else
    float lanes[kLanes];
    store(lanes, a);
    for (int half = kLanes / 2; half; half /= 2)
        for (int lane = 0; lane < half; ++lane)
            lanes[lane] = lanes[lane + half] > lanes[lane] ? lanes[lane + half] : lanes[lane];
    return lanes[0];
#endif
}
TABPE_INLINE float smallest_lane(const Floats& a) { return -largest_lane(all(-0.0f) - a); }

// Thirty-two bytes at a time, for the codes of categories.
constexpr int kByteLanes = 32;
constexpr int kByteParts = kRegisterBytes < kByteLanes ? 2 : 1;
typedef uint8_t BytePart __attribute__((vector_size(kByteLanes / kByteParts)));
typedef uint8_t LooseBytePart __attribute__((vector_size(kByteLanes / kByteParts), aligned(1), may_alias));

struct Bytes {
    BytePart part[kByteParts];
};

#define TABPE_EACH_BYTE_PART TABPE_UNROLL for (int p = 0; p < kByteParts; ++p)

TABPE_INLINE Bytes load_bytes(const uint8_t* from) {
    Bytes out;
    TABPE_EACH_BYTE_PART out.part[p] = reinterpret_cast<const LooseBytePart*>(from)[p];
    return out;
}
TABPE_INLINE void store(uint8_t* to, const Bytes& value) {
    TABPE_EACH_BYTE_PART reinterpret_cast<LooseBytePart*>(to)[p] = value.part[p];
}
TABPE_INLINE Bytes all_bytes(uint8_t value) {
    Bytes out;
    TABPE_EACH_BYTE_PART out.part[p] = BytePart{} + value;
    return out;
}
// All bits set, which is -1, where equal.
TABPE_INLINE Bytes equal(Bytes a, const Bytes& b) {
    TABPE_EACH_BYTE_PART a.part[p] = (BytePart)(a.part[p] == b.part[p]);
    return a;
}
TABPE_INLINE Bytes operator+(Bytes a, const Bytes& b) {
    TABPE_EACH_BYTE_PART a.part[p] += b.part[p];
    return a;
}
TABPE_INLINE Bytes smaller(Bytes a, const Bytes& b) {
    TABPE_EACH_BYTE_PART a.part[p] = a.part[p] < b.part[p] ? a.part[p] : b.part[p];
    return a;
}
TABPE_INLINE uint32_t equal_bits(const Bytes& a, const Bytes& b) {
    const Bytes same = equal(a, b);
#if defined(__AVX2__)
    return uint32_t(_mm256_movemask_epi8((__m256i)same.part[0]));
#else
    // Keeps bit i of byte i in eight bytes and adds the bytes up, in the highest one.
    uint64_t words[kByteLanes / 8];
    std::memcpy(words, &same, sizeof words);
    uint32_t bits = 0;
    for (int i = 0; i < kByteLanes / 8; ++i)
        bits |= uint32_t(((words[i] & 0x8040201008040201u) * 0x0101010101010101u) >> 56) << (8 * i);
    return bits;
#endif
}

}  // namespace tabpe::TABPE_ISA
