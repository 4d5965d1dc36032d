"""Experiment files: YAML, read strictly. What does not fit is refused by file and key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tabpe import _plain
from tabpe._paths import open_regular
from tabpe.bench.experiment import OTHERS, Evaluation, Experiment, Limits, Suite
from tabpe.errors import ArchiveError, ParameterError, did_you_mean, shown

T = TypeVar("T")
LARGEST = 2**20
_KEYS = tuple(name for name in Experiment.__dataclass_fields__ if name != "variant")


def read_suite(path: Path, variant: str | None = None) -> Suite:
    """Return the experiments that a file names: its own, or those of the files it includes.

    Args:
        path: An experiment file, or one with the keys `name`, `include` and `variant`.
        variant: The variant to take; None for `full`, or for the one that a suite names.

    Raises:
        ParameterError: If a file can not be read; names the file and the key.
    """
    plain = _mapping(path)
    if "include" not in plain:
        experiment = experiment_of(plain, variant or "full", where=str(path))
        return Suite(experiment.name, (experiment,))
    _refuse_unknown(str(path), plain, ("name", "title", "include", "variant"))
    named = _read(_Include, plain, str(path))
    chosen = variant or named.variant
    files = [path.parent / file for file in named.include]
    return Suite(
        named.name,
        tuple(experiment_of(_mapping(file), chosen, where=str(file)) for file in files),
    )


def experiment_of(plain: Mapping[str, Any], variant: str, *, where: str) -> Experiment:
    """Return the experiment that plain values stand for.

    Args:
        plain: What an experiment file holds.
        variant: Which variant of it.
        where: What to call it in errors.

    Example:
        >>> plain = {"name": "a", "title": "A", "data": ["hospital"], "methods": ["real"],
        ...          "metrics": ["accuracy"], "variants": {"quick": {"seeds": 1}}}
        >>> experiment_of(plain, "quick", where="a.yaml").seeds
        (0,)
        >>> experiment_of(plain | {"epsilon": 1}, "quick", where="a.yaml")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: a.yaml: unknown key 'epsilon': did you mean 'epsilons'?
    """
    _refuse_unknown(where, plain, (*_KEYS, "variants"))
    variants = _variants(plain, where)
    if variant not in variants:
        hint = did_you_mean(variant, variants)
        raise ParameterError(f"{where}: variants: there is none named {variant!r}: {hint}")
    merged = {**plain, **variants[variant], "variant": variant}
    merged.pop("variants", None)
    for key, entry_of in _ENTRIES.items():
        if isinstance(merged.get(key), list):
            merged[key] = [
                entry_of(entry, f"{where}: {key}[{place}]")
                for place, entry in enumerate(merged[key])
            ]
    seeds = merged.get("seeds")
    if type(seeds) is int:
        merged["seeds"] = list(range(seeds))
    for key, kind in (("limits", Limits), ("evaluate", Evaluation)):
        if isinstance(merged.get(key), Mapping):
            _refuse_unknown(f"{where}: {key}", merged[key], tuple(kind.__dataclass_fields__))
    experiment = _read(Experiment, merged, where)
    _check_choices(experiment, _names([plain, *variants.values()], where), where)
    return experiment


def _variants(plain: Mapping[str, Any], where: str) -> dict[str, Mapping[str, Any]]:
    """Return what each variant replaces."""
    given = plain.get("variants") or {"full": {}}
    if not isinstance(given, Mapping):
        raise ParameterError(f"{where}: variants={shown(given)}: expected a mapping by name.")
    found = {str(name): changes or {} for name, changes in given.items()}
    for name, changes in found.items():
        if not isinstance(changes, Mapping):
            raise ParameterError(f"{where}: variants.{name}={shown(changes)}: expected a mapping.")
        _refuse_unknown(f"{where}: variants.{name}", changes, _KEYS)
    return found


def _names(parts: Sequence[Mapping[str, Any]], where: str) -> list[str]:
    """Return the data of all variants: what is meant for one is no mistake in another."""
    entries = [entry for part in parts for entry in part.get("data", ())]
    return sorted({_named(entry, f"{where}: data")[0] for entry in entries})


def _check_choices(experiment: Experiment, data: Sequence[str], where: str) -> None:
    """Refuse a method, a setting or a split that is meant for data that no variant has."""
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


def _data_entry(entry: Any, where: str) -> dict[str, Any]:
    name, options = _named(entry, where)
    return {"name": name, "options": options}


def _method_entry(entry: Any, where: str) -> dict[str, Any]:
    name, settings = _named(entry, where)
    called, on = settings.pop("as", None), settings.pop("on", None)
    return {"name": name, "settings": settings, "called": called, "on": on}


_ENTRIES = {"data": _data_entry, "methods": _method_entry}


def _named(entry: Any, where: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings of an entry: a name, or one name with a mapping."""
    if isinstance(entry, str):
        return entry, {}
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((name, settings),) = entry.items()
        if isinstance(name, str) and isinstance(settings or {}, Mapping):
            return name, dict(settings or {})
    raise ParameterError(f"{where}={shown(entry)}: expected a name, or name: {{setting: value}}.")


@dataclass(frozen=True)
class _Include:
    name: str
    include: tuple[str, ...]
    variant: str = "full"


def _read(kind: type[T], plain: Mapping[str, Any], where: str) -> T:
    try:
        return _plain.read(kind, plain, where="")
    except ArchiveError as error:
        raise ParameterError(f"{where}: {str(error).lstrip('.: ')}") from None


def _refuse_unknown(where: str, given: Mapping[Any, Any], known: tuple[str, ...]) -> None:
    for key in given:
        if key not in known:
            hint = did_you_mean(str(key), known)
            raise ParameterError(f"{where}: unknown key {shown(key)}: {hint}")


def _mapping(path: Path) -> dict[str, Any]:
    from tabpe.schema import yaml12

    with open_regular(path, ParameterError) as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ParameterError(f"{path}: larger than {LARGEST:,} bytes: not an experiment.")
    try:
        plain = yaml12.load(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{path}: not a readable experiment ({error}).") from None
    if not isinstance(plain, Mapping):
        raise ParameterError(f"{path}: not an experiment: expected a mapping with the key name.")
    return dict(plain)
