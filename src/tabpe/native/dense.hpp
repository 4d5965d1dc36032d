// Dense block form: for many columns, where no box and no filter rules anything out.
//
// First the scores of all pairs, of which only the smallest of each tile is kept; then the tiles whose
// smallest score comes within the margin of the smallest of all (see score.hpp). A candidate that is
// alone within the margin is the nearest, and need not be measured. The same for the k-th smallest:
// k tiles whose smallest scores are not above it hold k candidates.
#pragma once

#include "score.hpp"

namespace tabpe::TABPE_ISA {

// Registers: kVectors x kGroup sums, kVectors rows, one candidate.
constexpr int kVectors = kParts == 1 ? 2 : 1;
constexpr int kGroup = kParts == 1 ? 8 : 4;
constexpr int kDenseRows = kVectors * kTile;
static_assert(kDenseRows <= kWidestBlock, "the scratch memory is sized for this");

struct DenseSearch {
    const Candidates& c;
    Block block[kVectors];
    float* least;  // [tile][vector][kTile]: the smallest score in a tile
    Work work;

    DenseSearch(const Job& job) : c(*job.candidates) {
        float* next = job.scratch;
        for (Block& one : block) {
            one.numbers = next, next += c.number_columns * kTile;
            one.codes = reinterpret_cast<int32_t*>(next), next += c.code_columns * kTile;
        }
        least = next;
    }

    void run(const Job& job, int64_t first) {
        for (int v = 0; v < kVectors; ++v) {
            block[v].gather(job, first + v * kTile);
            work.fits &= block[v].fits;
        }
        for (int64_t tile = 0; tile < c.tiles; ++tile) look(tile);
        for (int v = 0; v < kVectors && first + v * kTile < job.last; ++v) settle(job, v);
        work.instructions += c.tiles * kTile * kVectors * (c.number_columns + 3 * c.code_columns + 1);
    }

    void look(int64_t tile) {
        Floats smallest[kVectors];
        for (Floats& one : smallest) one = all(__builtin_inff());
        for (int first = 0; first < kTile; first += kGroup) {
            Floats sum[kVectors][kGroup];
            scores(c, tile, first, block, sum);
            for (int v = 0; v < kVectors; ++v)
                smallest[v] = smaller(smallest[v], smallest_of<kGroup>(sum[v]));
        }
        for (int v = 0; v < kVectors; ++v) store(least + (tile * kVectors + v) * kTile, smallest[v]);
    }

    void settle(const Job& job, int v) {
        float limit[kTile];
        store(limit, smallest_scores(v, job.nearest) + Margins(c, block[v]).margin);
        int within[kTile] = {};  // candidates whose score is within the limit
        int32_t one[kTile];      // one of them
        if (job.nearest == 1) count_within(v, limit, within, one);
        uint32_t rest = 0;
        for (int lane = 0; lane < kTile; ++lane) {
            if (within[lane] == 1) job.found[block[v].row[lane]] = one[lane];
            else rest |= 1u << lane;
        }
        if (rest) settle_rows(job, v, rest, limit);
        work.instructions += c.tiles * 3;
    }

    void count_within(int v, const float* limit, int* within, int32_t* one) {
        for (int64_t tile = 0; tile < c.tiles; ++tile) {
            uint32_t lanes = not_above(load(least + (tile * kVectors + v) * kTile), load(limit));
            for (; lanes; lanes &= lanes - 1) {
                const int lane = __builtin_ctz(lanes);
                const Floats score = scores_of_row(c, tile, block[v], lane);
                const uint32_t bits = not_above(score, all(limit[lane]));
                within[lane] += __builtin_popcount(bits);
                if (bits) one[lane] = c.ids[tile * kTile + __builtin_ctz(bits)];
                work.instructions += c.number_columns + 2 * c.code_columns + 10;
            }
        }
    }

    // Measures, for the rows of some lanes, the candidates of all tiles whose scores are within the limit.
    void settle_rows(const Job& job, int v, uint32_t lanes, const float* limit) {
        BestOfRow best[kTile];
        for (uint32_t rest = lanes; rest; rest &= rest - 1) best[__builtin_ctz(rest)].clear(job.nearest);
        for (int64_t tile = 0; tile < c.tiles; ++tile) {
            uint32_t near = lanes & not_above(load(least + (tile * kVectors + v) * kTile), load(limit));
            for (; near; near &= near - 1) {
                const int lane = __builtin_ctz(near);
                measure(c, tile, block[v], lane, best[lane]);
                work.instructions += 3 * c.number_columns + 2 * c.code_columns + 10;
            }
        }
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            best[lane].write(job.found + block[v].row[lane] * job.nearest);
        }
        work.instructions += c.tiles * 2;
    }

    // The k-th smallest of the tiles' smallest scores; infinity if there are fewer tiles.
    Floats smallest_scores(int v, int k) const {
        Floats sorted[kMostNearest];
        for (int i = 0; i < k; ++i) sorted[i] = all(__builtin_inff());
        for (int64_t tile = 0; tile < c.tiles; ++tile) {
            Floats next = load(least + (tile * kVectors + v) * kTile);
            for (int i = 0; i < k; ++i) {
                const Floats kept = smaller(sorted[i], next);
                next = larger(sorted[i], next);
                sorted[i] = kept;
            }
        }
        return sorted[k - 1];
    }
};

static Work dense(const Job& job) {
    DenseSearch search(job);
    for (int64_t first = job.first; first < job.last; first += kDenseRows) search.run(job, first);
    return search.work;
}

}  // namespace tabpe::TABPE_ISA
