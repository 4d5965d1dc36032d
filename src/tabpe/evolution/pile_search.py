"""A search for piles at values that are no public points, such as a limit of detection of 0.37.

Where a bin has far more rows than its neighbours by its width, it is counted again in 64 parts, and
its fullest part in 64 parts, and once more: then it is as narrow as single precision. The value is
the shortest decimal number in there.

Privacy: each count is a marginal in which a row falls into exactly one cell, and is charged for.
What is counted next, and the value, follow from noisy counts and from the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Encoder
from tabpe.encoding.cells import decode_numbers
from tabpe.encoding.marginals import Marginal, NumberAxis
from tabpe.evolution.config import LOOKS
from tabpe.evolution.marginal_prior import MarginalBins, NoisyMarginal

LEVELS, PARTS = LOOKS, 64
# A bin with a pile has so many rows beyond what its neighbours lead to expect: in sigmas of the
# counts of the search, as a part of all rows, and times what is expected.
_SIGMAS, _LEAST_SHARE, _TIMES_OTHERS = 5.0, 0.02, 3.0
_MOST_DIGITS = 15
# Private rows are in single precision.
_PRECISION = 2.0**-23

Floats = NDArray[np.float64]
CountQuery = Callable[[Sequence[Marginal]], Sequence[NoisyMarginal]]


@dataclass(frozen=True)
class _Suspect:
    """Where a column may have a pile: between two scaled numbers."""

    column: int
    low: float
    high: float
    rows: float = 0.0


def find_piles(
    encoder: Encoder,
    bins: MarginalBins,
    counts: Sequence[Floats],
    count: CountQuery,
    *,
    sigma: float,
    rows: float,
    most: int,
) -> tuple[MarginalBins, list[Floats]]:
    """Return bins and counts with the piles that were found as atoms, one a column at most.

    Args:
        encoder: Encodes the rows.
        bins: How columns are counted.
        counts: The noisy counts of the fine cells of each column.
        count: Counts marginals, with noise.
        sigma: The noise on these.
        rows: The number of rows, declared or noisy.
        most: The most columns to look at.
    """
    least = max(_SIGMAS * sigma, _LEAST_SHARE * rows)
    found = [
        suspect
        for index, axis in enumerate(bins.fine)
        if isinstance(axis, NumberAxis) and axis.name not in encoder.schema.labels
        if (suspect := _suspect_bin(index, axis, counts[index], least)) is not None
    ]
    suspects = sorted(found, key=lambda one: -one.rows)[:most]
    for _ in range(LEVELS):
        suspects = _narrow_suspects(bins, suspects, count, least)
    fine, groups, held = list(bins.fine), list(bins.groups), list(counts)
    for suspect in suspects:
        place, axis = suspect.column, fine[suspect.column]
        value = _name_value(encoder, suspect)
        if isinstance(axis, NumberAxis) and value not in axis.atoms:
            home = int(np.searchsorted(np.array(axis.cuts), value, side="right"))
            fine[place] = replace(axis, atoms=(*axis.atoms, value))
            groups[place] = np.append(groups[place], groups[place][home])
            held[place] = np.append(held[place], suspect.rows)
            held[place][home] -= suspect.rows
    return replace(bins, fine=tuple(fine), groups=tuple(groups)), held


def _suspect_bin(index: int, axis: NumberAxis, counts: Floats, least: float) -> _Suspect | None:
    """Return the bin with most rows beyond what the densities beside it lead to expect."""
    if axis.bins < LEVELS:
        return None
    ends = np.array([0.0, *axis.cuts, 1.0])
    held, widths = counts[: axis.bins], np.diff(ends)
    densities = np.concatenate([[0.0], np.maximum(held, 0.0) / widths, [0.0]])
    expected = np.maximum(densities[:-2], densities[2:]) * widths
    beyond = np.where(held > _TIMES_OTHERS * expected, held - expected, 0.0)
    place = int(np.argmax(beyond))
    if beyond[place] < least:
        return None
    return _Suspect(index, ends[place], ends[place + 1], float(beyond[place]))


def _narrow_suspects(
    bins: MarginalBins, suspects: Sequence[_Suspect], count: CountQuery, least: float
) -> list[_Suspect]:
    """Return the fullest part of each suspect, if it has enough rows by itself."""
    axes = []
    for one in suspects:
        axis, ends = bins.fine[one.column], np.linspace(one.low, one.high, PARTS + 1).tolist()
        if isinstance(axis, NumberAxis):
            axes.append(replace(axis, cuts=tuple(ends), edges=(0.0, *ends, 1.0)))
    found = []
    for one, table in zip(suspects, count([Marginal((axis,)) for axis in axes]), strict=True):
        parts = table.counts[1 : PARTS + 1]
        place = int(np.argmax(parts))
        ends = np.linspace(one.low, one.high, PARTS + 1)
        if parts[place] > least:
            found.append(_Suspect(one.column, ends[place], ends[place + 1], float(parts[place])))
    return found


def _name_value(encoder: Encoder, suspect: _Suspect) -> float:
    """Return the scaled number of the shortest decimal number where a suspect is."""
    plain = encoder.numeric[suspect.column]
    column = encoder.schema[plain.name]
    ends = np.array([suspect.low - _PRECISION, suspect.high + _PRECISION]).clip(0.0, 1.0)
    if plain.steps:
        return float(np.rint(ends.mean() * plain.steps) / plain.steps)
    low, high = decode_numbers(column, plain, ends).to_pylist()
    for digits in range(_MOST_DIGITS + 1):
        short = round((low + high) / 2, digits)
        if low <= short <= high:
            return encoder.locate_numbers(plain.name, [short])[0]
    return float(ends.mean())
