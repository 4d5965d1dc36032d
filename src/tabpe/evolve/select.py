"""Selection: which candidates become parents by noisy votes, or stand for a pool by weight."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Votes = NDArray[np.int64]


def select(votes: Votes, size: int, rng: np.random.Generator, *, samples: bool) -> Votes:
    """Return the places of `size` candidates, drawn in proportion to the votes or the top ones."""
    return sample(votes, size, rng) if samples else rank(votes, size)


def sample(votes: Votes, size: int, rng: np.random.Generator) -> Votes:
    """Draw with replacement, in proportion to the positive votes; evenly if there are none.

    Example:
        >>> sample(np.array([-3, 5, 0]), 4, np.random.default_rng(0))
        array([1, 1, 1, 1])
    """
    if size == 0:
        return np.empty(0, dtype=np.int64)
    positive = np.maximum(votes, 0).astype(np.float64)
    total = positive.sum()
    weights = positive / total if total > 0 else np.full(len(votes), 1 / len(votes))
    return rng.choice(len(votes), size=size, p=weights)


def rank(votes: Votes, size: int) -> Votes:
    """Take the candidates with the most votes; of equal ones the lowest index.

    Example:
        >>> rank(np.array([2, 9, 2, 4]), 3)
        array([1, 3, 0])
    """
    return np.argsort(-votes, kind="stable")[:size]


def systematic(weights: NDArray[np.float64], size: int, rng: np.random.Generator) -> Votes:
    """Return the places of `size` draws by weight, ascending and as even as they can be.

    How often a place comes up differs from its share of the draws by less than one.

    Example:
        >>> systematic(np.array([1.0, 2.0, 1.0]), 8, np.random.default_rng(0))
        array([0, 0, 1, 1, 1, 1, 2, 2])
    """
    ends = np.cumsum(weights)
    marks = (rng.random() + np.arange(size)) * (ends[-1] / max(size, 1))
    places: Votes = np.searchsorted(ends, marks, side="right").clip(max=len(weights) - 1)
    return places
