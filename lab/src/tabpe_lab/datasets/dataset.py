"""`Dataset`: a table with its public schema, split into training, validation and test rows.

Splits are 70, 15 and 15 percent, stratified by class.
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
    """Training, validation and test rows."""

    train: pa.Table
    validation: pa.Table
    test: pa.Table


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set.

    Args:
        name: Its name in the catalogue.
        title: Its display name.
        schema: The public schema: types, bounds, categories and the label.
        train: Training rows.
        validation: Validation rows.
        test: Test rows.
        order: `high` or `low` order of correlation, as the paper groups its data sets,
            `simulated`, or `own` for a file.
        source: Where the rows come from.
        licence: The terms that are commonly stated for it; its source has the last word.
        split: How the rows were split.
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
        found = self.train[self.label].value_counts().to_pylist()
        counts = {str(each["values"]): each["counts"] for each in found}
        return {name: counts.get(name, 0) / len(self.train) for name in self.schema.class_names}


# The authors of the paper split Adult and Breast Cancer in this way, with this seed.
AUTHORS_SEED = 42
_HELD_OUT, _HALF = 0.3, 0.5


def split(table: pa.Table, label: str, seed: int) -> DataSplit:
    """Split a table 70/15/15, as the authors of the paper do.

    Args:
        table: All rows.
        label: The column to stratify by.
        seed: Seed of the split.

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
    """Return the kept rows and a stratified share that is held out."""
    from sklearn.model_selection import train_test_split

    kept, aside = train_test_split(
        rows, test_size=share, random_state=seed, stratify=classes.to_numpy(zero_copy_only=False)
    )
    return kept, aside
