"""Choices by the exponential mechanism, and halfspaces under noise.

Choices and distances: what the rows say about estimates of their marginals.

Privacy, for tables that differ by one row more or less. The *distance* of a marginal from an
estimate is the sum over all cells of the sizes of their differences, in parts of 1 / `PARTS` of a
row: whole numbers, so there is no rounding. A row changes one cell by one, so it changes a distance
by at most one row, up or down.

- `choose` is the exponential mechanism over weighted distances. A row changes a score by its weight
  at most, up or down, so losses lie in an interval of 2 * (largest weight) / scale: its range.
- `distances` cuts distances down to whole rows. Numbers that differ by at most one row then differ
  by zero or one, so each is like a histogram of one cell, under discrete Gaussian noise.

All of it is charged before a row is read.

Halfspaces under noise: which of them estimates get most wrong, and how many rows they hold.

Privacy, for tables that differ by one row more or less. A row counts one in a single cell of a
halfspace, or nowhere, so one row more or less moves the counts of a halfspace by a length of one at
most, and its distance from an estimate, as in `tabpe.measurement.selection`, by one row.

- `worst_halfspaces` is the exponential mechanism over distances, several times, where what was
  chosen is no option any more. Each choice is charged.
- `rows_inside` is a discrete Gaussian mechanism over the cells of each halfspace, each charged
  once.

All of it is charged before a row is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting import ROWS
from tabpe.accounting.noise import Chooser
from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN, BillItem
from tabpe.backends import HeldTables, Tables
from tabpe.encoding.halfspaces import Halfspaces, found
from tabpe.encoding.marginals import Marginal
from tabpe.errors import ParameterError, TabpeError
from tabpe.measurement.terms import Terms, charged, check_mechanism, noisy

PARTS = 1024
WEIGHTS = 1024
_MOST = 2**50  # rows times parts: far above any table, and its sums fit in 64 bits

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def choose(
    tables: Tables,
    asked: Sequence[Marginal],
    estimates: Sequence[Floats],
    terms: Terms,
    name: str,
    *,
    weights: Sequence[float] | None = None,
    penalties: Sequence[float] | None = None,
) -> int:
    """Return the place of a marginal that is far from its estimate, by the exponential mechanism.

    The score of a marginal is its weight times (distance - penalty). Weights and penalties are
    public; weights lie above 0 and at most at 1.

    Args:
        tables: Counts the rows.
        asked: The marginals to choose from.
        estimates: Estimated counts of each.
        terms: On which terms rows are read; one choice is charged.
        name: Its item on the bill.
        weights: How much a distance counts; None for 1 each.
        penalties: What is taken off a distance, in rows; None for nothing.
    """
    chooser, factors = chooser_of(terms), _factors(weights, len(asked))
    offsets = in_parts(np.zeros(len(asked)) if penalties is None else np.asarray(penalties))
    if not len(asked) == len(factors) == len(offsets):
        raise TabpeError(f"{name}: expected a weight and a penalty for each marginal.")
    targets = _targets(asked, estimates)
    item = charged(terms.account, name, 1)
    check_mechanism(item, EXPONENTIAL)
    # Exact and private from here on.
    scores = factors * (_distances(tables, asked, targets) - offsets)
    chosen = pick(chooser, scores, int(factors.max()) * PARTS, item)
    terms.note(item, told=int(chosen))
    return chosen


def distances(
    tables: Tables, asked: Sequence[Marginal], estimates: Sequence[Floats], terms: Terms, name: str
) -> Floats:
    """Return the noisy distance of each marginal from its estimate, in rows; each is charged once.

    Args:
        tables: Counts the rows.
        asked: The marginals.
        estimates: Estimated counts of each.
        terms: On which terms rows are read.
        name: Their item on the bill.
    """
    if not asked:
        return np.zeros(0)
    _check_rows(terms)
    targets = _targets(asked, estimates)
    item = charged(terms.account, name, len(asked))
    check_mechanism(item, GAUSSIAN)
    found = noisy(_distances(tables, asked, targets) // PARTS, item, terms)
    terms.note(item, found)
    return found.astype(np.float64)


def pick(chooser: Chooser, scores: Whole, change: int, item: BillItem) -> int:
    """Return a place by the exponential mechanism, on the terms of an item that was charged.

    Args:
        chooser: The source of randomness.
        scores: Exact scores.
        change: The most that a row changes a score by, up or down.
        item: What was charged: sigma = 2 / range.
    """
    return chooser.choose(scores, change * item.sigma)


def _distances(tables: Tables, asked: Sequence[Marginal], targets: Sequence[Whole]) -> Whole:
    counted = tables.counts(asked)
    return np.array(
        [np.abs(c * PARTS - t).sum() for c, t in zip(counted, targets, strict=True)],
        dtype=np.int64,
    )


def _targets(asked: Sequence[Marginal], estimates: Sequence[Floats]) -> list[Whole]:
    for marginal, estimate in zip(asked, estimates, strict=True):
        if np.shape(estimate) != marginal.shape:
            raise TabpeError("estimates: their cells are not those of the marginals.")
    return [in_parts(np.asarray(estimate).ravel()) for estimate in estimates]


def in_parts(values: Floats) -> Whole:
    """Return public numbers of rows in parts of a row."""
    parts = np.rint(np.asarray(values, dtype=np.float64) * PARTS)
    if not np.isfinite(parts).all() or np.abs(parts).sum() > _MOST:
        raise TabpeError("estimates: expected finite counts of a table of rows.")
    return parts.astype(np.int64)


def _factors(weights: Sequence[float] | None, size: int) -> Whole:
    if weights is None:
        return np.ones(size, dtype=np.int64)
    given = np.asarray(weights, dtype=np.float64)
    if not ((given > 0) & (given <= 1)).all():
        raise TabpeError("weights: expected numbers above 0 and at most 1.")
    return np.ceil(given * WEIGHTS).astype(np.int64)


def chooser_of(terms: Terms) -> Chooser:
    """Return the source of choices, for rows that come or go."""
    _check_rows(terms)
    if not isinstance(terms.noise, Chooser):
        raise ParameterError("noise: this source makes no choices. Use noise='opendp'.")
    return terms.noise


def _check_rows(terms: Terms) -> None:
    if terms.neighbours != ROWS:
        raise ParameterError("adjacency: distances are measured for adding or removing a row only.")


_AT_ONCE = 2**16  # halfspaces: keeps what is made of their counts small


def worst_halfspaces(
    tables: HeldTables,
    asked: Sequence[Halfspaces],
    estimates: Sequence[Floats],
    terms: Terms,
    name: str,
    *,
    most: int,
    taken: Sequence[int] = (),
) -> list[int]:
    """Return the places of halfspaces that are far from their estimates.

    Args:
        tables: Counts the rows.
        asked: The halfspaces; places count through all of them.
        estimates: Estimated counts of each: halfspaces x cells.
        terms: On which terms rows are read; each choice is charged.
        name: Their item on the bill.
        most: How many to choose; fewer if there are no more.
        taken: Places that are no option; public.
    """
    chooser, options = chooser_of(terms), _options(asked, taken)
    for halfspaces, estimate in zip(asked, estimates, strict=True):
        if np.shape(estimate) != (len(halfspaces), halfspaces.cells):
            raise TabpeError("estimates: their cells are not those of the halfspaces.")
        if not np.isfinite(estimate).all():
            raise TabpeError("estimates: expected finite counts of a table of rows.")
    times = min(most, len(options))
    if not times:
        return []
    item = charged(terms.account, name, times)
    check_mechanism(item, EXPONENTIAL)
    # Exact and private from here on.
    scores = np.concatenate([*_halfspace_distances(tables, asked, estimates)])[options]
    chosen = []
    for _ in range(times):
        place = pick(chooser, scores, PARTS, item)
        chosen.append(int(options[place]))
        options, scores = np.delete(options, place), np.delete(scores, place)
    terms.note(item, told=chosen)
    return chosen


def rows_inside(
    tables: HeldTables,
    asked: Sequence[Halfspaces],
    places: Sequence[int],
    terms: Terms,
    name: str,
) -> list[Floats]:
    """Return the noisy number of rows of each cell in some halfspaces; each is charged once.

    Args:
        tables: Counts the rows.
        asked: The halfspaces; places count through all of them.
        places: Which of them to count in.
        terms: On which terms rows are read.
        name: Their item on the bill.
    """
    if not places:
        return []
    chooser_of(terms)
    wanted = [found(asked, place) for place in places]
    item = charged(terms.account, name, len(places))
    check_mechanism(item, GAUSSIAN)
    exact = [tables.inside(asked[which])[place].astype(np.int64) for which, place in wanted]
    counted = [noisy(counts, item, terms) for counts in exact]
    terms.note(item, *counted)
    return [counts.astype(np.float64) for counts in counted]


def _halfspace_distances(
    tables: HeldTables, asked: Sequence[Halfspaces], estimates: Sequence[Floats]
) -> Iterator[Whole]:
    for halfspaces, estimate in zip(asked, estimates, strict=True):
        counts = tables.inside(halfspaces)
        for start in range(0, len(halfspaces), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            exact, target = counts[some].astype(np.int64) * PARTS, in_parts(estimate[some])
            yield np.abs(exact - target).sum(axis=1)


def _options(asked: Sequence[Halfspaces], taken: Sequence[int]) -> Whole:
    free = np.ones(sum(len(halfspaces) for halfspaces in asked), dtype=bool)
    free[list(taken)] = False
    return np.flatnonzero(free).astype(np.int64)
