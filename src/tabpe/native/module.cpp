// The Python face of the search, of the pieces and of the sums.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "nearest.hpp"
#include "pieces.hpp"
#include "sums.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace tabpe {
namespace {

template <typename T>
using Table = nb::ndarray<const T, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<const double, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
using Codes = nb::ndarray<nb::ro, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;

template <typename T>
nb::object array(std::unique_ptr<T[]> values, std::initializer_list<size_t> shape) {
    T* data = values.get();
    nb::capsule owner(values.release(), [](void* pointer) noexcept { delete[] static_cast<T*>(pointer); });
    return nb::cast(nb::ndarray<nb::numpy, T>(data, shape, owner));
}
nb::object array(const std::vector<int32_t>& values) {
    std::unique_ptr<int32_t[]> copy(new int32_t[values.size()]);
    std::copy(values.begin(), values.end(), copy.get());
    return array(std::move(copy), {values.size()});
}

constexpr const char* kMisfit = "numbers: expected numbers from -1e15 to 1e15.";

void check_size(const Table<float>& numbers, bool can_miss) {
    const float* number = numbers.data();
    const bool fits = std::all_of(number, number + numbers.size(),
                                  [&](float x) { return std::fabs(x) <= kLargestNumber || (can_miss && std::isnan(x)); });
    if (!fits) throw nb::value_error(kMisfit);
}

Points points(const Table<float>& numbers, const Table<int32_t>& codes) {
    if (numbers.shape(0) != codes.shape(0))
        throw nb::value_error("numbers and codes: expected the same number of rows.");
    check_size(numbers, codes.shape(1) > 0);
    if (numbers.shape(0) >= size_t(kNobody)) throw nb::value_error("expected fewer than 2**31 - 1 rows.");
    return {int64_t(numbers.shape(0)), int(numbers.shape(1)), int(codes.shape(1)), numbers.data(), codes.data()};
}

Rows rows_of(const Table<float>& numbers, const Codes& codes, const Candidates& c) {
    if (numbers.shape(0) != codes.shape(0) || int(numbers.shape(1)) != c.number_columns ||
        int(codes.shape(1)) != c.code_columns)
        throw nb::value_error("rows: expected the columns of the candidates.");
    const nb::dlpack::dtype type = codes.dtype();
    const bool fits = type.code == uint8_t(nb::dlpack::dtype_code::UInt) && type.lanes == 1 &&
                      (type.bits == 8 || type.bits == 16 || type.bits == 32);
    if (!fits) throw nb::value_error("codes: expected uint8, uint16 or uint32.");
    return {int64_t(numbers.shape(0)), numbers.data(), codes.data(), type.bits / 8};
}

Choice choice_of(const std::string& name) {
    if (name == "automatic") return Choice::automatic;
    if (name == "prune") return Choice::prune;
    if (name == "filter") return Choice::filter;
    if (name == "dense") return Choice::dense;
    if (name == "holes") return Choice::holes;
    throw nb::value_error("kernel: expected 'automatic', 'prune', 'filter', 'dense' or 'holes'.");
}

const Kernels& kernels_of(const std::string& instruction_set) {
    for (const Kernels* one : usable_kernels())
        if (instruction_set.empty() || instruction_set == one->instruction_set) return *one;
    throw nb::value_error("instruction_set: expected one of instruction_sets().");
}

bool signalled() {
    const nb::gil_scoped_acquire gil;
    return PyErr_CheckSignals() != 0;
}

nb::object nearest(const Index& index, const Table<float>& numbers, const Codes& codes, int k, int jobs,
                   const std::string& kernel, const std::string& instruction_set) {
    const Rows rows = rows_of(numbers, codes, index.candidates());
    if (k < 1 || k > kMostNearest || k > index.count())
        throw nb::value_error("k: expected 1 to 16, and no more than there are candidates.");
    if (jobs < 1) throw nb::value_error("jobs: expected at least 1.");
    const Choice choice = choice_of(kernel);
    if (choice == Choice::filter && index.candidates().code_columns > kMostFilterColumns)
        throw nb::value_error("kernel: 'filter' takes at most 254 categorical columns.");
    if (index.candidates().holes && choice != Choice::automatic && choice != Choice::holes)
        throw nb::value_error("kernel: a candidate has a missing number, which only 'holes' can hold.");
    const Kernels& kernels = kernels_of(instruction_set);
    const size_t cells = size_t(rows.count) * size_t(k);
    std::unique_ptr<int64_t[]> found(new int64_t[cells]);
    Outcome outcome;
    {
        const nb::gil_scoped_release released;
        outcome = find_nearest(index, rows, k, jobs, choice, kernels, signalled, found.get());
    }
    if (outcome == Outcome::interrupted) throw nb::python_error();
    if (outcome == Outcome::misfit) throw nb::value_error(kMisfit);
    return array(std::move(found), {size_t(rows.count), size_t(k)});
}

constexpr const char* kMisplaced = "cells: expected indices from 0 to below the number of cells.";

Cells cells_of(const Table<int32_t>& cells) {
    return {int64_t(cells.shape(0)), int64_t(cells.shape(1)), cells.data()};
}

void check_weights(const Table<int32_t>& cells, const Numbers& weights) {
    if (weights.shape(0) != cells.shape(1))
        throw nb::value_error("weights: expected one for each row of cells.");
}

nb::object scattered(const Table<int32_t>& cells, const Numbers& weights, int64_t size) {
    check_weights(cells, weights);
    if (size < 0) throw nb::value_error("size: expected at least 0.");
    std::unique_ptr<double[]> sums(new double[size_t(size)]());
    bool fits;
    {
        const nb::gil_scoped_release released;
        fits = scatter(cells_of(cells), weights.data(), size, sums.get());
    }
    if (!fits) throw nb::value_error(kMisplaced);
    return array(std::move(sums), {size_t(size)});
}

nb::object scaled(const Table<int32_t>& cells, const Numbers& weights, const Numbers& factors) {
    check_weights(cells, weights);
    std::unique_ptr<double[]> found(new double[weights.size()]);
    std::copy(weights.data(), weights.data() + weights.size(), found.get());
    bool fits;
    {
        const nb::gil_scoped_release released;
        fits = scale(cells_of(cells), factors.data(), int64_t(factors.size()), found.get());
    }
    if (!fits) throw nb::value_error(kMisplaced);
    return array(std::move(found), {weights.size()});
}

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::device::cpu>;

template <typename T>
Values<T> values_of(const Column<T>& column) {
    return {int64_t(column.shape(0)), column.stride(0), column.data()};
}

template <typename T>
nb::object pieces_found(const Column<T>& values, const Numbers& ends) {
    const Values<T> given = values_of(values);
    std::unique_ptr<int64_t[]> found(new int64_t[size_t(given.count)]);
    {
        const nb::gil_scoped_release released;
        find_pieces(given, {int64_t(ends.size()), ends.data()}, found.get());
    }
    return array(std::move(found), {size_t(given.count)});
}

template <typename T>
nb::object mapped(const Column<T>& values, const Numbers& ends, const Numbers& images) {
    if (ends.size() != images.size() || ends.size() < 2)
        throw nb::value_error("images: expected one for each of two or more ends.");
    const Values<T> given = values_of(values);
    std::unique_ptr<T[]> found(new T[size_t(given.count)]);
    {
        const nb::gil_scoped_release released;
        map_by_pieces(given, {int64_t(ends.size()), ends.data()}, images.data(), found.get());
    }
    return array(std::move(found), {size_t(given.count)});
}

}  // namespace
}  // namespace tabpe

