// Points in tiles, and the order that puts neighbours into one tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "layout.hpp"

namespace tabpe {

// Memory that begins with a cache line: a register that straddles two takes twice as long to load.
template <typename T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <typename U>
    LineAllocator(const LineAllocator<U>&) {}
    T* allocate(std::size_t count) {
        return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(kLine)));
    }
    void deallocate(T* from, std::size_t) { ::operator delete(from, std::align_val_t(kLine)); }
    bool operator==(const LineAllocator&) const { return true; }
    bool operator!=(const LineAllocator&) const { return false; }
};
template <typename T>
using Lines = std::vector<T, LineAllocator<T>>;

struct Points {
    int64_t count;
    int number_columns, code_columns;
    const float* numbers;  // [point][column]
    const int32_t* codes;  // [point][column]
};

// The points in an order in which each sixteen in a row lie close together.
std::vector<int32_t> spatial_order(const Points& points, float weight);

// For each point the first one that equals it, bit by bit.
std::vector<int32_t> first_equals(const Points& points);

// Owns the tiles and the tree of boxes over a set of candidates.
class Index {
public:
    Index(const Points& points, float weight);
    const Candidates& candidates() const { return view_; }
    int64_t count() const { return count_; }

private:
    void fill_tiles(const Points& points, const std::vector<int32_t>& order);
    void fill_bytes();
    void add_level(int64_t below);
    void enclose_tile(int64_t tile, float* low, float* high, int32_t* mask) const;
    void enclose_node(int level, int64_t node, float* low, float* high, int32_t* mask) const;

    int64_t count_;
    Candidates view_{};
    Lines<float> numbers_, absent_, half_norms_;
    Lines<int32_t> codes_, ids_;
    Lines<uint8_t> bytes_;
    std::vector<Lines<float>> boxes_;
    std::vector<Lines<int32_t>> masks_;
};

}  // namespace tabpe
