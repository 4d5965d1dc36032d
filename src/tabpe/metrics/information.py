"""Total correlation: how much a few columns tell about one another, and how much each set adds.

Information is in bits. Columns are read as categories, a null as one of them, and numbers by bins
of about equally many rows. Counts of few rows make entropies too small. The correction of Miller
and Madow is added to each of them, so that what is not there may come out a little below 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe._validate import optional, whole
from tabpe.errors import ParameterError, did_you_mean
from tabpe.metrics.view import Cells, Labels, View

ROWS_PER_CELL = 5
MOST_SETS = 1000


@dataclass(frozen=True)
class Gain:
    """What some columns tell about one another beyond any set that lacks one of them.

    It is all of what no smaller set can show, as the label of an exclusive or does; but in a chain
    of columns, of which each depends on the one before, it is what the weakest link tells.

    Args:
        columns: Names of the columns.
        bits: Their total correlation, less that of the best set that lacks one of them.
    """

    columns: tuple[str, ...]
    bits: float

    @property
    def words(self) -> str:
        """What it means, in a sentence.

        Example:
            >>> print(Gain(("age", "ward", "ill"), 0.25).words)
            age, ward and ill tell 0.250 bits more about one another than the best 2 of them.
            >>> print(Gain(("age", "ill"), 0.125).words)
            age and ill tell 0.125 bits about one another.
        """
        *others, last = self.columns
        names, bits = f"{', '.join(others)} and {last}", f"{self.bits:.3f} bits"
        if len(others) == 1:
            return f"{names} tell {bits} about one another."
        return f"{names} tell {bits} more about one another than the best {len(others)} of them."


def total_correlation(view: View, names: Sequence[str], *, bins: int | None = None) -> float:
    """Return the sum of the entropies of columns less that of all of them together, in bits.

    NOT PRIVATE: the rows are read as they are.

    Args:
        view: The table.
        names: At least one column.
        bins: Into how many bins numbers are put; needed if a column is one.

    Raises:
        ParameterError: If a name is unknown or given twice, a column is a number and there are no
            bins, or there are fewer than 5 rows for each combination of values that may occur.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Boolean, Schema
        >>> from tabpe.metrics.view import views
        >>> bits = np.arange(4000)
        >>> a, b = bits % 2 == 1, bits // 2 % 2 == 1
        >>> schema = Schema((Boolean("a"), Boolean("b"), Boolean("odd")))
        >>> view, = views(schema, [pa.table({"a": a, "b": b, "odd": a ^ b})])
        >>> abs(total_correlation(view, ["a", "b"])) < 0.001
        True
        >>> round(total_correlation(view, ["a", "b", "odd"]), 2)
        1.0
    """
    return _checked(view, names, bins, least=1).total(tuple(names))


def correlation_gain(view: View, names: Sequence[str], *, bins: int | None = None) -> float:
    """Return the total correlation of columns less that of the best set that lacks one, in bits.

    It is the paper's G_k of k columns. Of two columns it is their mutual information.

    Raises:
        ParameterError: As `total_correlation`, and for fewer than two columns.
    """
    return _checked(view, names, bins, least=2).gain(tuple(names))


def strongest_gain(
    view: View, size: int, *, label: str | None = None, bins: int = 4, most: int = MOST_SETS
) -> Gain | None:
    """Return the set of so many columns that gains most; None if no set can be measured.

    Args:
        view: The table.
        size: How many columns a set has, at least 2.
        label: A column that every set has; None for all sets.
        bins: Into how many bins numbers are put.
        most: How many sets are tried at most; if there are more, none is, because a few of them
            would say little about the rest.
    """
    whole("size", size, least=2)
    others = [name for name in view.schema.names if name != label]
    always = () if label is None else (label,)
    if math.comb(len(others), size - len(always)) > most:
        return None
    counted = _Counted.of(view, view.schema.names, bins)
    sets = ((*chosen, *always) for chosen in itertools.combinations(others, size - len(always)))
    gains = [Gain(names, counted.gain(names)) for names in sets if counted.has_rows_for(names)]
    return max(gains, key=lambda gain: gain.bits, default=None)


@dataclass(frozen=True, eq=False)
class _Counted:
    """Columns as small whole numbers, and the entropies that were asked for so far."""

    codes: dict[str, NDArray[np.int64]]
    sizes: dict[str, int]
    rows: int
    entropies: dict[frozenset[str], float]

    @classmethod
    def of(cls, view: View, names: Sequence[str], bins: int | None) -> _Counted:
        codes, sizes = {}, {}
        for name in names:
            values, codes[name] = np.unique(_discrete(view[name], bins), return_inverse=True)
            sizes[name] = len(values)
        return cls(codes, sizes, len(view), {})

    def has_rows_for(self, names: Sequence[str]) -> bool:
        """Whether there are enough rows for each combination of values."""
        return 0 < self.cells(names) * ROWS_PER_CELL <= self.rows

    def cells(self, names: Sequence[str]) -> int:
        return math.prod(self.sizes[name] for name in names)

    def gain(self, names: tuple[str, ...]) -> float:
        fewer = itertools.combinations(names, len(names) - 1)
        return self.total(names) - max(self.total(some) for some in fewer)

    def total(self, names: tuple[str, ...]) -> float:
        return sum(self.entropy((name,)) for name in names) - self.entropy(names)

    def entropy(self, names: tuple[str, ...]) -> float:
        key = frozenset(names)
        if key not in self.entropies:
            self.entropies[key] = _entropy(self._joint(sorted(names)))
        return self.entropies[key]

    def _joint(self, names: Sequence[str]) -> NDArray[np.int64]:
        joint = np.zeros(self.rows, dtype=np.int64)
        for name in names:
            joint = joint * self.sizes[name] + self.codes[name]
        return np.bincount(joint, minlength=1)


def _entropy(counts: NDArray[np.int64]) -> float:
    """Return the entropy of the shares of counts, with the correction of Miller and Madow."""
    found = counts[counts > 0]
    shares = found / found.sum()
    plain = -float((shares * np.log2(shares)).sum())
    return plain + (len(found) - 1) / (2 * int(found.sum()) * math.log(2))


def _discrete(cells: Cells, bins: int | None) -> NDArray[np.int64]:
    if isinstance(cells, Labels):
        return cells.codes
    if bins is None:
        raise ParameterError(f"bins=None: column {cells.name!r} is a number: give bins, such as 4.")
    present = cells.present
    if not len(present):
        return np.zeros(len(cells.values), dtype=np.int64)
    edges = np.unique(np.quantile(present, np.arange(1, bins) / bins))
    codes = np.searchsorted(edges, cells.values, side="right")
    return np.where(cells.missing, -1, codes)


def _checked(view: View, names: Sequence[str], bins: int | None, *, least: int) -> _Counted:
    """Return the columns, if so few rows can tell their entropies."""
    optional(whole, "bins", bins, least=2)
    for name in names:
        if name not in view.schema.names:
            raise ParameterError(f"names={name!r}: {did_you_mean(str(name), view.schema.names)}")
    if len(names) < least or len(set(names)) < len(names):
        raise ParameterError(f"names={list(names)!r}: expected {least} columns or more, each once.")
    counted = _Counted.of(view, names, bins)
    if not counted.has_rows_for(names):
        raise ParameterError(
            f"names={list(names)!r}: their values have {counted.cells(names)} combinations, too "
            f"many for {len(view)} rows: name fewer columns, or give fewer bins."
        )
    return counted
