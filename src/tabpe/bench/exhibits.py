"""What an experiment shows: the entries of `tables` and `figures` in its file, strictly read.

    tables:
      - name: utility
        title: Utility and fidelity at epsilon 1
        rows: [data, method]
        metrics: [accuracy, 5-wd]
        paper: high-order-real
        where: {epsilon: 1}
    figures:
      - {name: budgets, title: Accuracy by budget, kind: lines, x: epsilon, y: [accuracy],
         by: method, panel: data, log: [x]}

`where` keeps the runs whose field has a value, or one of a list of values. `against: AIM` in a
table tells how much every method differs from that one, seed by seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tabpe import _plain, _validate
from tabpe.bench.fields import check_field, value_of
from tabpe.bench.measures import measure
from tabpe.bench.records import Record
from tabpe.errors import ArchiveError, ParameterError, did_you_mean, shown

AXES = ("x", "y")
CASES = ("data", "case")
NEEDS = {
    "lines": ("x", "y", "by"),
    "bars": ("y", "by"),
    "scatter": ("x", "y", "by"),
    "search": ("axes", "y"),
    "ranking": ("x", "y"),
    "schedules": ("by",),
    "progress": ("y", "by"),
    "rounds": (),
    "images": ("by",),
    "order": (),
}
_NAME = re.compile(r"^[a-z0-9][a-z0-9-]*$")
T = TypeVar("T", "TableEntry", "FigureEntry")


class NothingDoneError(ParameterError):
    """No run is done that a figure could show."""


@dataclass(frozen=True)
class TableEntry:
    """A table of an experiment.

    Args:
        name: Its name in the experiment.
        title: What it shows, in a line.
        metrics: Its columns.
        rows: Fields of runs that rows are told apart by. Runs are ranked among those that differ
            in the last one alone.
        against: The method that all others are compared with, as tables call it; see
            `tabpe.bench.comparing`. Empty for none.
        paper: The label of the table of the paper that it remakes, if the paper has numbers.
        where: Which runs it is about.
    """

    name: str
    title: str
    metrics: tuple[str, ...]
    rows: tuple[str, ...] = ("data", "method")
    against: str = ""
    paper: str = ""
    where: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_each("metrics", self.metrics, measure, some=True)
        _check_each("rows", self.rows, check_field, some=True)
        _check_each("where", tuple(self.where), check_field)
        if self.against and self.rows[-1] != "method":
            raise ParameterError("rows: expected method as the last one: against compares methods.")

    @property
    def over_data(self) -> bool:
        """Whether means are over data sets: methods are compared, and rows name no data."""
        return bool(self.against) and not set(self.rows) & set(CASES)


@dataclass(frozen=True)
class FigureEntry:
    """A figure of an experiment.

    Args:
        name: Its name in the experiment.
        title: What it shows, in a line.
        kind: `lines`, `bars`, `scatter` (a marker for each setting), `search` (a line through each
            setting and its result), `ranking` (how settings rank at each x), `schedules` (mutation
            rates by round), `progress` (measures of single rounds), `rounds` (rows of single
            rounds), `images` (rows as pictures), `order` (accuracy by depth of trees).
        x: The field or measure on the horizontal axis.
        y: Measures on the vertical axis; a panel for each.
        by: The field whose values are series.
        panel: The field whose values are panels; empty for one.
        axes: The fields that the lines of `search` go through.
        log: Which axes are logarithmic; shares in per cent never are.
        chance: The value of guessing, drawn as a line.
        where: Which runs it is about.
    """

    name: str
    title: str
    kind: str
    x: str = ""
    y: tuple[str, ...] = ()
    by: str = ""
    panel: str = ""
    axes: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    chance: float | None = None
    where: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_name(self.name)
        _validate.one_of("kind", self.kind, list(NEEDS))
        for key in NEEDS[self.kind]:
            if not getattr(self, key):
                raise ParameterError(f"{key}: missing: a figure of kind {self.kind!r} needs it.")
        _check_each("y", self.y, measure)
        _check_each("axes", self.axes, check_field)
        _check_each("where", tuple(self.where), check_field)
        for key in ("by", "panel"):
            _check_each(key, (getattr(self, key) or "data",), check_field)
        if self.x:
            _check_each("x", (self.x,), measure if self.kind == "scatter" else check_field)
        for axis in self.log:
            _validate.one_of("log", axis, AXES)


def tables_of(entries: Sequence[Mapping[str, Any]], *, where: str) -> tuple[TableEntry, ...]:
    """Return the tables that an experiment names.

    Raises:
        ParameterError: If an entry is no table; names the entry and the key.

    Example:
        >>> tables_of([{"name": "a", "title": "A", "metrics": ["acc"]}], where="a.yaml")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: a.yaml: tables[0]: metrics: 'acc': no measure: did you mean...
    """
    return _entries(TableEntry, entries, f"{where}: tables")


def figures_of(entries: Sequence[Mapping[str, Any]], *, where: str) -> tuple[FigureEntry, ...]:
    """Return the figures that an experiment names.

    Raises:
        ParameterError: If an entry is no figure; names the entry and the key.
    """
    return _entries(FigureEntry, entries, f"{where}: figures")


def kept(records: Iterable[Record], where: Mapping[str, Any]) -> list[Record]:
    """Return the records whose fields have the wanted values; real rows have every budget."""
    return [record for record in records if all(_fits(record, *pair) for pair in where.items())]


def _fits(record: Record, name: str, wanted: Any) -> bool:
    value = value_of(record, name)
    if name == "epsilon" and value is None:
        return True
    return value in (wanted if isinstance(wanted, (list, tuple)) else [wanted])


def _entries(kind: type[T], entries: Sequence[Mapping[str, Any]], where: str) -> tuple[T, ...]:
    found = tuple(_entry(kind, entry, f"{where}[{n}]") for n, entry in enumerate(entries))
    names = [entry.name for entry in found]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{where}: two are named {name!r}: name each differently.")
    return found


def _entry(kind: type[T], plain: Mapping[str, Any], where: str) -> T:
    known = tuple(kind.__dataclass_fields__)
    for key in plain:
        if key not in known:
            hint = did_you_mean(str(key), known)
            raise ParameterError(f"{where}: unknown key {shown(key)}: {hint}")
    try:
        return _plain.read(kind, plain, where=where)
    except ArchiveError as error:
        raise ParameterError(str(error)) from None


def _check_name(name: str) -> None:
    if not _NAME.match(name):
        raise ParameterError(f"name={shown(name)}: expected small letters, digits and -.")


def _check_each(
    key: str, names: Sequence[str], check: Callable[[str], Any], *, some: bool = False
) -> None:
    if some and not names:
        raise ParameterError(f"{key}: empty: expected at least one.")
    for name in names:
        try:
            check(name)
        except ParameterError as error:
            raise ParameterError(f"{key}: {error}") from None
