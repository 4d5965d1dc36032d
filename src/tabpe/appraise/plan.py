"""Which tables of counts are bought: cut by the schema and by the synthetic rows, which are public.

Every column by itself, in the bins and bars that a report shows; every column with the label, more
coarsely; and the mistakes of a predictor that was trained on the synthetic rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Encoder, Marginal, Records
from tabpe.encode.axes import ListAxis, NumberAxis, PredictedAxis, RightAxis, axis_of, class_axis
from tabpe.metrics.columns import BINS, MOST_BARS

COARSE_BINS = 8
MOST_CLASSES = 20

Whole = NDArray[np.int64]
Predict = Callable[[Records], Whole]


@dataclass(frozen=True, eq=False)
class Synthetic:
    """The synthetic rows, encoded.

    Args:
        encoder: How they are encoded, as the real rows will be.
        rows: The rows.
        classes: The class of each.
    """

    encoder: Encoder
    rows: Records
    classes: Whole

    def counts(self, marginal: Marginal) -> Whole:
        """Return how many of them fall into each cell."""
        cells = marginal.cells(self.rows, self.classes)
        return np.bincount(cells, minlength=marginal.size).reshape(marginal.shape)

    def shares(self, marginal: Marginal) -> NDArray[np.float64]:
        """Return which part of them falls into each cell."""
        shares: NDArray[np.float64] = self.counts(marginal) / len(self.rows)
        return shares


@dataclass(frozen=True, eq=False)
class Plan:
    """The tables of counts that are bought.

    Args:
        columns: Each column by itself.
        pairs: Each column with the label; none without a label.
        mistakes: The class of a row and the one predicted for it; or, if there are many classes,
            whether the two are the same; None if there is nothing to predict.
        users: One cell for all users; None if rows are counted, whose number follows from the rest.
    """

    columns: tuple[Marginal, ...]
    pairs: tuple[Marginal, ...]
    mistakes: Marginal | None
    users: Marginal | None

    @property
    def asked(self) -> tuple[Marginal, ...]:
        """All of them, in one order."""
        single = (self.mistakes, self.users)
        return (*self.columns, *self.pairs, *(one for one in single if one is not None))


def plan_of(synthetic: Synthetic, predict: Predict | None, *, of_users: bool) -> Plan:
    """Return what is bought.

    Args:
        synthetic: The synthetic rows.
        predict: Predicts the class of a row; None if there is nothing to predict.
        of_users: Whether users are counted instead of rows.
    """
    encoder = synthetic.encoder
    names, label = encoder.names, encoder.schema.label
    columns = tuple(Marginal((_axis(synthetic, name, BINS, MOST_BARS),)) for name in names)
    pairs: tuple[Marginal, ...] = ()
    if label is not None:
        by = _grouped(synthetic, class_axis(encoder), MOST_CLASSES)
        pairs = tuple(
            Marginal((by, _axis(synthetic, name, COARSE_BINS, COARSE_BINS)))
            for name in names
            if name != label
        )
    mistakes = None if predict is None else _mistakes(encoder, predict)
    return Plan(columns, pairs, mistakes, Marginal(()) if of_users else None)


def _axis(synthetic: Synthetic, name: str, bins: int, bars: int) -> NumberAxis | ListAxis:
    axis = axis_of(synthetic.encoder, name, most=bins)
    return axis if isinstance(axis, NumberAxis) else _grouped(synthetic, axis, bars)


def _grouped(synthetic: Synthetic, axis: ListAxis, most: int) -> ListAxis:
    """Put the values that are rarest among the synthetic rows into one cell, the last one."""
    if axis.size <= most:
        return axis
    counts = synthetic.counts(Marginal((axis,)))
    common = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    groups = np.full(axis.size, most - 1)
    groups[common] = np.arange(most - 1)
    return ListAxis(axis.name, axis.place, tuple(groups.tolist()))


def _mistakes(encoder: Encoder, predict: Predict) -> Marginal:
    if encoder.class_count > MOST_CLASSES:
        return Marginal((RightAxis(predict),))
    return Marginal((class_axis(encoder), PredictedAxis(encoder.class_count, predict)))
