// Sums over the cells that rows fall into, in one fixed order.
#pragma once

#include <cstdint>

namespace tabpe {

// Line by line, a cell of each row.
struct Cells {
    int64_t lines;
    int64_t rows;
    const int32_t* places;
};

// Adds the weight of each row to `size` sums, those of its cells, line by line and left to right. False
// if a place is none of them; the sums are then not to be used.
bool scatter(const Cells& cells, const double* weights, int64_t size, double* sums);

// Multiplies the weight of each row by the factors of its cells, line by line. False if a place is none
// of `size`; the weights are then not to be used.
bool scale(const Cells& cells, const double* factors, int64_t size, double* weights);

}  // namespace tabpe
