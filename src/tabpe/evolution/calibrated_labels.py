"""Calibrated labels: drawn by a predictor whose probabilities a noisy histogram corrects.

Weights that are fitted to noisy votes make labels wrong in two ways: blurred where classes meet,
and spuriously certain in small clumps that noise has made. So the labels of a pool are drawn anew:

1. Two predictors learn classes from draws of the pool: trees with small leaves see patterns that
   only many columns tell, large leaves and boosting average clumps away.
2. A histogram of the private rows for each says how often it is right, by how sure it is. The one
   with more right answers, as far as noise tells, is kept.
3. Its probabilities `p` are calibrated: `q` is proportional to `p^a * e^b`, with a power for all
   and an offset for each class, such that `q` explains the histogram and the sizes of classes.
4. Each row of the pool gets a class from `q`, with evenly spread numbers instead of random ones.

Privacy: the predictor follows from the pool, which is public, and the cell of a private row from
that row alone. Everything but the histogram is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.encoding import Records
from tabpe.encoding.marginals import Marginal
from tabpe.evolution.evidence import PoolRows
from tabpe.evolution.marginal_prior import NoisyMarginal

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Teacher = Callable[[Records], Floats]
# Measures marginals that were authorized for it, one of each teacher.
CalibrationQuery = Callable[[Sequence[Marginal]], list[NoisyMarginal]]

TEACHER_DRAWS = 40_000
TEACHERS = "forest", "smooth"
_TREES, _BOOSTS, _SMALL_LEAF, _LEAF = 60, 60, 5, 20
_EVEN = 0.5
_LEAST_PROBABILITY = 1e-4
_BINS, _BINS_OF_MANY = 12, 8
# Of rows that the calibration is fitted to, where there are few and many classes.
_FIT_ROWS, _FIT_ROWS_OF_MANY, _MANY = 20_000, 4000, 5
_GOLDEN = 0.6180339887498949
_TWO = 2


@dataclass(frozen=True, eq=False)
class CalibrationAxis:
    """How sure a teacher is, and whether it is right; of two classes, which one a row has.

    Args:
        teacher: Returns a row of probabilities for each row, each by itself.
        cuts: Where a new bin begins: of the probability of the second of two classes, or else of
            the largest one.
        classes: The number of classes.
        name: The name of the axis.
    """

    teacher: Teacher
    cuts: tuple[float, ...]
    classes: int
    name: str = "certainty"

    @property
    def size(self) -> int:
        """The number of cells: two for each bin."""
        return 2 * (len(self.cuts) + 1)

    def find_cells(self, rows: Records, classes: Whole) -> Whole:
        """Return the cell of each row."""
        probabilities = self.teacher(rows)
        bins = self.find_bins(probabilities)
        is_second = classes == 1
        right = probabilities.argmax(axis=1) == classes
        cells: Whole = 2 * bins + (is_second if self.classes == _TWO else right)
        return cells

    def find_bins(self, probabilities: Floats) -> Whole:
        """Return the bin of each row of probabilities."""
        sure = _get_certainty(probabilities)
        return np.searchsorted(np.array(self.cuts), sure, side="right").astype(np.int64)


def train_teacher(
    rows: PoolRows, drawn: Whole, classes: int, *, seed: int, kind: str = "smooth"
) -> Teacher:
    """Return a predictor of classes that learned from draws of a pool.

    Args:
        rows: The rows of the pool.
        drawn: The indices of the draws.
        classes: The number of classes.
        seed: Seed of everything random.
        kind: One of `TEACHERS`: a forest with small leaves, or one with large ones and boosting.
    """
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    learned = rows.plain.take(drawn)
    means = _find_code_means(learned, rows.classes[drawn], classes)
    features, target = _make_features(learned, means), rows.classes[drawn]
    is_smooth = kind == "smooth"
    forest = ExtraTreesClassifier(
        _TREES,
        min_samples_leaf=_LEAF if is_smooth else _SMALL_LEAF,
        max_features="sqrt" if is_smooth else None,
        random_state=seed,
        n_jobs=1,
    )
    boosting = HistGradientBoostingClassifier(
        max_iter=_BOOSTS if classes == _TWO else _BOOSTS // 2,
        max_leaf_nodes=15,
        min_samples_leaf=50,
        l2_regularization=5.0,
        early_stopping=False,
        random_state=seed,
    )
    chosen = (forest, boosting) if is_smooth else (forest,)
    # One thread, here and below: on a busy machine many small steps in several wait for each other.
    with threadpool_limits(1, user_api="openmp"):
        models = [model.fit(features, target) for model in chosen]

    def predict(given: Records) -> Floats:
        total = np.zeros((len(given), classes))
        if len(given):
            seen = _make_features(given, means)
            with threadpool_limits(1, user_api="openmp"):
                for model in models:
                    total[:, model.classes_] += _predict_rows(model, seen) / len(models)
        clipped = np.clip(total, _LEAST_PROBABILITY, None)
        probabilities: Floats = clipped / clipped.sum(axis=1, keepdims=True)
        return probabilities

    return predict


def _predict_rows(model: Any, features: NDArray[np.float32]) -> Floats:
    """Return the probabilities of each row, each by itself.

    Privacy: boosting divides by a sum over classes, and numpy adds many of them up in another order
    if there is a single row. A row would be in another cell than beside others, so here the order
    is fixed.
    """
    probabilities: Floats
    if not hasattr(model, "decision_function") or len(model.classes_) == _TWO:
        probabilities = model.predict_proba(features)
        return probabilities
    raw = model.decision_function(features).T
    exponentials = np.exp(raw - raw.max(axis=0))
    total = np.zeros(len(features))
    for one in exponentials:
        total += one
    probabilities = (exponentials / total).T
    return probabilities


def build_calibration_axis(teacher: Teacher, rows: Records, classes: int) -> CalibrationAxis:
    """Return bins of how sure a teacher is, with about equally many of some public rows."""
    bins = _BINS if classes == _TWO else _BINS_OF_MANY
    cuts = np.quantile(_get_certainty(teacher(rows)), np.arange(1, bins) / bins)
    # Cells tell which of two classes a row has; here it turns to the other.
    cuts = np.append(cuts, _EVEN) if classes == _TWO else cuts
    return CalibrationAxis(teacher, tuple(np.unique(cuts).tolist()), classes)


def count_right(axis: CalibrationAxis, measured: NoisyMarginal) -> float:
    """Return the noisy number of rows that a teacher is right about."""
    counts = measured.counts.reshape(-1, 2)
    if axis.classes != _TWO:
        return float(counts[:, 1].sum())
    is_second = np.array([0.0, *axis.cuts]) >= _EVEN
    return float(np.where(is_second, counts[:, 1], counts[:, 0]).sum())


@dataclass(frozen=True, eq=False)
class Calibration:
    """How the probabilities of a teacher are made as certain as they are right.

    Args:
        power: Of all probabilities; below 1 where the teacher is too sure.
        offsets: Added to the logarithm of the probability of each class.

    Example:
        >>> calibration = Calibration(0.5, np.zeros(2))
        >>> calibration.apply(np.array([[0.9, 0.1]])).round(2)
        array([[0.75, 0.25]])
    """

    power: float
    offsets: Floats

    def apply(self, probabilities: Floats) -> Floats:
        """Return calibrated probabilities."""
        found = self.power * np.log(probabilities) + self.offsets
        found = np.exp(found - found.max(axis=1, keepdims=True))
        calibrated: Floats = found / found.sum(axis=1, keepdims=True)
        return calibrated


def fit_calibration(
    axis: CalibrationAxis, measured: NoisyMarginal, probabilities: Floats, sizes: Floats
) -> Calibration:
    """Return the calibration that explains a noisy histogram and the sizes of classes best.

    Args:
        axis: The axis of the histogram.
        measured: The histogram.
        probabilities: What the teacher says of draws of the pool.
        sizes: The estimated number of rows of each class.
    """
    from scipy.optimize import minimize

    most = _FIT_ROWS if axis.classes <= _MANY else _FIT_ROWS_OF_MANY
    some = probabilities[np.linspace(0, len(probabilities) - 1, most).astype(np.int64)]
    bins, counts = axis.find_bins(some), measured.counts.reshape(-1, 2)
    total = np.maximum(counts.sum(axis=1), 1.0)
    scale = total / np.maximum(np.bincount(bins, minlength=len(total)), 1)
    rows, guess = float(sizes.sum()), some.argmax(axis=1)
    spread = 0.5 * measured.sigma + 0.005 * rows

    def lose(given: Floats) -> float:
        calibrated = _make_calibration(given).apply(some)
        told = calibrated[:, 1] if axis.classes == _TWO else _pick(calibrated, guess)
        predicted = np.bincount(bins, told, minlength=len(total)) * scale
        loss = (((predicted - counts[:, 1]) / measured.sigma) ** 2).sum()
        loss += (((calibrated.mean(axis=0) * rows - sizes) / spread) ** 2).sum()
        return float(loss + 0.01 * (given**2).sum())

    found = minimize(lose, np.zeros(axis.classes), method="L-BFGS-B", options={"maxiter": 40})
    return _make_calibration(found.x)


def draw_labels(probabilities: Floats, rng: np.random.Generator) -> Whole:
    """Return a class for each row of probabilities; every class gets a row if there are enough.

    Rows that are alike, in what is predicted and how surely, get evenly spread numbers: so their
    labels are as mixed as they should be, with less luck than if each were drawn by itself.

    Example:
        >>> found = draw_labels(np.full((1000, 2), 0.5), np.random.default_rng(0))
        >>> abs(int(found.sum()) - 500) < 5
        True
    """
    order = np.lexsort((probabilities.max(axis=1), probabilities.argmax(axis=1)))
    even = np.empty(len(probabilities))
    even[order] = (np.arange(len(probabilities)) * _GOLDEN + rng.random()) % 1
    ends = np.cumsum(probabilities, axis=1)
    drawn = (ends < even[:, None] * ends[:, -1:]).sum(axis=1)
    classes: Whole = drawn.clip(max=probabilities.shape[1] - 1)
    taken = np.zeros(len(classes), dtype=bool)
    for label in np.setdiff1d(np.arange(probabilities.shape[1]), classes):
        place = int(np.argmax(np.where(taken, -1.0, probabilities[:, label])))
        classes[place], taken[place] = label, True
    return classes


def _make_calibration(given: Floats) -> Calibration:
    """Return the calibration of free parameters: the first class has no offset."""
    return Calibration(float(np.exp(given[0])), np.append(0.0, given[1:]))


def _get_certainty(probabilities: Floats) -> Floats:
    of_two = probabilities.shape[1] == _TWO
    return probabilities[:, 1] if of_two else probabilities.max(axis=1)


def _pick(values: Floats, which: Whole) -> Floats:
    picked: Floats = values[np.arange(len(values)), which]
    return picked


def _find_code_means(rows: Records, classes: Whole, count: int) -> tuple[Floats | None, ...]:
    """Return the share of the second of two classes at each code; None to leave codes as they are.

    A tree cuts an ordered column only, and the order of a list says little.
    """
    if count != _TWO:
        return tuple(None for _ in rows.codes.T)
    prior = float((classes == 1).mean())
    found: list[Floats | None] = []
    for codes in rows.codes.T:
        total = np.bincount(codes).astype(np.float64)
        ones = np.bincount(codes, classes == 1)
        share: Floats = (ones + _LEAF * prior) / (total + _LEAF)
        found.append(share)
    return tuple(found)


def _make_features(rows: Records, means: tuple[Floats | None, ...]) -> NDArray[np.float32]:
    numbers = np.nan_to_num(rows.numbers.astype(np.float32), nan=-1.0)
    codes = [
        column.astype(np.float32) if mean is None else mean[column.clip(max=len(mean) - 1)]
        for column, mean in zip(rows.codes.T, means, strict=True)
    ]
    features: NDArray[np.float32] = np.column_stack([numbers, *codes]).astype(np.float32)
    return features
