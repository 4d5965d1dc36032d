// Sixteen rows side by side, and the nearest candidates found for each so far.
#pragma once

#include "layout.hpp"
#include "simd.hpp"

namespace tabpe::TABPE_ISA {

static_assert(kLanes == kTile, "a block of rows and a tile of candidates fill the same lanes");

static inline int32_t code_at(const Rows& rows, int64_t place) {
    switch (rows.code_bytes) {
        case 1: return static_cast<const uint8_t*>(rows.codes)[place];
        case 2: return static_cast<const uint16_t*>(rows.codes)[place];
        default: return static_cast<const int32_t*>(rows.codes)[place];
    }
}

// Rows first, first + 1, ...; lanes beyond the last row repeat it, and their answers are dropped.
struct Block {
    float* numbers;   // [column][kTile]
    int32_t* codes;   // [column][kTile]
    int64_t row[kTile];
    bool known_fit;  // whether no number is above kLargestNumber in size
    bool fits;       // and none is missing

    void gather(const Job& job, int64_t first) {
        const Candidates& c = *job.candidates;
        for (int lane = 0; lane < kTile; ++lane)
            row[lane] = first + lane < job.last ? first + lane : job.last - 1;
        if (first + kTile <= job.last) {
            const float* from = job.rows->numbers + first * c.number_columns;
            for (int j = 0; j < c.number_columns; ++j)
                store(numbers + j * kTile, load_apart(from + j, c.number_columns));
        } else {
            for (int j = 0; j < c.number_columns; ++j)
                for (int lane = 0; lane < kTile; ++lane)
                    numbers[j * kTile + lane] = job.rows->numbers[row[lane] * c.number_columns + j];
        }
        const Floats too_large = all(1.001f * kLargestNumber * kLargestNumber);
        uint32_t misfits = 0, known = 0;
        for (int j = 0; j < c.number_columns; ++j) {
            const Floats x = load(numbers + j * kTile);
            misfits |= not_above(too_large, x * x);
            known |= not_above(too_large, larger(x * x, all(0.0f)));
        }
        fits = !misfits;
        known_fit = !known;
        for (int j = 0; j < c.code_columns; ++j)
            for (int lane = 0; lane < kTile; ++lane)
                codes[j * kTile + lane] = code_at(*job.rows, row[lane] * c.code_columns + j);
    }
};

// The k nearest candidates of one row, by (distance, id).
struct BestOfRow {
    int k;
    float distance[kMostNearest];
    int32_t id[kMostNearest];

    void clear(int nearest) {
        k = nearest;
        for (int i = 0; i < k; ++i) {
            distance[i] = __builtin_inff();
            id[i] = kNobody;
        }
    }
    float limit() const { return distance[k - 1]; }

    void insert(float far, int32_t candidate) {
        int i = k - 1;
        if (far > distance[i] || (far == distance[i] && candidate >= id[i])) return;
        for (; i > 0 && (far < distance[i - 1] || (far == distance[i - 1] && candidate < id[i - 1])); --i) {
            distance[i] = distance[i - 1];
            id[i] = id[i - 1];
        }
        distance[i] = far;
        id[i] = candidate;
    }
    // Lets in the candidates of a tile whose bits are set, or any others of it.
    void insert(const Floats& far, const int32_t* ids, uint32_t bits) {
        bits &= not_above(far, all(limit()));
        if (!bits) return;
        if (k == 1) bits = not_above(far, all(smallest_lane(far)));
        float lanes[kTile];
        store(lanes, far);
        for (; bits; bits &= bits - 1) {
            const int lane = __builtin_ctz(bits);
            if (lanes[lane] <= limit()) insert(lanes[lane], ids[lane]);
        }
    }
    void write(int64_t* found) const {
        for (int i = 0; i < k; ++i) found[i] = id[i];
    }
};

// Squared differences of the numbers of one row (column j at row[j * stride]) and sixteen candidates.
TABPE_INLINE Floats number_distance(const Candidates& c, int64_t tile, const float* row, int stride) {
    const float* numbers = c.numbers + tile * c.number_columns * kTile;
    Floats sum = load(c.absent + tile * kTile);
    for (int j = 0; j < c.number_columns; ++j) {
        const Floats apart = all(row[j * stride]) - load(numbers + j * kTile);
        sum = sum + apart * apart;
    }
    return sum;
}
TABPE_INLINE Ints code_mismatches(const Candidates& c, int64_t tile, const int32_t* row, int stride) {
    const int32_t* codes = c.codes + tile * c.code_columns * kTile;
    Ints count = all(0);
    for (int j = 0; j < c.code_columns; ++j)
        count = count - differs(all(row[j * stride]), load(codes + j * kTile));
    return count;
}

}  // namespace tabpe::TABPE_ISA
