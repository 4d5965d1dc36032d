"""k-way distances between tables: total variation and Wasserstein.

Which sets of k columns are measured, and what is said of them together.

k-way total variation: which share of the rows would have to move, over k columns at once.

The exact cost of moving one set of rows onto another: the Wasserstein-1 distance.

Rows are counted, not weighed, so all that can be exact is. Equal rows are one place with a number
of units. What both tables hold at one place stays there: with a cost that is a metric, no plan is
cheaper for moving it. What is left is solved as

- a sorted line, if places lie on one;
- an assignment of single units, if these are not many more than places (shortest augmenting
  paths, in scipy: where all masses are equal, half the time of a network simplex or less);
- a transport of masses otherwise (the network simplex of POT, which takes seconds to import and
  is not imported before).

All three let other threads run.

k-way Wasserstein distances: how far synthetic rows are from real ones, over k columns.

The mean, over sets of k columns with the label among them, of the Wasserstein-1 distance between
the rows of both tables in these columns, with Euclidean distance of rows. Each distance is exact
for the rows that are compared: at most `rows` of each table, drawn once for all sets. Two samples
of one table are not at distance 0 either, and less so the more columns there are, so compare the
result with that for two real tables.

Numbers are scaled by the bounds of the schema. `tabpe.evaluation.table_arrays` says what a
difference of categories costs. The paper's authors scale each column by the private rows and sort
the categories that occur; here both follow from the schema, whose order counts (a drafted schema is
sorted).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe._utils.resources import count_usable_cores
from tabpe.errors import ParameterError, TabpeError
from tabpe.evaluation.table_arrays import (
    Cells,
    DistanceAxis,
    IntegerCodes,
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
        distance: Mean distance over the sets that were measured; NaN if there is none.
        spread: Standard deviation over them.
        measured: How many sets were measured.
        possible: How many there are.
        rows: The number of rows of each table that were compared: real, synthetic.
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
        """Sum up the distances of sets of columns; NaN for one that could not be measured.

        Example:
            >>> both = KWayDistance.from_distances(["age", "ward", "sex"], [(0, 1), (1, 2)], [0.25, 0.75], (9, 9))
            >>> both.distance, both.measured, both.possible, both.worst
            (0.5, 2, 3, (('ward', 'sex'), 0.75))
        """
        order = len(subsets[0])
        pairs = zip(subsets, distances, strict=True)
        told = [(far, which) for which, far in pairs if not math.isnan(far)]
        possible = math.comb(len(names), order)
        if not told:
            return cls(order, math.nan, math.nan, 0, possible, rows, ((), math.nan))
        values = np.array([far for far, _ in told])
        furthest, where = told[int(values.argmax())]
        return cls(
            order,
            float(values.mean()),
            float(values.std()),
            len(told),
            possible,
            rows,
            (tuple(names[place] for place in where), furthest),
        )


def check_orders(orders: Sequence[int], columns: int) -> list[int]:
    """Return the orders that there are columns for.

    Raises:
        ParameterError: If one is not a whole number from 1.

    Example:
        >>> check_orders([1, 2, 7], 3)
        [1, 2]
    """
    checked = [validation.check_integer("orders", order, least=1) for order in orders]
    return [order for order in checked if order <= columns]


def choose_subsets(
    columns: int, order: int, most: int | None, random_state: int | None
) -> list[Subset]:
    """Return sets of so many columns: all, or `most` of them, each equally likely.

    They depend on no other order that is asked for.

    Raises:
        ParameterError: If all are asked for, and they are too many.

    Example:
        >>> choose_subsets(3, 2, None, 0)
        [(0, 1), (0, 2), (1, 2)]
        >>> len(choose_subsets(500, 7, 24, 0))
        24
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
    return _draw_subsets(columns, order, most, rng)


def make_generator(random_state: int | None, *purpose: int) -> np.random.Generator:
    """Return random numbers for one purpose, whatever else is drawn."""
    return np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=purpose))


