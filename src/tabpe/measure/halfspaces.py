"""Halfspaces under noise: which of them estimates get most wrong, and how many rows they hold.

Privacy, for tables that differ by one row more or less. A row counts one in a single cell of a
halfspace, or nowhere, so one row more or less moves the counts of a halfspace by a length of one at
most, and its distance from an estimate, as in `tabpe.measure.choice`, by one row.

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

from tabpe.encode.halfspaces import Halfspaces, found
from tabpe.engines import HeldTables
from tabpe.errors import TabpeError
from tabpe.measure.choice import PARTS, chooser_of, in_parts, pick
from tabpe.measure.terms import Terms, charged, check_mechanism, noisy
from tabpe.privacy.bill import EXPONENTIAL, GAUSSIAN

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
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
    scores = np.concatenate([*_distances(tables, asked, estimates)])[options]
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


def _distances(
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
