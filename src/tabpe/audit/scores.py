"""From scores to findings: which rows look present, and which noise looks alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.audit.bounds import SCORES_ALARM, Errors, Scores, by_errors, by_gaussian_errors
from tabpe.audit.report import Claim, Shown

Bound = Callable[[Errors, float, float], float]
BOUNDS: dict[str, Bound] = {"Clopper-Pearson": by_errors, "Gaussian DP": by_gaussian_errors}
_THRESHOLDS = 64
# One score in so many goes into the choice of a threshold, and is not used again.
_CHOOSING = 4


def shown(label: str, ins: Scores, outs: Scores, claim: Claim) -> list[Shown]:
    """Return what scores show about epsilon, by each bound.

    Args:
        label: What was attacked.
        ins: Scores of rows that were in the table, larger if they look so.
        outs: Scores of rows that were not. Each kind is in random order.
        claim: What is promised.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> outs, ins = rng.normal(size=4000), 3 + rng.normal(size=4000)
        >>> [round(finding.epsilon, 1) for finding in shown("a line", ins, outs, Claim(1, 1e-5))]
        [3.8, 13.8]
    """
    return [
        Shown(
            f"{label}: {name}",
            claim,
            epsilon=_best(ins, outs, bound, claim.delta),
            visible=_reach(len(ins), len(outs), bound, claim.delta),
            samples=len(ins) + len(outs),
        )
        for name, bound in BOUNDS.items()
    ]


def likeness(noises: NDArray[Any]) -> float:
    """Return the chance of so much correlation, or more, between any two of several noises.

    Args:
        noises: Numbers that should be independent, each kind of noise in a row.

    Example:
        >>> noises = np.random.default_rng(0).normal(size=(3, 1000))
        >>> likeness(noises) > 0.01
        True
        >>> noises[2] += noises[0]
        >>> likeness(noises) < 1e-50
        True
    """
    from scipy.special import stdtr

    centred = noises - noises.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    if not lengths.all():
        return 0.0  # Noise that is always the same is as bad as the same noise twice.
    centred = centred / lengths
    pairs = np.triu_indices(len(noises), k=1)
    strongest = float(np.abs((centred @ centred.T)[pairs]).max())
    freedom = noises.shape[1] - 2
    left = max(1 - strongest**2, float(np.finfo(np.float64).eps))
    chance = 2 * float(stdtr(freedom, -strongest * math.sqrt(freedom / left)))
    return min(1.0, len(pairs[0]) * chance)


def _best(ins: Scores, outs: Scores, bound: Bound, delta: float) -> float:
    """Return the bound at a threshold that was chosen on other scores than it is tried on."""
    first, second = (len(scores) // _CHOOSING for scores in (ins, outs))
    seen = np.concatenate([ins[:first], outs[:second]])
    tried = np.unique(np.quantile(seen, np.linspace(0, 1, _THRESHOLDS)))
    few = [Errors.at(threshold, ins[:first], outs[:second]) for threshold in tried]
    # What to expect of the others, which are so many times as many.
    expected = [bound(errors.times(_CHOOSING - 1), delta, SCORES_ALARM) for errors in few]
    chosen = tried[int(np.argmax(expected))]
    return bound(Errors.at(chosen, ins[first:], outs[second:]), delta, SCORES_ALARM)


def _reach(ins: int, outs: int, bound: Bound, delta: float) -> float:
    """Return what scores that never err would show."""
    kept_ins, kept_outs = (size - size // _CHOOSING for size in (ins, outs))
    return bound(Errors(0, kept_outs, 0, kept_ins), delta, SCORES_ALARM)
