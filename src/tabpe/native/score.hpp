// Scores: a quick look at many candidates that tells which of them to measure.
//
// The score of a candidate for a row is half its squared norm minus the product with the row, plus
// half the weight of differing categories: one fused operation per number instead of three. Half the
// distance is the score plus half the squared norm of the row, but for rounding. So scores never decide;
// they only leave out what can not be among the nearest, and `measure` computes the rest as distances
// proper, in the order of operations that every engine keeps.
//
// Why the margin is enough. Write u = 2^-24, n = number of columns + 8, g = n u / (1 - n u), C for the
// largest norm of a candidate, w for the weight times the number of categorical columns, and
// S = 2 |x|^2 + 2 C^2 + w, which no true distance D exceeds. A computed distance is D (1 + t) with |t| <= g:
// it is a sum of terms that are not negative, each with fewer than n roundings. A computed score is off
// by at most E = g (C^2 / 2 + |x| C + w / 2) <= g S / 2, fused or not. So a candidate whose computed
// distance is at most L has D <= L + 2 g S and a computed score of at most (L - |x|^2) / 2 + 1.5 g S. And
// if b has the smallest score and a is nearest, D(a) (1 - g) <= D(b) (1 + g), so that D(a) <= D(b) + 3 g S
// and score(a) <= score(b) + 2 E + 1.5 g S <= score(b) + 2.5 g S. The margin is 4 g S, and a little for
// numbers that vanish: what is left covers the rounding of the limits themselves.
#pragma once

#include "block.hpp"

namespace tabpe::TABPE_ISA {

// Scores of candidates first .. first + kGroup - 1 of a tile for kVectors blocks of sixteen rows.
template <int kVectors, int kGroup>
TABPE_INLINE void scores(const Candidates& c, int64_t tile, int first, const Block* block,
                         Floats (&sum)[kVectors][kGroup]) {
    const float* half_norms = c.half_norms + tile * kTile + first;
    TABPE_UNROLL for (int u = 0; u < kGroup; ++u)
        TABPE_UNROLL for (int v = 0; v < kVectors; ++v) sum[v][u] = all(half_norms[u]);
    const float* numbers = c.numbers + tile * c.number_columns * kTile;
    for (int j = 0; j < c.number_columns; ++j) {
        Floats x[kVectors];
        TABPE_UNROLL for (int v = 0; v < kVectors; ++v) x[v] = load(block[v].numbers + j * kTile);
        TABPE_UNROLL for (int u = 0; u < kGroup; ++u) {
            const Floats number = all(numbers[j * kTile + first + u]);
            TABPE_UNROLL for (int v = 0; v < kVectors; ++v)
                sum[v][u] = minus_product(sum[v][u], x[v], number);
        }
    }
    const int32_t* codes = c.codes + tile * c.code_columns * kTile;
    const Floats half = all(0.5f * c.weight), zero = all(0.0f);
    for (int j = 0; j < c.code_columns; ++j)
        TABPE_UNROLL for (int v = 0; v < kVectors; ++v) {
            const Ints x = load(block[v].codes + j * kTile);
            TABPE_UNROLL for (int u = 0; u < kGroup; ++u)
                sum[v][u] = sum[v][u] + choose(differs(x, all(codes[j * kTile + first + u])), half, zero);
        }
}

// Scores of the sixteen candidates of a tile for one row.
TABPE_INLINE Floats scores_of_row(const Candidates& c, int64_t tile, const Block& block, int lane) {
    constexpr int kChains = 4;  // sums that do not wait for each other
    const float* numbers = c.numbers + tile * c.number_columns * kTile;
    Floats part[kChains] = {load(c.half_norms + tile * kTile), all(0.0f), all(0.0f), all(0.0f)};
    const auto add = [&](Floats& to, int j) __attribute__((always_inline)) {
        to = minus_product(to, all(block.numbers[j * kTile + lane]), load(numbers + j * kTile));
    };
    int j = 0;
    for (; j + kChains <= c.number_columns; j += kChains)
        TABPE_UNROLL for (int i = 0; i < kChains; ++i) add(part[i], j + i);
    for (; j < c.number_columns; ++j) add(part[0], j);
    const Floats sum = (part[0] + part[1]) + (part[2] + part[3]);
    if (!c.code_columns) return sum;
    const Ints count = code_mismatches(c, tile, block.codes + lane, kTile);
    return sum + all(0.5f * c.weight) * to_floats(count);
}

// Half the squared norm of each row, and how far scores may mislead.
struct Margins {
    Floats half_norm, margin;

    Margins(const Candidates& c, const Block& block) {
        const float n = float(c.number_columns + c.code_columns + 8), g = n * 0x1p-24f / (1 - n * 0x1p-24f);
        Floats square = all(0.0f);
        for (int j = 0; j < c.number_columns; ++j) {
            const Floats x = load(block.numbers + j * kTile);
            square = square + x * x;
        }
        const float others = 2 * c.largest_norm * c.largest_norm + c.weight * float(c.code_columns);
        half_norm = square * all(0.5f);
        margin = (square * all(2.0f) + all(others)) * all(4 * g) + all(1e-30f);
    }
};

// The distances of one row to the candidates of a tile, into the best of that row.
TABPE_INLINE void measure(const Candidates& c, int64_t tile, const Block& block, int lane, BestOfRow& best) {
    Floats far = number_distance(c, tile, block.numbers + lane, kTile);
    if (c.code_columns) {
        const Ints count = code_mismatches(c, tile, block.codes + lane, kTile);
        far = far + all(c.weight) * to_floats(count);
    }
    best.insert(far, c.ids + tile * kTile, 0xffff);
}

}  // namespace tabpe::TABPE_ISA
