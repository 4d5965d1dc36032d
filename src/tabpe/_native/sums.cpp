#include "sums.hpp"

namespace tabpe {
namespace {

// A negative place becomes a large one. The branch is always foretold: it costs no time.
inline bool outside(int32_t place, int64_t size) { return int64_t(uint32_t(place)) >= size; }

}  // namespace

bool scatter(const Cells& cells, const double* weights, int64_t size, double* sums) {
    const int32_t* place = cells.places;
    for (int64_t row = 0; row < cells.rows; ++row) {
        const double weight = weights[row];
        for (const int32_t* end = place + cells.columns; place < end; ++place) {
            if (outside(*place, size)) return false;
            sums[*place] += weight;
        }
    }
    return true;
}

bool gather(const Cells& cells, const double* values, int64_t size, double* sums) {
    const int32_t* place = cells.places;
    for (int64_t row = 0; row < cells.rows; ++row) {
        double first = 0, second = 0;
        for (const int32_t* end = place + cells.columns; place < end; ++place) {
            if (outside(*place, size)) return false;
            first += values[2 * int64_t(*place)];
            second += values[2 * int64_t(*place) + 1];
        }
        sums[2 * row] = first;
        sums[2 * row + 1] = second;
    }
    return true;
}

}  // namespace tabpe
