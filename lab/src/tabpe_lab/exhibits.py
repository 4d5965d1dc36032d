"""Experiment files in YAML, read strictly, and the tables and figures that they name.

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
table adds the difference of every method from that one, seed by seed. Anything unknown in a file is
refused, with the file and the key. This module also has the fields of runs by name, the names that
are shown for their values, and title, direction and number format of each metric.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from tabpe._utils import serialization, validation
from tabpe._utils.files import open_regular
from tabpe.errors import ArchiveError, ParameterError, did_you_mean, shown
from tabpe_lab.experiment import OTHERS, EvaluationSettings, Experiment, ExperimentSuite, RunLimits
from tabpe_lab.records import RunRecord

REAL = "real"
PLAIN = ("data", "case", "method", "epsilon", "rows", "seed", "round")
TRAIN_ROWS = "train_rows"
HIDDEN = (TRAIN_ROWS, "schema")
NESTED = ("settings", "data_options")

METHODS = {
    "real": "Real rows",
    "tabpe": "Tab-PE",
    "independent": "Independent",
    "mst": "MST",
    "aim": "AIM",
    "privsyn": "PrivSyn",
    "privmrf": "PrivMRF",
    "gem": "GEM",
    "rap++": "RAP++",
    "privgsd": "PrivGSD",
}
DATA = {
    "xor": "XOR",
    "scm-tree": "Tree",
    "scm-nn": "Neural network",
    "scm-rff": "Fourier features",
    "regions": "Regions",
    "mnist": "MNIST",
}
SETTINGS = {
    "n_samples": "synthetic rows N",
    "rounds": "rounds T",
    "sampling_rounds": "sampling rounds",
    "mutation_init": "initial mutation rate",
    "gamma": "decay factor gamma",
    "category_weight": "category weight lambda",
    "variations": "variations m",
    "features": "features d",
    "degree": "degree",
    "case": "data",
}


def check_field(name: str) -> str:
    """Return the name of a field if records have it.

    Raises:
        ParameterError: If they do not.

    Example:
        >>> check_field("settings.degree")
        'settings.degree'
        >>> check_field("metod")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: 'metod': no field of a run: did you mean 'method'?
    """
    head, dot, key = name.partition(".")
    if name in PLAIN or (head in NESTED and dot and key):
        return name
    known = (*PLAIN, *(f"{head}.NAME" for head in NESTED))
    raise ParameterError(f"{name!r}: no field of a run: {did_you_mean(name, known)}")


def get_field_value(record: RunRecord, field: str) -> Any:
    """Return the value of a field; None if the record has none.

    Example:
        >>> record = RunRecord("a", "full", "0f", "xor", "aim", "aim", 0, "seed", "done",
        ...                 settings={"degree": 3})
        >>> get_field_value(record, "settings.degree"), get_field_value(record, "data")
        (3, 'xor')
    """
    if field == "case":
        return format_case(record.data, record.data_options)
    head, _, key = field.partition(".")
    if key:
        found: dict[str, Any] = getattr(record, head)
        return found.get(key)
    return getattr(record, "called" if field == "method" else field)


def format_case(data: str, options: Mapping[str, Any]) -> str:
    """Return the display name of a data set with its options.

    Example:
        >>> format_case("xor", {"features": 3, "train_rows": 4000}), format_case("adult", {})
        ('XOR, 3 features', 'Adult')
    """
    shown_options = [f"{value} {name}" for name, value in options.items() if name not in HIDDEN]
    return ", ".join([format_label("data", data), *shown_options])


def format_label(field: str, value: Any) -> str:
    """Return the display name of a value of a field.

    Example:
        >>> format_label("data", "artificial-characters"), format_label("method", "aim")
        ('Artificial Characters', 'AIM')
        >>> format_label("settings.n_samples", 10000), format_label("settings.gamma", 0.2)
        ('10,000', '0.2')
    """
    if field == "data":
        return DATA.get(value) or Path(value).stem.replace("-", " ").title()
    if field == "method":
        return METHODS.get(value, str(value))
    if value is None:
        return "default" if field.startswith("settings.") else "none"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def format_labels(key: Sequence[Any], fields: Sequence[str]) -> tuple[str, ...]:
    """Return the display names of the values of several fields.

    Example:
        >>> format_labels(("adult", "aim"), ("data", "method"))
        ('Adult', 'AIM')
    """
    return tuple(format_label(name, value) for name, value in zip(fields, key, strict=True))


def is_real(key: Sequence[Any], fields: Sequence[str]) -> bool:
    """Return whether values of fields belong to real rows, which are not private.

    Example:
        >>> is_real(("adult", "real"), ("data", "method"))
        True
    """
    return any(name == "method" and value == REAL for name, value in zip(fields, key, strict=True))


def get_title(field: str) -> str:
    """Return the display name of a field.

    Example:
        >>> get_title("settings.rounds"), get_title("epsilon")
        ('rounds T', 'epsilon')
    """
    name = field.rpartition(".")[2]
    return SETTINGS.get(name, name.replace("_", " "))


def sort_distinct(values: Iterable[Any]) -> list[Any]:
    """Return distinct values: numbers sorted, others in order of appearance.

    Example:
        >>> sort_distinct([3, 1, 3]), sort_distinct(["b", "a"])
        ([1, 3], ['b', 'a'])
    """
    distinct = list(dict.fromkeys(values))
    if all(isinstance(value, (int, float)) for value in distinct):
        return sorted(distinct)
    return distinct


Better = Literal["higher", "lower", "neither"]
_KWAY_PARTS = re.compile(r"^([1-9][0-9]?)-(wd|tv|qb)$")
_VALIDATION = "validation_"


@dataclass(frozen=True)
class DisplayMetric:
    """How a metric of a record is shown.

    Args:
        name: Its key in `RunRecord.metrics`, or a field of a record such as `seconds`.
        title: Its display name.
        better: The better direction.
        percent: Whether a share is shown in per cent.
        decimals: Digits after the point.
        unit: The unit on an axis, if it has one.

    Example:
        >>> find_metric("accuracy").format_value(0.4938), find_metric("5-wd").format_value(0.1581)
        ('49.38', '0.158')
    """

    name: str
    title: str
    better: Better
    percent: bool = False
    decimals: int = 3
    unit: str = ""

    @property
    def scale(self) -> float:
        """The factor from a value to the shown number."""
        return 100.0 if self.percent else 1.0

    @property
    def arrow(self) -> str:
        """The better direction as an arrow."""
        return {"higher": "↑", "lower": "↓", "neither": ""}[self.better]

    def format_value(self, value: float) -> str:
        """Return a value as text, without its unit."""
        return f"{self.scale * value:.{self.decimals}f}"

    def read_value(self, record: RunRecord) -> float | None:
        """Return the value of a record; None if it has none."""
        found = record.metrics.get(self.name)
        if found is None and self.name in _FIELDS:
            found = getattr(record, self.name, None)
        return None if found is None else float(found)


def find_metric(name: str) -> DisplayMetric:
    """Return the metric of a name.

    Raises:
        ParameterError: If there is none.

    Example:
        >>> find_metric("2-wd").title, find_metric("validation_accuracy").title
        ('2-WD', 'Validation accuracy')
        >>> find_metric("acuracy")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: 'acuracy': no metric: did you mean 'accuracy'?
    """
    plain = name.removeprefix(_VALIDATION)
    if plain in _SHARES:
        title = _SHARES[plain] if plain == name else _format_validation_title(_SHARES[plain])
        return DisplayMetric(name, title, "higher", percent=True, decimals=2)
    if match := _KWAY_PARTS.match(name):
        return DisplayMetric(name, f"{match[1]}-{match[2].upper()}", "lower")
    if plain in _LOSSES:
        title = _LOSSES[plain] if plain == name else _format_validation_title(_LOSSES[plain])
        return DisplayMetric(name, title, "lower")
    if name in _FIELDS:
        return _FIELDS[name]
    known = (*_SHARES, *_LOSSES, "1-wd", "2-tv", "2-qb", *_FIELDS, "validation_accuracy")
    raise ParameterError(f"{name!r}: no metric: {did_you_mean(name, known)}")


def _format_validation_title(title: str) -> str:
    return f"Validation {lowercase_first(title)}"


def lowercase_first(title: str) -> str:
    """Return a title in the middle of a sentence; abbreviations stay.

    Example:
        >>> lowercase_first("Macro F1"), lowercase_first("AUC")
        ('macro F1', 'AUC')
    """
    return title if title.isupper() else title[0].lower() + title[1:]


_SHARES = {
    "accuracy": "Accuracy",
    "macro_f1": "Macro F1",
    "auc": "AUC",
    "r2": "R2",
    "precision": "Precision",
    "recall": "Recall",
    "density": "Density",
    "coverage": "Coverage",
}
_LOSSES = {"log_loss": "Log loss", "brier": "Brier score", "ece": "ECE"}
_FIELDS = {
    "overconfidence": DisplayMetric("overconfidence", "Overconfidence", "neither"),
    "validation_overconfidence": DisplayMetric(
        "validation_overconfidence", "Validation overconfidence", "neither"
    ),
    "self_prediction": DisplayMetric(
        "self_prediction", "Self-prediction", "neither", percent=True, decimals=2
    ),
    "atom_gap": DisplayMetric("atom_gap", "Atom gap", "lower", percent=True, decimals=2),
    "duplicates": DisplayMetric("duplicates", "Repeated rows", "neither", percent=True, decimals=2),
    "seconds": DisplayMetric("seconds", "Time", "lower", decimals=1, unit="s"),
    "peak_megabytes": DisplayMetric("peak_megabytes", "Memory", "lower", decimals=0, unit="MB"),
    "synthetic_rows": DisplayMetric("synthetic_rows", "Synthetic rows", "neither", decimals=0),
    "rows": DisplayMetric("rows", "Rows", "neither", decimals=0),
    "certified_epsilon": DisplayMetric("certified_epsilon", "Certified epsilon", "neither"),
}


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
        title: Its title.
        metrics: Its columns.
        rows: Fields of runs that distinguish rows. Runs are ranked among those that differ in the
            last one alone.
        against: The display name of the method that all others are compared with; see
            `tabpe_lab.tables`. Empty for none.
        paper: The label of the table of the paper that it reproduces, if the paper has numbers.
        where: Which runs it shows.
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
        _check_each("metrics", self.metrics, find_metric, some=True)
        _check_each("rows", self.rows, check_field, some=True)
        _check_each("where", tuple(self.where), check_field)
        if self.against and self.rows[-1] != "method":
            raise ParameterError("rows: expected method as the last one: against compares methods.")

    @property
    def over_data(self) -> bool:
        """Whether means are over data sets: methods are compared and rows name no data."""
        return bool(self.against) and not set(self.rows) & set(CASES)


@dataclass(frozen=True)
class FigureEntry:
    """A figure of an experiment.

    Args:
        name: Its name in the experiment.
        title: Its title.
        kind: `lines`, `bars`, `scatter` (a marker for each setting), `search` (a line through each
            setting and its result), `ranking` (how settings rank at each x), `schedules` (mutation
            rates by round), `progress` (metrics of single rounds), `rounds` (rows of single
            rounds), `images` (rows as pictures), `order` (accuracy by depth of trees).
        x: The field or metric on the horizontal axis.
        y: Metrics on the vertical axis; a panel for each.
        by: The field whose values are series.
        panel: The field whose values are panels; empty for one.
        axes: The fields that the lines of `search` go through.
        log: Which axes are logarithmic; shares in per cent never are.
        chance: The value of random guessing, drawn as a line.
        where: Which runs it shows.
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
        validation.check_one_of("kind", self.kind, list(NEEDS))
        for key in NEEDS[self.kind]:
            if not getattr(self, key):
                raise ParameterError(f"{key}: missing: a figure of kind {self.kind!r} needs it.")
        _check_each("y", self.y, find_metric)
        _check_each("axes", self.axes, check_field)
        _check_each("where", tuple(self.where), check_field)
        for key in ("by", "panel"):
            _check_each(key, (getattr(self, key) or "data",), check_field)
        if self.x:
            _check_each("x", (self.x,), find_metric if self.kind == "scatter" else check_field)
        for axis in self.log:
            validation.check_one_of("log", axis, AXES)


