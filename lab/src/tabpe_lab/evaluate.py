"""Measures of synthetic rows, the same for all methods.

The compared sets of columns and real rows depend on the data alone. Distances are from the training
rows; predictors are tested on the test rows. `SmallCNN` is a predictor for images, with two
convolutions and one dense layer; it needs torch, which is imported where it is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.errors import ParameterError
from tabpe.evaluation.metrics.distances import KWayDistance, total_variation, wasserstein
from tabpe.evaluation.metrics.embedding import measure_representation
from tabpe.evaluation.metrics.predictors import (
    explain_unusable,
    fit_and_predict,
    predict_target,
    run_together,
)
from tabpe.evaluation.metrics.utility import compute_scores, measure_certainty
from tabpe.evaluation.table_arrays import (
    LabeledExamples,
    TableArrays,
    build_class_examples,
    build_examples,
    build_table_arrays,
)
from tabpe_lab.experiment import CERTAINTY, CNN, OVERLAP, UTILITY, EvaluationSettings
from tabpe_lab.fidelity import (
    measure_atom_gap,
    measure_duplicates,
    measure_quantile_error,
    measure_self_prediction,
)
from tabpe_lab.task import Task

EPOCHS, BATCH, RATE = 60, 32, 2e-3
MOST_STEPS = 4000  # fewer epochs for many rows
CHANNELS = 16, 32


class SmallCNN:
    """A classifier of square greyscale images, with the interface of scikit-learn.

    Args:
        side: Pixels on a side; a row has its square.
        seed: Seed of the initial weights and of the order of rows.
    """

    def __init__(self, side: int, seed: int) -> None:
        self.side = side
        self.seed = seed

    def fit(self, features: NDArray[Any], target: NDArray[np.int64]) -> Self:
        """Learn from rows of pixels between 0 and 1."""
        import torch

        self.classes_, codes = np.unique(target, return_inverse=True)
        with torch.random.fork_rng(), _use_one_thread():
            torch.manual_seed(self.seed)
            self._network = _build_network(self.side, len(self.classes_))
            _train_network(self._network, self._shape_images(features), torch.from_numpy(codes))
        return self

    def predict_proba(self, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability of each class that was learned."""
        import torch

        self._network.eval()
        with torch.no_grad(), _use_one_thread():
            probabilities = torch.softmax(self._network(self._shape_images(features)), dim=1)
        return np.asarray(probabilities.numpy(), dtype=np.float64)

    def _shape_images(self, features: NDArray[Any]) -> Any:
        import torch

        shaped = np.asarray(features, dtype=np.float32).reshape(-1, 1, self.side, self.side)
        return torch.from_numpy(np.ascontiguousarray(shaped))


def predict_with_cnn(
    train: LabeledExamples, test: LabeledExamples, *, seed: int = 0
) -> NDArray[np.float64]:
    """Return a row of probabilities for each test row, as `predict_target` does.

    Raises:
        ParameterError: If rows are no square images, or the label is a number.
    """
    side = math.isqrt(len(train.features))
    if side * side != len(train.features) or train.classes is None:
        raise ParameterError(
            f"learners='cnn': rows of {len(train.features)} features: expected square images and "
            f"classes."
        )
    return fit_and_predict(
        lambda _, __: SmallCNN(side, seed), train, test, random_state=seed, threads=None
    )


