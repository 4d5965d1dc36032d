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

- `choose_halfspaces` is the exponential mechanism over distances, several times, where what was
  chosen is no option any more. Each choice is charged.
- `measure_halfspaces` is a discrete Gaussian mechanism over the cells of each halfspace, each
  charged once.

All of it is charged before a row is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting import ROW_LEVEL
from tabpe.accounting.noise import SelectionSource
from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN, Spend
from tabpe.backends import CachedMarginalCounter, MarginalCounter
from tabpe.encoding.halfspaces import Halfspaces, locate_halfspace
from tabpe.encoding.marginals import Marginal
from tabpe.errors import ParameterError, TabpeError
from tabpe.measurement.terms import MeasurementTerms, add_noise, charge_spend, check_mechanism

PARTS_PER_ROW = 1024
WEIGHTS = 1024
_MOST = 2**50  # rows times parts: far above any table, and its sums fit in 64 bits

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def choose_marginal(
    counter: MarginalCounter,
    queries: Sequence[Marginal],
    estimates: Sequence[Floats],
    terms: MeasurementTerms,
    name: str,
    *,
    weights: Sequence[float] | None = None,
    penalties: Sequence[float] | None = None,
) -> int:
    """Return the place of a marginal that is far from its estimate, by the exponential mechanism.

    The score of a marginal is its weight times (distance - penalty). Weights and penalties are
    public; weights lie above 0 and at most at 1.

    Args:
        counter: Counts the rows.
        queries: The marginals to choose from.
        estimates: Estimated counts of each.
        terms: On which terms rows are read; one choice is charged.
        name: Its item on the bill.
        weights: How much a distance counts; None for 1 each.
        penalties: What is taken off a distance, in rows; None for nothing.
    """
    chooser, factors = get_selection_source(terms), _scale_weights(weights, len(queries))
    offsets = convert_to_parts(
        np.zeros(len(queries)) if penalties is None else np.asarray(penalties)
    )
    if not len(queries) == len(factors) == len(offsets):
        raise TabpeError(f"{name}: expected a weight and a penalty for each marginal.")
    targets = _scale_estimates(queries, estimates)
    item = charge_spend(terms.account, name, 1)
    check_mechanism(item, EXPONENTIAL)
    # Exact and private from here on.
    scores = factors * (_compute_distances(counter, queries, targets) - offsets)
    chosen = select_option(chooser, scores, int(factors.max()) * PARTS_PER_ROW, item)
    terms.record_answer(item, choice=int(chosen))
    return chosen


