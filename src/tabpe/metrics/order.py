"""Order of correlation: whether the data needs a method that sees many columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tabpe.metrics.view import View

DEPTHS = (2, 3, 4, 5, 6, 7)


@dataclass(frozen=True)
class Order:
    """How deep trees must be to predict the label.

    Args:
        label: The column that is predicted.
        depths: Depths of boosted trees.
        accuracy: Accuracy on rows held out, at each depth.
        level: How strongly the label depends on many columns at once.
    """

    label: str
    depths: tuple[int, ...]
    accuracy: tuple[float, ...]
    level: Literal["low", "some", "high"]

    @property
    def gap(self) -> float:
        """Best accuracy less that of the shallowest trees."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """Whether a high-order method is needed, in a sentence."""
        raise NotImplementedError


def order(
    real: View,
    test: View | None = None,
    *,
    depths: Sequence[int] = DEPTHS,
    rows: int | None = 20_000,
    random_state: int | None = 0,
) -> Order | None:
    """Return how deep trees must be; None without a label with two classes or more."""
    raise NotImplementedError