def _build_network(side: int, classes: int) -> Any:
    from torch import nn

    first, second = CHANNELS
    return nn.Sequential(
        nn.Conv2d(1, first, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(second * (side // 4) ** 2, classes),
    )


def _train_network(network: Any, images: Any, labels: Any) -> None:
    import torch

    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    batches = math.ceil(len(images) / BATCH)
    epochs = max(1, min(EPOCHS, MOST_STEPS // batches))
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs * batches)
    network.train()
    for _ in range(epochs):
        order: Any = torch.randperm(len(images))
        for batch in order.split(BATCH):
            optimiser.zero_grad()
            scores = network(images[batch])
            loss: Any = torch.nn.functional.cross_entropy(scores, labels[batch])
            loss.backward()
            optimiser.step()
            decay.step()


@contextmanager
def _use_one_thread() -> Iterator[None]:
    """Use one thread: batches are so small that several would wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


METRIC_NAMES = {"accuracy": "accuracy", "macro F1": "macro_f1", "AUC": "auc", "R2": "r2"}
LEADING_METRICS = ("accuracy", "R2")
# The predictor whose probabilities are judged.
_JUDGE = "gradient boosting"
_SEED = 0


@dataclass(frozen=True)
class EvaluationScores:
    """Measures of synthetic rows.

    Args:
        metrics: By name; one that is undefined for this data is left out.
        notes: Sizes, the chosen learner, the duration.
    """

    metrics: dict[str, float]
    notes: dict[str, Any]


def evaluate_rows(
    task: Task, synthetic: pa.Table, metrics: Sequence[str], evaluation: EvaluationSettings
) -> EvaluationScores:
    """Return measures of synthetic rows.

    Args:
        task: The real rows.
        synthetic: The synthetic rows.
        metrics: Names of metrics, see `tabpe_lab.experiment`.
        evaluation: Settings of the metrics.
    """
    started = time.perf_counter()
    held_out = pa.concat_tables([task.validation, task.test], promote_options="default")
    tables = [task.train, task.validation, held_out, synthetic]
    train, validation, both, sampled = build_table_arrays(task.schema, tables)
    found: dict[str, float] = {}
    notes: dict[str, Any] = {}
    if set(metrics) & set(UTILITY) and task.schema.label is not None:
        scores, utility_notes = _score_utility(sampled, validation, both, evaluation)
        found |= {k: v for k, v in scores.items() if k.removeprefix("validation_") in metrics}
        notes |= utility_notes
    if set(metrics) & {*CERTAINTY, "self_prediction"} and task.schema.label is not None:
        certain = _score_certainty(sampled, validation, both, metrics, evaluation)
        found |= {k: v for k, v in certain.items() if k.removeprefix("validation_") in metrics}
    settings: dict[str, Any] = {"subsets": evaluation.subsets, "random_state": _SEED}
    distances_by_kind: dict[str, Callable[..., tuple[KWayDistance, ...]]] = {
        "wd": partial(wasserstein, rows=evaluation.rows),
        "tv": total_variation,
    }
    for kind, measure in distances_by_kind.items():
        orders = [int(name.partition("-")[0]) for name in metrics if name.endswith(f"-{kind}")]
        if orders:
            distances = measure(train, sampled, orders, **settings)
            found |= {f"{each.order}-{kind}": each.distance for each in distances}
            notes[kind] = _describe_sizes(distances)
    orders = [int(name.partition("-")[0]) for name in metrics if name.endswith("-qb")]
    if orders:
        errors = measure_quantile_error(train, sampled, orders, **settings)
        found |= {f"{order}-qb": error for order, error in errors.items()}
    if "atom_gap" in metrics:
        found["atom_gap"] = measure_atom_gap(train, sampled)
    if "duplicates" in metrics:
        found["duplicates"] = measure_duplicates(sampled)
    if set(metrics) & set(OVERLAP):
        overlap = measure_representation(
            train, sampled, rows=evaluation.overlap_rows, random_state=_SEED
        )
        found |= {name: getattr(overlap, name) for name in OVERLAP if name in metrics}
        notes["overlap"] = {"encoder": overlap.encoder, "rows": list(overlap.rows)}
    notes["seconds"] = round(time.perf_counter() - started, 3)
    return EvaluationScores(found, notes)


def _score_utility(
    synthetic: TableArrays,
    validation: TableArrays,
    both: TableArrays,
    evaluation: EvaluationSettings,
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the scores of the learner that is best on the validation rows."""
    train = _get_examples(synthetic).sample_rows(
        evaluation.learner_rows, np.random.default_rng(_SEED)
    )
    held_out, first = _get_examples(both), len(_get_examples(validation))
    if not len(train):
        raise ParameterError("no synthetic row has a label: nothing can be learned from them.")
    validated, tested = (
        held_out.take(np.arange(first)),
        held_out.take(np.arange(first, len(held_out))),
    )
    names = evaluation.learners
    predictions = run_together([partial(_predict_labels, name, train, held_out) for name in names])
    by_validation = [
        compute_scores(predicted[:first], validated) if first else {} for predicted in predictions
    ]
    best = int(np.argmax([_get_leading_score(scores) for scores in by_validation]))
    scores = compute_scores(predictions[best][first:], tested)
    found = {METRIC_NAMES[name]: score for name, score in scores.items()}
    found |= {
        f"validation_{METRIC_NAMES[name]}": score for name, score in by_validation[best].items()
    }
    notes = {"learner": names[best], "learner_rows": len(train), "test_rows": len(tested)}
    return found, notes


def _score_certainty(
    synthetic: TableArrays,
    validation: TableArrays,
    both: TableArrays,
    metrics: Sequence[str],
    evaluation: EvaluationSettings,
) -> dict[str, float]:
    """Return how far the probabilities can be believed that synthetic rows teach."""
    train = _get_examples(synthetic).sample_rows(
        evaluation.learner_rows, np.random.default_rng(_SEED)
    )
    held_out, first = _get_examples(both), len(_get_examples(validation))
    found: dict[str, float] = {}
    if train.classes is None:
        return found
    if "self_prediction" in metrics:
        found["self_prediction"] = measure_self_prediction(train, _SEED)
    if not set(metrics) & set(CERTAINTY):
        return found
    predicted = _predict_labels(_JUDGE, train, held_out)
    parts = {"validation_": slice(0, first), "": slice(first, None)}
    for prefix, part in parts.items():
        which = np.arange(len(held_out))[part]
        certainty = measure_certainty(predicted[part], held_out.take(which))
        if certainty is None:
            continue
        found |= {
            f"{prefix}log_loss": certainty.log_loss,
            f"{prefix}brier": certainty.brier,
            f"{prefix}ece": certainty.calibration_error,
            f"{prefix}overconfidence": certainty.overconfidence,
        }
    return found


def _get_examples(view: TableArrays) -> LabeledExamples:
    label = str(view.schema.label)
    return build_class_examples(view, label) or build_examples(view, label)


def _predict_labels(
    name: str, train: LabeledExamples, test: LabeledExamples
) -> NDArray[np.float64]:
    if name == CNN:
        return predict_with_cnn(train, test, seed=_SEED)
    reason = explain_unusable(name, train)
    if reason is not None:
        raise ParameterError(f"learners={name!r}: {reason}")
    return predict_target(name, train, test, random_state=_SEED)


def _get_leading_score(scores: dict[str, float]) -> float:
    return next((scores[name] for name in LEADING_METRICS if name in scores), 0.0)


def _describe_sizes(found: Sequence[KWayDistance]) -> dict[str, Any]:
    return {
        "rows": list(found[0].rows) if found else [],
        "subsets": {str(each.order): each.measured for each in found},
    }