def _draw_subsets(columns: int, order: int, most: int, rng: np.random.Generator) -> list[Subset]:
    """Draw until enough are different: less than half of all is asked for, so that ends soon."""
    found: set[Subset] = set()
    while len(found) < most:
        found.add(tuple(sorted(rng.choice(columns, order, replace=False).tolist())))
    return sorted(found)


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
    between the shares that each cell of the joint table has: 0 for equal shares, 1 if no cell is
    in both tables. All rows count. A null is a value like any other.

    Args:
        real: The real table.
        synthetic: The synthetic table.
        orders: The k.
        bins: Numbers are cut into so many bins of equal width between the bounds of the schema;
            those beyond the bounds are in the first or the last.
        subsets: Sets of columns for each k, drawn without replacement; None for all.
        random_state: Seed of what is drawn. The sets for one k do not depend on other orders.

    Raises:
        ParameterError: If a parameter is outside what it allows.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> real = pa.table({"age": [21, 41], "ill": [True, False]})
        >>> made = pa.table({"age": [22, 42], "ill": [True, True]})
        >>> [found.distance for found in total_variation(*build_table_arrays(schema, [real, made]))]
        [0.25, 0.5]
    """
    cut = validation.check_integer("bins", bins, least=1)
    most = validation.check_optional(validation.check_integer, "subsets", subsets, least=1)
    names, rows = real.schema.names, (len(real), len(synthetic))
    digits = [_encode_column(one, two, cut) for one, two in zip(real, synthetic, strict=True)]
    found = []
    for order in check_orders(orders, len(names)):
        chosen = choose_subsets(len(names), order, most, random_state)
        far = [
            _compute_variation(combine_codes([digits[place] for place in same]), rows)
            for same in chosen
        ]
        found.append(KWayDistance.from_distances(names, chosen, far, rows))
    return tuple(found)


def _encode_column(real: Cells, synthetic: Cells, bins: int) -> IntegerCodes:
    base = bins if isinstance(real, NumericCells) else len(real.names)
    values = np.concatenate([_bin_cells(cells, bins) for cells in (real, synthetic)])
    missing = np.concatenate([real.missing, synthetic.missing])
    return IntegerCodes(np.where(missing, base, values), base + 1)


def _bin_cells(cells: Cells, bins: int) -> NDArray[np.int64]:
    if not isinstance(cells, NumericCells):
        return cells.codes
    inside = np.clip(np.nan_to_num(cells.scaled), 0.0, 1.0)
    return np.minimum((inside * bins).astype(np.int64), bins - 1)


def _compute_variation(cells: IntegerCodes, rows: tuple[int, int]) -> float:
    real, synthetic = rows
    if not (real and synthetic):
        return float("nan")
    if cells.base > _FEW_CELLS:
        cells = IntegerCodes.from_distinct(cells.values)
    has = np.bincount(cells.values[:real], minlength=cells.base) / real
    made = np.bincount(cells.values[real:], minlength=cells.base) / synthetic
    return float(np.abs(has - made).sum()) / 2


FEW_UNITS = 500
MOST_PIVOTS = 10**8
_SOFTNESS, _STEPS, _STEEPEST = 0.04, 15, 50.0


def compute_surplus(
    places: IntegerCodes, real: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return what each place has too much of, in whole units.

    Args:
        places: Where each row is: those of the real table first.
        real: The number of rows of the real table; neither table is empty.

    Returns:
        A row at each place, the units that it has to give away (a negative number for those it
        lacks), and the number of units that each table has in all.

    Example:
        >>> compute_surplus(IntegerCodes(np.array([0, 0, 1, 1]), 2), 3)  # A third of a table is a unit.
        (array([0, 2]), array([ 2, -2]), 3)
    """
    _, first, inverse = np.unique(places.values, return_index=True, return_inverse=True)
    synthetic = len(inverse) - real
    shared = math.gcd(real, synthetic)
    has = np.bincount(inverse[:real], minlength=len(first))
    wants = np.bincount(inverse[real:], minlength=len(first))
    return first, has * (synthetic // shared) - wants * (real // shared), real * synthetic // shared


def compute_line_cost(positions: NDArray[np.float64], units: NDArray[np.int64]) -> float:
    """Return the cost of levelling units that lie on a line, in units times length.

    Example:
        >>> compute_line_cost(np.array([3.0, 0.0, 1.0]), np.array([-2, 1, 1]))
        5.0
    """
    order = np.argsort(positions)
    carried = np.cumsum(units[order])[:-1]
    return float(np.abs(carried) @ np.diff(positions[order]))


def solve_transport(
    costs: NDArray[np.float64], supply: NDArray[np.int64], demand: NDArray[np.int64]
) -> float:
    """Return the least cost of moving all units of supply to demand.

    Args:
        costs: What a unit costs from each place of supply to each place of demand.
        supply: Units to give, above 0.
        demand: Units to get, above 0; as many in all.

    Raises:
        TabpeError: If the solver gives up before it has the optimum.

    Example:
        >>> solve_transport(np.array([[1.0, 5.0], [2.0, 3.0]]), np.array([1, 2]), np.array([2, 1]))
        6.0
    """
    shared = int(np.gcd.reduce(np.concatenate([supply, demand])))
    units = int(supply.sum()) // shared
    if units <= max(FEW_UNITS, 2 * max(costs.shape)):
        return shared * _solve_assignment(costs, supply // shared, demand // shared)
    return _solve_flow(costs, supply, demand)


def _solve_assignment(
    costs: NDArray[np.float64], supply: NDArray[np.int64], demand: NDArray[np.int64]
) -> float:
    from scipy.optimize import linear_sum_assignment

    if supply.max() > 1:
        costs = np.repeat(costs, supply, axis=0)
    if demand.max() > 1:
        costs = np.repeat(costs, demand, axis=1)
    # Prices change the cost of every assignment alike, so the cheapest one stays the cheapest.
    rows, columns = linear_sum_assignment(costs - _estimate_prices(costs))
    return float(costs[rows, columns].sum())


def _estimate_prices(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return roughly what each column is worth to the rows, from which the paths get shorter.

    A few steps of Sinkhorn's algorithm. Not by matrix products, whose threads would be in the way
    of ours. The exponents are bounded, so that no float32 overflows or loses its speed.
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
    prices: NDArray[np.float64] = softness * np.log(worth.astype(np.float64))
    return prices


def _solve_flow(
    costs: NDArray[np.float64], supply: NDArray[np.int64], demand: NDArray[np.int64]
) -> float:
    import ot

    total = supply.sum()
    cost, log = ot.emd2(
        supply / total, demand / total, costs, numItermax=MOST_PIVOTS, log=True, center_dual=False
    )
    if log["warning"] is not None:
        raise TabpeError(
            f"the transport of {len(supply)} places to {len(demand)} has no solution within "
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
        categories: `codes` for distance along the list of categories, as the paper's authors have
            it; rows with a null in one of the columns are left out. `mismatch` for 1 where they
            differ; nulls count.
        random_state: Seed of what is drawn. The sets for one k do not depend on other orders.
        jobs: Threads; None for one on each core that may be used. The result is the same.

    Raises:
        ParameterError: If a parameter is outside what it allows.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.evaluation.table_arrays import build_table_arrays
        >>> from tabpe.schema import Boolean, Integer, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")))
        >>> real = pa.table({"age": [20, 40], "ill": [True, False]})
        >>> made = pa.table({"age": [30, 40], "ill": [True, True]})
        >>> [round(found.distance, 4) for found in wasserstein(*build_table_arrays(schema, [real, made]))]
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
    real = _sample_rows(real, most_rows, random_state, _REAL)
    synthetic = _sample_rows(synthetic, most_rows, random_state, _SYNTHETIC)
    axes = build_axes(real, synthetic, categories)

    def measure(subset: tuple[int, ...]) -> float:
        return _compute_distance([axes[place] for place in subset], len(real))

    with ThreadPoolExecutor(threads) as pool:
        found = [list(pool.map(measure, same)) for same in chosen]
    compared = (len(real), len(synthetic))
    return tuple(
        KWayDistance.from_distances(names, same, far, compared)
        for same, far in zip(chosen, found, strict=True)
    )


def _sample_rows(
    view: TableArrays, rows: int | None, random_state: int | None, which: int
) -> TableArrays:
    # Sets of columns take the purposes from 1 on.
    return view if rows is None else view.sample_rows(rows, make_generator(random_state, 0, which))


def _compute_distance(axes: Sequence[DistanceAxis], real: int) -> float:
    """Return the distance of the first `real` rows from the others, or NaN if there are none."""
    kept = np.flatnonzero(~_find_null_rows(axes))
    of_real = int(np.searchsorted(kept, real))
    if of_real in {0, len(kept)}:
        return math.nan
    places = combine_codes([axis.digits for axis in axes]).take(kept)
    first, units, total = compute_surplus(places, of_real)
    if not units.any():
        return 0.0
    at, gives, lacks = kept[first], units > 0, units < 0
    if len(axes) == 1 and axes[0].straight:
        return compute_line_cost(axes[0].positions[at], units) / total
    if len(axes) == 1 and axes[0].nominal:
        return int(units[gives].sum()) / total
    costs = compute_distances(axes, at[gives], at[lacks])
    return solve_transport(costs, units[gives], -units[lacks]) / total


def _find_null_rows(axes: Sequence[DistanceAxis]) -> NDArray[np.bool_]:
    """Where a null has no place on an axis that is a line."""
    where = np.zeros(len(axes[0].positions), np.bool_)
    for axis in axes:
        where |= axis.straight & np.isnan(axis.positions)
    return where
