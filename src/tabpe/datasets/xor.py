"""The stress test of the paper: the label is the parity of the signs of all features.

No feature tells anything about the label alone, and neither does any set of features but all of
them together.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tabpe.schema import Categorical, Float, Schema

BOUND = 10.0
LABEL = "target"
_SEED = 42


def xor_schema(features: int) -> Schema:
    """Return what is public: the bounds of the features.

    Example:
        >>> xor_schema(2).names
        ('num_feat_0', 'num_feat_1', 'target')
    """
    columns = (Float(name, -BOUND, BOUND) for name in _names(features))
    return Schema((*columns, Categorical(LABEL, (0, 1))), label=LABEL)


def xor_table(features: int, rows: int = 50_000) -> pa.Table:
    """Return the rows that the authors drew; the first ones do not depend on how many are asked.

    Example:
        >>> table = xor_table(2)
        >>> table.num_rows, round(table["num_feat_0"][0].as_py(), 3), table["target"][0].as_py()
        (50000, -2.509, 1)
    """
    # The generator of the authors: a newer one would draw other rows.
    drawn = np.random.RandomState(_SEED).uniform(-BOUND, BOUND, (rows, features))
    columns = dict(zip(_names(features), drawn.T, strict=True))
    return pa.table({**columns, LABEL: (drawn > 0).sum(axis=1) % 2})


def _names(features: int) -> list[str]:
    return [f"num_feat_{place}" for place in range(features)]
