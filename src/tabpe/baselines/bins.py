"""Discretisation: where the bins of columns of numbers begin, by choice of a name.

- `privtree`: a range is halved where rows lie close together (`tabpe.measure.trees`). Bins are
  narrow where there is much to tell apart, down to single values, and wide where there is little.
- `quantile`: bins of about equally many rows, by a noisy histogram of the whole range.
- `uniform`: bins of equal width, by the schema alone. They cost nothing.

Privacy: the first two are measured and charged like anything else, one item with an equal part for
each column. A column with few values gets a bin for each of them, whatever the name, and is free.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe import _validate
from tabpe.encode import Encoder, Marginal
from tabpe.encode.axes import NumberAxis, axis_of
from tabpe.engines import Tables
from tabpe.measure import Terms, marginals
from tabpe.measure.trees import trees
from tabpe.privacy.plan import EXPONENTIAL, GAUSSIAN, Part

BINS = "bins"
PRIVTREE, QUANTILE, UNIFORM = "privtree", "quantile", "uniform"
KINDS = PRIVTREE, QUANTILE, UNIFORM
FEW = 16  # A column with so many values or fewer has a bin for each.
# Cells that bins are made of. In a tree, those that hold next to nothing cost nothing. In a
# histogram each has noise of its own.
TREE_CELLS = 2**17
HISTOGRAM_CELLS = 256

_MECHANISMS = {PRIVTREE: EXPONENTIAL, QUANTILE: GAUSSIAN}


def parts(kind: str, encoder: Encoder) -> tuple[Part, ...]:
    """Return the plan of `buy`: one part, or none if all bins are free.

    Args:
        kind: One of `KINDS`.
        encoder: Encodes the rows.

    Example:
        >>> from tabpe.schema import Float, Integer, Schema
        >>> encoder = Encoder(Schema((Float("size", 0.0, 2.5), Integer("children", 0, 9))))
        >>> parts("quantile", encoder)
        (Part(name='bins', share=1.0, times=1, mechanism='discrete Gaussian'),)
        >>> parts("uniform", encoder)
        ()
    """
    mechanism = _MECHANISMS.get(_validate.one_of(BINS, kind, KINDS))
    times = len(_wide(encoder))
    if mechanism is None or not times:
        return ()
    return (Part(BINS, 1.0, times, mechanism),)


def buy(
    kind: str, encoder: Encoder, tables: Tables, terms: Terms, *, most: int, rows: float
) -> dict[str, NumberAxis]:
    """Return the bins of every column of numbers.

    Args:
        kind: One of `KINDS`.
        encoder: Encodes the rows.
        tables: Counts the rows.
        terms: On which terms rows are read; agreed on what `parts` says.
        most: The most bins of a column with more than `FEW` values.
        rows: The number of rows, public or noisy.
    """
    _validate.one_of(BINS, kind, KINDS)
    most = _validate.whole("most", most, least=1)
    wide = _wide(encoder)
    if kind == PRIVTREE:
        bought = _by_trees(_axes(encoder, wide, TREE_CELLS), tables, terms, most, rows)
    elif kind == QUANTILE:
        cells = _histogram_cells(terms, most, rows)
        bought = _by_histograms(_axes(encoder, wide, cells), tables, terms, most)
    else:
        bought = _axes(encoder, wide, most)
    found = {axis.name: axis for axis in bought}
    names = [column.name for column in encoder.numeric]
    return {axis.name: found.get(axis.name, axis) for axis in _axes(encoder, names, FEW)}


def joined(axis: NumberAxis, starts: Sequence[int]) -> NumberAxis:
    """Return an axis with fewer bins, each made up of cells that follow each other.

    Args:
        axis: The cells.
        starts: The cells in which bins begin, in order; the first is 0.

    Example:
        >>> fine = NumberAxis("age", 0, (0.25, 0.5, 0.75), (0.0, 25.0, 50.0, 75.0, 100.0))
        >>> joined(fine, [0, 3])
        NumberAxis(name='age', place=0, cuts=(0.75,), edges=(0.0, 75.0, 100.0), nullable=False)
    """
    cuts = tuple(axis.cuts[start - 1] for start in starts[1:])
    edges = tuple(axis.edges[start] for start in starts)
    return NumberAxis(axis.name, axis.place, cuts, (*edges, axis.edges[-1]))


def even_starts(counts: NDArray[np.float64], most: int) -> tuple[int, ...]:
    """Return where bins of about equal mass begin, by noisy counts of cells.

    A cell belongs to the bin in which the middle of its mass lies, so a cell that holds more than
    two bins should is alone.

    Example:
        >>> even_starts(np.array([1.0, 1.0, 2.0, 90.0, 3.0, -1.0, 4.0]), most=4)
        (0, 3, 4)
    """
    mass = np.cumsum(counts)
    # Between the least and the largest curve without a fall.
    rising = np.maximum.accumulate(mass) + np.minimum.accumulate(mass[::-1])[::-1]
    rising = np.clip(rising / 2, 0.0, None)
    if not rising[-1]:
        return (0,)
    middles = (rising + np.append(0.0, rising[:-1])) / 2
    places = np.minimum(np.floor(most * middles / rising[-1]), most - 1)
    return (0, *(np.flatnonzero(np.diff(places)) + 1).tolist())


def _wide(encoder: Encoder) -> list[str]:
    """Return the columns of numbers with more than a few values."""
    return [
        column.name
        for column in encoder.numeric
        if column.max > column.min and not 0 < column.steps < FEW
    ]


def _axes(encoder: Encoder, names: Sequence[str], most: int) -> list[NumberAxis]:
    axes = [axis_of(encoder, name, most=most) for name in names]
    return [axis for axis in axes if isinstance(axis, NumberAxis)]


def _by_trees(
    cells: list[NumberAxis], tables: Tables, terms: Terms, most: int, rows: float
) -> list[NumberAxis]:
    """Halve bins that hold more rows than they would if all held equally many."""
    threshold = max(round(rows / most), 0)
    starts = trees(tables, cells, terms, BINS, threshold=threshold, most=most)
    return [joined(axis, begun) for axis, begun in zip(cells, starts, strict=True)]


def _histogram_cells(terms: Terms, most: int, rows: float) -> int:
    """Return so many cells that all their noise is about half of what a bin should hold."""
    sigma = next((item.sigma for item in terms.account.agreed if item.name == BINS), math.inf)
    return int(np.clip((rows / (2 * most * sigma)) ** 2, most, max(HISTOGRAM_CELLS, most)))


def _by_histograms(
    cells: list[NumberAxis], tables: Tables, terms: Terms, most: int
) -> list[NumberAxis]:
    counted = marginals(tables, [Marginal((axis,)) for axis in cells], terms, BINS)
    return [
        joined(axis, even_starts(counts, most)) for axis, counts in zip(cells, counted, strict=True)
    ]
