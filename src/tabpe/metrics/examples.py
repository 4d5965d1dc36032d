"""`Examples`: rows whose label is known, as predictors are trained and tested on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.metrics.view import Cells, Labels, View

HELD_OUT = 0.3


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows with features and what is to be predicted from them.

    Args:
        features: The cells of all other columns.
        target: What is predicted: the code of a class; or a number, scaled by its bounds.
        classes: How many classes there may be; None for a number.
    """

    features: tuple[Cells, ...]
    target: NDArray[Any]
    classes: int | None

    def __len__(self) -> int:
        return len(self.target)

    @property
    def present(self) -> NDArray[np.int64]:
        """The classes that occur, in rising order."""
        return np.unique(self.target)

    def take(self, which: NDArray[Any]) -> Examples:
        """Return the rows at the given places, or where a mask is true."""
        features = tuple(cells.take(which) for cells in self.features)
        return Examples(features, self.target[which], self.classes)

    def only(self, keep: Sequence[bool]) -> Examples:
        """Return the same rows with some of the features."""
        features = (cells for cells, kept in zip(self.features, keep, strict=True) if kept)
        return Examples(tuple(features), self.target, self.classes)

    def sampled(self, rows: int | None, rng: np.random.Generator) -> Examples:
        """Return at most `rows` of the rows, drawn without replacement, in their order."""
        if rows is None or len(self) <= rows:
            return self
        return self.take(np.sort(rng.choice(len(self), rows, replace=False)))

    def parted(self, rng: np.random.Generator) -> tuple[Examples, Examples]:
        """Return rows to train on, and rows that are held out to test."""
        shuffled = rng.permutation(len(self))
        held_out = max(1, round(HELD_OUT * len(self)))
        return self.take(np.sort(shuffled[held_out:])), self.take(np.sort(shuffled[:held_out]))


def examples(view: View, label: str) -> Examples:
    """Return the rows of a table whose label is not null.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Boolean, Integer, Schema
        >>> from tabpe.metrics.view import views
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> view, = views(schema, [pa.table({"age": [25, 50], "ill": [True, None]})])
        >>> examples(view, "ill").target, examples(view, "age").target
        (array([1]), array([0.25, 0.5 ]))
    """
    cells = view[label]
    features = tuple(other for other in view if other.name != label)
    known = ~cells.missing
    if isinstance(cells, Labels):
        return Examples(features, cells.codes, len(cells.names)).take(known)
    return Examples(features, cells.scaled, None).take(known)


def class_examples(view: View, label: str) -> Examples | None:
    """Return the same with classes to predict, a number by its cuts; None for one without."""
    cells, cuts = view[label], view.schema.label_cuts
    rows = examples(view, label)
    if isinstance(cells, Labels):
        return rows
    if label != view.schema.target or not cuts:
        return None
    codes = np.searchsorted(np.asarray(cuts), cells.present, side="right")
    return Examples(rows.features, codes.astype(np.int64), len(cuts) + 1)
