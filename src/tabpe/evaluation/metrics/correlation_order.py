"""Order of correlation: whether data needs a method that sees many columns at once.

Two measures. *Total correlation* is how much information a few columns share, and how much a set
adds to its subsets. Information is in bits. Columns are read as categories, a null as one of them,
and numbers by bins of about equally many rows. Entropies of few rows are biased downwards; each
gets the correction of Miller and Madow, so the information of independent columns may be just
below 0.

*Accuracy by depth*: a tree of depth d looks at d columns on the way to a leaf, so boosted trees of
limited depth show how many columns must be seen at once to predict the label. The paper compares
depths from 2 to 7 of XGBoost; here the trees are those of scikit-learn, with settings of XGBoost:
a hundred steps of 0.3, a penalty of 1, and no limit to the number of leaves but that each has 20
rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from tabpe._utils.validation import check_integer, check_optional
from tabpe.errors import ParameterError, did_you_mean
from tabpe.evaluation.metrics.predictors import fit_and_predict, make_boosted_trees, run_together
from tabpe.evaluation.table_arrays import (
    Booleans,
    CategoricalCells,
    Cells,
    IntegerCodes,
    Integers,
    LabeledExamples,
    TableArrays,
    build_class_examples,
    combine_codes,
)

ROWS_PER_CELL = 5
MOST_SETS = 1000


@dataclass(frozen=True)
class CorrelationGain:
    """Information that columns share beyond any subset that lacks one of them.

    For an exclusive or it is all of the information, which no subset shows. In a chain of columns,
    each of which depends on the one before, it is the information of the weakest link.

    Args:
        columns: Names of the columns.
        bits: Their total correlation, minus that of the best subset that lacks one of them.
    """

    columns: tuple[str, ...]
    bits: float

    @property
    def words(self) -> str:
        """The gain in a sentence."""
        *others, last = self.columns
        names, bits = f"{', '.join(others)} and {last}", f"{self.bits:.3f} bits"
        if len(others) == 1:
            return f"{names} tell {bits} about one another."
        return f"{names} tell {bits} more about one another than the best {len(others)} of them."


def total_correlation(view: TableArrays, names: Sequence[str], *, bins: int | None = None) -> float:
    """Return the sum of the entropies of columns minus their joint entropy, in bits.

    NOT PRIVATE: the rows are read as they are.

    Args:
        view: The table.
        names: At least one column.
        bins: Number of bins of a number; required if a column is one.

    Raises:
        ParameterError: If a name is unknown or given twice, a column is a number and there are no
            bins, or there are fewer than 5 rows for each combination of values that may occur.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Boolean, Schema
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> bits = np.arange(4000)
        >>> a, b = bits % 2 == 1, bits // 2 % 2 == 1
        >>> schema = Schema((Boolean("a"), Boolean("b"), Boolean("odd")))
        >>> view, = build_table_arrays(schema, [pa.table({"a": a, "b": b, "odd": a ^ b})])
        >>> abs(total_correlation(view, ["a", "b"])) < 0.001
        True
        >>> round(total_correlation(view, ["a", "b", "odd"]), 2)
        1.0
    """
    return _check_columns(view, names, bins, least=1).compute_total_correlation(tuple(names))


def correlation_gain(view: TableArrays, names: Sequence[str], *, bins: int | None = None) -> float:
    """Return the total correlation minus that of the best subset that lacks one, in bits.

    It is the paper's G_k of k columns. For two columns it is their mutual information.

    Raises:
        ParameterError: As `total_correlation`, and for fewer than two columns.
    """
    return _check_columns(view, names, bins, least=2).compute_gain(tuple(names))


def find_strongest_gain(
    view: TableArrays, size: int, *, label: str | None = None, bins: int = 4, most: int = MOST_SETS
) -> CorrelationGain | None:
    """Return the set of `size` columns with the largest gain; None if no set can be measured.

    Args:
        view: The table.
        size: Number of columns of a set, at least 2.
        label: A column that every set has; None for all sets.
        bins: Number of bins of a number.
        most: If there are more sets than this, none is tried: a few say little about the rest.
    """
    check_integer("size", size, least=2)
    others = [name for name in view.schema.names if name != label]
    always = () if label is None else (label,)
    if math.comb(len(others), size - len(always)) > most:
        return None
    counter = _EntropyCounter.from_table(view, view.schema.names, bins)
    sets = ((*chosen, *always) for chosen in itertools.combinations(others, size - len(always)))
    gains = [
        CorrelationGain(names, counter.compute_gain(names))
        for names in sets
        if counter.has_rows_for(names)
    ]
    return max(gains, key=lambda gain: gain.bits, default=None)


@dataclass(frozen=True, eq=False)
class _EntropyCounter:
    """Columns as integer codes, with a cache of entropies."""

    columns: dict[str, IntegerCodes]
    rows: int
    entropies: dict[frozenset[str], float]

    @classmethod
    def from_table(
        cls, view: TableArrays, names: Sequence[str], bins: int | None
    ) -> _EntropyCounter:
        cells = {name: _discretize_cells(view[name], bins) for name in names}
        codes = {name: IntegerCodes.from_distinct(column) for name, column in cells.items()}
        return cls(codes, len(view), {})

    def has_rows_for(self, names: Sequence[str]) -> bool:
        """Whether there are enough rows for each combination of values."""
        return 0 < self.count_cells(names) * ROWS_PER_CELL <= self.rows

    def count_cells(self, names: Sequence[str]) -> int:
        return math.prod(self.columns[name].base for name in names)

    def compute_gain(self, names: tuple[str, ...]) -> float:
        subsets = itertools.combinations(names, len(names) - 1)
        return self.compute_total_correlation(names) - max(
            map(self.compute_total_correlation, subsets)
        )

    def compute_total_correlation(self, names: tuple[str, ...]) -> float:
        return sum(self.compute_entropy((name,)) for name in names) - self.compute_entropy(names)

    def compute_entropy(self, names: tuple[str, ...]) -> float:
        key = frozenset(names)
        if key not in self.entropies:
            joint = combine_codes([self.columns[name] for name in sorted(names)])
            self.entropies[key] = _estimate_entropy(np.bincount(joint.values, minlength=1))
        return self.entropies[key]


def _estimate_entropy(counts: Integers) -> float:
    """Return the entropy of the shares of counts, with the correction of Miller and Madow."""
    found = counts[counts > 0]
    shares = found / found.sum()
    plain = -float((shares * np.log2(shares)).sum())
    return plain + (len(found) - 1) / (2 * int(found.sum()) * math.log(2))


def _discretize_cells(cells: Cells, bins: int | None) -> Integers:
    if isinstance(cells, CategoricalCells):
        return cells.values
    if bins is None:
        raise ParameterError(f"bins=None: column {cells.name!r} is a number: give bins, such as 4.")
    present = cells.present
    if not len(present):
        return np.zeros(len(cells.values), dtype=np.int64)
    edges = np.unique(np.quantile(present, np.arange(1, bins) / bins))
    codes = np.searchsorted(edges, cells.values, side="right")
    return np.where(cells.missing, -1, codes)


def _check_columns(
    view: TableArrays, names: Sequence[str], bins: int | None, *, least: int
) -> _EntropyCounter:
    """Return the counter of the columns, if there are rows enough for their entropies."""
    check_optional(check_integer, "bins", bins, least=2)
    for name in names:
        if name not in view.schema.names:
            raise ParameterError(f"names={name!r}: {did_you_mean(str(name), view.schema.names)}")
    if len(names) < least or len(set(names)) < len(names):
        raise ParameterError(f"names={list(names)!r}: expected {least} columns or more, each once.")
    counter = _EntropyCounter.from_table(view, names, bins)
    if not counter.has_rows_for(names):
        raise ParameterError(
            f"names={list(names)!r}: their values have {counter.count_cells(names)} combinations, "
            f"too many for {len(view)} rows: name fewer columns, or give fewer bins."
        )
    return counter


DEPTHS = (2, 3, 4, 5, 6, 7)
SOME, HIGH = 0.01, 0.03
CERTAIN = 2.0
SETS = (2, 3, 4)
STEPS = 100
MOST_CLASSES = 12
LEAST_BITS = 0.01
OrderLevel = Literal["low", "some", "high"]


@dataclass(frozen=True)
class CorrelationOrder:
    """How deep trees must be to predict the label.

    Args:
        label: The column that is predicted.
        depths: Depths of boosted trees, rising.
        accuracy: Accuracy on held-out rows, at each depth.
        level: How strongly the label depends on many columns at once: `low` if deeper trees gain
            less than a point, as the paper found for the tables in common use, or no more than the
            margin; `high` from three points on; `some` between.
        margin: Sampling error of the gap: two standard errors over the test rows.
        gains: The sets of two, three and four columns with the label that have the largest gain;
            empty where there are too many columns or too few rows.
    """

    label: str
    depths: tuple[int, ...]
    accuracy: tuple[float, ...]
    level: OrderLevel
    margin: float = 0.0
    gains: tuple[CorrelationGain, ...] = ()

    @property
    def gap(self) -> float:
        """Best accuracy minus that of the shallowest trees."""
        return max(self.accuracy) - self.accuracy[0]

    @property
    def words(self) -> str:
        """Whether a method of high order is needed, in a few sentences."""
        depth, shallow, best = self.depths[0], self.accuracy[0], max(self.accuracy)
        doubt = ", which may be sampling error" if self.level == "low" and self.gap >= SOME else ""
        meaning = {
            "low": f"To predict it, seeing {depth} columns at a time is nearly enough.",
            "some": f"It depends a little on more than {depth} columns at a time: a method that "
            f"keeps correlations of high order helps somewhat.",
            "high": f"It depends on more than {depth} columns at a time: synthetic rows need a "
            f"method that keeps correlations of high order.",
        }
        return (
            f"Trees of depth {depth} predict {self.label!r} with an accuracy of {shallow:.3f}, "
            f"deeper ones of {best:.3f} at best{doubt}. {meaning[self.level]} "
            f"This is about {self.label!r} alone, not about the correlation of other columns."
        )


def measure_correlation_order(
    real: TableArrays,
    test: TableArrays | None = None,
    *,
    depths: Sequence[int] = DEPTHS,
    rows: int | None = 20_000,
    random_state: int | None = 0,
    jobs: int | None = None,
) -> CorrelationOrder | None:
    """Return the accuracy of trees by depth; None without a label with at least two classes.

    NOT PRIVATE: the real rows are read as they are. A numeric label is predicted by its classes. Of
    many classes the rarest are merged.

    Args:
        real: The real rows.
        test: Other real rows; without them 30% of `real` are held out.
        depths: Depths of trees to compare, rising.
        rows: The most rows of each table that are used, drawn at random; None for all.
        random_state: Seed of everything random.
        jobs: Depths fitted at once; None for one per core. The result does not depend on it.
    """
    depths = _check_depths(depths)
    check_optional(check_integer, "rows", rows, least=1)
    check_optional(check_integer, "jobs", jobs, least=1)
    parts = _split_examples(real, test, rows, np.random.default_rng(random_state))
    if parts is None:
        return None
    correct = _find_correct_predictions(*_merge_rare_classes(*parts), depths, random_state, jobs)
    margin = _compute_margin(correct)
    accuracy = tuple(float(each.mean()) for each in correct)
    return CorrelationOrder(
        label=str(real.schema.target),
        depths=depths,
        accuracy=accuracy,
        level=_grade_gap(max(accuracy) - accuracy[0], margin),
        margin=margin,
        gains=_find_gains(real.sample_rows(rows, np.random.default_rng(random_state))),
    )


def _check_depths(depths: Sequence[int]) -> tuple[int, ...]:
    found = tuple(check_integer("depths", depth, least=1) for depth in depths)
    if not found or found != tuple(sorted(set(found))):
        raise ParameterError(f"depths={list(depths)!r}: expected rising depths, such as 2, 3, 4.")
    return found


def _split_examples(
    real: TableArrays, test: TableArrays | None, rows: int | None, rng: np.random.Generator
) -> tuple[LabeledExamples, LabeledExamples] | None:
    """Return rows to train and to test on; None without two classes, a feature and test rows."""
    label = real.schema.target
    known = None if label is None else build_class_examples(real, label)
    if label is None or known is None or not known.features:
        return None
    others = None if test is None else build_class_examples(test, label)
    train, tested = known.split_train_test(rng) if others is None else (known, others)
    train, tested = train.sample_rows(rows, rng), tested.sample_rows(rows, rng)
    return (train, tested) if len(train.present) > 1 and len(tested) else None


def _merge_rare_classes(
    train: LabeledExamples, test: LabeledExamples
) -> tuple[LabeledExamples, LabeledExamples]:
    """Merge all but the most common classes into one: each class costs a tree per step."""
    if len(train.present) <= MOST_CLASSES:
        return train, test
    counts = np.bincount(train.target, minlength=train.classes or 0)
    common = np.argsort(-counts, kind="stable")[: MOST_CLASSES - 1]
    renamed = np.full(len(counts), MOST_CLASSES - 1)
    renamed[common] = np.arange(MOST_CLASSES - 1)
    train, test = (
        replace(rows, target=renamed[rows.target], classes=MOST_CLASSES) for rows in (train, test)
    )
    return train, test


def _find_correct_predictions(
    train: LabeledExamples,
    test: LabeledExamples,
    depths: Sequence[int],
    random_state: int | None,
    jobs: int | None,
) -> list[Booleans]:
    """Return for each depth which of the test rows are predicted correctly."""

    def predict(depth: int) -> Booleans:
        make = partial(
            make_boosted_trees,
            max_depth=depth,
            max_leaf_nodes=None,
            learning_rate=0.3,
            max_iter=STEPS,
        )
        probabilities = fit_and_predict(make, train, test, random_state=random_state)
        correct: Booleans = probabilities.argmax(axis=1) == test.target
        return correct

    return run_together([partial(predict, depth) for depth in depths], jobs)


def _compute_margin(correct: Sequence[Booleans]) -> float:
    """Return two standard errors of the gap over the test rows, which all depths share."""
    best = max(correct, key=lambda each: each.mean())
    differences = best.astype(float) - correct[0]
    return CERTAIN * float(differences.std() / np.sqrt(len(differences)))


def _grade_gap(gap: float, margin: float) -> OrderLevel:
    if gap < SOME or gap <= margin:
        return "low"
    return "high" if gap >= HIGH else "some"


def _find_gains(real: TableArrays) -> tuple[CorrelationGain, ...]:
    found = [find_strongest_gain(real, size, label=real.schema.target) for size in SETS]
    return tuple(gain for gain in found if gain is not None and gain.bits >= LEAST_BITS)
