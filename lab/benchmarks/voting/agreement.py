"""Who gives the right answer: the votes of the reference, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.voting.cases import Loaded, Population
from benchmarks.voting.rivals import (
    TORCH_ARGMIN,
    Matrix,
    Rival,
    Winners,
    encoded_population,
    encoded_rows,
)
from tabpe.backends import StoredTable
from tabpe.backends.nearest import NumpyIndex
from tabpe.encoding import Records

ALL_ROWS_CELLS = 4e9
SAMPLE_ROWS = 20_000


def agreement(loaded: Loaded, population: Population, rivals: Sequence[Rival]) -> dict[str, Any]:
    """Compare with the numpy reference, on all rows if that is feasible.

    Returns:
        Whether our votes are equal, and for each rival the share of rows that it gives to another
        candidate, and to one that is not even a copy of the right one.
    """
    sample = loaded if _cells(loaded, population) <= ALL_ROWS_CELLS else loaded.first(SAMPLE_ROWS)
    right = [
        _reference(rows, candidates, loaded.weight)
        for rows, candidates in zip(sample.rows, population, strict=True)
    ]
    rows, candidates = encoded_rows(sample), encoded_population(sample, population)
    return {
        "rows": sample.count,
        "tabpe votes equal": _equal(sample, population, right),
        "rivals": {
            rival.name: _differing(rival, rows, candidates, right)
            for rival in rivals
            if rival.name != TORCH_ARGMIN  # Has the distances of torch topk.
        },
    }


def _cells(loaded: Loaded, population: Population) -> int:
    return sum(
        len(rows) * len(candidates) * (rows.numbers.shape[1] + rows.codes.shape[1])
        for rows, candidates in zip(loaded.rows, population, strict=True)
    )


def _reference(rows: Records, candidates: Records, weight: float) -> Winners:
    if not len(candidates):
        return np.empty(0, dtype=np.int64)
    return NumpyIndex(candidates, weight).find_nearest(rows)[:, 0]


def _equal(sample: Loaded, population: Population, right: Sequence[Winners]) -> bool:
    table = StoredTable([sample.batch()], classes=len(sample.rows), category_weight=sample.weight)
    return all(
        np.array_equal(votes, np.bincount(winners, minlength=len(votes)))
        for votes, winners in zip(table.count_votes(population), right, strict=True)
    )


def _differing(
    rival: Rival, rows: Sequence[Matrix], population: Sequence[Matrix], right: Sequence[Winners]
) -> dict[str, float]:
    other, no_copy, total = 0, 0, 0
    for part, candidates, winners in zip(rows, population, right, strict=True):
        if not len(part) or not len(candidates):
            continue
        found = rival.winners(part, candidates)
        other += int((found != winners).sum())
        no_copy += int((candidates[found] != candidates[winners]).any(axis=1).sum())
        total += len(part)
    return {"other candidate": other / total, "no copy of it either": no_copy / total}
