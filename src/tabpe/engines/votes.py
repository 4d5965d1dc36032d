"""Votes of one class: how many private rows are nearest to each candidate."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.engines.nearest import Segment, first_equals, index


def class_votes(
    segments: Iterable[Segment], candidates: Records, category_weight: float, *, jobs: int = 1
) -> NDArray[np.int64]:
    """Return the votes of the rows of one class, in whatever pieces they come.

    Of equal candidates the first gets all votes, as the tie rule says, so the others need not
    be looked at.

    Example:
        >>> no_codes = np.empty((3, 0), dtype=np.uint8)
        >>> rows = Records(np.array([[0.1], [0.2], [0.9]], dtype=np.float32), no_codes)
        >>> candidates = Records(np.array([[0.0], [1.0], [1.0]]), no_codes)
        >>> class_votes([Segment(rows, None)], candidates, category_weight=1 / 3)
        array([2, 1, 0])
    """
    votes = np.zeros(len(candidates), dtype=np.int64)
    if not len(candidates):
        return votes
    single = Records(candidates.numbers.astype(np.float32), candidates.codes)
    distinct = np.flatnonzero(first_equals(single) == np.arange(len(single)))
    found = index(single.take(distinct), category_weight, jobs=jobs)
    counts = np.zeros(len(distinct), dtype=np.int64)
    for segment in segments:
        winners = found.nearest(segment.rows)[:, 0]
        # Weighted counts are floats, and exact: they stay far below 2**53.
        counted = np.bincount(winners, segment.weights, minlength=len(distinct))
        counts += counted.astype(np.int64, copy=False)
    votes[distinct] = counts
    return votes
