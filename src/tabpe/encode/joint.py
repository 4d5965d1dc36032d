"""`JointClasses`: the class of a row by several labels, and the way back.

A row has the number of its combination of values. Each combination is a class, but for the rare
ones, which share the last class; inside it, a code of the record tells them apart. So that code
evolves like any other, and yields rare combinations alone. Elsewhere it is 0.

Privacy: the class of a row follows from that row's labels and from which combinations are rare,
which is declared or follows from noisy counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.encode import cells
from tabpe.schema import Schema
from tabpe.schema.joint import Listed, combinations_of

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class JointClasses:
    """The combinations of the values of several labels, and their classes.

    Args:
        columns: The labels.
        rare: Which combinations share the last class, by their numbers, ascending.

    Example:
        >>> from tabpe.schema import Boolean
        >>> joint = JointClasses((Boolean("ill"), Boolean("old")), rare=(0, 3))
        >>> joint.classes, joint.codes
        (array([2, 0, 1, 2]), array([0, 0, 0, 1]))
    """

    columns: tuple[Listed, ...]
    rare: tuple[int, ...] = ()

    @classmethod
    def of(cls, schema: Schema) -> JointClasses | None:
        """Return the classes of several labels; None if a schema has not as many."""
        if not schema.joint_labels:
            return None
        merged = set(schema.label_rare)
        every = combinations_of(schema.joint_labels)
        rare = tuple(number for number, one in enumerate(every) if one in merged)
        return cls(schema.joint_labels, rare)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each label, null among them."""
        return tuple(column.states for column in self.columns)

    @cached_property
    def size(self) -> int:
        """The number of combinations."""
        return int(np.prod(self.shape))

    @cached_property
    def _kept(self) -> Whole:
        return np.setdiff1d(np.arange(self.size), np.array(self.rare, dtype=np.int64))

    @cached_property
    def classes(self) -> Whole:
        """The class of each combination."""
        found = np.full(self.size, len(self._kept), dtype=np.int64)
        found[self._kept] = np.arange(len(self._kept))
        return found

    @cached_property
    def codes(self) -> Whole:
        """The code of each combination among the rare ones; 0 for one that is not rare."""
        found = np.zeros(self.size, dtype=np.int64)
        found[list(self.rare)] = np.arange(len(self.rare))
        return found

    def numbers(self, table: pa.Table, *, strict: bool = False) -> Whole:
        """Return the number of the combination that each row of a table has."""
        places = [
            cells.codes_of(column, table[column.name], strict=strict) for column in self.columns
        ]
        return np.ravel_multi_index(places, self.shape).astype(np.int64)

    def combinations(self, classes: Whole, codes: Sequence[int] | NDArray[np.integer]) -> Whole:
        """Return the number of the combination of rows, by their classes and rare codes."""
        if not self.rare:
            return self._kept[classes]
        kept = np.append(self._kept, self.rare[0])[classes]
        among = np.array(self.rare)[np.asarray(codes, dtype=np.int64)]
        return np.where(classes == len(self._kept), among, kept)

    def decoded(self, numbers: Whole) -> dict[str, pa.Array]:
        """Return the values of all labels, by the number of their combination."""
        places = np.unravel_index(numbers, self.shape)
        return {
            column.name: cells.cells_of_codes(column, np.asarray(place))
            for column, place in zip(self.columns, places, strict=True)
        }
