"""Parts of 70, 15 and 15 percent, in which classes have the shares that they have in the whole."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.datasets.dataset import Parts

# The authors of the paper cut Adult and Breast Cancer in this way, with this seed.
AUTHORS = 42
_HELD_OUT, _HALF = 0.3, 0.5


def split(table: pa.Table, label: str, seed: int) -> Parts:
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
    train, rest = cut(np.arange(table.num_rows), table[label], _HELD_OUT, seed)
    validation, test = cut(rest, table[label].take(rest), _HALF, seed)
    return Parts(table.take(train), table.take(validation), table.take(test))


def cut(
    rows: NDArray[np.int64], classes: pa.ChunkedArray, share: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return most rows, and a share of them that is set aside."""
    from sklearn.model_selection import train_test_split

    kept, aside = train_test_split(
        rows, test_size=share, random_state=seed, stratify=classes.to_numpy(zero_copy_only=False)
    )
    return kept, aside
