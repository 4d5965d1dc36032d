#include "index.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tabpe {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int64_t kSpreadSample = 128;

// A missing number lies somewhere too: nothing is ordered by NaN.
float ordered(float number) { return std::isnan(number) ? 0.0f : number; }

struct Key {
    float value;
    int32_t point;
    bool operator<(const Key& other) const {
        return value < other.value || (value == other.value && point < other.point);
    }
};

// Splits at the median of the column with the widest spread, again and again. The left part gets
// a power of two of tiles, so that sixteen tiles in a row are always a whole branch.
class Sorter {
public:
    Sorter(const Points& points, float weight) : points_(points), weight_(weight), keys_(points.count) {
        for (int64_t i = 0; i < points.count; ++i) keys_[i].point = int32_t(i);
    }

    std::vector<int32_t> order() {
        split(0, points_.count);
        std::vector<int32_t> order(keys_.size());
        std::transform(keys_.begin(), keys_.end(), order.begin(), [](const Key& k) { return k.point; });
        return order;
    }

private:
    void split(int64_t first, int64_t last) {
        const int64_t tiles = (last - first + kTile - 1) / kTile;
        if (tiles <= 1) return;
        int64_t left = 1;
        while (2 * left < tiles) left *= 2;
        const int64_t middle = first + left * kTile;
        const int column = widest(first, last);
        if (column >= 0) {
            for (int64_t i = first; i < last; ++i) keys_[i].value = value(keys_[i].point, column);
            std::nth_element(keys_.begin() + first, keys_.begin() + middle, keys_.begin() + last);
        }
        split(first, middle);
        split(middle, last);
    }

    float value(int64_t point, int column) const {
        return column < points_.number_columns
                   ? ordered(points_.numbers[point * points_.number_columns + column])
                   : float(points_.codes[point * points_.code_columns + column - points_.number_columns]);
    }

    // The column with the largest mean distance of two points, or -1 if all points are equal.
    int widest(int64_t first, int64_t last) const {
        const int64_t step = std::max<int64_t>(1, (last - first) / kSpreadSample);
        int best = -1;
        double spread = 0;
        for (int j = 0; j < points_.number_columns + points_.code_columns; ++j) {
            const double here = j < points_.number_columns ? number_spread(first, last, step, j)
                                                           : code_spread(first, last, step, j);
            if (here > spread) spread = here, best = j;
        }
        return best;
    }
    double number_spread(int64_t first, int64_t last, int64_t step, int column) const {
        double count = 0, sum = 0, squares = 0;
        const double origin = value(keys_[first].point, column);
        for (int64_t i = first; i < last; i += step) {
            const double x = value(keys_[i].point, column) - origin;
            count += 1, sum += x, squares += x * x;
        }
        return 2 * (squares / count - (sum / count) * (sum / count));
    }
    double code_spread(int64_t first, int64_t last, int64_t step, int column) const {
        int64_t seen[256] = {}, count = 0;
        for (int64_t i = first; i < last; i += step, ++count)
            ++seen[int64_t(value(keys_[i].point, column)) & 255];
        double equal = 0;
        for (const int64_t times : seen) equal += double(times) * double(times);
        return weight_ * (1 - equal / (double(count) * double(count)));
    }

    const Points& points_;
    const float weight_;
    std::vector<Key> keys_;
};

uint64_t mixed(uint64_t hash, uint32_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

bool same(const Points& p, int64_t a, int64_t b) {
    return !std::memcmp(p.numbers + a * p.number_columns, p.numbers + b * p.number_columns,
                        sizeof(float) * size_t(p.number_columns)) &&
           !std::memcmp(p.codes + a * p.code_columns, p.codes + b * p.code_columns,
                        sizeof(int32_t) * size_t(p.code_columns));
}

uint64_t hash_of(const Points& p, int64_t point) {
    uint64_t hash = 0;
    for (int j = 0; j < p.number_columns; ++j) {
        uint32_t word;
        std::memcpy(&word, p.numbers + point * p.number_columns + j, sizeof word);
        hash = mixed(hash, word);
    }
    for (int j = 0; j < p.code_columns; ++j)
        hash = mixed(hash, uint32_t(p.codes[point * p.code_columns + j]));
    return hash;
}

}  // namespace

std::vector<int32_t> spatial_order(const Points& points, float weight) {
    return Sorter(points, weight).order();
}

std::vector<int32_t> first_equals(const Points& points) {
    size_t slots = 16;
    while (slots < 2 * size_t(points.count)) slots *= 2;
    std::vector<int32_t> table(slots, -1), first(points.count);
    for (int64_t i = 0; i < points.count; ++i) {
        size_t slot = hash_of(points, i) & (slots - 1);
        while (table[slot] >= 0 && !same(points, i, table[slot])) slot = (slot + 1) & (slots - 1);
        if (table[slot] < 0) table[slot] = int32_t(i);
        first[i] = table[slot];
    }
    return first;
}

