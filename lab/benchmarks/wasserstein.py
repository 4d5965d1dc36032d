"""Speed of k-way Wasserstein distances and total variation, against plain code; same answers.

    python -m benchmarks.wasserstein [--subsets 24] [--rows 1000] [--out FILE]

The rival for Wasserstein distances is the way of the paper's authors: a frame whose categories are
codes scaled to [0, 1], a slice of it for each set of columns, `ot.dist`, `ot.emd2` with equal
masses, one set after the other. The rival for total variation is `value_counts` of both frames,
aligned and subtracted. Both get the same rows and the same sets of columns as tabpe, on two cores,
and are encoded before the clock starts. The "synthetic" rows are the test split. Answers must be
the same: to 1e-9 with exact distances of rows; `ot.dist` itself expands squares, and is off by up
to 1e-8 where rows are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import ot
import pandas as pd
import pyarrow as pa
from scipy.spatial.distance import cdist
from sklearn.preprocessing import LabelEncoder

from benchmarks.common import make_parser, read_splits, run_fastest, write_record
from tabpe.evaluation.metrics.distances import (
    BINS,
    Subset,
    choose_subsets,
    total_variation,
    wasserstein,
)
from tabpe.evaluation.table_arrays import TableArrays, build_table_arrays
from tabpe.schema import Categorical, Column, Float, Schema

TABLES = {"Adult": "adult_tabpe", "Artificial Characters": "artificial_characters"}
ORDERS = range(1, 8)
CORES = 2
LEAST_RATIO = 4.0
LARGEST_ERROR = 1e-9


def schema_of(frames: Sequence[pd.DataFrame]) -> Schema:
    """Bounds and values of both frames, so that both ways scale alike."""
    both = pd.concat(frames)

    def column(name: str) -> Column:
        if pd.api.types.is_numeric_dtype(both[name]):
            return Float(name, float(both[name].min()), float(both[name].max()))
        return Categorical(name, tuple(sorted(both[name].unique())))

    return Schema(tuple(column(name) for name in both.columns))


def encoded(frames: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """All columns as numbers in [0, 1]: categories by a `LabelEncoder` of both frames."""
    both = pd.concat(frames, keys=range(len(frames)))
    for name in both.columns:
        if not pd.api.types.is_numeric_dtype(both[name]):
            both[name] = LabelEncoder().fit_transform(both[name])
    low, high = both.min(), both.max()
    scaled = (both - low) / (high - low).replace(0, 1)
    return [scaled.loc[place] for place in range(len(frames))]


def direct(
    frames: Sequence[pd.DataFrame],
    subsets: Sequence[Subset],
    ground: Callable[..., Any] = ot.dist,
) -> float:
    """The rival: one set of columns after the other."""
    real, made = frames
    found = []
    for subset in subsets:
        names = real.columns[list(subset)]
        one, two = real[names].dropna().to_numpy(), made[names].dropna().to_numpy()
        masses = [np.full(len(rows), 1 / len(rows)) for rows in (one, two)]
        found.append(ot.emd2(*masses, ground(one, two, metric="euclidean"), numItermax=10**7))
    return float(np.mean(found))


def counted(frames: Sequence[pd.DataFrame], subsets: Sequence[Subset]) -> float:
    """The rival of total variation; frames hold bins and codes."""
    real, made = frames
    found = []
    for subset in subsets:
        names = list(real.columns[list(subset)])
        one, two = (frame.value_counts(names, normalize=True) for frame in (real, made))
        found.append(one.sub(two, fill_value=0).abs().sum() / 2)
    return float(np.mean(found))


def fastest(work: Callable[[], Any], repeats: int) -> tuple[Any, dict[str, float]]:
    """Return the answer, and the least time by the clock and of the processor."""
    ((answer, clock, processor),) = run_fastest([work], repeats)
    return answer, {"seconds": round(clock, 4), "processor": round(processor, 4)}


def line(
    what: str, rival: dict[str, float], ours: dict[str, float], error: float
) -> dict[str, Any]:
    ratio = rival["seconds"] / ours["seconds"]
    print(
        f"{what:<24} {rival['seconds']:8.3f} s {ours['seconds']:8.3f} s {ratio:7.1f}x"
        f"   processor {rival['processor'] / ours['processor']:7.1f}x   error {error:.0e}",
        flush=True,
    )
    return {"rival": rival, "tabpe": ours, "ratio": round(ratio, 2), "largest_error": error}


def transported(
    frames: Sequence[pd.DataFrame], pair: Sequence[TableArrays], most: int, repeats: int
) -> dict[int, Any]:
    results = {}
    for order in ORDERS:
        chosen = choose_subsets(len(pair[0].columns), order, most, 0)

        def rival(chosen: Sequence[Subset] = chosen) -> float:
            return direct(frames, chosen)

        def ours(order: int = order) -> float:
            (found,) = wasserstein(*pair, [order], rows=None, subsets=most, jobs=CORES)
            return found.distance

        answer, spent = fastest(ours, repeats)
        error = abs(answer - direct(frames, chosen, cdist))
        results[order] = line(f"{order}-way Wasserstein", fastest(rival, repeats)[1], spent, error)
    return results


def varied(
    frames: Sequence[pd.DataFrame], pair: Sequence[TableArrays], repeats: int
) -> dict[str, Any]:
    chosen = choose_subsets(len(pair[0].columns), 2, None, 0)
    cells = []
    for frame, view in zip(frames, pair, strict=True):
        binned = frame.copy()
        for column in view:
            if isinstance(column.column, Float):
                binned[column.name] = np.clip((column.scaled * BINS).astype(int), 0, BINS - 1)
        cells.append(binned)
    expected, rival = fastest(lambda: counted(cells, chosen), repeats)
    found, spent = fastest(lambda: total_variation(*pair, [2], subsets=None), repeats)
    error = abs(found[0].distance - expected)
    return line("2-way total variation", rival, spent, error)


def compared(stem: str, rows: int, subsets: int, repeats: int) -> dict[str, Any]:
    whole = read_splits(stem)
    schema = schema_of(whole)
    some = [frame.sample(min(rows, len(frame)), random_state=0) for frame in whole]
    # Codes and scales of all rows, then the rows of the sample.
    scaled = [every.loc[frame.index] for every, frame in zip(encoded(whole), some, strict=True)]
    pair = build_table_arrays(schema, [pa.Table.from_pandas(frame) for frame in some])
    all_rows = build_table_arrays(schema, [pa.Table.from_pandas(frame) for frame in whole])
    by_order = transported(scaled, pair, subsets, repeats)
    told = [by_order[order] for order in by_order if order > 1]
    ratio = _sum(told, "rival") / _sum(told, "tabpe")
    print(f"orders 2 to 7: {ratio:.1f}x   at least {LEAST_RATIO}", flush=True)
    return {
        "wasserstein": by_order,
        "ratio_of_orders_2_to_7": round(ratio, 2),
        "total_variation": varied(whole, all_rows, repeats),
    }


def _sum(lines: Sequence[dict[str, Any]], whose: str) -> float:
    return sum(each[whose]["seconds"] for each in lines)


def main() -> None:
    parser = make_parser(__doc__, "wasserstein", rows=1000, subsets=24, repeats=3)
    arguments = parser.parse_args()
    results = {}
    for name, stem in TABLES.items():
        print(name, flush=True)
        results[name] = compared(stem, arguments.rows, arguments.subsets, arguments.repeats)
    errors = [
        each["largest_error"]
        for result in results.values()
        for each in (*result["wasserstein"].values(), result["total_variation"])
    ]
    if not max(errors) <= LARGEST_ERROR:
        raise SystemExit(f"answers differ by {max(errors):.1e}")
    record = {"results": results, "least_ratio": LEAST_RATIO}
    write_record(arguments.out, "wasserstein", record)


if __name__ == "__main__":
    main()
