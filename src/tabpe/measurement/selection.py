"""Marginals and halfspaces that estimates get most wrong: the exponential mechanism, and distances.

Privacy, for tables that differ by one row more or less. The *distance* of a marginal from an
estimate is the sum over all cells of the sizes of their differences, in parts of 1 / `PARTS` of a
row: whole numbers, so there is no rounding. A row changes one cell by one, so it changes a distance
by at most one row, up or down.

- `choose_marginal` is the exponential mechanism over weighted distances. A row changes a score by
  its weight at most, up or down, so losses lie in an interval of 2 * (largest weight) / scale: its
  range.
- `measure_distances` cuts distances down to whole rows. Numbers that differ by at most one row then
  differ by zero or one, so each is like a histogram of one cell, under discrete Gaussian noise.

- A row adds 1 to a single cell of a halfspace, or nowhere, so one row more or less moves the
  counts of a halfspace by a length of one at most, and its distance from an estimate by one row.
- `choose_halfspaces` is the exponential mechanism over distances, several times, where what was
  chosen is no option any more. Each choice is charged.
- `measure_halfspaces` is a discrete Gaussian mechanism over the cells of each halfspace, each
  charged once.

All of it is charged before a row is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting.noise import SelectionSource
from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN, Spend
from tabpe.backends.queries import HalfspaceQuery, MarginalQuery
from tabpe.encoding.halfspaces import Halfspaces, locate_halfspace
from tabpe.encoding.marginals import Marginal
from tabpe.errors import TabpeError
from tabpe.measurement.histograms import NoisyCounts

if TYPE_CHECKING:
    from tabpe.measurement.session import PrivateSession

PARTS_PER_ROW = 1024
WEIGHTS = 1024
_MOST = 2**50  # rows times parts: far above any table, and its sums fit in 64 bits

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def choose_marginal(
    session: PrivateSession,
    spend: Spend,
    query: MarginalQuery,
    estimates: Sequence[Floats],
    *,
    weights: Sequence[float] | None = None,
    penalties: Sequence[float] | None = None,
) -> int:
    """Return the index of a marginal that is far from its estimate, by the exponential mechanism.

    The score of a marginal is its weight times (distance - penalty). Weights and penalties are
    public; weights lie above 0 and at most at 1.

    Args:
        session: The way to the private rows.
        spend: Is charged for one choice.
        query: The marginals to choose from.
        estimates: Estimated counts of each.
        weights: How much a distance counts; None for 1 each.
        penalties: What is taken off a distance, in rows; None for nothing.
    """
    size = len(query.marginals)
    chooser, factors = session.get_selection_source(), _scale_weights(weights, size)
    offsets = convert_to_parts(np.zeros(size) if penalties is None else np.asarray(penalties))
    if not size == len(factors) == len(offsets):
        raise TabpeError(f"{spend.name}: expected a weight and a penalty for each marginal.")
    targets = _scale_estimates(query.marginals, estimates)
    item = session.account.charge_spend(spend, 1)
    session.check_mechanism(item, EXPONENTIAL)
    # Exact and private from here on.
    scores = factors * (_compute_distances(session, query, targets) - offsets)
    return select_option(chooser, scores, int(factors.max()) * PARTS_PER_ROW, item)


def measure_distances(
    session: PrivateSession, spend: Spend, query: MarginalQuery, estimates: Sequence[Floats]
) -> NoisyCounts:
    """Return the noisy distance of each marginal from its estimate, in rows; each is charged once.

    Args:
        session: The way to the private rows.
        spend: Is charged for each marginal.
        query: The marginals.
        estimates: Estimated counts of each.
    """
    session.check_row_level()
    targets = _scale_estimates(query.marginals, estimates)
    item = session.account.charge_spend(spend, len(query.marginals))
    session.check_mechanism(item, GAUSSIAN)
    exact = _compute_distances(session, query, targets) // PARTS_PER_ROW
    return NoisyCounts([session.add_noise(exact, item)], item)


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
    session: PrivateSession, query: MarginalQuery, targets: Sequence[Whole]
) -> Whole:
    counted = session.backend.answer(query).value
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


_AT_ONCE = 2**16  # halfspaces: keeps what is made of their counts small


def choose_halfspaces(
    session: PrivateSession,
    spend: Spend,
    queries: Sequence[HalfspaceQuery],
    estimates: Sequence[Floats],
    *,
    most: int,
    taken: Sequence[int] = (),
) -> list[int]:
    """Return the indices of halfspaces that are far from their estimates.

    Args:
        session: The way to the private rows.
        spend: Is charged for each choice.
        queries: The halfspaces; indices count through all of them.
        estimates: Estimated counts of each: halfspaces x cells.
        most: How many to choose; fewer if there are no more.
        taken: Indices that are no option; public.
    """
    asked = [query.halfspaces for query in queries]
    chooser, options = session.get_selection_source(), _list_options(asked, taken)
    for halfspaces, estimate in zip(asked, estimates, strict=True):
        if np.shape(estimate) != (len(halfspaces), halfspaces.cells):
            raise TabpeError("estimates: their cells are not those of the halfspaces.")
        if not np.isfinite(estimate).all():
            raise TabpeError("estimates: expected finite counts of a table of rows.")
    times = min(most, len(options))
    item = session.account.charge_spend(spend, times)
    session.check_mechanism(item, EXPONENTIAL)
    # Exact and private from here on.
    distances = _compute_halfspace_distances(session, queries, estimates)
    scores = np.concatenate([*distances])[options]
    chosen = []
    for _ in range(times):
        place = select_option(chooser, scores, PARTS_PER_ROW, item)
        chosen.append(int(options[place]))
        options, scores = np.delete(options, place), np.delete(scores, place)
    return chosen


def measure_halfspaces(
    session: PrivateSession, spend: Spend, queries: Sequence[HalfspaceQuery], indices: Sequence[int]
) -> NoisyCounts:
    """Return the noisy number of rows of each cell in some halfspaces; each is charged once.

    Args:
        session: The way to the private rows.
        spend: Is charged for each halfspace.
        queries: The halfspaces; indices count through all of them.
        indices: Which of them to count in.
    """
    session.get_selection_source()
    wanted = [locate_halfspace([query.halfspaces for query in queries], one) for one in indices]
    item = session.account.charge_spend(spend, len(indices))
    session.check_mechanism(item, GAUSSIAN)
    exact = [
        session.backend.answer(queries[which]).value[place].astype(np.int64)
        for which, place in wanted
    ]
    return NoisyCounts([session.add_noise(counts, item) for counts in exact], item)


def _compute_halfspace_distances(
    session: PrivateSession, queries: Sequence[HalfspaceQuery], estimates: Sequence[Floats]
) -> Iterator[Whole]:
    for query, estimate in zip(queries, estimates, strict=True):
        counts = session.backend.answer(query).value
        for start in range(0, len(query.halfspaces), _AT_ONCE):
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