def parse_tables(entries: Sequence[Mapping[str, Any]], *, where: str) -> tuple[TableEntry, ...]:
    """Return the tables of an experiment.

    Raises:
        ParameterError: If an entry is not a table; names the entry and the key.

    Example:
        >>> parse_tables([{"name": "a", "title": "A", "metrics": ["acc"]}], where="a.yaml")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: a.yaml: tables[0]: metrics: 'acc': no metric: did you mean...
    """
    return _parse_entries(TableEntry, entries, f"{where}: tables")


def parse_figures(entries: Sequence[Mapping[str, Any]], *, where: str) -> tuple[FigureEntry, ...]:
    """Return the figures of an experiment.

    Raises:
        ParameterError: If an entry is not a figure; names the entry and the key.
    """
    return _parse_entries(FigureEntry, entries, f"{where}: figures")


def keep_records(records: Iterable[RunRecord], where: Mapping[str, Any]) -> list[RunRecord]:
    """Return the records whose fields have the given values; real rows match every budget."""
    return [
        record for record in records if all(_matches_field(record, *pair) for pair in where.items())
    ]


def _matches_field(record: RunRecord, name: str, wanted: Any) -> bool:
    value = get_field_value(record, name)
    if name == "epsilon" and value is None:
        return True
    return value in (wanted if isinstance(wanted, (list, tuple)) else [wanted])


