// What the kernels see: plain pointers into memory that `Index` and the caller own.
#pragma once

#include <cstdint>

namespace tabpe {

constexpr int kTile = 16;       // candidates in a tile, and rows in a block
constexpr int kMostNearest = 16;
constexpr int kLine = 64;       // bytes of a cache line, and of the widest register
constexpr int kMostLevels = 8;  // 16^8 tiles are more than 2^31 candidates
constexpr int32_t kNobody = INT32_MAX;
constexpr float kLargestNumber = 1e15f;  // squares and their sums stay finite

// Candidates in tiles of sixteen that lie close together, column by column inside a tile, and a
// tree over the tiles whose nodes hold the boxes of sixteen children each.
struct Candidates {
    int64_t tiles;
    int number_columns, code_columns;
    float weight;             // what one differing category adds to a distance
    float largest_norm;       // Euclidean, of the numbers of any candidate
    bool bytes_tell_all;      // whether no code is above 255
    bool holes;               // whether a number is missing: NaN
    const float* numbers;     // [tile][column][kTile]
    const int32_t* codes;     // [tile][column][kTile]
    const float* absent;      // [tile][kTile]: 0, or infinity where a tile has no candidate
    const float* half_norms;  // [tile][kTile]: half the squared norm, infinity where absent
    const int32_t* ids;       // [tile][kTile], kNobody where absent
    const uint8_t* bytes;     // [column][byte_places]: the lowest byte of each code
    int levels;
    int64_t nodes[kMostLevels];         // the last level has one node, the root
    const float* boxes[kMostLevels];    // [node][column][low, high][kTile]
    const int32_t* masks[kMostLevels];  // [node][column][kTile]: bit (code mod 32) of each code
};

struct Rows {
    int64_t count;
    const float* numbers;  // [row][column]
    const void* codes;     // [row][column]
    int code_bytes;        // 1, 2 or 4
};

struct Work {
    int64_t instructions = 0;  // on sixteen lanes, about: to tell which kernel suits the data
    bool fits = true;          // whether all numbers were at most kLargestNumber in size
};

// A kernel writes the `nearest` nearest candidates of rows first..last-1 to found[row][nearest].
struct Job {
    const Candidates* candidates;
    const Rows* rows;
    int64_t first, last;
    int nearest;
    int64_t* found;
    float* scratch;  // scratch_floats() of them, one piece for each thread
};
using Kernel = Work (*)(const Job&);

struct Kernels {
    const char* instruction_set;
    Kernel prune, filter, dense, holes;
};

constexpr int kByteTile = 128;  // codes that are compared at once

static inline int64_t byte_places(const Candidates& c) {
    return (c.tiles * kTile + kByteTile - 1) / kByteTile * kByteTile;
}

constexpr int kMostFilterColumns = 254;  // differences are counted in bytes

constexpr int kWidestBlock = 2 * kTile;  // rows that a kernel takes in at once

// Rows of a block, their box and masks; counts and tile minima for the flat kernels. Whole lines.
static inline int64_t scratch_floats(const Candidates& c) {
    const int64_t columns = c.number_columns + c.code_columns, line = kLine / int64_t(sizeof(float));
    const int64_t floats = (kWidestBlock + 2) * columns + kWidestBlock * (c.tiles + 1) + 16 * kTile;
    return (floats + line - 1) / line * line;
}

namespace portable { extern const Kernels kernels; }
namespace avx2 { extern const Kernels kernels; }
namespace avx512 { extern const Kernels kernels; }

}  // namespace tabpe
