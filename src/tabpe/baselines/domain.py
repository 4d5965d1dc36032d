"""`Domain`: a table after discretisation, and the way back from codes to rows.

Everything here is public: axes are cut by the schema or by what was estimated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Encoder, Records
from tabpe.encoding.marginals import ListAxis, Marginal, MarginalAxis, NumberAxis
from tabpe.errors import TabpeError

Clique = tuple[int, ...]
Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SyntheticRows:
    """Synthetic rows, encoded.

    Args:
        records: Their numbers and codes.
        classes: The class of each; 0 without a label.
    """

    records: Records
    classes: NDArray[np.int64]


def join_cells(axis: NumberAxis, starts: Sequence[int]) -> NumberAxis:
    """Return an axis with fewer bins, each of cells that follow each other.

    Args:
        axis: The cells.
        starts: The cells in which bins begin, in order; the first is 0.

    Example:
        >>> fine = NumberAxis("age", 0, (0.25, 0.5, 0.75), (0.0, 25.0, 50.0, 75.0, 100.0))
        >>> joined = join_cells(fine, [0, 3])
        >>> joined.cuts, joined.edges
        ((0.75,), (0.0, 75.0, 100.0))
    """
    cuts = tuple(axis.cuts[start - 1] for start in starts[1:])
    edges = tuple(axis.edges[start] for start in starts)
    return NumberAxis(axis.name, axis.index, cuts, (*edges, axis.edges[-1]))


@dataclass(frozen=True)
class Domain:
    """The attributes of a table as lists of cells, the label among them.

    Args:
        axes: The cells of each attribute, in the order of the schema.
        label: The place of the label; None without one.

    Example:
        >>> domain = Domain((ListAxis("ward", 0, (0, 1, 2)), ListAxis("ill", None, (0, 1))), 1)
        >>> domain.names, domain.sizes, domain.count_cells((0, 1))
        (('ward', 'ill'), (3, 2), 6)
        >>> domain.count_rows(np.array([[2, 0], [2, 1], [0, 1]]), (0, 1))
        array([[0., 1.],
               [0., 0.],
               [1., 1.]])
    """

    axes: tuple[MarginalAxis, ...]
    label: int | None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each attribute."""
        return tuple(axis.size for axis in self.axes)

    @property
    def attributes(self) -> int:
        """The number of attributes."""
        return len(self.axes)

    def get_shape(self, clique: Clique) -> tuple[int, ...]:
        """Return the number of cells of each attribute of a clique."""
        return tuple(self.axes[place].size for place in clique)

    def count_cells(self, clique: Clique) -> int:
        """Return the number of cells of the marginal of a clique."""
        return math.prod(self.get_shape(clique))

    def make_marginal(self, clique: Clique) -> Marginal:
        """Return the marginal of a clique, as rows are asked for it."""
        return Marginal(tuple(self.axes[place] for place in clique))

    def group_cells(self, most: int) -> tuple[Codes, ...]:
        """Return the group of each cell of each attribute, with at most so many of a number.

        Groups are of cells that follow each other, about equally many; those of listed values hold
        one each.

        Example:
            >>> age = NumberAxis("age", 0, (0.25, 0.5, 0.75), (0.0, 25.0, 50.0, 75.0, 100.0))
            >>> Domain((age,), None).group_cells(2)
            (array([0, 0, 1, 1]),)
        """
        return tuple(
            np.arange(axis.size) * min(most, axis.size) // axis.size
            if isinstance(axis, NumberAxis)
            else np.arange(axis.size)
            for axis in self.axes
        )

    def coarsen(self, most: int) -> Domain:
        """Return the domain whose cells are the groups of `group_cells`.

        Example:
            >>> age = NumberAxis("age", 0, (0.25, 0.5, 0.75), (0.0, 25.0, 50.0, 75.0, 100.0))
            >>> Domain((age,), None).coarsen(2).axes[0].cuts
            (0.5,)
        """
        axes = (
            join_cells(axis, np.flatnonzero(np.diff(groups, prepend=-1)).tolist())
            if isinstance(axis, NumberAxis)
            else axis
            for axis, groups in zip(self.axes, self.group_cells(most), strict=True)
        )
        return Domain(tuple(axes), self.label)

    def count_rows(self, codes: Codes, clique: Clique) -> Floats:
        """Return how many synthetic rows fall into each cell of a marginal, in its shape."""
        shape = self.get_shape(clique)
        if not clique:
            return np.array(float(len(codes)))
        cells = np.ravel_multi_index(tuple(codes[:, place] for place in clique), shape)
        counts = np.bincount(cells, minlength=self.count_cells(clique))
        return counts.reshape(shape).astype(np.float64)


def decode_rows(
    codes: Codes, domain: Domain, encoder: Encoder, rng: np.random.Generator
) -> SyntheticRows:
    """Return rows with the given codes: numbers uniform inside their bins, on their grid.

    Args:
        codes: The cell of each attribute of each row.
        domain: What the cells are.
        encoder: How rows are encoded.
        rng: Where inside its cell a value lies.
    """
    numbers = np.zeros((len(codes), len(encoder.numeric)))
    values = np.zeros((len(codes), len(encoder.categorical)), dtype=np.uint32)
    classes = np.zeros(len(codes), dtype=np.int64)
    for axis, cells in zip(domain.axes, codes.T, strict=True):
        if isinstance(axis, NumberAxis):
            steps = encoder.numeric[axis.index].steps
            numbers[:, axis.index] = _draw_numbers(axis, cells, steps, rng)
        elif not isinstance(axis, ListAxis):
            raise TabpeError(f"{axis.name}: its cells are not those of a column.")
        elif axis.index is None:
            classes = _draw_values(axis, cells, rng)
        else:
            values[:, axis.index] = _draw_values(axis, cells, rng)
    return SyntheticRows(Records(numbers, values), classes)


def _draw_numbers(
    axis: NumberAxis, cells: NDArray[np.int64], steps: int, rng: np.random.Generator
) -> Floats:
    """Return a scaled number in each cell; of a column with a grid, one of the values there."""
    bounds = np.array([0.0, *axis.cuts, 1.0])
    low, high = bounds[cells], bounds[cells + 1]
    inside = rng.random(len(cells))
    if not steps:
        spread: Floats = low + inside * (high - low)
        return spread
    first, after = np.ceil(low * steps), np.ceil(high * steps)
    # The last cell holds the largest value too; between cuts on the grid a new one begins.
    after = np.where(cells == axis.size - 1, steps + 1, after)
    width = np.maximum(after - first, 1)
    on_grid: Floats = np.clip(first + np.floor(inside * width), 0, steps) / steps
    return on_grid


def _draw_values(
    axis: ListAxis, cells: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return one of the listed values that share each cell."""
    groups = np.array(axis.groups)
    order = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups, minlength=axis.size)
    first = np.cumsum(sizes) - sizes
    chosen = first[cells] + np.floor(rng.random(len(cells)) * sizes[cells]).astype(np.int64)
    values: NDArray[np.int64] = order[chosen].astype(np.int64)
    return values
