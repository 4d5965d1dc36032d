"""Utility: train on synthetic rows, test on real ones.

A predictor that is trained on synthetic rows is compared with two bounds: the same predictor
trained on at most as many real rows, and one that knows only the distribution of the label.

Scores of classes say how many predictions are right. *Label certainty* says whether predicted
probabilities can be believed: a synthetic table whose labels are cleaner than real ones teaches a
predictor to be too sure of itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import numpy as np

from tabpe._utils.extras import require_report_extra
from tabpe._utils.validation import check_integer, check_one_of, check_optional
from tabpe.evaluation.metrics.predictors import (
    explain_unusable,
    learner_names,
    predict_target,
    predict_uninformed,
    run_together,
)
from tabpe.evaluation.table_arrays import (
    HELD_OUT,
    Booleans,
    CategoricalCells,
    Floats,
    LabeledExamples,
    TableArrays,
    build_examples,
)

ROWS = 20_000
CERTAINTY_BINS, LEAST_PROBABILITY = 15, 1e-6
RESAMPLES, GROUPS = 30, 5
GROUP_ROWS, MOST_GROUPS = 50, 50
TrainedOn = Literal["real", "synthetic", "nothing"]


@dataclass(frozen=True)
class LabelCertainty:
    """How sure a predictor is of classes, and how right it is to be.

    Args:
        log_loss: Mean of minus the natural logarithm of the probability of the true class.
        brier: Mean of the summed squared differences between probabilities and the true class.
        calibration_error: Expected calibration error: by bins of the largest probability, the mean
            difference between it and the share of right predictions.
        confidence: Mean of the largest probability.
        accuracy: Share of right predictions.
        spread: Standard deviation of the largest probability.
    """

    log_loss: float
    brier: float
    calibration_error: float
    confidence: float
    accuracy: float
    spread: float

    @property
    def overconfidence(self) -> float:
        """Mean of the largest probability minus the share of right predictions."""
        return self.confidence - self.accuracy


@dataclass(frozen=True)
class GroupScore:
    """Accuracy of one predictor on the test rows of one category.

    Args:
        column: The column of the category.
        value: The category.
        rows: Number of its test rows.
        real: Accuracy of the predictor trained on real rows.
        synthetic: Accuracy of the predictor trained on synthetic rows.
        error: Standard error of the difference of the two.
    """

    column: str
    value: str
    rows: int
    real: float
    synthetic: float
    error: float

    @property
    def loss(self) -> float:
        """How much less accurate synthetic rows make the predictor."""
        return self.real - self.synthetic


@dataclass(frozen=True)
class LearnerScore:
    """Scores of one predictor on the test rows.

    Args:
        learner: Its name; `majority` or `mean` for the lower bound.
        trained_on: `real` (upper bound), `synthetic`, or `nothing` (lower bound).
        scores: By name: `accuracy`, `macro F1`, `AUC`; or `R2` of a numeric label. One that is
            undefined for the test rows, such as the AUC of a single class, is left out.
        certainty: How sure it is of classes; None for a numeric label.
        margins: For a predictor trained on synthetic rows: the standard error of the difference
            between each score and that of the same predictor trained on real rows, over test rows;
            and over training rows too, where synthetic rows seem to teach more.
        worst_group: For a predictor of classes trained on synthetic rows: the category of test rows
            for which it loses most; None without one that has `GROUP_ROWS` rows.
    """

    learner: str
    trained_on: TrainedOn
    scores: dict[str, float]
    certainty: LabelCertainty | None = None
    margins: Mapping[str, float] = field(default_factory=dict)
    worst_group: GroupScore | None = None


@dataclass(frozen=True)
class UtilityScores:
    """Scores of predictors trained on real and on synthetic rows.

    Args:
        label: The column that is predicted.
        task: `classification` or `regression`.
        test_rows: Number of real test rows.
        held_out: Whether the test rows were held out of the real table, because none were given.
        scores: Every predictor, trained on each table.
        notes: Predictors that are left out and why, classes that are absent.
    """

    label: str
    task: Literal["classification", "regression"]
    test_rows: int
    held_out: bool
    scores: tuple[LearnerScore, ...]
    notes: tuple[str, ...] = ()


def measure_utility(
    real: TableArrays,
    synthetic: TableArrays,
    test: TableArrays | None = None,
    *,
    label: str | None = None,
    learners: Sequence[str] = ("gradient boosting",),
    rows: int | None = ROWS,
    random_state: int | None = 0,
    jobs: int | None = None,
) -> UtilityScores | None:
    """Return the scores of predictors; None without a label, or without labelled real rows.

    NOT PRIVATE: the real rows are read as they are.

    Args:
        real: The real rows that the synthetic ones were made from.
        synthetic: The synthetic rows.
        test: Real rows that they were not made from; without them 30% of `real` are held out.
        label: The column to predict; None for the label of the schema.
        learners: Names of predictors, of `learner_names()`.
        rows: The most rows of each table that are used, drawn at random; None for all.
        random_state: Seed of everything random.
        jobs: Predictors trained at once; None for one per core. The scores do not depend on it.

    Raises:
        ParameterError: If there is no such column or predictor.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Boolean, Integer, Schema
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> schema = Schema((Integer("age", 0, 99), Boolean("old")), label="old")
        >>> ages = np.arange(400) % 100
        >>> view, = build_table_arrays(schema, [pa.table({"age": ages, "old": ages > 65})])
        >>> found = measure_utility(view, view)
        >>> [(one.trained_on, round(one.scores["accuracy"], 1)) for one in found.scores]
        [('real', 1.0), ('synthetic', 1.0), ('nothing', 0.7)]
    """
    label = real.schema.target if label is None else label
    if label is None:
        return None
    label = check_one_of("label", label, real.schema.names)
    check_optional(check_integer, "rows", rows, least=1)
    check_optional(check_integer, "jobs", jobs, least=1)
    for name in learners:
        check_one_of("learner", name, learner_names())
    rng = np.random.default_rng(random_state)
    examples = build_examples(real, label)
    train, tested = (
        examples.split_train_test(rng) if test is None else (examples, build_examples(test, label))
    )
    if not len(train) or not len(tested):
        return None
    tables: dict[TrainedOn, LabeledExamples] = {
        "real": train.sample_rows(rows, rng),
        "synthetic": build_examples(synthetic, label).sample_rows(rows, rng),
    }
    tested = tested.sample_rows(rows, rng)
    scores, reasons = _score_learners(learners, tables, tested, random_state, jobs)
    notes = [*_write_notes(tables["synthetic"], tested, held_out=test is None), *reasons]
    return UtilityScores(
        label=label,
        task="regression" if examples.classes is None else "classification",
        test_rows=len(tested),
        held_out=test is None,
        scores=(*scores, _score_lower_bound(tables["real"], tested)),
        notes=tuple(notes),
    )


def _score_learners(
    learners: Sequence[str],
    tables: dict[TrainedOn, LabeledExamples],
    test: LabeledExamples,
    random_state: int | None,
    jobs: int | None,
) -> tuple[list[LearnerScore], list[str]]:
    """Return the scores of all usable predictors, and why others are left out."""
    reasons = {
        (name, on): _explain_left_out(name, tables[on]) for name in learners for on in tables
    }
    usable = [pair for pair, reason in reasons.items() if reason is None]
    predictions = run_together(
        [
            partial(predict_target, name, tables[on], test, random_state=random_state)
            for name, on in usable
        ],
        jobs,
    )
    by_pair = dict(zip(usable, predictions, strict=True))
    scores = []
    for (name, on), predicted in by_pair.items():
        score = LearnerScore(
            name, on, compute_scores(predicted, test), measure_certainty(predicted, test)
        )
        real = by_pair.get((name, "real"))
        if on == "synthetic" and real is not None:
            margins = _estimate_margins(predicted, real, test, random_state)
            bound = compute_scores(real, test)
            if any(score.scores[of] - bound[of] > margins[of] for of in margins):
                trained = _estimate_training_errors(name, tables["real"], test, random_state, jobs)
                # Both were trained once.
                margins = {
                    of: math.hypot(margins[of], *[trained.get(of, 0.0)] * 2) for of in margins
                }
            score = replace(
                score,
                margins=margins,
                worst_group=find_worst_group(predicted, real, test),
            )
        scores.append(score)
    return scores, list(dict.fromkeys(reason for reason in reasons.values() if reason))


def _explain_left_out(name: str, train: LabeledExamples) -> str | None:
    if not train.features:
        return "There is no column but the label: nothing can be learned."
    if not len(train):
        return "No synthetic row has a label: nothing can be learned from them."
    reason = explain_unusable(name, train)
    return None if reason is None else f"Left out {name}: {reason}"


def _write_notes(
    synthetic: LabeledExamples, test: LabeledExamples, *, held_out: bool
) -> Iterator[str]:
    if held_out:
        yield (
            f"There were no test rows: {HELD_OUT:.0%} of the real rows were held out, and the "
            f"synthetic rows may have been made from them too."
        )
    if test.classes is None:
        return
    if len(test.present) == 1:
        yield "All test rows are of one class: a correct prediction says little."
    absent = len(np.setdiff1d(test.present, synthetic.present))
    if absent:
        yield f"{absent} of {len(test.present)} classes of the test rows are in no synthetic row."


def _score_lower_bound(real: LabeledExamples, test: LabeledExamples) -> LearnerScore:
    name = "mean" if real.classes is None else "majority"
    predicted = predict_uninformed(real, len(test))
    return LearnerScore(
        name, "nothing", compute_scores(predicted, test), measure_certainty(predicted, test)
    )


def measure_certainty(predicted: Floats, test: LabeledExamples) -> LabelCertainty | None:
    """Return how sure predictions of classes are; None for a number.

    Args:
        predicted: The result of `predict_target` for these rows.
        test: The rows, with their targets.

    Example:
        >>> test = LabeledExamples((), np.array([0, 0, 1, 1]), 2)
        >>> found = measure_certainty(np.array([[0.9, 0.1]] * 2 + [[0.6, 0.4]] * 2), test)
        >>> round(found.brier, 2), round(found.calibration_error, 2), round(found.confidence, 2)
        (0.37, 0.35, 0.75)
    """
    if test.classes is None or not len(test):
        return None
    guess, sure = predicted.argmax(axis=1), predicted.max(axis=1)
    right = (guess == test.target).astype(np.float64)
    of_true = np.maximum(predicted[np.arange(len(test)), test.target], LEAST_PROBABILITY)
    bins = np.minimum((sure * CERTAINTY_BINS).astype(np.int64), CERTAINTY_BINS - 1)
    gaps = np.bincount(bins, weights=sure - right, minlength=CERTAINTY_BINS)
    return LabelCertainty(
        log_loss=float(-np.log(of_true).mean()),
        brier=float(((predicted - np.eye(test.classes)[test.target]) ** 2).sum(axis=1).mean()),
        calibration_error=float(np.abs(gaps).sum() / len(test)),
        confidence=float(sure.mean()),
        accuracy=float(right.mean()),
        spread=float(sure.std()),
    )


def _estimate_margins(
    synthetic: Floats, real: Floats, test: LabeledExamples, random_state: int | None
) -> dict[str, float]:
    """Return the standard error of each difference of scores, over resampled test rows."""
    rng = np.random.default_rng(random_state)
    differences: dict[str, list[float]] = {}
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(test), len(test))
        some = replace(test, features=(), target=test.target[drawn])
        one, two = (compute_scores(each[drawn], some) for each in (synthetic, real))
        for name in one.keys() & two.keys():
            differences.setdefault(name, []).append(one[name] - two[name])
    return {name: float(np.std(found)) for name, found in sorted(differences.items())}


def _estimate_training_errors(
    learner: str,
    train: LabeledExamples,
    test: LabeledExamples,
    random_state: int | None,
    jobs: int | None,
) -> dict[str, float]:
    """Return the standard error of scores over training rows, by a jackknife of groups."""
    groups = np.random.default_rng(random_state).permutation(len(train)) % GROUPS
    parts = [train.take(groups != group) for group in range(GROUPS)]
    usable = [part for part in parts if _explain_left_out(learner, part) is None]
    predictions = run_together(
        [
            partial(predict_target, learner, part, test, random_state=random_state)
            for part in usable
        ],
        jobs,
    )
    scores = [compute_scores(predicted, test) for predicted in predictions]
    # Errors of single scores are alike, because the groups share most of their rows.
    factor = math.sqrt(len(scores) - 1) if scores else 0.0
    return {
        name: factor * float(np.std([each[name] for each in scores]))
        for name in (scores[0] if scores else ())
    }


def find_worst_group(synthetic: Floats, real: Floats, test: LabeledExamples) -> GroupScore | None:
    """Return the category of test rows for which accuracy falls most, beyond sampling error.

    Args:
        synthetic: Predictions of the predictor trained on synthetic rows.
        real: Predictions of the predictor trained on real rows.
        test: The rows, with their targets.
    """
    if test.classes is None:
        return None
    rights = [predicted.argmax(axis=1) == test.target for predicted in (real, synthetic)]
    groups = [
        _score_group(cells, code, cells.values == code, *rights)
        for cells in test.features
        if isinstance(cells, CategoricalCells) and len(cells.names) <= MOST_GROUPS
        for code in range(len(cells.names))
        if np.count_nonzero(cells.values == code) >= GROUP_ROWS
    ]
    return max(groups, key=lambda group: group.loss - 2 * group.error, default=None)


def _score_group(
    cells: CategoricalCells, code: int, rows: Booleans, real: Booleans, synthetic: Booleans
) -> GroupScore:
    before, after = real[rows].astype(np.float64), synthetic[rows].astype(np.float64)
    error = float((before - after).std() / math.sqrt(len(before)))
    name = str(cells.names[code])
    return GroupScore(
        cells.name, name, len(before), float(before.mean()), float(after.mean()), error
    )


def compute_scores(predicted: Floats, test: LabeledExamples) -> dict[str, float]:
    """Return the scores of predictions.

    Args:
        predicted: The result of `predict_target` for these rows.
        test: The rows, with their targets.
    """
    if test.classes is None:
        return _compute_r2(predicted, test.target)
    require_report_extra("the score of a predictor")
    from sklearn.metrics import f1_score

    guess = predicted.argmax(axis=1)
    return {
        "accuracy": float((guess == test.target).mean()),
        "macro F1": float(f1_score(test.target, guess, average="macro", zero_division=0)),
        **_compute_auc(predicted, test),
    }


def _compute_auc(probabilities: Floats, test: LabeledExamples) -> dict[str, float]:
    """Return the area under the ROC curve: of the second of two classes, or the mean over all.

    Each class of the test rows is compared with all others; one that was never learned has the
    probability 0 everywhere, which gives it 0.5.
    """
    from sklearn.metrics import roc_auc_score

    present = test.present
    if len(present) == 1:
        return {}
    classes = present[1:] if len(present) == 2 else present  # noqa: PLR2004
    areas = [roc_auc_score(test.target == each, probabilities[:, each]) for each in classes]
    return {"AUC": float(np.mean(areas))}


def _compute_r2(predicted: Floats, target: Floats) -> dict[str, float]:
    """Return the explained share of the variance; empty where there is no variance."""
    total = float(((target - target.mean()) ** 2).sum())
    residual = float(((target - predicted) ** 2).sum())
    return {"R2": 1 - residual / total} if total > 0 else {}
