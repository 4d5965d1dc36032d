"""The nearest candidates of rows, natively or, where that is not installed, in numpy.

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

from tabpe import _native, _validate
from tabpe.encode import Records
from tabpe.errors import ParameterError, SlowVotesWarning
from tabpe.search import reference

MOST_NEAREST = 16
# Merging pays where it saves more of the search than weights cost in counting.
MERGED_SHARE = 0.9
# What compiled code relies on: row by row, each cell at an address that suits its type.
LAYOUT: Final = ("C_CONTIGUOUS", "ALIGNED")
# The candidates of several classes are indexed at once, and one warning is enough.
_ONE_AT_A_TIME = threading.Lock()


class Index(Protocol):
    """Finds the nearest of some candidates."""

    def nearest(self, rows: Records, k: int = 1) -> NDArray[np.int64]:
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

    def nearest(self, rows: Records, k: int = 1) -> NDArray[np.int64]:
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


def index(candidates: Records, category_weight: float, *, jobs: int = 1) -> Index:
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
        >>> index(corners, category_weight=1 / 3).nearest(rows, k=2).tolist()
        [[0, 1], [1, 0]]
    """
    if _native.search is None:
        with _ONE_AT_A_TIME:
            _warn_of_numpy()
        return reference.NumpyIndex(candidates, category_weight)
    found = _native.search.Index(*_arrays(candidates), category_weight)
    return NativeIndex(found, len(candidates), jobs)


def prepared(rows: Records, category_weight: float) -> tuple[Records, NDArray[np.int64] | None]:
    """Return private rows with neighbours side by side, and how many rows each stands for.

    Equal rows are merged where that pays; the weights are None where it does not. Votes are the
    same for every order of the rows, and a merged row votes with its weight.
    """
    first = first_equals(rows)
    kept = np.flatnonzero(first == np.arange(len(rows)))
    weights = None
    if len(kept) < MERGED_SHARE * len(rows):
        weights = np.bincount(first, minlength=len(rows))[kept]
        rows = rows.take(kept)
    if _native.search is None:
        return rows, weights
    order = _native.search.spatial_order(*_arrays(rows), category_weight)
    return rows.take(order), None if weights is None else weights[order]


def first_equals(rows: Records) -> NDArray[np.integer[Any]]:
    """Return for each row the first one that equals it, bit by bit."""
    if _native.search is None:
        return reference.first_equals(rows)
    found: NDArray[np.int32] = _native.search.first_equals(*_arrays(rows))
    return found


def _arrays(rows: Records) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    return (
        np.require(rows.numbers, np.float32, LAYOUT),
        np.require(rows.codes, np.int32, LAYOUT),
    )


def _check_nearest(k: int, size: int) -> None:
    _validate.whole("k", k, least=1)
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
