"""A predictor of the class that is trained on the synthetic rows: public, as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.appraise.plan import Predict, Synthetic, Whole
from tabpe.encode import Encoder, Records
from tabpe.metrics.features import MOST_LISTED
from tabpe.metrics.learners import boosting_settings

MOST_ROWS = 20_000


def trained(synthetic: Synthetic, *, seed: int) -> Predict | None:
    """Return what predicts the class of a row; None if there is no choice.

    It answers for each row by itself: the leaves of trees that a row falls into are its own.

    Args:
        synthetic: The rows to learn from; of more than `MOST_ROWS` a random part.
        seed: Drives the choice of rows and the training.
    """
    encoder = synthetic.encoder
    if encoder.class_count == 1:
        return None
    rows, classes = _some(synthetic, seed)
    features = _features(encoder, rows)
    if len(np.unique(classes)) == 1 or not features.shape[1]:
        return _constant(int(np.bincount(classes).argmax()))
    model = _fitted(_model(encoder, seed), features, classes)

    def predict(records: Records) -> Whole:
        if not len(records):
            return np.empty(0, dtype=np.int64)
        predicted: Whole = model.predict(_features(encoder, records)).astype(np.int64)
        return predicted

    return predict


def _constant(choice: int) -> Predict:
    return lambda records: np.full(len(records), choice, dtype=np.int64)


def _some(synthetic: Synthetic, seed: int) -> tuple[Records, Whole]:
    size = len(synthetic.rows)
    if size <= MOST_ROWS:
        return synthetic.rows, synthetic.classes
    which = np.sort(np.random.default_rng(seed).choice(size, MOST_ROWS, replace=False))
    return synthetic.rows.take(which), synthetic.classes[which]


def _model(encoder: Encoder, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    numbers = [False] * len(_number_places(encoder))
    listed = [column.states <= MOST_LISTED for column in encoder.categorical]
    return HistGradientBoostingClassifier(
        categorical_features=np.array([*numbers, *listed]),
        random_state=seed % 2**32,
        **boosting_settings(encoder.class_count),
    )


def _fitted(model: Any, features: NDArray[np.float64], classes: Whole) -> Any:
    """Fit with one thread: on a busy machine many small steps in two wait for each other."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="openmp"):
        return model.fit(features, classes)


def _features(encoder: Encoder, rows: Records) -> NDArray[np.float64]:
    """Return all of a row but its label."""
    numbers = rows.numbers[:, _number_places(encoder)]
    return np.hstack([numbers, rows.codes]).astype(np.float64)


def _number_places(encoder: Encoder) -> list[int]:
    label = encoder.schema.label
    return [place for place, column in enumerate(encoder.numeric) if column.name != label]
