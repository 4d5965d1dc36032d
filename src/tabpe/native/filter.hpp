// Category filter: for tables with many categorical columns.
//
// For one row at a time, count the differing categories of all candidates, thirty-two per
// instruction, on the lowest byte of each code. Different bytes are different codes, so the count
// is a lower bound, and exact where every code fits a byte. Then go through the candidates with
// the fewest differences, then those with one more, and so on, as long as the weight of the
// differences alone does not exceed the worst distance still of interest. Rounding is monotone
// (see prune.hpp), so a candidate that is left out is further away, in floating point too.
#pragma once

#include "block.hpp"

namespace tabpe::TABPE_ISA {

constexpr int kAtOnce = kByteTile / kByteLanes;

struct FilteredSearch {
    const Candidates& c;
    Block block;
    uint8_t* count;  // [byte_places]
    int64_t places;
    bool bytes_tell_all;  // whether no code, of candidates or rows, is above 255
    Bytes code[kMostFilterColumns];
    Work work;

    FilteredSearch(const Job& job) : c(*job.candidates) {
        float* next = job.scratch;
        block.numbers = next, next += c.number_columns * kTile;
        block.codes = reinterpret_cast<int32_t*>(next), next += c.code_columns * kTile;
        count = reinterpret_cast<uint8_t*>(next);
        places = byte_places(c);
        bytes_tell_all = c.bytes_tell_all && job.rows->code_bytes == 1;
    }

    void run(const Job& job, int64_t first) {
        block.gather(job, first);
        work.fits &= block.fits;
        for (int lane = 0; lane < kTile && first + lane < job.last; ++lane) {
            BestOfRow best;
            best.clear(job.nearest);
            find(lane, best);
            best.write(job.found + (first + lane) * job.nearest);
        }
    }

    void find(int lane, BestOfRow& best) {
        for (int level = count_differing(lane); level <= c.code_columns; ++level) {
            if (c.weight * float(level) > best.limit()) return;
            scan(level, lane, best);
        }
    }

    // Returns the smallest count.
    int count_differing(int lane) {
        for (int j = 0; j < c.code_columns; ++j)
            code[j] = all_bytes(uint8_t(block.codes[j * kTile + lane]));
        Bytes least = all_bytes(255);
        for (int64_t place = 0; place < places; place += kByteTile) {
            Bytes differing[kAtOnce];
            TABPE_UNROLL for (Bytes& one : differing) one = all_bytes(uint8_t(c.code_columns));
            int64_t at = place;
            for (int j = 0; j < c.code_columns; ++j, at += places)
                TABPE_UNROLL for (int i = 0; i < kAtOnce; ++i)
                    differing[i] = differing[i] + equal(load_bytes(c.bytes + at + i * kByteLanes), code[j]);
            TABPE_UNROLL for (int i = 0; i < kAtOnce; ++i) {
                store(count + place + i * kByteLanes, differing[i]);
                least = smaller(least, differing[i]);
            }
        }
        work.instructions += places / kByteLanes * (2 * c.code_columns + 6) * kByteParts / kParts;
        uint8_t lanes[kByteLanes], fewest = 255;
        store(lanes, least);
        for (const uint8_t lane : lanes) fewest = lane < fewest ? lane : fewest;
        return fewest;
    }

    void scan(int level, int lane, BestOfRow& best) {
        const Bytes wanted = all_bytes(uint8_t(level));
        for (int64_t place = 0; place < places; place += kByteLanes) {
            const uint32_t bits = equal_bits(load_bytes(count + place), wanted);
            if (bits & 0xffff) scan_tile(place / kTile, bits & 0xffff, lane, best);
            if (bits >> 16) scan_tile(place / kTile + 1, bits >> 16, lane, best);
        }
        work.instructions += places / kByteLanes * 3 * kByteParts / kParts;
    }

    void scan_tile(int64_t tile, uint32_t bits, int lane, BestOfRow& best) {
        if (tile >= c.tiles) return;
        const Floats numbers = number_distance(c, tile, block.numbers + lane, kTile);
        const Ints differing = bytes_tell_all
                                   ? from_bytes(count + tile * kTile)
                                   : code_mismatches(c, tile, block.codes + lane, kTile);
        best.insert(numbers + all(c.weight) * to_floats(differing), c.ids + tile * kTile, bits);
        work.instructions += 3 * c.number_columns + 12;
    }
};

static Work filter(const Job& job) {
    FilteredSearch search(job);
    for (int64_t first = job.first; first < job.last; first += kTile) search.run(job, first);
    return search.work;
}

}  // namespace tabpe::TABPE_ISA
