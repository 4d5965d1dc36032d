"""`Dataset`: a table with its public schema, cut into three parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from tabpe.schema import Schema

Order = Literal["high", "low", "simulated"]


@dataclass(frozen=True)
class Parts:
    """The rows to learn from, to choose settings with, and to be judged by."""

    train: pa.Table
    validation: pa.Table
    test: pa.Table


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set of the paper.

    Args:
        name: What `load` was asked for.
        title: What people call it.
        schema: What is public about it: kinds, bounds, categories and the label.
        train: The rows to learn from.
        validation: The rows to choose settings with.
        test: The rows to be judged by.
        order: `high` or `low` order of correlation, as the paper groups its data sets, or
            `simulated`.
        source: Where the rows come from.
        licence: The terms that are commonly stated for it; its source has the last word.
        split: How the rows were cut into parts.
    """

    name: str
    title: str
    schema: Schema
    train: pa.Table
    validation: pa.Table
    test: pa.Table
    order: Order
    source: str
    licence: str
    split: str

    @property
    def label(self) -> str:
        """Name of the column that is predicted."""
        return str(self.schema.label)

    @property
    def shares(self) -> dict[str, float]:
        """Share of each class in `train`, for `public_shares`: the paper takes them as public."""
        counts = {str(each["values"]): each["counts"] for each in self._counted()}
        return {name: counts.get(name, 0) / len(self.train) for name in self.schema.class_names}

    def _counted(self) -> list[dict[str, int]]:
        found: list[dict[str, int]] = self.train[self.label].value_counts().to_pylist()
        return found
