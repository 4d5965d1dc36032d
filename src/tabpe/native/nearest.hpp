// The nearest candidates of many rows: which kernel, on how many threads.
#pragma once

#include <functional>

#include "index.hpp"

namespace tabpe {

enum class Choice { automatic, prune, filter, dense, holes };

// The instruction sets that this machine can run, best first.
std::vector<const Kernels*> usable_kernels();

enum class Outcome { done, interrupted, misfit };

// Writes found[row][nearest]. `interrupted` is asked now and then in the calling thread. A misfit is a
// number above kLargestNumber in size, or one that is missing where no code can tell; what was found is
// then not to be used.
Outcome find_nearest(const Index& index, const Rows& rows, int nearest, int threads, Choice choice,
                  const Kernels& kernels, const std::function<bool()>& interrupted, int64_t* found);

}  // namespace tabpe
