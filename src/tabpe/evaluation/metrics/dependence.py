"""How much of the dependence between columns a synthetic table keeps.

Every figure stands between two anchors that are measured on the same rows. The *ceiling* is the
table with independent columns: real rows in which each column is shuffled by itself. The *floor*
is other real rows, which differ from the first by sampling alone. A share of 0 is as good as
independent columns, a share of 1 is as good as other real rows.

Two measures. *Related pairs*: for each two columns, how far their joint shares are from the product
of their single shares, cell by cell; a pair counts as related where this is clearly more than
shuffled columns show, and more than chance gives by a test of chi-square. A pair that is related in
the synthetic rows alone is *invented*. *A learned test* of any order: a model that tells real rows
from rows with independent columns, fitted on some real rows and applied to others. Distances of a
few columns miss a dependence that no few columns show, such as a parity; a model need not.

Both compare a table with its own independent columns, so a wrong single column is not taken for a
lost dependence, nor a right one for a kept dependence.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from tabpe._utils.validation import check_integer
from tabpe.evaluation.metrics.predictors import (
    boosting_settings,
    fit_and_predict,
    make_boosted_trees,
    make_extra_trees,
    run_together,
)
from tabpe.evaluation.table_arrays import (
    CategoricalCells,
    Cells,
    Floats,
    Integers,
    LabeledExamples,
    NumericCells,
    TableArrays,
    encode_filled_features,
    refuse_empty,
)

BINS, MOST_CATEGORIES = 8, 12
MOST_COLUMNS = 60
SHUFFLES = 4
# A pair is related if its dependence is this many times what shuffled columns show, and this much
# of the rows more.
CLEARLY, LEAST_STRENGTH = 1.5, 0.02
# Classes with fewer rows, or hardly any dependence, tell little.
MOST_CLASSES, FEWEST_IN_CLASS, LEAST_IN_CLASS = 10, 400, 0.3
SURE = 4.5  # standard errors: once in 300,000 unrelated pairs
ROWS, LEAST_LEAF = 10_000, 10
SEEN, LEAST_GAP = 5.0, 0.005


def shuffle_columns(table: TableArrays, rng: np.random.Generator) -> TableArrays:
    """Return the table with each column shuffled by itself: the same columns, independent.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Integer, Schema
        >>> schema = Schema((Integer("one", 0, 9), Integer("two", 0, 9)))
        >>> view, = build_table_arrays(schema, [pa.table({"one": range(9), "two": range(9)})])
        >>> shuffled = shuffle_columns(view, np.random.default_rng(0))
        >>> sorted(shuffled["two"].values.tolist()) == view["two"].values.tolist()
        True
        >>> (shuffled["one"].values == shuffled["two"].values).all()
        np.False_
    """
    columns = (cells.take(rng.permutation(len(table))) for cells in table)
    return TableArrays(table.schema, tuple(columns))


@dataclass(frozen=True)
class RelatedPair:
    """Two columns that depend on each other in the real table.

    Distances are between shares of cells, halved, as in total variation. They compare dependence:
    joint shares minus the product of single shares.

    Args:
        columns: Their names.
        distance: Of the synthetic table from real rows.
        floor: Of other real rows.
        ceiling: Of a table with independent columns.
        noise: What the ceiling would be if the columns were independent.
    """

    columns: tuple[str, str]
    distance: float
    floor: float
    ceiling: float
    noise: float

    @property
    def kept(self) -> float:
        """Share of the dependence that is kept: 1 at the floor, 0 at the ceiling or beyond."""
        return float(np.clip((self.ceiling - self.distance) / self._way, 0.0, 1.0))

    @property
    def weight(self) -> float:
        """Strength of the dependence, beyond what shuffled columns show."""
        return self.ceiling - self.noise

    @property
    def _way(self) -> float:
        return max(self.ceiling - self.floor, self.weight / 2)


@dataclass(frozen=True)
class ClassDependence:
    """The dependence of all related pairs among the rows of one class.

    Args:
        value: The class.
        kept: Mean share that is kept, weighted by strength.
        strength: Sum of the strengths.
    """

    value: str
    kept: float
    strength: float


@dataclass(frozen=True)
class PairDependence:
    """The dependence of all related pairs.

    Args:
        pairs: The related pairs, strongest first.
        possible: Number of pairs that were looked at.
        invented: Pairs that are related in the synthetic rows and not in the real ones, with the
            strength of the dependence there, strongest first.
        classes: The same within each class of the label that has enough rows and related pairs.
    """

    pairs: tuple[RelatedPair, ...]
    possible: int
    invented: tuple[tuple[tuple[str, str], float], ...] = ()
    classes: tuple[ClassDependence, ...] = ()

    @property
    def kept(self) -> float:
        """Mean share that is kept, weighted by strength; NaN if no pair is related."""
        weights = np.array([pair.weight for pair in self.pairs])
        if not weights.sum() > 0:
            return math.nan
        return float(np.array([pair.kept for pair in self.pairs]) @ weights / weights.sum())

    @property
    def kept_by_column(self) -> dict[str, float]:
        """The same for the pairs of each column that has related ones."""
        names = dict.fromkeys(name for pair in self.pairs for name in pair.columns)
        return {
            name: PairDependence(
                tuple(pair for pair in self.pairs if name in pair.columns), self.possible
            ).kept
            for name in names
        }

    @property
    def most_lost(self) -> RelatedPair | None:
        """The pair of which most is lost: strength times the share that is lost."""
        return max(self.pairs, key=lambda pair: pair.weight * (1 - pair.kept), default=None)


def measure_pair_dependence(
    reference: TableArrays,
    others: TableArrays,
    synthetic: TableArrays,
    *,
    random_state: int | None = 0,
) -> PairDependence:
    """Return how much of the dependence of each related pair is kept.

    NOT PRIVATE: the real rows are read as they are.

    A number is read by bins of about equally many real rows, rare categories as one, and a null as
    a value of its own. A pair that the synthetic table can not express, because one of its columns
    is constant, has lost everything.

    Args:
        reference: Real rows.
        others: Other real rows.
        synthetic: Synthetic rows; for a fair comparison as many as `others`.
        random_state: Seed of the shuffles.

    Raises:
        DataError: If a table has no rows.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Schema
        >>> schema = Schema((Boolean("ill"), Boolean("old")))
        >>> both = pa.table({"ill": [True, False] * 500, "old": [True, False] * 500})
        >>> apart = pa.table({"ill": [True, False] * 500, "old": [True, True, False, False] * 250})
        >>> real, same, lost = build_table_arrays(schema, [both, both, apart])
        >>> [measure_pair_dependence(real, real, table).kept for table in (same, lost)]
        [1.0, 0.0]
    """
    refuse_empty([reference, others, synthetic])
    rng = np.random.default_rng(random_state)
    kept = _choose_columns(reference)
    sizes, codes = _bin_columns([reference, others, synthetic], kept)
    shuffled = [[rng.permutation(column) for column in codes[0]] for _ in range(SHUFFLES)]
    names = [reference.columns[at].name for at in kept]
    pairs, invented = [], []
    for one, two in itertools.combinations(range(len(kept)), 2):
        shape = (sizes[one], sizes[two])
        real, other, made = (_find_dependence(rows[one], rows[two], shape) for rows in codes)
        noise = max(
            _halve_distance(_find_dependence(rows[one], rows[two], shape), 0.0) for rows in shuffled
        )
        columns = (names[one], names[two])
        if _is_related(codes[0][one], codes[0][two], real, noise):
            ceiling = _halve_distance(real, 0.0)
            distance, floor = _halve_distance(real, made), _halve_distance(real, other)
            pairs.append(RelatedPair(columns, distance, floor, ceiling, noise))
        elif _is_related(codes[2][one], codes[2][two], made, noise):
            invented.append((columns, _halve_distance(made, 0.0) - noise))
    pairs.sort(key=lambda pair: -pair.weight)
    invented.sort(key=lambda pair: -pair[1])
    return PairDependence(tuple(pairs), math.comb(len(kept), 2), tuple(invented))


def measure_class_dependence(
    reference: TableArrays,
    others: TableArrays,
    synthetic: TableArrays,
    *,
    random_state: int | None = 0,
) -> tuple[ClassDependence, ...]:
    """Return how much dependence is kept within each class of the label.

    Rows of one class may be wrong where all others are right: over all rows little is lost then.

    NOT PRIVATE: the real rows are read as they are.

    Args:
        reference: Real rows.
        others: Other real rows.
        synthetic: Synthetic rows.
        random_state: Seed of the shuffles and of subsamples.
    """
    at = next((n for n, one in enumerate(reference) if one.name == reference.schema.target), None)
    if at is None or not isinstance(cells := reference.columns[at], CategoricalCells):
        return ()
    counts = np.bincount(cells.present, minlength=len(cells.names))
    found = []
    for code in np.argsort(-counts, kind="stable")[:MOST_CLASSES]:
        tables = [
            table.take(np.flatnonzero(table.columns[at].values == code))
            for table in (reference, others, synthetic)
        ]
        fewest = min(map(len, tables))
        if fewest < FEWEST_IN_CLASS:
            continue
        rng = np.random.default_rng(random_state)
        tables[1:] = [table.sample_rows(fewest, rng) for table in tables[1:]]
        pairs = measure_pair_dependence(*tables, random_state=random_state)
        strength = sum(pair.weight for pair in pairs.pairs)
        if strength >= LEAST_IN_CLASS:
            found.append(ClassDependence(str(cells.names[code]), pairs.kept, strength))
    return tuple(found)


def _is_related(first: Integers, second: Integers, dependence: Floats, noise: float) -> bool:
    """Return whether two columns depend on each other clearly, and surely not by chance."""
    strength = _halve_distance(dependence, 0.0)
    clear = strength > CLEARLY * noise and strength - noise > LEAST_STRENGTH
    return clear and compute_chi_square_residual(first, second, dependence.shape) > SURE


def compute_chi_square_residual(first: Integers, second: Integers, shape: Sequence[int]) -> float:
    """Return the chi-square of independence in standard errors, by Wilson and Hilferty.

    Args:
        first: Codes of one column.
        second: Codes of another, row by row.
        shape: Numbers of codes.
    """
    joint = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1])
    counts = joint.reshape(*shape).astype(np.float64)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / len(first)
    freedom = math.prod(int(counts.any(axis=axis).sum()) - 1 for axis in (0, 1))
    if not freedom:
        return 0.0
    there = expected > 0
    chi_square = float(((counts - expected)[there] ** 2 / expected[there]).sum())
    spread = 2 / (9 * freedom)
    return float((np.cbrt(chi_square / freedom) - (1 - spread)) / math.sqrt(spread))


def _choose_columns(table: TableArrays) -> list[int]:
    """Return the first columns, and the label in any case: pairs grow with the square."""
    order = sorted(
        range(len(table.columns)), key=lambda at: table.columns[at].name != table.schema.target
    )
    return sorted(order[:MOST_COLUMNS])


def _bin_columns(
    tables: Sequence[TableArrays], kept: Sequence[int]
) -> tuple[list[int], list[list[Integers]]]:
    """Return the number of codes of each column, and the codes of each table by column."""
    columns = [_bin_cells([table.columns[at] for table in tables]) for at in kept]
    sizes = [max(int(codes.max(initial=0)) for codes in same) + 1 for same in columns]
    return sizes, [list(rows) for rows in zip(*columns, strict=True)]


def _bin_cells(same: Sequence[Cells]) -> list[Integers]:
    """Return codes of the same column of several tables; 0 is for nulls."""
    first = same[0]
    if isinstance(first, NumericCells):
        edges = _find_quantile_edges(first)
        return [
            np.where(cells.missing, 0, np.searchsorted(edges, cells.values, side="right") + 1)
            for cells in same
        ]
    counts = np.bincount(first.present, minlength=len(first.names))
    common = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    renamed = np.full(len(counts) + 1, min(len(counts), MOST_CATEGORIES) + 1)
    renamed[common] = np.arange(1, len(common) + 1)
    renamed[-1] = 0  # a null has the code -1
    return [renamed[cells.values] for cells in same]


def _find_quantile_edges(cells: NumericCells) -> Floats:
    present = cells.present
    if not len(present):
        return np.empty(0)
    return np.unique(np.quantile(present, np.linspace(0, 1, BINS + 1)[1:-1], method="higher"))


def _find_dependence(first: Integers, second: Integers, shape: tuple[int, int]) -> Floats:
    """Return joint shares minus the product of single shares."""
    joint = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]) / len(first)
    table = joint.reshape(shape)
    return np.asarray(table - np.outer(table.sum(axis=1), table.sum(axis=0)))


def _halve_distance(one: Floats, two: Floats | float) -> float:
    return float(np.abs(one - two).sum()) / 2


@dataclass(frozen=True)
class LearnedDependence:
    """The result of a model that tells real rows from rows with independent columns.

    Args:
        real: Mean score of real rows that it was not fitted on, minus that of the same rows with
            shuffled columns.
        synthetic: The same of synthetic rows.
        real_error: Standard error of `real`.
        synthetic_error: Standard error of `synthetic`.
        learner: The model that sees most in real rows.
        rows: Numbers of rows: fitted on, other real, synthetic.
    """

    real: float
    synthetic: float
    real_error: float
    synthetic_error: float
    learner: str
    rows: tuple[int, int, int]

    @property
    def kept(self) -> float:
        """Share of the dependence that is kept; NaN if real rows show none beyond their error."""
        if self.real <= max(SEEN * self.real_error, LEAST_GAP):
            return math.nan
        return self.synthetic / self.real

    @property
    def error(self) -> float:
        """Standard error of the share; NaN if there is no share."""
        if math.isnan(self.kept):
            return math.nan
        return math.hypot(self.synthetic_error, self.kept * self.real_error) / self.real


def measure_learned_dependence(
    reference: TableArrays,
    others: TableArrays,
    synthetic: TableArrays,
    *,
    rows: int = ROWS,
    random_state: int | None = 0,
    jobs: int | None = None,
) -> LearnedDependence:
    """Return how much dependence of any order a model finds in synthetic rows.

    NOT PRIVATE: the real rows are read as they are.

    Args:
        reference: Real rows that models are fitted on, with their shuffled columns.
        others: Other real rows.
        synthetic: The synthetic rows.
        rows: The most rows of each table that are used, drawn at random.
        random_state: Seed of everything random.
        jobs: Models fitted at once; None for one per core.

    Raises:
        DataError: If a table has no rows.
        ParameterError: If `rows` is not a whole number of at least 1.
    """
    check_integer("rows", rows, least=1)
    refuse_empty([reference, others, synthetic])
    rng = np.random.default_rng(random_state)
    known, other, made = (table.sample_rows(rows, rng) for table in (reference, others, synthetic))
    train = _label_parts([known, shuffle_columns(known, rng)], [1, 0])
    parts = [part for table in (other, made) for part in (table, shuffle_columns(table, rng))]
    test = _label_parts(parts, [0] * len(parts))
    predicted = run_together(
        [partial(_MODELS[name], train, test, random_state) for name in _MODELS], jobs
    )
    sizes = (len(known), len(other), len(made))
    found = [
        _compare_scores(name, scores[:, 1], sizes)
        for name, scores in zip(_MODELS, predicted, strict=True)
    ]
    return max(found, key=lambda one: one.real / one.real_error)


def _label_parts(parts: Sequence[TableArrays], labels: Sequence[int]) -> LabeledExamples:
    """Return the rows of several tables, with the same label for all rows of one."""
    columns = [
        replace(same[0], values=np.concatenate([cells.values for cells in same]))
        for same in zip(*parts, strict=True)
    ]
    target = np.repeat(labels, [len(part) for part in parts])
    return LabeledExamples(tuple(columns), target, 2)


def _compare_scores(learner: str, scores: Floats, rows: tuple[int, int, int]) -> LearnedDependence:
    """Compare scores of other real rows, of these shuffled, and of the same for synthetic rows."""
    _, other, made = rows
    parts = np.split(scores, np.cumsum([other, other, made]))
    gaps = [float(one.mean() - two.mean()) for one, two in (parts[:2], parts[2:])]
    errors = [
        math.sqrt((one.var() + two.var()) / len(one)) or math.ulp(1.0)
        for one, two in (parts[:2], parts[2:])
    ]
    return LearnedDependence(gaps[0], gaps[1], errors[0], errors[1], learner, rows)


def _predict_by_boosting(
    train: LabeledExamples, test: LabeledExamples, random_state: int | None
) -> Floats:
    make = partial(make_boosted_trees, **boosting_settings(1) | {"learning_rate": 0.1})
    return fit_and_predict(make, train, test, random_state=random_state)


def _predict_by_extra_trees(
    train: LabeledExamples, test: LabeledExamples, random_state: int | None
) -> Floats:
    # Leaves of single rows would recognise copies of these rows, and take that for dependence.
    make = partial(make_extra_trees, min_samples_leaf=LEAST_LEAF)
    encode = encode_filled_features
    return fit_and_predict(make, train, test, random_state=random_state, encode=encode)


# Boosting sees a dependence that begins with one column; trees with random splits see a parity.
_MODELS = {"gradient boosting": _predict_by_boosting, "extra trees": _predict_by_extra_trees}
