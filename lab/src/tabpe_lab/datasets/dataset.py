"""`Dataset`: a table with its public schema, cut into three parts.

Parts of 70, 15 and 15 percent, in which classes have the shares that they have in the whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.schema import Schema

Order = Literal["high", "low", "simulated", "own"]


@dataclass(frozen=True)
class DataSplit:
    """The rows to learn from, to choose settings with, and to be judged by."""

    train: pa.Table
    validation: pa.Table
    test: pa.Table


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set.

    Args:
        name: What `load` was asked for.
        title: What people call it.
        schema: What is public about it: kinds, bounds, categories and the label.
        train: The rows to learn from.
        validation: The rows to choose settings with.
        test: The rows to be judged by.
        order: `high` or `low` order of correlation, as the paper groups its data sets,
            `simulated`, or `own` for a file.
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
        counts = {str(each["values"]): each["counts"] for each in self._count_classes()}
        return {name: counts.get(name, 0) / len(self.train) for name in self.schema.class_names}

    def _count_classes(self) -> list[dict[str, int]]:
        found: list[dict[str, int]] = self.train[self.label].value_counts().to_pylist()
        return found


# The authors of the paper cut Adult and Breast Cancer in this way, with this seed.
AUTHORS_SEED = 42
_HELD_OUT, _HALF = 0.3, 0.5


def split(table: pa.Table, label: str, seed: int) -> DataSplit:
    """Cut a table into parts, as the authors of the paper do.

    Args:
        table: All rows.
        label: The column whose values are spread evenly.
        seed: Seed of the cut.

    Example:
        >>> table = pa.table({"x": range(100), "y": ["a", "b"] * 50})
        >>> parts = split(table, "y", seed=0)
        >>> parts.train.num_rows, parts.validation.num_rows, parts.test.num_rows
        (70, 15, 15)
    """
    train, rest = split_rows(np.arange(table.num_rows), table[label], _HELD_OUT, seed)
    validation, test = split_rows(rest, table[label].take(rest), _HALF, seed)
    return DataSplit(table.take(train), table.take(validation), table.take(test))


def split_rows(
    rows: NDArray[np.int64], classes: pa.ChunkedArray, share: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return most rows, and a share of them that is set aside."""
    from sklearn.model_selection import train_test_split

    kept, aside = train_test_split(
        rows, test_size=share, random_state=seed, stratify=classes.to_numpy(zero_copy_only=False)
    )
    return kept, aside
