// Sums over the cells that rows fall into, in one fixed order.
#pragma once

#include <cstdint>

namespace tabpe {

// Row by row, the places of its cells; all rows have equally many.
struct Cells {
    int64_t rows;
    int64_t columns;
    const int32_t* places;
};

// Adds the weight of each row to `size` sums, those of its cells, row by row and left to right. False
// if a place is none of them; the sums are then not to be used.
bool scatter(const Cells& cells, const double* weights, int64_t size, double* sums);

// Writes for each row the sums of both values of its cells, added left to right. False if a place is
// none of `size`.
bool gather(const Cells& cells, const double* values, int64_t size, double* sums);

}  // namespace tabpe