Index::Index(const Points& points, float weight) : count_(points.count) {
    view_.tiles = (points.count + kTile - 1) / kTile;
    view_.number_columns = points.number_columns;
    view_.code_columns = points.code_columns;
    view_.weight = weight;
    fill_tiles(points, spatial_order(points, weight));
    fill_bytes();
    for (int64_t below = view_.tiles; view_.levels == 0 || below > 1;) {
        add_level(below);
        below = view_.nodes[view_.levels - 1];
    }
}

void Index::fill_tiles(const Points& points, const std::vector<int32_t>& order) {
    const int d = points.number_columns, dc = points.code_columns;
    const int64_t places = view_.tiles * kTile;
    numbers_.assign(places * d, 0.0f);
    codes_.assign(places * dc, -1);
    absent_.assign(places, kInfinity);
    half_norms_.assign(places, kInfinity);
    ids_.assign(places, kNobody);
    double largest = 0;
    for (int64_t place = 0; place < points.count; ++place) {
        const int64_t point = order[place], tile = place / kTile, lane = place % kTile;
        double square = 0;
        for (int j = 0; j < d; ++j) {
            const float x = points.numbers[point * d + j];
            numbers_[(tile * d + j) * kTile + lane] = x;
            square += double(x) * double(x);
            view_.holes |= std::isnan(x);
        }
        for (int j = 0; j < dc; ++j)
            codes_[(tile * dc + j) * kTile + lane] = points.codes[point * dc + j];
        absent_[place] = 0.0f;
        half_norms_[place] = float(square / 2);
        ids_[place] = int32_t(point);
        largest = std::max(largest, square);
    }
    view_.numbers = numbers_.data();
    view_.codes = codes_.data();
    view_.absent = absent_.data();
    view_.half_norms = half_norms_.data();
    view_.ids = ids_.data();
    view_.largest_norm = std::nextafter(float(std::sqrt(largest)), kInfinity);
}

void Index::fill_bytes() {
    const int dc = view_.code_columns;
    const int64_t places = byte_places(view_);
    bytes_.assign(places * dc, 255);
    view_.bytes_tell_all = true;
    for (int64_t place = 0; place < count_; ++place)
        for (int j = 0; j < dc; ++j) {
            const uint32_t code = uint32_t(codes_[(place / kTile * dc + j) * kTile + place % kTile]);
            bytes_[j * places + place] = uint8_t(code);
            if (code > 255) view_.bytes_tell_all = false;
        }
    view_.bytes = bytes_.data();
}

void Index::add_level(int64_t below) {
    const int d = view_.number_columns, dc = view_.code_columns, level = view_.levels;
    const int64_t nodes = (below + kTile - 1) / kTile;
    boxes_.emplace_back(nodes * d * 2 * kTile, 0.0f);
    masks_.emplace_back(nodes * dc * kTile, 0);
    std::vector<float> low(d), high(d);
    std::vector<int32_t> mask(dc);
    for (int64_t child = 0; child < below; ++child) {
        if (level) enclose_node(level - 1, child, low.data(), high.data(), mask.data());
        else enclose_tile(child, low.data(), high.data(), mask.data());
        const int64_t node = child / kTile, lane = child % kTile;
        for (int j = 0; j < d; ++j) {
            float* box = boxes_[level].data() + (node * d + j) * 2 * kTile + lane;
            box[0] = low[j], box[kTile] = high[j];
        }
        for (int j = 0; j < dc; ++j) masks_[level][(node * dc + j) * kTile + lane] = mask[j];
    }
    view_.boxes[level] = boxes_[level].data();
    view_.masks[level] = masks_[level].data();
    view_.nodes[level] = nodes;
    ++view_.levels;
}

void Index::enclose_tile(int64_t tile, float* low, float* high, int32_t* mask) const {
    const int d = view_.number_columns, dc = view_.code_columns;
    const int64_t filled = std::min<int64_t>(kTile, count_ - tile * kTile);
    for (int j = 0; j < d; ++j) {
        const float* x = numbers_.data() + (tile * d + j) * kTile;
        low[j] = *std::min_element(x, x + filled);
        high[j] = *std::max_element(x, x + filled);
    }
    for (int j = 0; j < dc; ++j) {
        uint32_t bits = 0;
        for (int64_t lane = 0; lane < filled; ++lane)
            bits |= 1u << (codes_[(tile * dc + j) * kTile + lane] & 31);
        mask[j] = int32_t(bits);
    }
}

void Index::enclose_node(int level, int64_t node, float* low, float* high, int32_t* mask) const {
    const int d = view_.number_columns, dc = view_.code_columns;
    const int64_t below = level ? view_.nodes[level - 1] : view_.tiles;
    const int64_t filled = std::min<int64_t>(kTile, below - node * kTile);
    for (int j = 0; j < d; ++j) {
        const float* box = boxes_[level].data() + (node * d + j) * 2 * kTile;
        low[j] = *std::min_element(box, box + filled);
        high[j] = *std::max_element(box + kTile, box + kTile + filled);
    }
    for (int j = 0; j < dc; ++j) {
        mask[j] = 0;
        for (int64_t lane = 0; lane < filled; ++lane)
            mask[j] |= masks_[level][(node * dc + j) * kTile + lane];
    }
}

}  // namespace tabpe
