// Pruned search: a tree of boxes, walked by sixteen neighbouring rows at once.
//
// Why nothing is pruned wrongly. A distance is a sum of float32 squares of float32 differences,
// column by column, then the product of the weight and the number of differing categories. Every
// one of these operations rounds monotonically. A bound takes the same operations in the same
// order on numbers that are not larger: the gap between two boxes instead of a difference between
// points in them, the categories that differ for sure instead of those that differ. So the
// computed bound never exceeds any computed distance below it, and a subtree whose bound is above
// the worst distance still of interest holds nothing. Equal bounds are kept: a tie may have a
// lower id. Compiled without contraction into fused operations, which would round differently.
#pragma once

#include "score.hpp"

namespace tabpe::TABPE_ISA {

constexpr int kBlockOverhead = 300;
constexpr int kScanGroup = kParts == 1 ? 16 : 4;

struct PrunedSearch {
    const Candidates& c;
    Block block;
    float *low, *high;  // the box of the block
    int32_t* mask;      // bit (code mod 32) of each code in the block
    BestOfRow best[kTile];
    float limit[kTile];        // how far each row still looks
    float worst;               // and the block
    float score_limit[kTile];  // the same for scores
    Work work;

    PrunedSearch(const Job& job) : c(*job.candidates) {
        float* next = job.scratch;
        block.numbers = next, next += c.number_columns * kTile;
        block.codes = reinterpret_cast<int32_t*>(next), next += c.code_columns * kTile;
        low = next, next += c.number_columns;
        high = next, next += c.number_columns;
        mask = reinterpret_cast<int32_t*>(next);
    }

    void run(const Job& job, int64_t first) {
        block.gather(job, first);
        work.fits &= block.fits;
        enclose();
        const Margins margins(c, block);
        for (int lane = 0; lane < kTile; ++lane) {
            best[lane].clear(job.nearest);
            limit[lane] = score_limit[lane] = __builtin_inff();
        }
        worst = __builtin_inff();
        work.instructions += kTile * (c.number_columns + c.code_columns) + kBlockOverhead;
        visit(c.levels - 1, 0, margins);
        for (int lane = 0; lane < kTile; ++lane)
            best[lane].write(job.found + block.row[lane] * job.nearest);
    }

    void enclose() {
        for (int j = 0; j < c.number_columns; ++j) {
            const float* x = block.numbers + j * kTile;
            low[j] = high[j] = x[0];
            for (int lane = 1; lane < kTile; ++lane) {
                low[j] = x[lane] < low[j] ? x[lane] : low[j];
                high[j] = x[lane] > high[j] ? x[lane] : high[j];
            }
        }
        for (int j = 0; j < c.code_columns; ++j) {
            uint32_t bits = 0;
            for (int lane = 0; lane < kTile; ++lane)
                bits |= 1u << (block.codes[j * kTile + lane] & 31);
            mask[j] = int32_t(bits);
        }
    }

    int children(int level, int64_t node) const {
        const int64_t below = (level ? c.nodes[level - 1] : c.tiles) - node * kTile;
        return below < kTile ? int(below) : kTile;
    }

    // From the box of the block to the boxes of sixteen children.
    Floats bounds(int level, int64_t node) const {
        const float* box = c.boxes[level] + node * c.number_columns * 2 * kTile;
        Floats sum = all(0.0f);
        for (int j = 0; j < c.number_columns; ++j, box += 2 * kTile) {
            const Floats below = load(box) - all(high[j]), above = all(low[j]) - load(box + kTile);
            const Floats gap = larger(larger(below, above), all(0.0f));
            sum = sum + gap * gap;
        }
        if (!c.code_columns) return sum;
        const int32_t* masks = c.masks[level] + node * c.code_columns * kTile;
        Ints apart = all(0);
        for (int j = 0; j < c.code_columns; ++j, masks += kTile)
            apart = apart - equal(load(masks) & all(mask[j]), all(0));
        return sum + all(c.weight) * to_floats(apart);
    }

    // From each row of the block to the box of one tile.
    Floats bounds_of_rows(int64_t node, int child) const {
        const float* box = c.boxes[0] + node * c.number_columns * 2 * kTile;
        Floats sum = all(0.0f);
        for (int j = 0; j < c.number_columns; ++j, box += 2 * kTile) {
            const Floats x = load(block.numbers + j * kTile);
            const Floats gap = x - smaller(larger(x, all(box[child])), all(box[kTile + child]));
            sum = sum + gap * gap;
        }
        return sum;
    }

    void visit(int level, int64_t node, const Margins& margins) {
        const Floats bound = bounds(level, node);
        work.instructions += 6 * c.number_columns + 3 * c.code_columns + 24;
        uint32_t open = not_above(bound, all(worst)) & ((1u << children(level, node)) - 1);
        float bound_of[kTile];
        store(bound_of, bound);
        while (open) {
            int nearest = __builtin_ctz(open);
            for (uint32_t rest = open & (open - 1); rest; rest &= rest - 1) {
                const int child = __builtin_ctz(rest);
                if (bound_of[child] < bound_of[nearest]) nearest = child;
            }
            if (bound_of[nearest] > worst) return;
            open &= ~(1u << nearest);
            if (level) visit(level - 1, node * kTile + nearest, margins);
            else try_tile(node, nearest, margins);
        }
    }

    void try_tile(int64_t node, int child, const Margins& margins) {
        work.instructions += 5 * c.number_columns + 6;
        if (!not_above(bounds_of_rows(node, child), load(limit))) return;
        scan(node * kTile + child, margins);
    }

    void scan(int64_t tile, const Margins& margins) {
        Floats smallest = all(__builtin_inff());
        for (int first = 0; first < kTile; first += kScanGroup) {
            Floats sum[1][kScanGroup];
            scores(c, tile, first, &block, sum);
            smallest = smaller(smallest, smallest_of<kScanGroup>(sum[0]));
        }
        work.instructions += kTile * (c.number_columns + 3 * c.code_columns + 2);
        uint32_t lanes = not_above(smallest, load(score_limit));
        if (!lanes) return;
        for (; lanes; lanes &= lanes - 1) {
            const int lane = __builtin_ctz(lanes);
            measure(c, tile, block, lane, best[lane]);
            limit[lane] = best[lane].limit();
            work.instructions += 3 * c.number_columns + 2 * c.code_columns + 10;
        }
        worst = largest_lane(load(limit));
        store(score_limit, load(limit) * all(0.5f) - margins.half_norm + margins.margin);
    }
};

static Work prune(const Job& job) {
    PrunedSearch search(job);
    for (int64_t first = job.first; first < job.last; first += kTile) search.run(job, first);
    return search.work;
}

}  // namespace tabpe::TABPE_ISA
