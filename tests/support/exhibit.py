"""`Exhibit`: a table as people have one, what is declared of it, and what is true of every row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

ROWS = 900


@dataclass(frozen=True)
class Exhibit:
    """A table and what is known of it."""

    table: Any
    schema: Any
    options: Mapping[str, Any] = field(default_factory=dict)
    holds: Callable[[pd.DataFrame], Any] = lambda frame: np.ones(len(frame), dtype=bool)


def rng(seed=0):
    return np.random.default_rng(seed)


def holed(values, share, seed=1):
    cells = pd.Series(values)
    return cells.where(rng(seed).random(len(cells)) >= share)


def days(size, first="2023-01-01", span=365, seed=2):
    return pd.Timestamp(first) + pd.to_timedelta(rng(seed).integers(0, span, size), "D")