def _parse_entries(
    kind: type[T], entries: Sequence[Mapping[str, Any]], where: str
) -> tuple[T, ...]:
    for index, entry in enumerate(entries):
        _check_keys(f"{where}[{index}]", entry, tuple(kind.__dataclass_fields__))
    found = tuple(_read_dataclass(kind, e, f"{where}[{n}]") for n, e in enumerate(entries))
    names = [entry.name for entry in found]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"{where}: two are named {name!r}: name each differently.")
    return found


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


Item = TypeVar("Item")
MAX_FILE_BYTES = 2**20
_KEYS = tuple(name for name in Experiment.__dataclass_fields__ if name != "variant")


def read_suite(path: Path, variant: str | None = None) -> ExperimentSuite:
    """Return the experiment of a file, or those of the files it includes.

    A suite has the keys `name`, `include` and `variant`; an entry `file.yaml: small` of `include`
    names a variant of its own. With `one_by_one: true` an experiment ends before the next begins.

    Args:
        path: An experiment file, or a suite.
        variant: The variant to take; None for `full`, or for the one that a suite names.

    Raises:
        ParameterError: If a file can not be read; names the file and the key.
    """
    plain = _read_mapping(path)
    if "include" not in plain:
        experiment = parse_experiment(plain, variant or "full", where=str(path))
        return ExperimentSuite(experiment.name, (experiment,))
    _check_keys(str(path), plain, ("name", "title", "include", "variant", "one_by_one"))
    named = _read_dataclass(_SuiteFile, plain, str(path))
    experiments = []
    for file, own in (_split_include(entry, str(path)) for entry in named.include):
        content = _read_mapping(path.parent / file)
        chosen = variant or own or named.variant
        experiments.append(parse_experiment(content, chosen, where=str(path.parent / file)))
    return ExperimentSuite(named.name, tuple(experiments), one_by_one=named.one_by_one)


