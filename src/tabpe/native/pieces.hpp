// Pieces of the number line: in which one a value lies, and piecewise linear maps.
#pragma once

#include <cstdint>

namespace tabpe {

// A column: values that lie `stride` apart.
template <typename T>
struct Values {
    int64_t count;
    int64_t stride;
    const T* first;
};

// Where pieces end; ascending.
struct Ends {
    int64_t count;
    const double* places;
};

// How many ends are at most as large as each value; all of them for NaN.
template <typename T>
void find_pieces(const Values<T>& values, const Ends& ends, int64_t* found);

// The images of values, linear between those of the two ends around them and never above that of the
// upper one; beyond the outer ends the images of these; and NaN of NaN.
template <typename T>
void map_by_pieces(const Values<T>& values, const Ends& ends, const double* images, T* found);

}  // namespace tabpe
