"""Adult in cells: the one table of codes that both sides get."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from tabpe.schema import Categorical, Column, Integer, Schema
from tabpe_lab.datasets import Dataset, load

BINS = 16


@dataclass(frozen=True)
class Cells:
    """A table of codes, and what they mean.

    Args:
        schema: Numbers as the number of their bin, categories as they are.
        train: The rows to learn from, in terms of the schema.
        test: The rows to be judged by.
    """

    schema: Schema
    train: pa.Table
    test: pa.Table

    @property
    def sizes(self) -> dict[str, int]:
        """The number of cells of each column."""
        return {column.name: _size(column) for column in self.schema.columns}

    def codes(self, table: pa.Table) -> pd.DataFrame:
        """Return rows in terms of the schema as codes."""
        frame = table.to_pandas()
        return pd.DataFrame(
            {c.name: _coded(frame[c.name], c) for c in self.schema.columns}, dtype=np.int64
        )

    def decoded(self, codes: pd.DataFrame) -> pa.Table:
        """Return codes as rows in terms of the schema."""
        columns = {}
        for column in self.schema.columns:
            values = codes[column.name].to_numpy()
            if isinstance(column, Categorical):
                values = np.array(column.values)[values]
            columns[column.name] = values
        return pa.table(columns)


def adult_in_cells() -> Cells:
    """Return Adult with numbers cut at quantiles of the rows to learn from.

    The cuts are not private: only what is made of the codes is compared.
    """
    data = load("adult")
    train, test = data.train.to_pandas(), data.test.to_pandas()
    columns: list[Column] = []
    for column in data.schema.columns:
        if isinstance(column, Categorical):
            columns.append(column)
            continue
        cuts = np.unique(np.quantile(train[column.name], np.linspace(0, 1, BINS + 1)[1:-1]))
        for frame in (train, test):
            frame[column.name] = np.searchsorted(cuts, frame[column.name], side="right")
        columns.append(Integer(column.name, 0, len(cuts)))
    return Cells(Schema(tuple(columns), label=data.label), _table(train, data), _table(test, data))


def _table(frame: pd.DataFrame, data: Dataset) -> pa.Table:
    return pa.Table.from_pandas(frame[list(data.schema.names)], preserve_index=False)


def _size(column: Column) -> int:
    return len(column.values) if isinstance(column, Categorical) else int(column.max) + 1


def _coded(values: pd.Series, column: Column) -> pd.Series:
    if not isinstance(column, Categorical):
        return values
    return values.map({value: place for place, value in enumerate(column.values)})
