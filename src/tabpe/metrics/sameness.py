"""Whether there are rows, and which of them are equal, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.errors import DataError
from tabpe.metrics.view import Cells, Numbers, View


def refuse_empty(tables: Sequence[View]) -> None:
    """Refuse tables without rows, of which nothing can be said.

    Raises:
        DataError: If a table has no rows.
    """
    if not all(len(table) for table in tables):
        raise DataError("a table has no rows: there is nothing to compare; give at least one row.")


def row_ids(tables: Sequence[View]) -> list[NDArray[np.int64]]:
    """Return a whole number for each row of each table, the same where rows are equal.

    Two cells are equal if both are null, or both hold the same number or category. The numbers
    start from 0 and leave none out.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.metrics.view import views
        >>> from tabpe.schema import Integer, Schema
        >>> tables = [pa.table({"age": [3, None, 3]}), pa.table({"age": [None, 4]})]
        >>> one, two = row_ids(views(Schema((Integer("age", 0, 9),)), tables))
        >>> one[0] == one[2] != one[1] == two[0]
        np.True_
    """
    lengths = [len(table) for table in tables]
    columns = [
        np.concatenate([_bits(cells) for cells in same]) for same in zip(*tables, strict=True)
    ]
    rows = np.ascontiguousarray(np.column_stack(columns))
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1])))[:, 0]
    ids = np.unique(whole, return_inverse=True)[1]
    return np.split(ids.astype(np.int64), np.cumsum(lengths)[:-1])


def _bits(cells: Cells) -> NDArray[np.int64]:
    """Return whole numbers that are equal where cells are."""
    if not isinstance(cells, Numbers):
        return cells.codes
    one_zero = cells.values + 0.0  # -0.0 + 0.0 is 0.0
    return np.where(cells.missing, np.nan, one_zero).view(np.int64)
