"""k-way total variation: which share of the rows would have to move, over k columns at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe import _validate
from tabpe.metrics.joint import Digits, joint
from tabpe.metrics.subsets import KWay, orders_of, subsets_of
from tabpe.metrics.view import Cells, Numbers, View

BINS, SUBSETS = 20, 300
_FEW_CELLS = 2**20


def total_variation(
    real: View,
    synthetic: View,
    orders: Sequence[int] = (1, 2, 3),
    *,
    bins: int = BINS,
    subsets: int | None = SUBSETS,
    random_state: int | None = 0,
) -> tuple[KWay, ...]:
    """Return the k-way total variation for each k of `orders` that there are columns for.

    The mean, over sets of k columns with the label among them, of half the sum of differences
    between the shares that each cell of the joint table has: 0 for equal shares, 1 if no cell is
    in both tables. All rows count. A null is a value like any other.

    Args:
        real: The real table.
        synthetic: The synthetic table.
        orders: The k.
        bins: Numbers are cut into so many bins of equal width between the bounds of the schema;
            those beyond the bounds are in the first or the last.
        subsets: Sets of columns for each k, drawn without replacement; None for all.
        random_state: Seed of what is drawn. The sets for one k do not depend on other orders.

    Raises:
        ParameterError: If a parameter is outside what it allows.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.metrics.view import views
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> real = pa.table({"age": [21, 41], "ill": [True, False]})
        >>> made = pa.table({"age": [22, 42], "ill": [True, True]})
        >>> [found.distance for found in total_variation(*views(schema, [real, made]))]
        [0.25, 0.5]
    """
    cut = _validate.whole("bins", bins, least=1)
    most = _validate.optional(_validate.whole, "subsets", subsets, least=1)
    names, rows = real.schema.names, (len(real), len(synthetic))
    digits = [_digits(one, two, cut) for one, two in zip(real, synthetic, strict=True)]
    found = []
    for order in orders_of(orders, len(names)):
        chosen = subsets_of(len(names), order, most, random_state)
        far = [_variation(joint([digits[place] for place in same]), rows) for same in chosen]
        found.append(KWay.of(names, chosen, far, rows))
    return tuple(found)


def _digits(real: Cells, synthetic: Cells, bins: int) -> Digits:
    base = bins if isinstance(real, Numbers) else len(real.names)
    values = np.concatenate([_values(cells, bins) for cells in (real, synthetic)])
    missing = np.concatenate([real.missing, synthetic.missing])
    return Digits(np.where(missing, base, values), base + 1)


def _values(cells: Cells, bins: int) -> NDArray[np.int64]:
    if not isinstance(cells, Numbers):
        return cells.codes
    inside = np.clip(np.nan_to_num(cells.scaled), 0.0, 1.0)
    return np.minimum((inside * bins).astype(np.int64), bins - 1)


def _variation(cells: Digits, rows: tuple[int, int]) -> float:
    real, synthetic = rows
    if not (real and synthetic):
        return float("nan")
    if cells.base > _FEW_CELLS:
        cells = Digits.of_distinct(cells.values)
    has = np.bincount(cells.values[:real], minlength=cells.base) / real
    made = np.bincount(cells.values[real:], minlength=cells.base) / synthetic
    return float(np.abs(has - made).sum()) / 2
