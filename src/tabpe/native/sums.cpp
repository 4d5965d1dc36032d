#include "sums.hpp"

namespace tabpe {
namespace {

// The branch is always foretold: it costs no time.
inline bool outside(int32_t place, int64_t size) { return place < 0 || place >= size; }

}  // namespace

bool scatter(const Cells& cells, const double* weights, int64_t size, double* sums) {
    const int32_t* place = cells.places;
    for (int64_t line = 0; line < cells.lines; ++line) {
        for (int64_t row = 0; row < cells.rows; ++row, ++place) {
            if (outside(*place, size)) return false;
            sums[*place] += weights[row];
        }
    }
    return true;
}

bool scale(const Cells& cells, const double* factors, int64_t size, double* weights) {
    const int32_t* place = cells.places;
    for (int64_t line = 0; line < cells.lines; ++line) {
        for (int64_t row = 0; row < cells.rows; ++row, ++place) {
            if (outside(*place, size)) return false;
            weights[row] *= factors[*place];
        }
    }
    return true;
}

}  // namespace tabpe
