"""A report as data frames: one for each kind of thing that it holds, and one of all figures."""

from __future__ import annotations

import importlib.util
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from tabpe import _validate
from tabpe.io.frames import to_frame
from tabpe.metrics.columns import ColumnView
from tabpe.metrics.wasserstein import KWay
from tabpe.report.contents import Contents

Row = dict[str, Any]
LIBRARIES = ("pandas", "polars", "pyarrow")


def frame_of(contents: Contents, part: str, library: str | None) -> Any:
    """Return one part as a frame of a library."""
    _validate.one_of("part", part, list(PARTS))
    if library is None:
        library = next(name for name in LIBRARIES if importlib.util.find_spec(name))
    _validate.one_of("library", library, LIBRARIES)
    table = _table(list(PARTS[part](contents)))
    return to_frame(table, library)


def _table(rows: list[Row]) -> pa.Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})


def _measures(contents: Contents) -> Iterator[Row]:
    """Yield every single figure, with the part that it is of."""
    for part, rows in (
        ("columns", _columns(contents)),
        ("pairs", _pairs(contents)),
        ("k-way", _k_way(contents)),
        ("utility", _utility(contents)),
        ("order", _order(contents)),
        ("representation", _representation(contents)),
        ("nearest rows", _closeness(contents)),
    ):
        for row in rows:
            subject = " ".join(str(row[name]) for name in row if isinstance(row[name], str))
            for measure, value in row.items():
                if isinstance(value, float) and math.isfinite(value):
                    yield {"part": part, "of": subject, "measure": measure, "value": value}


def _columns(contents: Contents) -> Iterator[Row]:
    scored = {} if contents.quality is None else {s.column: s for s in contents.quality.columns}
    for column in contents.columns:
        score = scored.get(column.name)
        yield {
            "column": column.name,
            "kind": column.kind,
            "difference": column.difference,
            "metric": None if score is None else score.metric,
            "score": None if score is None else score.score,
            **_sides(column),
        }


def _sides(column: ColumnView) -> Row:
    sides: Row = {}
    for name in ("nulls", "mean", "deviation", "least", "most"):
        sides[f"{name} real"] = None if column.real is None else getattr(column.real, name)
        sides[f"{name} synthetic"] = getattr(column.synthetic, name)
    return sides


def _pairs(contents: Contents) -> Iterator[Row]:
    for score in () if contents.quality is None else contents.quality.pairs:
        one, two = score.columns
        yield {"column": one, "with": two, "metric": score.metric, "score": score.score}


def _associations(contents: Contents) -> Iterator[Row]:
    found = contents.association
    if found is None:
        return
    for (i, one), (j, two) in itertools.combinations(enumerate(found.columns), 2):
        real = None if found.real is None else float(found.real[i, j])
        yield {"column": one, "with": two, "real": real, "synthetic": float(found.synthetic[i, j])}


def _k_way(contents: Contents) -> Iterator[Row]:
    for name, measured, floor in (
        ("Wasserstein", contents.wasserstein, contents.wasserstein_floor),
        ("total variation", contents.variation, contents.variation_floor),
    ):
        floors: dict[int, KWay] = {one.order: one for one in floor}
        for one in measured:
            below = floors.get(one.order)
            yield {
                "distance": name,
                "k": f"k={one.order}",
                "synthetic": one.distance,
                "real": None if below is None else below.distance,
                "spread": one.spread,
                "sets measured": one.measured,
                "sets possible": one.possible,
                "worst set": ", ".join(one.worst[0]),
                "worst": one.worst[1],
            }


def _utility(contents: Contents) -> Iterator[Row]:
    for score in () if contents.utility is None else contents.utility.scores:
        yield {"learner": score.learner, "trained on": score.trained_on, **score.scores}


def _order(contents: Contents) -> Iterator[Row]:
    if contents.order is not None:
        for depth, accuracy in zip(contents.order.depths, contents.order.accuracy, strict=True):
            yield {"depth": f"depth {depth}", "accuracy": accuracy}


def _representation(contents: Contents) -> Iterator[Row]:
    found = contents.representation
    if found is not None:
        for name in ("precision", "recall", "density", "coverage"):
            yield {"measure": name, "encoder": found.encoder, "value": getattr(found, name)}


def _closeness(contents: Contents) -> Iterator[Row]:
    found = contents.closeness
    if found is not None:
        yield {"of": "copies", "synthetic": found.copies, "other real": found.other_copies}


def _bill(contents: Contents) -> Iterator[Row]:
    for item in () if contents.certificate is None else contents.certificate.bill:
        share = None if contents.certificate is None else contents.certificate.share(item)
        yield {"item": item.name, "sigma": item.sigma, "times": item.times, "share": share}


def _history(contents: Contents) -> Iterator[Row]:
    yield from (dict(entry) for entry in contents.history)


def _sample(contents: Contents) -> Iterator[Row]:
    columns = contents.sample
    for cells in zip(*columns.values(), strict=True):
        yield dict(zip(columns, cells, strict=True))


def _seconds(contents: Contents) -> Iterator[Row]:
    yield from ({"section": name, "seconds": spent} for name, spent in contents.seconds.items())


PARTS: dict[str, Callable[[Contents], Iterator[Row]]] = {
    "measures": _measures,
    "columns": _columns,
    "pairs": _pairs,
    "associations": _associations,
    "k-way": _k_way,
    "utility": _utility,
    "order": _order,
    "representation": _representation,
    "nearest rows": _closeness,
    "bill": _bill,
    "history": _history,
    "sample": _sample,
    "seconds": _seconds,
}
