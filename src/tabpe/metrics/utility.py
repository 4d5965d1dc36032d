"""Utility: trained on synthetic rows, tested on real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tabpe.metrics.view import View

ROWS = 20_000


@dataclass(frozen=True)
class LearnerScore:
    """How well one predictor does on the test rows.

    Args:
        learner: Its name; `majority` or `mean` for the lower bound.
        trained_on: `real` (upper bound), `synthetic`, or `nothing` (lower bound).
        scores: By name: `accuracy`, `macro F1`, `AUC`; or `R2` of a numeric label.
    """

    learner: str
    trained_on: Literal["real", "synthetic", "nothing"]
    scores: dict[str, float]


@dataclass(frozen=True)
class Utility:
    """What a model learns from the synthetic rows.

    Args:
        label: The column that is predicted.
        task: `classification` or `regression`.
        test_rows: How many real rows were tested on.
        held_out: Whether the test rows were a part of the real table, for want of others.
        scores: Every predictor, trained on everything.
        notes: What a reader should know: predictors that are not installed, classes that are absent.
    """

    label: str
    task: Literal["classification", "regression"]
    test_rows: int
    held_out: bool
    scores: tuple[LearnerScore, ...]
    notes: tuple[str, ...] = ()


def utility(
    real: View,
    synthetic: View,
    test: View | None = None,
    *,
    label: str | None = None,
    learners: Sequence[str] = ("gradient boosting",),
    rows: int | None = ROWS,
    random_state: int | None = 0,
    jobs: int | None = None,
) -> Utility | None:
    """Return how well predictors do; None without a label."""
    raise NotImplementedError
