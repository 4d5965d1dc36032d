"""Compiled loops: exact nearest candidates on all cores, pieces of numbers, and sums for the fit.

It stands below all other packages, which may use it. `_search` is the compiled part: `Index` holds
candidates in tiles of sixteen neighbours under a tree of boxes, and finds the k nearest of any
number of rows. Four kernels stand behind one function. It tries the first three on a few rows and
takes the one with the least work; the last is for numbers that may be missing, which the others can
not hold:

- `prune` (prune.hpp): sixteen neighbouring rows walk down the tree together
- `filter` (filter.hpp): counts differing categories, thirty-two candidates per instruction
- `dense` (dense.hpp): scores all pairs, for many columns
- `holes` (holes.hpp): measures all pairs; a missing number (NaN) adds nothing to a distance

Each is compiled for AVX-512, AVX2 and without either, and picked when the program runs.

All of them give the answer of `tabpe.backends.nearest`, bit by bit. A distance is computed in
float32 in one fixed order: squared differences column by column, then the product of the weight
and the number of differing categories. Whatever is left out is left out safely:

- A bound of `prune` takes the same operations in the same order on numbers that are not larger
  (the gap between boxes instead of a difference of points in them). Each operation rounds
  monotonically, so the computed bound is at most every computed distance below it. A branch goes
  only if its bound is above the worst distance of interest; equal ones stay, for a tie may have a
  lower index.
- A level of `filter` is left when the product of the weight and the differences alone is above
  that distance; adding a squared difference can not make it smaller, rounded or not.
- A score of `prune` and `dense` has another rounding than a distance. What is left out by score
  is further away by more than all the error that rounding can make (score.hpp has the proof), and
  whatever is not left out is measured in the fixed order.

Beside the search it has the maps of `tabpe.encoding.pieces` (pieces.cpp), and sums and products
over cells (sums.cpp), `scatter` and `scale`, for the fit of `tabpe.evolution.evidence`. Their order
is that of numpy, so their bits are the same too.

If the compiled part is missing, `search` is None.
"""

from __future__ import annotations

from types import ModuleType

search: ModuleType | None
try:
    from tabpe.native import _search as search
except ImportError:  # Installed without a compiler.
    search = None

__all__ = ["search"]