def measure_distances(
    counter: MarginalCounter,
    queries: Sequence[Marginal],
    estimates: Sequence[Floats],
    terms: MeasurementTerms,
    name: str,
) -> Floats:
    """Return the noisy distance of each marginal from its estimate, in rows; each is charged once.

    Args:
        counter: Counts the rows.
        queries: The marginals.
        estimates: Estimated counts of each.
        terms: On which terms rows are read.
        name: Their item on the bill.
    """
    if not queries:
        return np.zeros(0)
    _check_row_level(terms)
    targets = _scale_estimates(queries, estimates)
    item = charge_spend(terms.account, name, len(queries))
    check_mechanism(item, GAUSSIAN)
    found = add_noise(_compute_distances(counter, queries, targets) // PARTS_PER_ROW, item, terms)
    terms.record_answer(item, found)
    return found.astype(np.float64)


def select_option(chooser: SelectionSource, scores: Whole, change: int, item: Spend) -> int:
    """Return a place by the exponential mechanism, on the terms of an item that was charged.

    Args:
        chooser: The source of randomness.
        scores: Exact scores.
        change: The most that a row changes a score by, up or down.
        item: What was charged: sigma = 2 / range.
    """
    return chooser.choose(scores, change * item.sigma)


def _compute_distances(
    counter: MarginalCounter, queries: Sequence[Marginal], targets: Sequence[Whole]
) -> Whole:
    counted = counter.counts(queries)
    return np.array(
        [np.abs(c * PARTS_PER_ROW - t).sum() for c, t in zip(counted, targets, strict=True)],
        dtype=np.int64,
    )


def _scale_estimates(queries: Sequence[Marginal], estimates: Sequence[Floats]) -> list[Whole]:
    for marginal, estimate in zip(queries, estimates, strict=True):
        if np.shape(estimate) != marginal.shape:
            raise TabpeError("estimates: their cells are not those of the marginals.")
    return [convert_to_parts(np.asarray(estimate).ravel()) for estimate in estimates]


def convert_to_parts(values: Floats) -> Whole:
    """Return public numbers of rows in parts of a row."""
    parts = np.rint(np.asarray(values, dtype=np.float64) * PARTS_PER_ROW)
    if not np.isfinite(parts).all() or np.abs(parts).sum() > _MOST:
        raise TabpeError("estimates: expected finite counts of a table of rows.")
    return parts.astype(np.int64)


def _scale_weights(weights: Sequence[float] | None, size: int) -> Whole:
    if weights is None:
        return np.ones(size, dtype=np.int64)
    given = np.asarray(weights, dtype=np.float64)
    if not ((given > 0) & (given <= 1)).all():
        raise TabpeError("weights: expected numbers above 0 and at most 1.")
    return np.ceil(given * WEIGHTS).astype(np.int64)


def get_selection_source(terms: MeasurementTerms) -> SelectionSource:
    """Return the source of choices, for rows that come or go."""
    _check_row_level(terms)
    if not isinstance(terms.noise, SelectionSource):
        raise ParameterError("noise: this source makes no choices. Use noise='opendp'.")
    return terms.noise


def _check_row_level(terms: MeasurementTerms) -> None:
    if terms.neighbours != ROW_LEVEL:
        raise ParameterError("adjacency: distances are measured for adding or removing a row only.")


_AT_ONCE = 2**16  # halfspaces: keeps what is made of their counts small


def choose_halfspaces(
    counter: CachedMarginalCounter,
    queries: Sequence[Halfspaces],
    estimates: Sequence[Floats],
    terms: MeasurementTerms,
    name: str,
    *,
    most: int,
    taken: Sequence[int] = (),
) -> list[int]:
    """Return the places of halfspaces that are far from their estimates.

    Args:
        counter: Counts the rows.
        queries: The halfspaces; places count through all of them.
        estimates: Estimated counts of each: halfspaces x cells.
        terms: On which terms rows are read; each choice is charged.
        name: Their item on the bill.
        most: How many to choose; fewer if there are no more.
        taken: Places that are no option; public.
    """
    chooser, options = get_selection_source(terms), _list_options(queries, taken)
    for halfspaces, estimate in zip(queries, estimates, strict=True):
        if np.shape(estimate) != (len(halfspaces), halfspaces.cells):
            raise TabpeError("estimates: their cells are not those of the halfspaces.")
        if not np.isfinite(estimate).all():
            raise TabpeError("estimates: expected finite counts of a table of rows.")
    times = min(most, len(options))
    if not times:
        return []
    item = charge_spend(terms.account, name, times)
    check_mechanism(item, EXPONENTIAL)
    # Exact and private from here on.
    scores = np.concatenate([*_compute_halfspace_distances(counter, queries, estimates)])[options]
    chosen = []
    for _ in range(times):
        place = select_option(chooser, scores, PARTS_PER_ROW, item)
        chosen.append(int(options[place]))
        options, scores = np.delete(options, place), np.delete(scores, place)
    terms.record_answer(item, choice=chosen)
    return chosen


def measure_halfspaces(
    counter: CachedMarginalCounter,
    queries: Sequence[Halfspaces],
    indices: Sequence[int],
    terms: MeasurementTerms,
    name: str,
) -> list[Floats]:
    """Return the noisy number of rows of each cell in some halfspaces; each is charged once.

    Args:
        counter: Counts the rows.
        queries: The halfspaces; places count through all of them.
        indices: Which of them to count in.
        terms: On which terms rows are read.
        name: Their item on the bill.
    """
    if not indices:
        return []
    get_selection_source(terms)
    wanted = [locate_halfspace(queries, place) for place in indices]
    item = charge_spend(terms.account, name, len(indices))
    check_mechanism(item, GAUSSIAN)
    exact = [
        counter.count_inside(queries[which])[place].astype(np.int64) for which, place in wanted
    ]
    counted = [add_noise(counts, item, terms) for counts in exact]
    terms.record_answer(item, *counted)
    return [counts.astype(np.float64) for counts in counted]


def _compute_halfspace_distances(
    counter: CachedMarginalCounter, queries: Sequence[Halfspaces], estimates: Sequence[Floats]
) -> Iterator[Whole]:
    for halfspaces, estimate in zip(queries, estimates, strict=True):
        counts = counter.count_inside(halfspaces)
        for start in range(0, len(halfspaces), _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            exact, target = (
                counts[some].astype(np.int64) * PARTS_PER_ROW,
                convert_to_parts(estimate[some]),
            )
            yield np.abs(exact - target).sum(axis=1)


def _list_options(queries: Sequence[Halfspaces], taken: Sequence[int]) -> Whole:
    free = np.ones(sum(len(halfspaces) for halfspaces in queries), dtype=bool)
    free[list(taken)] = False
    return np.flatnonzero(free).astype(np.int64)
