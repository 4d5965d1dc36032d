"""`Records`: rows as arrays; `RecordSpace`: where they lie; `VotingSpace`: where votes are cast.

Numbers are scaled to [0, 1] by the bounds of the schema, categories are codes 0, 1, 2, ...
Private rows have float32 numbers, which distances are computed in; candidates have float64, so that
a large integer or a date is decoded exactly. A null number is NaN, and a null category has a code
of its own, after those of its values. An atom, at which numbers pile up, is a number like others.

Distances and steps work equally well everywhere only if rows are spread evenly. A skewed column has
nearly all rows in a small part of its range; `RankTransform`, a public piecewise linear map, gives
that part more room. In the voting space a null number adds nothing to a distance; a code of its own
says whether it is null. So a null and a number are as far apart as two different categories, and
two nulls are equal. The same code says whether a number is at an atom, so that a pile of zeros is a
category beside the numbers around it.

Privacy: how a row is transformed depends on that row and on public facts, and on no other row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding.atoms import Atoms, find_states
from tabpe.encoding.pieces import map_by_pieces
from tabpe.errors import TabpeError

Floats = NDArray[np.floating[Any]]
Codes = NDArray[np.unsignedinteger[Any]]
Ends = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Records:
    """Rows, column by column of their kind.

    Args:
        numbers: Scaled numbers, one row a record.
        codes: Category codes, one row a record.

    Example:
        >>> rows = Records(np.array([[0.5], [1.0]]), np.array([[0], [2]], dtype=np.uint8))
        >>> rows.take(np.array([1])).codes
        array([[2]], dtype=uint8)
    """

    numbers: Floats
    codes: Codes

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, which: NDArray[Any]) -> Records:
        """Return the rows at the given indices, or where a mask is true."""
        which = np.asarray(which)
        if which.dtype == np.bool_:
            which = np.flatnonzero(which)
        # `take` copies rows several times as fast as an index in brackets.
        return Records(self.numbers.take(which, axis=0), self.codes.take(which, axis=0))

    def repeat(self, times: int) -> Records:
        """Return all rows `times` times, one whole copy after the other."""
        return Records(np.tile(self.numbers, (times, 1)), np.tile(self.codes, (times, 1)))

    @staticmethod
    def concat(parts: Sequence[Records]) -> Records:
        """Return the rows of all parts, in order."""
        return Records(
            np.concatenate([part.numbers for part in parts]),
            np.concatenate([part.codes for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class RecordSpace:
    """The box of scaled numbers and the lists of categories in which candidates live.

    Args:
        low: Smallest scaled number of each numeric column.
        high: Largest.
        steps: Number of grid steps from 0 to 1 of each numeric column; 0 for no grid.
        sizes: Number of values of each categorical column; null is one, if it is allowed.
        missing: The probability that a number of a random candidate is null; 0 where it must not
            be.
        drawn: Candidates are drawn from the first so many values; None for all.
        atoms: The scaled numbers of each numeric column at which rows pile up; empty for none.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    steps: NDArray[np.float64]
    sizes: NDArray[np.int64]
    missing: NDArray[np.float64] = field(default_factory=lambda: np.zeros(()))
    drawn: NDArray[np.int64] | None = None
    atoms: Atoms = ()

    @property
    def can_miss(self) -> NDArray[np.bool_]:
        """Which numbers may be null."""
        return np.broadcast_to(self.missing > 0, self.low.shape)

    @property
    def drawn_sizes(self) -> NDArray[np.int64]:
        """The number of values of each categorical column that candidates are drawn from."""
        return self.sizes if self.drawn is None else self.drawn

    @property
    def without_last_code(self) -> RecordSpace:
        """The space in which the last categorical column is always its first value."""
        drawn = self.drawn_sizes.copy()
        drawn[-1] = 1
        return replace(self, drawn=drawn)

    @property
    def code_type(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The smallest type that holds every code."""
        return np.min_scalar_type(int(self.sizes.max(initial=1)) - 1)

    def project(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return `numbers` moved into the box and onto the grid; a null stays one.

        Example:
            >>> one = np.ones(1)
            >>> space = RecordSpace(0 * one, one, 4 * one, np.array([], dtype=np.int64))
            >>> space.project(np.array([[0.3], [1.7]])).ravel()
            array([0.25, 1.  ])
        """
        projected = np.clip(numbers, self.low, self.high)
        on_grid = self.steps > 0
        if on_grid.any():
            steps = self.steps[on_grid]
            snapped = np.rint(projected[:, on_grid] * steps) / steps
            projected[:, on_grid] = np.clip(snapped, self.low[on_grid], self.high[on_grid])
        return projected

    def narrow_column(self, column: int, low: float, high: float) -> RecordSpace:
        """Return the space with one numeric column bound to [low, high]."""
        lows, highs = self.low.copy(), self.high.copy()
        lows[column], highs[column] = low, high
        return replace(self, low=lows, high=highs, missing=self._set_missing(column, 0.0))

    def nullify_column(self, column: int) -> RecordSpace:
        """Return the space with one numeric column always null."""
        return replace(self, missing=self._set_missing(column, 1.0))

    def _set_missing(self, column: int, probability: float) -> NDArray[np.float64]:
        missing = np.array(np.broadcast_to(self.missing, self.low.shape))
        missing[column] = probability
        return missing


# The probability that a number of a random candidate is at one of the atoms of its column.
ATOM_PROBABILITY = 0.25


def draw_uniform_records(space: RecordSpace, size: int, rng: np.random.Generator) -> Records:
    """Return `size` rows, uniform over the space; numbers with a grid are uniform on it.

    A number that may be null is null with the probability that the space states. One that has atoms
    is at one of them with the same probability as a null.

    Example:
        >>> space = RecordSpace(np.zeros(1), np.ones(1), np.array([2.0]), np.array([3]))
        >>> rows = draw_uniform_records(space, 100, np.random.default_rng(0))
        >>> sorted(set(rows.numbers.ravel().tolist())), int(rows.codes.max())
        ([0.0, 0.5, 1.0], 2)
    """
    uniform = rng.random((size, len(space.low)))
    grid = np.where(space.steps > 0, space.steps, 1.0)
    first, last = np.rint(space.low * grid), np.rint(space.high * grid)
    on_grid = (first + np.floor(uniform * (last - first + 1))) / grid
    free = space.low + uniform * (space.high - space.low)
    numbers = np.clip(np.where(space.steps > 0, on_grid, free), space.low, space.high)
    codes = rng.integers(0, space.drawn_sizes, (size, len(space.sizes)))
    for column, places in enumerate(space.atoms):
        if places:
            chosen = rng.integers(0, len(places), size)
            at_one = rng.random(size) < ATOM_PROBABILITY
            numbers[at_one, column] = np.array(places)[chosen[at_one]]
    if space.can_miss.any():
        numbers[rng.random(numbers.shape) < space.missing] = np.nan
    return Records(numbers, codes.astype(space.code_type))


@dataclass(frozen=True, eq=False)
class RankTransform:
    """A monotone, piecewise linear map of [0, 1] to itself for each column of numbers.

    Candidates are voted on in float32: pass them as such, so that equal numbers of candidates and
    private rows are mapped to the same bits.

    Args:
        edges: For each column the ends of its pieces, as scaled numbers that rise from 0 to 1.
        positions: The images of these ends, from 0 to 1 too; an image may have no width.

    Example:
        >>> transform = RankTransform((np.array([0.0, 0.1, 1.0]),), (np.array([0.0, 0.5, 1.0]),))
        >>> rows = Records(np.array([[0.05], [0.1], [1.0]]), np.empty((3, 0), dtype=np.uint8))
        >>> transform.transform_rows(rows).numbers.ravel()
        array([0.25, 0.5 , 1.  ])
        >>> transform.inverse_transform(np.array([[0.25]]))
        array([[0.05]])
    """

    edges: tuple[Ends, ...]
    positions: tuple[Ends, ...]

    def __post_init__(self) -> None:
        for edges, images in zip(self.edges, self.positions, strict=True):
            same = edges.shape == images.shape and edges.ndim == 1
            if not (
                same and _is_rising(edges, strictly=True) and _is_rising(images, strictly=False)
            ):
                raise TabpeError("edges and positions: expected values that rise from 0 to 1.")

    def transform_rows(self, rows: Records) -> Records:
        """Return rows with transformed numbers of the same dtype."""
        return Records(_map_numbers(rows.numbers, self.edges, self.positions), rows.codes)

    def inverse_transform(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the scaled numbers of transformed ones; values outside [0, 1] are mirrored."""
        inside = np.abs(numbers)
        inside = np.clip(np.where(inside > 1, 2 - inside, inside), 0, 1)
        return _map_numbers(inside, self.positions, self.edges).astype(np.float64)


def _is_rising(ends: Ends, *, strictly: bool) -> bool:
    steps = np.diff(ends)
    rises = steps > 0 if strictly else steps >= 0
    return len(ends) > 1 and ends[0] == 0 and ends[-1] == 1 and bool(rises.all())


def _map_numbers(numbers: Floats, ends: tuple[Ends, ...], onto: tuple[Ends, ...]) -> Floats:
    mapped = np.empty_like(numbers)
    for index, (column, known, meant) in enumerate(zip(numbers.T, ends, onto, strict=True)):
        mapped[:, index] = map_by_pieces(column, known, meant)
    return mapped


@dataclass(frozen=True, eq=False)
class VotingSpace:
    """The transform of rows before distances are measured.

    Args:
        can_miss: Which numbers may be null.
        rank_transform: The map of numbers; None to leave them.
        atoms: The scaled numbers of each column at which rows pile up; empty for none.

    Example:
        >>> rows = Records(np.array([[0.5], [np.nan]]), np.array([[3], [3]], dtype=np.uint8))
        >>> VotingSpace(np.array([True])).transform_rows(rows).codes
        array([[3, 0],
               [3, 1]], dtype=uint8)
    """

    can_miss: NDArray[np.bool_]
    rank_transform: RankTransform | None = None
    atoms: Atoms = ()

    @cached_property
    def digest(self) -> bytes:
        """Identifies the transform, also in another process."""
        digest = hashlib.blake2b(self.can_miss.tobytes(), digest_size=16)
        if self.rank_transform is not None:
            for ends in (*self.rank_transform.edges, *self.rank_transform.positions):
                digest.update(len(ends).to_bytes(8, "big") + ends.tobytes())
        for places in self.atoms:
            digest.update(len(places).to_bytes(8, "big") + np.array(places).tobytes())
        return digest.digest()

    def transform_rows(self, rows: Records) -> Records:
        """Return rows in the voting space; numbers keep their dtype."""
        moved = rows if self.rank_transform is None else self.rank_transform.transform_rows(rows)
        if not any(self.atoms):
            return add_null_codes(moved, self.can_miss)
        told = self.can_miss | np.array([len(places) > 0 for places in self.atoms])
        # By the numbers as they were: a transform may move two of them onto one.
        return _add_codes(moved, find_states(rows.numbers, self.atoms), told)


def add_null_codes(rows: Records, can_miss: NDArray[np.bool_]) -> Records:
    """Return rows with an extra code for each number that may be null: 1 where it is, else 0."""
    if not can_miss.any():
        return rows
    return _add_codes(rows, np.isnan(rows.numbers), can_miss)


def _add_codes(rows: Records, states: NDArray[Any], told: NDArray[np.bool_]) -> Records:
    """Return rows with the states of some numbers as codes."""
    # Rows are compared bit by bit, and there are many NaNs: use one.
    numbers = np.where(np.isnan(rows.numbers), rows.numbers.dtype.type(np.nan), rows.numbers)
    return Records(numbers, np.hstack([rows.codes, states[:, told].astype(rows.codes.dtype)]))
