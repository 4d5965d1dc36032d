"""Figures of experiments, as SVG or PNG: the same runs give the same file."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tabpe import _atomic, _plain
from tabpe.bench import curves, pictures, searches
from tabpe.bench.exhibits import FigureEntry, NothingDoneError, kept
from tabpe.bench.records import FOLDER, Record, extra_path
from tabpe.bench.style import styled
from tabpe.bench.summary import DONE
from tabpe.errors import ArchiveError, OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".svg", ".png")
DEPTHS = "order"
_OF_RECORDS: Mapping[str, Callable[[FigureEntry, Sequence[Record]], Figure]] = {
    "lines": curves.lines,
    "bars": curves.bars,
    "scatter": curves.scatter,
    "search": searches.search,
    "ranking": searches.ranking,
    "schedules": searches.schedules,
}
_OF_EXTRAS: Mapping[str, Callable[[FigureEntry, Sequence[Record], pictures.Extras], Figure]] = {
    "progress": pictures.progress,
    "rounds": pictures.rounds,
    "images": pictures.images,
}
_NEED_NO_RUNS = ("schedules",)


def figure_of(
    entry: FigureEntry,
    records: Sequence[Record],
    *,
    folder: Path = FOLDER,
    depths: Mapping[str, Mapping[int, float]] | None = None,
) -> bytes:
    """Return a figure of runs as SVG.

    Args:
        entry: What it shall show.
        records: The runs; those that are not done are left out.
        folder: Where what is kept beside them is.
        depths: For a figure of kind `order`, the accuracy of each depth for each data set.

    Raises:
        NothingDoneError: If no run is done that it could show.
    """
    return _written(entry, records, folder, depths, "svg")


def save_figure(
    entry: FigureEntry,
    records: Sequence[Record],
    path: Path,
    *,
    folder: Path = FOLDER,
    depths: Mapping[str, Mapping[int, float]] | None = None,
) -> None:
    """Write a figure of runs to a file, whole or not at all: SVG or PNG, by its ending.

    Raises:
        OutputError: If the file ends in anything else.
        NothingDoneError: If no run is done that it could show.
    """
    if path.suffix not in ENDINGS:
        raise OutputError(f"{path}: a figure ends in {' or '.join(ENDINGS)}.")
    content = _written(entry, records, folder, depths, path.suffix[1:])

    def fill(file: BinaryIO) -> None:
        file.write(content)

    _atomic.write(path, fill)


def _written(
    entry: FigureEntry,
    records: Sequence[Record],
    folder: Path,
    depths: Mapping[str, Mapping[int, float]] | None,
    kind: str,
) -> bytes:
    target = io.BytesIO()
    with styled():
        figure = _drawn(entry, records, folder, depths)
        figure.savefig(target, format=kind, metadata=_metadata(entry, kind), bbox_inches="tight")
    return target.getvalue()


def _drawn(
    entry: FigureEntry,
    records: Sequence[Record],
    folder: Path,
    depths: Mapping[str, Mapping[int, float]] | None,
) -> Figure:
    if entry.kind == DEPTHS:
        return pictures.depths(depths or {})
    wanted = kept(records, entry.where)
    shown = wanted if entry.kind in _NEED_NO_RUNS else [r for r in wanted if r.status == DONE]
    if not shown:
        raise NothingDoneError(f"{entry.name}: no run is done that it could show: run them first.")
    if entry.kind in _OF_RECORDS:
        return _OF_RECORDS[entry.kind](entry, shown)
    return _OF_EXTRAS[entry.kind](entry, shown, lambda record: _extra(record, folder))


def _metadata(entry: FigureEntry, kind: str) -> dict[str, Any]:
    """Return what the file says of itself: no date and no version, or it would change each time."""
    if kind == "svg":
        return {"Title": entry.title, "Date": None, "Creator": None}
    return {"Title": entry.title, "Software": None}


def _extra(record: Record, folder: Path) -> pictures.Extra | None:
    path = extra_path(record, folder)
    if path is None or not path.is_file():
        return None
    try:
        found = _plain.strict_json(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{path}: not what is kept beside a record ({error}).") from None
    return found if isinstance(found, Mapping) else None


def read_depths(path: Path) -> dict[str, dict[int, float]]:
    """Return the accuracy of each depth for each data set, from a file; nothing without one."""
    if not path.is_file():
        return {}
    plain = _plain.strict_json(path.read_text(encoding="utf-8"))
    return {
        name: {int(depth): float(value) for depth, value in own.items()}
        for name, own in plain.items()
    }


def write_depths(path: Path, found: Mapping[str, Mapping[int, float]]) -> None:
    """Write the accuracy of each depth for each data set to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _atomic.write_text(path, json.dumps(found, indent=1) + "\n")