def _split_include(entry: Any, where: str) -> tuple[str, str]:
    """Return the file and the variant of an entry: a file, or one file with its variant."""
    if isinstance(entry, str):
        return entry, ""
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((file, variant),) = entry.items()
        if isinstance(file, str) and isinstance(variant, str):
            return file, variant
    raise ParameterError(f"{where}: include={shown(entry)}: expected a file, or file: variant.")


def parse_experiment(plain: Mapping[str, Any], variant: str, *, where: str) -> Experiment:
    """Return the experiment of plain values.

    Args:
        plain: The content of an experiment file.
        variant: The variant.
        where: Its name in errors.

    Example:
        >>> plain = {"name": "a", "title": "A", "data": ["hospital"], "methods": ["real"],
        ...          "metrics": ["accuracy"], "variants": {"quick": {"seeds": 1}}}
        >>> parse_experiment(plain, "quick", where="a.yaml").seeds
        (0,)
        >>> parse_experiment(plain | {"epsilon": 1}, "quick", where="a.yaml")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: a.yaml: unknown key 'epsilon': did you mean 'epsilons'?
    """
    _check_keys(where, plain, (*_KEYS, "variants"))
    variants = _read_variants(plain, where)
    if variant not in variants:
        hint = did_you_mean(variant, variants)
        raise ParameterError(f"{where}: variants: there is none named {variant!r}: {hint}")
    merged = {**plain, **variants[variant], "variant": variant}
    merged.pop("variants", None)
    for key, entry_of in _ENTRIES.items():
        if isinstance(merged.get(key), list):
            merged[key] = [
                entry_of(entry, f"{where}: {key}[{index}]")
                for index, entry in enumerate(merged[key])
            ]
    seeds = merged.get("seeds")
    if type(seeds) is int:
        merged["seeds"] = list(range(seeds))
    for key, kind in (("limits", RunLimits), ("evaluate", EvaluationSettings)):
        if isinstance(merged.get(key), Mapping):
            _check_keys(f"{where}: {key}", merged[key], tuple(kind.__dataclass_fields__))
    experiment = _read_dataclass(Experiment, merged, where)
    _check_choices(experiment, _list_data_names([plain, *variants.values()], where), where)
    return experiment


