// Compiled once per instruction set: TABPE_ISA is `portable`, `avx2` or `avx512`.
#include "dense.hpp"
#include "filter.hpp"
#include "holes.hpp"
#include "prune.hpp"

#define TABPE_TEXT_(name) #name
#define TABPE_TEXT(name) TABPE_TEXT_(name)

namespace tabpe::TABPE_ISA {

const Kernels kernels = {TABPE_TEXT(TABPE_ISA), prune, filter, dense, holes};

}  // namespace tabpe::TABPE_ISA
