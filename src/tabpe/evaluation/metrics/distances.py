"""k-way distances between tables: total variation and Wasserstein.

Both are means over sets of k columns, all of them or a sample.

Wasserstein: the Wasserstein-1 distance between the rows of both tables in these columns, with
Euclidean distance of rows. Each distance is exact for the rows that are compared: at most `rows` of
each table, drawn once for all sets. Two samples of one table are not at distance 0 either, and the
more columns, the further apart they are, so compare the result with that for two real tables.

Numbers are scaled by the bounds of the schema. `tabpe.evaluation.table_arrays` says what a
difference of categories costs. The paper's authors scale each column by the private rows and sort
the categories that occur; here both follow from the schema, whose order counts (a drafted schema is
sorted).

The transport problem is solved in integer units. Equal rows are one point with a mass. Mass that
both tables have at a point stays there: with a cost that is a metric, no plan is cheaper for moving
it. The rest is solved as

- a sorted line, if points lie on one;
- an assignment of single units, if these are not many more than points (shortest augmenting paths,
  in scipy: where all masses are equal, half the time of a network simplex or less);
- a transport of masses otherwise (the network simplex of POT, which takes seconds to import and is
  imported only then).

All three release the global interpreter lock, so sets of columns are measured in threads.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from tabpe._utils import validation
from tabpe._utils.extras import require_report_extra
from tabpe._utils.resources import count_usable_cores
from tabpe.errors import ParameterError, TabpeError
from tabpe.evaluation.table_arrays import (
    Booleans,
    Cells,
    DistanceAxis,
    Floats,
    IntegerCodes,
    Integers,
    NumericCells,
    TableArrays,
    build_axes,
    combine_codes,
    compute_distances,
)

MOST_SUBSETS = 10**6

Subset = tuple[int, ...]


@dataclass(frozen=True)
class KWayDistance:
    """A mean over sets of k columns.

    Args:
        order: The k.
        distance: Mean distance over the measured sets; NaN if there is none.
        spread: Standard deviation over them.
        measured: Number of measured sets.
        possible: Number of all sets.
        rows: Numbers of rows that were compared: real, synthetic.
        worst: The set with the largest distance, and that distance.
    """

    order: int
    distance: float
    spread: float
    measured: int
    possible: int
    rows: tuple[int, int]
    worst: tuple[tuple[str, ...], float]

    @classmethod
    def from_distances(
        cls,
        names: Sequence[str],
        subsets: Sequence[Subset],
        distances: Sequence[float],
        rows: tuple[int, int],
    ) -> KWayDistance:
        """Summarize the distances of sets of columns; NaN for one that could not be measured."""
        order = len(subsets[0])
        pairs = zip(subsets, distances, strict=True)
        known = [(distance, subset) for subset, distance in pairs if not math.isnan(distance)]
        possible = math.comb(len(names), order)
        if not known:
            return cls(order, math.nan, math.nan, 0, possible, rows, ((), math.nan))
        values = np.array([distance for distance, _ in known])
        largest, where = known[int(values.argmax())]
        worst = (tuple(names[index] for index in where), largest)
        mean, spread = float(values.mean()), float(values.std())
        return cls(order, mean, spread, len(known), possible, rows, worst)


def check_orders(orders: Sequence[int], columns: int) -> list[int]:
    """Return the orders that do not exceed the number of columns."""
    checked = [validation.check_integer("orders", order, least=1) for order in orders]
    return [order for order in checked if order <= columns]


def choose_subsets(
    columns: int, order: int, most: int | None, random_state: int | None
) -> list[Subset]:
    """Return all sets of `order` columns, or `most` of them, each equally likely.

    They do not depend on other orders that are measured. Too many sets are refused.
    """
    possible = math.comb(columns, order)
    if most is None and possible > MOST_SUBSETS:
        raise ParameterError(
            f"subsets=None: there are {possible:.2g} sets of {order} of {columns} columns, "
            f"and at most {MOST_SUBSETS:,} are measured: give a number, such as 100."
        )
    if most is None or most >= possible:
        return list(itertools.combinations(range(columns), order))
    rng = make_generator(random_state, order)
    if 2 * most >= possible:
        ranks = set(rng.choice(possible, most, replace=False).tolist())
        every = itertools.combinations(range(columns), order)
        return [subset for rank, subset in enumerate(every) if rank in ranks]
    # Draw until enough differ; that ends soon, because less than half of all are wanted.
    drawn: set[Subset] = set()
    while len(drawn) < most:
        drawn.add(tuple(sorted(rng.choice(columns, order, replace=False).tolist())))
    return sorted(drawn)


def make_generator(random_state: int | None, *purpose: int) -> np.random.Generator:
    """Return a generator for one purpose, independent of all others."""
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=purpose))


BINS, VARIATION_SUBSETS = 20, 300
_FEW_CELLS = 2**20


def total_variation(
    real: TableArrays,
    synthetic: TableArrays,
    orders: Sequence[int] = (1, 2, 3),
    *,
    bins: int = BINS,
    subsets: int | None = VARIATION_SUBSETS,
    random_state: int | None = 0,
) -> tuple[KWayDistance, ...]:
    """Return the k-way total variation for each k of `orders` that there are columns for.

    The mean, over sets of k columns with the label among them, of half the sum of differences
    between the shares of cells of the k-way marginals: 0 for equal shares, 1 if no cell is in both
    tables. All rows count. A null is a value like any other.

    Args:
        real: The real table.
        synthetic: The synthetic table.
        orders: The k.
        bins: Number of bins of a number, of equal width between the bounds of the schema; those
            beyond the bounds are in the first or the last.
        subsets: Sets of columns for each k, drawn without replacement; None for all.
        random_state: Seed of the sets. The sets for one k do not depend on other orders.

    Raises:
        ParameterError: If a parameter is out of range.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> real = pa.table({"age": [21, 41], "ill": [True, False]})
        >>> synthetic = pa.table({"age": [22, 42], "ill": [True, True]})
        >>> tables = build_table_arrays(schema, [real, synthetic])
        >>> [k_way.distance for k_way in total_variation(*tables)]
        [0.25, 0.5]
    """
    validation.check_integer("bins", bins, least=1)
    most = validation.check_optional(validation.check_integer, "subsets", subsets, least=1)
    names, rows = real.schema.names, (len(real), len(synthetic))
    columns = [_encode_column(one, two, bins) for one, two in zip(real, synthetic, strict=True)]
    measured = []
    for order in check_orders(orders, len(names)):
        chosen = choose_subsets(len(names), order, most, random_state)
        distances = [
            _compute_variation(combine_codes([columns[index] for index in subset]), rows)
            for subset in chosen
        ]
        measured.append(KWayDistance.from_distances(names, chosen, distances, rows))
    return tuple(measured)


def _encode_column(real: Cells, synthetic: Cells, bins: int) -> IntegerCodes:
    base = bins if isinstance(real, NumericCells) else len(real.names)
    values = np.concatenate([_bin_cells(cells, bins) for cells in (real, synthetic)])
    missing = np.concatenate([real.missing, synthetic.missing])
    return IntegerCodes(np.where(missing, base, values), base + 1)


def _bin_cells(cells: Cells, bins: int) -> Integers:
    if not isinstance(cells, NumericCells):
        return cells.values
    inside = np.clip(np.nan_to_num(cells.scaled), 0.0, 1.0)
    return np.minimum((inside * bins).astype(np.int64), bins - 1)


def _compute_variation(cells: IntegerCodes, rows: tuple[int, int]) -> float:
    real, synthetic = rows
    if not (real and synthetic):
        return float("nan")
    if cells.base > _FEW_CELLS:
        cells = IntegerCodes.from_distinct(cells.values)
    one = np.bincount(cells.values[:real], minlength=cells.base) / real
    two = np.bincount(cells.values[real:], minlength=cells.base) / synthetic
    return float(np.abs(one - two).sum()) / 2


FEW_UNITS = 500
MOST_PIVOTS = 10**8
_SOFTNESS, _STEPS, _STEEPEST = 0.04, 15, 50.0


def compute_surplus(points: IntegerCodes, real: int) -> tuple[Integers, Integers, int]:
    """Return real minus synthetic mass at each point, in integer units.

    The first `real` rows are those of the real table; neither table is empty. The result is a row
    at each point, its surplus (negative where it lacks some), and the units of each table.

    Example:
        >>> compute_surplus(IntegerCodes(np.array([0, 0, 1, 1]), 2), 3)  # a unit is a third
        (array([0, 2]), array([ 2, -2]), 3)
    """
    _, first, inverse = np.unique(points.values, return_index=True, return_inverse=True)
    synthetic = len(inverse) - real
    shared = math.gcd(real, synthetic)
    supply = np.bincount(inverse[:real], minlength=len(first)) * (synthetic // shared)
    demand = np.bincount(inverse[real:], minlength=len(first)) * (real // shared)
    return first, supply - demand, real * synthetic // shared


def compute_line_cost(positions: Floats, units: Integers) -> float:
    """Return the cost of moving surpluses on a line to where they lack, in units times length.

    Example:
        >>> compute_line_cost(np.array([3.0, 0.0, 1.0]), np.array([-2, 1, 1]))
        5.0
    """
    order = np.argsort(positions)
    carried = np.cumsum(units[order])[:-1]
    return float(np.abs(carried) @ np.diff(positions[order]))


def solve_transport(costs: Floats, supply: Integers, demand: Integers) -> float:
    """Return the least cost of moving all units of supply to demand, which have the same sum.

    Raises:
        TabpeError: If the solver stops before the optimum.

    Example:
        >>> solve_transport(np.array([[1.0, 5.0], [2.0, 3.0]]), np.array([1, 2]), np.array([2, 1]))
        6.0
    """
    shared = int(np.gcd.reduce(np.concatenate([supply, demand])))
    units = int(supply.sum()) // shared
    if units <= max(FEW_UNITS, 2 * max(costs.shape)):
        return shared * _solve_assignment(costs, supply // shared, demand // shared)
    return _solve_flow(costs, supply, demand)


def _solve_assignment(costs: Floats, supply: Integers, demand: Integers) -> float:
    from scipy.optimize import linear_sum_assignment

    if supply.max() > 1:
        costs = np.repeat(costs, supply, axis=0)
    if demand.max() > 1:
        costs = np.repeat(costs, demand, axis=1)
    # Prices change the cost of every assignment alike, so the optimum stays the same.
    rows, columns = linear_sum_assignment(costs - _estimate_prices(costs))
    return float(costs[rows, columns].sum())


def _estimate_prices(costs: Floats) -> Floats:
    """Return approximate dual prices of the columns, which shorten the augmenting paths.

    A few steps of Sinkhorn's algorithm. Not by matrix products, whose threads would compete with
    ours. The exponents are bounded, so that no float32 overflows or becomes subnormal and slow.
    """
    softness = _SOFTNESS * costs.mean()
    if softness == 0:
        return np.zeros(costs.shape[1])
    kernel = (costs / -softness).astype(np.float32)
    np.exp(np.maximum(kernel, -_STEEPEST, out=kernel), out=kernel)
    worth = np.ones(costs.shape[1], np.float32)
    for _ in range(_STEPS):
        share = 1 / np.einsum("ij,j->i", kernel, worth)
        worth = 1 / np.einsum("i,ij->j", share, kernel)
    prices: Floats = softness * np.log(worth.astype(np.float64))
    return prices


def _solve_flow(costs: Floats, supply: Integers, demand: Integers) -> float:
    require_report_extra("the Wasserstein distance")
    import ot

    total = supply.sum()
    cost, log = ot.emd2(
        supply / total, demand / total, costs, numItermax=MOST_PIVOTS, log=True, center_dual=False
    )
    if log["warning"] is not None:
        raise TabpeError(
            f"the transport of {len(supply)} points to {len(demand)} has no solution within "
            f"{MOST_PIVOTS:,} steps: give fewer rows."
        )
    return float(cost * total)


ROWS, WASSERSTEIN_SUBSETS = 1000, 24
CATEGORIES = ("codes", "mismatch")
_REAL, _SYNTHETIC = 0, 1


def wasserstein(
    real: TableArrays,
    synthetic: TableArrays,
    orders: Sequence[int] = (1, 2, 3, 4, 5, 6, 7),
    *,
    rows: int | None = ROWS,
    subsets: int | None = WASSERSTEIN_SUBSETS,
    categories: str = "codes",
    random_state: int | None = 0,
    jobs: int | None = None,
) -> tuple[KWayDistance, ...]:
    """Return the k-way Wasserstein distance for each k of `orders` that there are columns for.

    Args:
        real: The real table.
        synthetic: The synthetic table.
        orders: The k.
        rows: Rows of each table that are compared, drawn without replacement, once for all sets;
            None for all. Time grows with about its third power, memory with the square.
        subsets: Sets of columns for each k, drawn without replacement; None for all.
        categories: `codes` for distance along the list of categories, as in the paper's code; rows
            with a null in one of the columns are left out. `mismatch` for 1 where they differ;
            nulls count.
        random_state: Seed of rows and sets. The sets for one k do not depend on other orders.
        jobs: Threads; None for one per usable core. The result is the same.

    Raises:
        ParameterError: If a parameter is out of range.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> real = pa.table({"age": [20, 40], "ill": [True, False]})
        >>> synthetic = pa.table({"age": [30, 40], "ill": [True, True]})
        >>> tables = build_table_arrays(schema, [real, synthetic])
        >>> [round(k_way.distance, 4) for k_way in wasserstein(*tables)]
        [0.275, 0.55]
    """
    validation.check_one_of("categories", categories, CATEGORIES)
    most_rows = validation.check_optional(validation.check_integer, "rows", rows, least=1)
    most = validation.check_optional(validation.check_integer, "subsets", subsets, least=1)
    threads = (
        validation.check_optional(validation.check_integer, "jobs", jobs, least=1)
        or count_usable_cores()
    )
    names = real.schema.names
    chosen = [
        choose_subsets(len(names), order, most, random_state)
        for order in check_orders(orders, len(names))
    ]
    # Sets of columns take the purposes from 1 on.
    real = real.sample_rows(most_rows, make_generator(random_state, 0, _REAL))
    synthetic = synthetic.sample_rows(most_rows, make_generator(random_state, 0, _SYNTHETIC))
    axes = build_axes(real, synthetic, categories)

    def measure(subset: tuple[int, ...]) -> float:
        return _compute_distance([axes[index] for index in subset], len(real))

    with ThreadPoolExecutor(threads) as pool:
        measured = [list(pool.map(measure, same_order)) for same_order in chosen]
    compared = (len(real), len(synthetic))
    return tuple(
        KWayDistance.from_distances(names, same_order, distances, compared)
        for same_order, distances in zip(chosen, measured, strict=True)
    )


def _compute_distance(axes: Sequence[DistanceAxis], real: int) -> float:
    """Return the distance of the first `real` rows from the others; NaN if either has none."""
    kept = np.flatnonzero(~_find_null_rows(axes))
    of_real = int(np.searchsorted(kept, real))
    if of_real in {0, len(kept)}:
        return math.nan
    points = combine_codes([axis.digits for axis in axes]).take(kept)
    first, units, total = compute_surplus(points, of_real)
    if not units.any():
        return 0.0
    rows, supply, demand = kept[first], units > 0, units < 0
    if len(axes) == 1 and axes[0].straight:
        return compute_line_cost(axes[0].positions[rows], units) / total
    if len(axes) == 1 and axes[0].nominal:
        return int(units[supply].sum()) / total
    costs = compute_distances(axes, rows[supply], rows[demand])
    return solve_transport(costs, units[supply], -units[demand]) / total


def _find_null_rows(axes: Sequence[DistanceAxis]) -> Booleans:
    """Return which rows have a null on a straight axis, where it has no position."""
    where = np.zeros(len(axes[0].positions), np.bool_)
    for axis in axes:
        where |= axis.straight & np.isnan(axis.positions)
    return where
