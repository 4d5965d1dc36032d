"""Simulated tables of a schema, and what a run on one of them gives.

The structure of a private table is unknown before it is measured. So tables of several structures
are simulated: columns that depend on the class alone, and mixtures of few or of many clusters. What
a run gives on all of them is the range that is stated. A public stand-in takes their place where
the user has one: rows are drawn from it with replacement.

Noise counts in proportion to rows. A table of `rows` rows under noise `sigma` is simulated by fewer
rows under noise that is smaller in the same proportion: a Gaussian mechanism of `mu` becomes one of
`mu * rows / simulated`. The epsilon of a simulated run is of no private row.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils.extras import has_report_extra
from tabpe.accounting.pld import solve_gaussian_mu
from tabpe.encoding import Encoder, Records
from tabpe.encoding.marginals import Marginal, build_axis
from tabpe.evaluation.metrics.utility import measure_utility
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.evolution.constraint_repair import ConstraintSet
from tabpe.schema import Id, Schema

if TYPE_CHECKING:
    from tabpe.synthesizers.tabpe import TabPE

# The cells that a column is compared in, and each column of a pair.
COLUMN_CELLS, PAIR_CELLS = 20, 8
MOST_PAIRS = 60
TEST_ROWS, UTILITY_ROWS = 4000, 6000
LARGEST_EPSILON = 100.0
LEAST_LEARNABLE = 0.02
STRUCTURES = {"by class": 1, "few clusters": 8, "many clusters": 40}

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
DrawTable = Callable[[int, np.random.Generator], pa.Table]
DrawTables = Callable[[int, int, np.random.Generator], tuple[pa.Table, pa.Table]]


@dataclass(frozen=True)
class SimulatedRun:
    """What one run on a simulated table gave.

    Args:
        structure: The structure of the table, or `stand-in`.
        column_error: Mean total variation distance of 1-way marginals, in at most 20 cells.
        pair_error: Mean total variation distance of 2-way marginals, in at most 8 x 8 cells.
        kept: Which part of the score that real rows give above guessing a predictor keeps that is
            trained on synthetic rows; None without a label, or where there is nothing to learn.
        score: The score of that predictor: AUC, or R2 of a numeric label.
        seconds: The time of the run.
    """

    structure: str
    column_error: float
    pair_error: float
    kept: float | None
    score: float | None
    seconds: float


def make_structures(schema: Schema, *, seed: int) -> dict[str, DrawTables]:
    """Return functions that draw a table of a schema and test rows, by the name of their structure.

    Example:
        >>> from tabpe.schema import Boolean, Integer
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
        >>> draw = make_structures(schema, seed=0)["few clusters"]
        >>> [table.num_rows for table in draw(3, 2, np.random.default_rng(0))]
        [3, 2]
    """
    return {
        name: _draw_twice(
            _ClusterMixture.draw_model(schema, clusters, np.random.default_rng([seed, clusters]))
        )
        for name, clusters in STRUCTURES.items()
    }


def _draw_twice(draw: DrawTable) -> DrawTables:
    return lambda rows, test_rows, rng: (draw(rows, rng), draw(test_rows, rng))


def resample_table(table: pa.Table) -> DrawTables:
    """Return a function that draws a table and test rows from a public stand-in.

    Test rows are never rows of the table: a third of the stand-in is held out for them.
    """

    def draw(rows: int, test_rows: int, rng: np.random.Generator) -> tuple[pa.Table, pa.Table]:
        order = rng.permutation(table.num_rows)
        held_out = max(1, table.num_rows // 3)
        test, train = order[:held_out], order[held_out:]
        train = train if len(train) else test
        return table.take(rng.choice(train, rows)), table.take(test[:test_rows])

    return draw


@dataclass(frozen=True, eq=False)
class _ClusterMixture:
    """A mixture of clusters in each class; columns are independent within a cluster."""

    schema: Schema
    class_shares: Floats
    cluster_shares: Floats
    means: Floats
    spreads: Floats
    missing: Floats
    codes: tuple[Floats, ...]

    @classmethod
    def draw_model(cls, schema: Schema, clusters: int, rng: np.random.Generator) -> _ClusterMixture:
        encoder = Encoder(schema)
        classes, width = encoder.class_count, len(encoder.numeric)
        shape = (classes, clusters, width)
        # Skewed columns are as common as even ones: clusters lie around a place of their column.
        place, wide = rng.beta(0.7, 1.4, width), rng.uniform(0.05, 0.3, width)
        nullable = [1.0 if column.nullable else 0.0 for column in encoder.numeric]
        return cls(
            schema,
            rng.dirichlet(np.full(classes, 2.0)),
            rng.dirichlet(np.full(clusters, 1.0), classes),
            np.clip(place + wide * rng.standard_normal(shape), 0, 1),
            wide * rng.uniform(0.1, 0.7, shape),
            np.array(nullable) * rng.uniform(0, 0.2, width),
            tuple(
                _draw_shares(column.states, (classes, clusters), rng)
                for column in encoder.categorical
            ),
        )

    def __call__(self, rows: int, rng: np.random.Generator) -> pa.Table:
        encoder = Encoder(self.schema)
        classes = rng.choice(len(self.class_shares), rows, p=self.class_shares)
        clusters = np.empty(rows, dtype=np.int64)
        for label, shares in enumerate(self.cluster_shares):
            mine = np.flatnonzero(classes == label)
            clusters[mine] = rng.choice(len(shares), len(mine), p=shares)
        at = (classes, clusters)
        numbers = self.means[at] + self.spreads[at] * rng.standard_normal(self.means[at].shape)
        numbers = np.abs(numbers)
        numbers = np.clip(np.where(numbers > 1, 2 - numbers, numbers), 0, 1)
        for label, space in enumerate(encoder.spaces):
            mine = classes == label
            numbers[mine] = space.project(numbers[mine])
        numbers[rng.random(numbers.shape) < self.missing] = np.nan
        codes = np.empty((rows, len(self.codes)), dtype=encoder.space.code_type)
        for index, shares in enumerate(self.codes):
            ends = np.cumsum(shares[at], axis=1)
            drawn = (rng.random((rows, 1)) > ends).sum(axis=1)
            codes[:, index] = np.minimum(drawn, shares.shape[-1] - 1)
        drawn_rows = ConstraintSet.from_encoder(encoder).repair_rows(
            Records(numbers, codes), classes, rng
        )
        return encoder.decode(drawn_rows, classes)


def _draw_shares(states: int, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Return the shares of values in each cluster: around those of the column, which are skewed."""
    overall = rng.dirichlet(np.full(states, 0.7)) + 1e-3
    shares: Floats = rng.dirichlet(4 * overall / overall.sum() + 0.02, shape)
    return shares


