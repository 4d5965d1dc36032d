"""Which marginals of the real rows are counted, by a plan made from the public synthetic rows.

Every column by itself, in the bins and bars that a report shows; every column with the label, more
coarsely; and the mistakes of a predictor of the class that is trained on the synthetic rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe._utils.extras import require_report_extra
from tabpe.encoding import Encoder, Marginal, Records
from tabpe.encoding.marginals import (
    CorrectnessAxis,
    ListAxis,
    NumberAxis,
    PredictedAxis,
    build_axis,
    build_class_axis,
)
from tabpe.evaluation.metrics.columns import BINS, MOST_BARS
from tabpe.evaluation.metrics.predictors import boosting_settings
from tabpe.evaluation.table_arrays import MOST_LISTED

COARSE_BINS = 8
MOST_CLASSES = 20

Whole = NDArray[np.int64]
Predict = Callable[[Records], Whole]


@dataclass(frozen=True, eq=False)
class EncodedSynthetic:
    """The synthetic rows, encoded.

    Args:
        encoder: How they are encoded, as the real rows will be.
        rows: The rows.
        classes: The class of each.
    """

    encoder: Encoder
    rows: Records
    classes: Whole

    def count_cells(self, marginal: Marginal) -> Whole:
        """Return how many of them fall into each cell."""
        cells = marginal.find_cells(self.rows, self.classes)
        return np.bincount(cells, minlength=marginal.size).reshape(marginal.shape)

    def compute_shares(self, marginal: Marginal) -> NDArray[np.float64]:
        """Return which part of them falls into each cell."""
        shares: NDArray[np.float64] = self.count_cells(marginal) / len(self.rows)
        return shares


@dataclass(frozen=True, eq=False)
class MarginalPlan:
    """The marginals that are measured.

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
    def marginals(self) -> tuple[Marginal, ...]:
        """All of them, in one order."""
        single = (self.mistakes, self.users)
        return (*self.columns, *self.pairs, *(one for one in single if one is not None))


def plan_marginals(
    synthetic: EncodedSynthetic, predict: Predict | None, *, of_users: bool
) -> MarginalPlan:
    """Return the marginals to measure; `predict` is None if there is nothing to predict."""
    encoder = synthetic.encoder
    names, label = encoder.names, encoder.schema.label
    columns = tuple(Marginal((_build_axis(synthetic, name, BINS, MOST_BARS),)) for name in names)
    pairs: tuple[Marginal, ...] = ()
    if label is not None:
        by = _group_rare_values(synthetic, build_class_axis(encoder), MOST_CLASSES)
        pairs = tuple(
            Marginal((by, _build_axis(synthetic, name, COARSE_BINS, COARSE_BINS)))
            for name in names
            if name != label
        )
    mistakes = None if predict is None else _build_confusion(encoder, predict)
    return MarginalPlan(columns, pairs, mistakes, Marginal(()) if of_users else None)


def _build_axis(
    synthetic: EncodedSynthetic, name: str, bins: int, bars: int
) -> NumberAxis | ListAxis:
    axis = build_axis(synthetic.encoder, name, max_bins=bins)
    return axis if isinstance(axis, NumberAxis) else _group_rare_values(synthetic, axis, bars)


def _group_rare_values(synthetic: EncodedSynthetic, axis: ListAxis, most: int) -> ListAxis:
    """Put the values that are rarest among the synthetic rows into one cell, the last one."""
    if axis.size <= most:
        return axis
    counts = synthetic.count_cells(Marginal((axis,)))
    common = np.sort(np.argsort(-counts, kind="stable")[: most - 1])
    groups = np.full(axis.size, most - 1)
    groups[common] = np.arange(most - 1)
    return ListAxis(axis.name, axis.index, tuple(groups.tolist()))


def _build_confusion(encoder: Encoder, predict: Predict) -> Marginal:
    if encoder.class_count > MOST_CLASSES:
        return Marginal((CorrectnessAxis(predict),))
    return Marginal((build_class_axis(encoder), PredictedAxis(encoder.class_count, predict)))


MOST_ROWS = 20_000


def train_predictor(synthetic: EncodedSynthetic, *, seed: int) -> Predict | None:
    """Return a predictor of the class of a row; None if there is only one class.

    It is trained on at most `MOST_ROWS` of the synthetic rows, and predicts each row by itself.
    """
    encoder = synthetic.encoder
    if encoder.class_count == 1:
        return None
    rows, classes = _sample_rows(synthetic, seed)
    features = _select_features(encoder, rows)
    if len(np.unique(classes)) == 1 or not features.shape[1]:
        choice = int(np.bincount(classes).argmax())
        return lambda records: np.full(len(records), choice, dtype=np.int64)
    model = _fit_model(encoder, features, classes, seed)

    def predict(records: Records) -> Whole:
        if not len(records):
            return np.empty(0, dtype=np.int64)
        predicted: Whole = model.predict(_select_features(encoder, records)).astype(np.int64)
        return predicted

    return predict


def _sample_rows(synthetic: EncodedSynthetic, seed: int) -> tuple[Records, Whole]:
    size = len(synthetic.rows)
    if size <= MOST_ROWS:
        return synthetic.rows, synthetic.classes
    which = np.sort(np.random.default_rng(seed).choice(size, MOST_ROWS, replace=False))
    return synthetic.rows.take(which), synthetic.classes[which]


def _fit_model(encoder: Encoder, features: NDArray[np.float64], classes: Whole, seed: int) -> Any:
    """Fit with one thread: on a busy machine many small steps in two wait for each other."""
    require_report_extra("the predictor of private metrics")
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    numbers = [False] * len(_find_number_indices(encoder))
    listed = [column.states <= MOST_LISTED for column in encoder.categorical]
    model = HistGradientBoostingClassifier(
        categorical_features=np.array([*numbers, *listed]),
        random_state=seed % 2**32,
        **boosting_settings(encoder.class_count),
    )
    with threadpool_limits(limits=1, user_api="openmp"):
        return model.fit(features, classes)


def _select_features(encoder: Encoder, rows: Records) -> NDArray[np.float64]:
    """Return all of a row but its label."""
    numbers = rows.numbers[:, _find_number_indices(encoder)]
    return np.hstack([numbers, rows.codes]).astype(np.float64)


def _find_number_indices(encoder: Encoder) -> list[int]:
    label = encoder.schema.label
    return [place for place, column in enumerate(encoder.numeric) if column.name != label]