def _read_variants(plain: Mapping[str, Any], where: str) -> dict[str, Mapping[str, Any]]:
    """Return the keys that each variant replaces."""
    given = plain.get("variants") or {"full": {}}
    if not isinstance(given, Mapping):
        raise ParameterError(f"{where}: variants={shown(given)}: expected a mapping by name.")
    found = {str(name): changes or {} for name, changes in given.items()}
    for name, changes in found.items():
        if not isinstance(changes, Mapping):
            raise ParameterError(f"{where}: variants.{name}={shown(changes)}: expected a mapping.")
        _check_keys(f"{where}: variants.{name}", changes, _KEYS)
    return found


def _list_data_names(parts: Sequence[Mapping[str, Any]], where: str) -> list[str]:
    """Return the data of all variants: a name of one is no mistake in another."""
    entries = [entry for part in parts for entry in part.get("data", ())]
    return sorted({_split_name(entry, f"{where}: data")[0] for entry in entries})


def _check_choices(experiment: Experiment, data: Sequence[str], where: str) -> None:
    """Refuse a method, a setting or a split for data that no variant has."""
    if isinstance(experiment.split, Mapping):
        _check_data(experiment.split, data, f"{where}: split")
    for method in experiment.methods:
        choices: dict[str, Iterable[Any]] = {"on": method.on or ()}
        choices |= {k: v for k, v in method.settings.items() if isinstance(v, Mapping)}
        for setting, names in choices.items():
            _check_data(names, data, f"{where}: methods: {method.name}: {setting}")


def _check_data(names: Iterable[Any], data: Sequence[str], where: str) -> None:
    for name in names:
        if name not in (*data, OTHERS):
            hint = did_you_mean(str(name), data)
            raise ParameterError(f"{where}: there is no data {shown(name)}: {hint}")


def _parse_data_entry(entry: Any, where: str) -> dict[str, Any]:
    name, options = _split_name(entry, where)
    return {"name": name, "options": options}


def _parse_method_entry(entry: Any, where: str) -> dict[str, Any]:
    name, settings = _split_name(entry, where)
    called, on = settings.pop("as", None), settings.pop("on", None)
    return {"name": name, "settings": settings, "called": called, "on": on}


_ENTRIES = {"data": _parse_data_entry, "methods": _parse_method_entry}


def _split_name(entry: Any, where: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings of an entry: a name, or one name with a mapping."""
    if isinstance(entry, str):
        return entry, {}
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((name, settings),) = entry.items()
        if isinstance(name, str) and isinstance(settings or {}, Mapping):
            return name, dict(settings or {})
    raise ParameterError(f"{where}={shown(entry)}: expected a name, or name: {{setting: value}}.")


@dataclass(frozen=True)
class _SuiteFile:
    name: str
    include: tuple[Any, ...]
    variant: str = "full"
    one_by_one: bool = False


def _read_dataclass(kind: type[Item], plain: Mapping[str, Any], where: str) -> Item:
    try:
        return serialization.read_dataclass(kind, plain, where="")
    except ArchiveError as error:
        raise ParameterError(f"{where}: {str(error).lstrip('.: ')}") from None


def _check_keys(where: str, given: Mapping[Any, Any], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            hint = did_you_mean(str(key), known)
            raise ParameterError(f"{where}: unknown key {shown(key)}: {hint}")


def _read_mapping(path: Path) -> dict[str, Any]:
    from tabpe._utils import yaml12

    with open_regular(path, ParameterError) as file:
        content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise ParameterError(f"{path}: larger than {MAX_FILE_BYTES:,} bytes: not an experiment.")
    try:
        plain = yaml12.load(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{path}: not a readable experiment ({error}).") from None
    if not isinstance(plain, Mapping):
        raise ParameterError(f"{path}: not an experiment: expected a mapping with the key name.")
    return dict(plain)
