#include "pieces.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

namespace tabpe {
namespace {

// By halves, without a branch that depends on the value.
inline int64_t count_up_to(const Ends& ends, double value) {
    if (!ends.count) return 0;
    const double* base = ends.places;
    for (int64_t left = ends.count; left > 1;) {
        const int64_t half = left / 2;
        base += half * int64_t(!(value < base[half - 1]));
        left -= half;
    }
    return (base - ends.places) + int64_t(!(value < *base));
}

}  // namespace

template <typename T>
void find_pieces(const Values<T>& values, const Ends& ends, int64_t* found) {
    for (int64_t i = 0; i < values.count; ++i)
        found[i] = count_up_to(ends, double(values.first[i * values.stride]));
}

template <typename T>
void map_by_pieces(const Values<T>& values, const Ends& ends, const double* images, T* found) {
    const int64_t last = ends.count - 1;
    std::unique_ptr<double[]> slopes(new double[size_t(last)]);
    for (int64_t i = 0; i < last; ++i)
        slopes[i] = (images[i + 1] - images[i]) / (ends.places[i + 1] - ends.places[i]);
    for (int64_t i = 0; i < values.count; ++i) {
        const T given = values.first[i * values.stride];
        const double value = double(given);
        const int64_t piece = count_up_to(ends, value), below = std::max<int64_t>(piece - 1, 0);
        double image = images[below];
        if (piece > 0 && below < last && value != ends.places[below])
            image = std::min(slopes[below] * (value - ends.places[below]) + image, images[piece]);
        found[i] = std::isnan(value) ? given : T(image);
    }
}

template void find_pieces<float>(const Values<float>&, const Ends&, int64_t*);
template void find_pieces<double>(const Values<double>&, const Ends&, int64_t*);
template void map_by_pieces<float>(const Values<float>&, const Ends&, const double*, float*);
template void map_by_pieces<double>(const Values<double>&, const Ends&, const double*, double*);

}  // namespace tabpe
