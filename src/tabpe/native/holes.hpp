// Plain search: for numbers that may be missing.
//
// A missing number is NaN, and adds nothing to a distance: that it is missing is told by a code.
// Neither boxes nor scores can hold such numbers, so every candidate is looked at.
#pragma once

#include "block.hpp"

namespace tabpe::TABPE_ISA {

// The same operations in the same order as `number_distance`, where there is a number.
TABPE_INLINE Floats known_distance(const Candidates& c, int64_t tile, const float* row, int stride) {
    const float* numbers = c.numbers + tile * c.number_columns * kTile;
    Floats sum = load(c.absent + tile * kTile);
    for (int j = 0; j < c.number_columns; ++j) {
        const Floats apart = all(row[j * stride]) - load(numbers + j * kTile);
        sum = sum + larger(apart * apart, all(0.0f));  // of NaN and 0 it is 0: the second
    }
    return sum;
}

static Work holes(const Job& job) {
    const Candidates& c = *job.candidates;
    Block block;
    block.numbers = job.scratch;
    block.codes = reinterpret_cast<int32_t*>(job.scratch + c.number_columns * kTile);
    Work work;
    for (int64_t first = job.first; first < job.last; first += kTile) {
        block.gather(job, first);
        work.fits &= block.known_fit;
        BestOfRow best[kTile];
        for (BestOfRow& one : best) one.clear(job.nearest);
        for (int64_t tile = 0; tile < c.tiles; ++tile)
            for (int lane = 0; lane < kTile; ++lane) {
                const Floats numbers = known_distance(c, tile, block.numbers + lane, kTile);
                const Ints differing = code_mismatches(c, tile, block.codes + lane, kTile);
                best[lane].insert(numbers + all(c.weight) * to_floats(differing), c.ids + tile * kTile, 0xffff);
            }
        for (int lane = 0; lane < kTile; ++lane)
            best[lane].write(job.found + block.row[lane] * job.nearest);
    }
    return work;
}

}  // namespace tabpe::TABPE_ISA
