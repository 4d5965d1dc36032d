"""Measures of synthetic rows, the same for all methods.

Which sets of columns and which real rows are compared depends on the data alone. Distances are from
the training rows; predictors are tested on the test rows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.bench.cnn import predicted_by_cnn
from tabpe.bench.experiment import CNN, OVERLAP, UTILITY, Evaluation
from tabpe.bench.task import Task
from tabpe.errors import ParameterError
from tabpe.metrics.examples import Examples, class_examples, examples
from tabpe.metrics.learners import lacking, predicted, together
from tabpe.metrics.representation import representation
from tabpe.metrics.subsets import KWay
from tabpe.metrics.utility import scores_of
from tabpe.metrics.variation import total_variation
from tabpe.metrics.view import View, views
from tabpe.metrics.wasserstein import wasserstein

NAMES = {"accuracy": "accuracy", "macro F1": "macro_f1", "AUC": "auc", "R2": "r2"}
LEADING = ("accuracy", "R2")
_SEED = 0


@dataclass(frozen=True)
class Measures:
    """What was found.

    Args:
        metrics: By name; one that this data does not define is left out.
        notes: How it was found.
    """

    metrics: dict[str, float]
    notes: dict[str, Any]


def measured(
    task: Task, synthetic: pa.Table, metrics: Sequence[str], evaluation: Evaluation
) -> Measures:
    """Return measures of synthetic rows.

    Args:
        task: The real rows.
        synthetic: The synthetic rows.
        metrics: Which, by their names in `tabpe.bench.experiment`.
        evaluation: How.
    """
    started = time.perf_counter()
    held_out = pa.concat_tables([task.validation, task.test], promote_options="default")
    tables = [task.train, task.validation, held_out, synthetic]
    train, validation, both, made = views(task.schema, tables)
    found: dict[str, float] = {}
    notes: dict[str, Any] = {}
    if set(metrics) & set(UTILITY) and task.schema.label is not None:
        scores, told = _utility(made, validation, both, evaluation)
        found |= {k: v for k, v in scores.items() if k.removeprefix("validation_") in metrics}
        notes |= told
    for kind, measure in (("wd", _wasserstein), ("tv", _variation)):
        orders = [int(name.partition("-")[0]) for name in metrics if name.endswith(f"-{kind}")]
        if orders:
            far = measure(train, made, orders, evaluation)
            found |= {f"{each.order}-{kind}": each.distance for each in far}
            notes[kind] = _sizes(far)
    if set(metrics) & set(OVERLAP):
        overlap = representation(train, made, rows=evaluation.overlap_rows, random_state=_SEED)
        found |= {name: getattr(overlap, name) for name in OVERLAP if name in metrics}
        notes["overlap"] = {"encoder": overlap.encoder, "rows": list(overlap.rows)}
    notes["seconds"] = round(time.perf_counter() - started, 3)
    return Measures(found, notes)


def _utility(
    made: View, validation: View, both: View, evaluation: Evaluation
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the scores of the learner that is best on the validation rows."""
    train = _labelled(made).sampled(evaluation.learner_rows, np.random.default_rng(_SEED))
    held_out, first = _labelled(both), len(_labelled(validation))
    if not len(train):
        raise ParameterError("no synthetic row has a label: nothing can be learned from them.")
    chosen, told = held_out.take(np.arange(first)), held_out.take(np.arange(first, len(held_out)))
    names = evaluation.learners
    answers = together([partial(_predicted, name, train, held_out) for name in names])
    by_validation = [scores_of(answer[:first], chosen) if first else {} for answer in answers]
    best = int(np.argmax([_leading(scores) for scores in by_validation]))
    scores = scores_of(answers[best][first:], told)
    found = {NAMES[name]: score for name, score in scores.items()}
    found |= {f"validation_{NAMES[name]}": score for name, score in by_validation[best].items()}
    notes = {"learner": names[best], "learner_rows": len(train), "test_rows": len(told)}
    return found, notes


def _labelled(view: View) -> Examples:
    label = str(view.schema.label)
    return class_examples(view, label) or examples(view, label)


def _predicted(name: str, train: Examples, test: Examples) -> NDArray[np.float64]:
    if name == CNN:
        return predicted_by_cnn(train, test, seed=_SEED)
    reason = lacking(name, train)
    if reason is not None:
        raise ParameterError(f"learners={name!r}: {reason}")
    return predicted(name, train, test, random_state=_SEED)


def _leading(scores: dict[str, float]) -> float:
    return next((scores[name] for name in LEADING if name in scores), 0.0)


def _wasserstein(
    train: View, made: View, orders: Sequence[int], evaluation: Evaluation
) -> tuple[KWay, ...]:
    return wasserstein(
        train,
        made,
        orders,
        rows=evaluation.rows,
        subsets=evaluation.subsets,
        random_state=_SEED,
    )


def _variation(
    train: View, made: View, orders: Sequence[int], evaluation: Evaluation
) -> tuple[KWay, ...]:
    return total_variation(train, made, orders, subsets=evaluation.subsets, random_state=_SEED)


def _sizes(found: Sequence[KWay]) -> dict[str, Any]:
    return {
        "rows": list(found[0].rows) if found else [],
        "subsets": {str(each.order): each.measured for each in found},
    }