NB_MODULE(_search, module) {
    using namespace tabpe;
    module.doc() = "Exact nearest candidates, pieces of numbers, and sums over cells; see tabpe.native.";
    nb::class_<Index>(module, "Index")
        .def("__init__",
             [](Index* self, const Table<float>& numbers, const Table<int32_t>& codes, float weight) {
                 if (!(weight >= 0) || !std::isfinite(weight))
                     throw nb::value_error("weight: expected a finite number of at least 0.");
                 const Points given = points(numbers, codes);
                 const nb::gil_scoped_release released;
                 new (self) Index(given, weight);
             },
             "numbers"_a, "codes"_a, "weight"_a)
        .def("__len__", &Index::count)
        .def("nearest", &nearest, "numbers"_a, "codes"_a, nb::kw_only(), "k"_a = 1, "jobs"_a = 1,
             "kernel"_a = "automatic", "instruction_set"_a = "");
    module.def(
        "spatial_order",
        [](const Table<float>& numbers, const Table<int32_t>& codes, float weight) {
            const Points given = points(numbers, codes);
            std::vector<int32_t> order;
            {
                const nb::gil_scoped_release released;
                order = spatial_order(given, weight);
            }
            return array(order);
        },
        "numbers"_a, "codes"_a, "weight"_a);
    module.def(
        "first_equals",
        [](const Table<float>& numbers, const Table<int32_t>& codes) {
            const Points given = points(numbers, codes);
            std::vector<int32_t> first;
            {
                const nb::gil_scoped_release released;
                first = first_equals(given);
            }
            return array(first);
        },
        "numbers"_a, "codes"_a);
    module.def("scatter", &scattered, "cells"_a, "weights"_a, "size"_a);
    module.def("scale", &scaled, "cells"_a, "weights"_a, "factors"_a);
    module.def("find_pieces", &pieces_found<float>, "values"_a.noconvert(), "ends"_a);
    module.def("find_pieces", &pieces_found<double>, "values"_a, "ends"_a);
    module.def("map_by_pieces", &mapped<float>, "values"_a.noconvert(), "ends"_a, "images"_a);
    module.def("map_by_pieces", &mapped<double>, "values"_a, "ends"_a, "images"_a);
    module.def("instruction_sets", [] {
        std::vector<std::string> names;
        for (const Kernels* one : usable_kernels()) names.emplace_back(one->instruction_set);
        return names;
    });
}