@dataclass(frozen=True, eq=False)
class Simulation:
    """How runs are simulated.

    Args:
        model: The settings of the run; its epsilon is replaced.
        schema: The schema.
        rows: The number of rows that is planned for.
        simulated_rows: The number of rows of a simulated table: at most `rows`.
        delta: The delta of the run.
    """

    model: TabPE
    schema: Schema
    rows: int
    simulated_rows: int
    delta: float

    def run(self, structure: str, draw: DrawTables, epsilon: float, *, seed: int) -> SimulatedRun:
        """Simulate one run with an epsilon."""
        rng = np.random.default_rng([seed, self.simulated_rows])
        table, test = draw(self.simulated_rows, TEST_ROWS, rng)
        scaled = scale_epsilon(epsilon, self.delta, self.rows / self.simulated_rows)
        from tabpe.synthesizers.tabpe import TabPE

        model = TabPE(**self.model.get_params()).set_params(
            epsilon=scaled,
            delta=self.delta,
            random_state=seed,
            verbose=0,
            n_samples=self.model.n_samples or self._choose_size(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            started = time.perf_counter()
            synthetic = model.fit(table, self.schema).sample()
            seconds = time.perf_counter() - started
        column, pair = compare_marginals(self.schema, table, synthetic)
        kept, score = compare_predictors(self.schema, table, synthetic, test, seed=seed)
        return SimulatedRun(structure, column, pair, kept, score, seconds)

    def _choose_size(self) -> int | None:
        """Return the rows to make: as many as of the table itself, by the posterior strategy."""
        return self.rows if self.model.preset == "best" else None


def scale_epsilon(epsilon: float, delta: float, factor: float) -> float:
    """Return the epsilon whose noise is smaller by a factor; at most 100.

    Example:
        >>> scale_epsilon(1.0, 1e-6, 1.0)
        1.0
        >>> 2.0 < scale_epsilon(1.0, 1e-6, 2.0) < 2.5
        True
    """
    if factor == 1:
        return epsilon
    mu = solve_gaussian_mu(epsilon, delta) * factor
    low, high = epsilon, LARGEST_EPSILON
    if solve_gaussian_mu(high, delta) < mu:
        return high
    while high - low > 1e-3 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if solve_gaussian_mu(middle, delta) < mu else (low, middle)
    return low


def compare_marginals(schema: Schema, real: pa.Table, synthetic: pa.Table) -> tuple[float, float]:
    """Return the mean total variation distances of columns, and of pairs of columns.

    NOT PRIVATE: both tables are read as they are.
    """
    encoder = Encoder(schema)
    tables = [_encode(encoder, table) for table in (real, synthetic)]
    names = [column.name for column in schema.columns if not isinstance(column, Id)]
    if not names:
        return 0.0, 0.0
    columns, coarse = (
        [_find_cells(encoder, name, cells, tables) for name in names]
        for cells in (COLUMN_CELLS, PAIR_CELLS)
    )
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    if len(pairs) > MOST_PAIRS:
        chosen = np.random.default_rng(0).choice(len(pairs), MOST_PAIRS, replace=False)
        pairs = [pairs[place] for place in np.sort(chosen)]
    single = [_compute_distance(one, size) for one, size in columns]
    double = [
        _compute_distance(
            [a * coarse[j][1] + b for a, b in zip(coarse[i][0], coarse[j][0], strict=True)],
            coarse[i][1] * coarse[j][1],
        )
        for i, j in pairs
    ]
    return float(np.mean(single)), float(np.mean(double)) if double else 0.0


def _encode(encoder: Encoder, table: pa.Table) -> tuple[Records, Whole]:
    rows, classes = encoder.encode(table)
    return rows, np.asarray(classes, dtype=np.int64)


def _find_cells(
    encoder: Encoder, name: str, cells: int, tables: list[tuple[Records, Whole]]
) -> tuple[list[Whole], int]:
    axis = build_axis(encoder, name, max_bins=cells)
    marginal = Marginal((axis,))
    found = [marginal.find_cells(rows, classes) for rows, classes in tables]
    if marginal.size <= cells + 1:
        return found, marginal.size
    # Rare values share a cell, by the first table.
    common = np.argsort(-np.bincount(found[0], minlength=marginal.size), kind="stable")
    groups = np.full(marginal.size, cells - 1)
    groups[common[: cells - 1]] = np.arange(cells - 1)
    return [groups[one] for one in found], cells


def _compute_distance(found: list[Whole], size: int) -> float:
    one, other = (np.bincount(cells, minlength=size) / len(cells) for cells in found)
    return float(np.abs(one - other).sum() / 2)


def compare_predictors(
    schema: Schema, real: pa.Table, synthetic: pa.Table, test: pa.Table, *, seed: int
) -> tuple[float | None, float | None]:
    """Return the kept part of what can be learned about the label, and the score itself.

    The score is the AUC, or R2 of a numeric label; both are None without a label or scikit-learn.
    NOT PRIVATE: the tables are read as they are.
    """
    if schema.label is None or schema.joint_labels or not has_report_extra():
        return None, None
    plain = replace(schema, label_rare=())
    arrays = build_table_arrays(plain, [real, synthetic, test])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = measure_utility(*arrays, rows=UTILITY_ROWS, random_state=seed, jobs=1)
    if found is None:
        return None, None
    name, base = ("AUC", 0.5) if found.task == "classification" else ("R2", 0.0)
    by_table: dict[str, Any] = {one.trained_on: one.scores.get(name) for one in found.scores}
    on_real, on_synthetic = by_table.get("real"), by_table.get("synthetic")
    if on_real is None:
        return None, None
    # A table in which a class is missing teaches nothing about it.
    score = base if on_synthetic is None else float(on_synthetic)
    learnable = on_real - base
    return (None if learnable < LEAST_LEARNABLE else (score - base) / learnable), score
