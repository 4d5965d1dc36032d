"""The nearest candidates of rows, natively or in numpy.

The reference of the votes: the nearest candidates of every row, in numpy.

Direct differences in float32, summed column by column in a fixed order, then one product and one
sum for the categories. No expansion into `a^2 - 2ab + b^2`: that form is faster, and wrong for
about one vote in 10^5. A number that is missing (NaN) adds nothing: a code tells of it. A stable
sort (for one neighbour, `argmin`) takes the first of equal distances, which is the tie rule. A
block of rows at a time keeps the memory bounded, whatever the number of rows and candidates.

The nearest candidates of rows, natively or, where that is not installed, in numpy.

Both give the same answers bit by bit, so which of them runs changes nothing but the time.
"""

from __future__ import annotations

import functools
import threading
import warnings
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tabpe import native
from tabpe._utils import validation
from tabpe.encoding import Records
from tabpe.errors import ParameterError, SlowVotesWarning

BLOCK_CELLS = 2**18


@dataclass(frozen=True, eq=False)
class NumpyIndex:
    """Finds the nearest of some candidates, slowly and without any compiled code.

    Args:
        candidates: Where to look.
        category_weight: What one differing category adds to a distance.

    Example:
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> points = Records(np.array([[0.0], [0.5], [0.5]], dtype=np.float32), no_codes)
        >>> NumpyIndex(points, category_weight=1 / 3).find_nearest(points).ravel()
        array([0, 1, 1])
    """

    candidates: Records
    category_weight: float

    def find_nearest(self, rows: Records, k: int = 1) -> NDArray[np.int64]:
        """Return the indices of the `k` candidates nearest to each row, nearest first."""
        block = max(1, BLOCK_CELLS // len(self.candidates))
        numbers = np.ascontiguousarray(self.candidates.numbers.T, dtype=np.float32)
        codes = np.ascontiguousarray(self.candidates.codes.T)
        found = np.empty((len(rows), k), dtype=np.int64)
        for start in range(0, len(rows), block):
            part = rows.take(np.arange(start, min(start + block, len(rows))))
            distance = _compute_distances(part, numbers, codes, np.float32(self.category_weight))
            found[start : start + block] = _find_smallest(distance, k)
        return found


def find_first_equals_numpy(rows: Records) -> NDArray[np.int64]:
    """Return for each row the first one that equals it, bit by bit.

    Example:
        >>> numbers = np.array([[0.5], [0.1], [0.5]], dtype=np.float32)
        >>> find_first_equals_numpy(Records(numbers, np.zeros((3, 1), dtype=np.uint8)))
        array([0, 1, 0])
    """
    if not rows.numbers.size and not rows.codes.size:
        return np.zeros(len(rows), dtype=np.int64)
    cells = [np.ascontiguousarray(part).view(np.uint8) for part in (rows.numbers, rows.codes)]
    joined = np.concatenate([cell.reshape(len(rows), -1) for cell in cells], axis=1)
    whole = joined.view(np.dtype((np.void, joined.shape[1]))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    return np.asarray(first[group], dtype=np.int64)


def _find_smallest(distance: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    if k == 1:
        return np.asarray(distance.argmin(axis=1)[:, None], dtype=np.int64)
    return np.asarray(distance.argsort(axis=1, kind="stable")[:, :k], dtype=np.int64)


def _compute_distances(
    rows: Records,
    numbers: NDArray[np.float32],
    codes: NDArray[Any],
    weight: np.float32,
) -> NDArray[np.float32]:
    """Return the distance of each row to each candidate; candidates come column by column."""
    shape = (len(rows), max(numbers.shape[1], codes.shape[1]))
    total = np.zeros(shape, dtype=np.float32)
    difference = np.empty(shape, dtype=np.float32)
    holes = bool(np.isnan(rows.numbers).any() or np.isnan(numbers).any())
    for column, values in zip(rows.numbers.T.astype(np.float32, copy=False), numbers, strict=True):
        np.subtract(column[:, None], values[None, :], out=difference)
        np.multiply(difference, difference, out=difference)
        if holes:
            np.fmax(difference, 0, out=difference)  # of NaN and 0 it is 0
        np.add(total, difference, out=total)
    if codes.shape[0]:
        differing = np.zeros(shape, dtype=np.uint16)
        for column, values in zip(rows.codes.T, codes, strict=True):
            differing += column[:, None] != values[None, :]
        total += weight * differing.astype(np.float32)
    return total


MOST_NEAREST = 16
# Merging pays where it saves more of the search than weights cost in counting.
MERGED_SHARE = 0.9
# What compiled code relies on: row by row, each cell at an address that suits its type.
LAYOUT: Final = ("C_CONTIGUOUS", "ALIGNED")
# The candidates of several classes are indexed at once, and one warning is enough.
_ONE_AT_A_TIME = threading.Lock()


class NearestIndex(Protocol):
    """Finds the nearest of some candidates."""

    def find_nearest(self, rows: Records, k: int = 1) -> NDArray[np.int64]:
        """Return the indices of the `k` candidates nearest to each row, nearest first."""
        ...


@dataclass(frozen=True, eq=False)
class NativeIndex:
    """Finds the nearest of some candidates, in compiled code.

    Args:
        index: The candidates in their tiles.
        size: How many candidates there are.
        jobs: Number of threads.
        kernel: `automatic`, or the kernel to use.
        instruction_set: The instructions to use, or nothing for the best.
    """

    index: Any
    size: int
    jobs: int = 1
    kernel: str = "automatic"
    instruction_set: str = ""

    def find_nearest(self, rows: Records, k: int = 1) -> NDArray[np.int64]:
        """Return the indices of the `k` candidates nearest to each row, nearest first."""
        _check_nearest(k, self.size)
        found: NDArray[np.int64] = self.index.nearest(
            np.require(rows.numbers, np.float32, LAYOUT),
            np.require(rows.codes, None, LAYOUT),
            k=k,
            jobs=self.jobs,
            kernel=self.kernel,
            instruction_set=self.instruction_set,
        )
        return found


def build_index(candidates: Records, category_weight: float, *, jobs: int = 1) -> NearestIndex:
    """Return what finds the nearest of `candidates`, natively if it can.

    Args:
        candidates: At least one. Their numbers are finite; or NaN, if a code of the row tells of
            what is missing: NaN itself adds nothing to a distance.
        category_weight: What one differing category adds to a distance.
        jobs: Number of threads.

    Example:
        >>> no_codes = np.empty((2, 0), dtype=np.uint8)
        >>> corners = Records(np.array([[0.0], [1.0]]), no_codes)
        >>> rows = Records(np.array([[0.2], [0.9]], dtype=np.float32), no_codes)
        >>> build_index(corners, category_weight=1 / 3).find_nearest(rows, k=2).tolist()
        [[0, 1], [1, 0]]
    """
    if native.search is None:
        with _ONE_AT_A_TIME:
            _warn_of_numpy()
        return NumpyIndex(candidates, category_weight)
    found = native.search.Index(*_convert_arrays(candidates), category_weight)
    return NativeIndex(found, len(candidates), jobs)


def prepare_rows(rows: Records, category_weight: float) -> tuple[Records, NDArray[np.int64] | None]:
    """Return private rows with neighbours side by side, and how many rows each stands for.

    Equal rows are merged where that pays; the weights are None where it does not. Votes are the
    same for every order of the rows, and a merged row votes with its weight.
    """
    first = find_first_equals(rows)
    kept = np.flatnonzero(first == np.arange(len(rows)))
    weights = None
    if len(kept) < MERGED_SHARE * len(rows):
        weights = np.bincount(first, minlength=len(rows))[kept]
        rows = rows.take(kept)
    if native.search is None:
        return rows, weights
    order = native.search.spatial_order(*_convert_arrays(rows), category_weight)
    return rows.take(order), None if weights is None else weights[order]


def find_first_equals(rows: Records) -> NDArray[np.integer[Any]]:
    """Return for each row the first one that equals it, bit by bit."""
    if native.search is None:
        return find_first_equals_numpy(rows)
    found: NDArray[np.int32] = native.search.first_equals(*_convert_arrays(rows))
    return found


def _convert_arrays(rows: Records) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    return (
        np.require(rows.numbers, np.float32, LAYOUT),
        np.require(rows.codes, np.int32, LAYOUT),
    )


def _check_nearest(k: int, size: int) -> None:
    validation.check_integer("k", k, least=1)
    if k > min(MOST_NEAREST, size):
        raise ParameterError(
            f"k={k}: expected at most {MOST_NEAREST}, and no more than the {size} candidates."
        )


@functools.cache
def _warn_of_numpy() -> None:
    """Warn once a process."""
    warnings.warn(
        "the native votes are not installed: numpy gives the same answers, 10 to 50 times slower. "
        "Install tabpe with a C++ compiler at hand, or from a wheel.",
        SlowVotesWarning,
        stacklevel=4,
    )
