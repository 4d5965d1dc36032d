"""Methods by name: from the settings of a run to a table of synthetic rows.

All methods get the same: the training rows, the schema, the number of rows as public, epsilon and
delta. Settings of Tab-PE name a preset and fields that replace those of the preset.

The rows of a single round are computed again from the noisy votes, which a run folder keeps: they
are all that an evolution sees of the private rows, so the private rows are not needed.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tabpe._utils import validation
from tabpe._utils.serialization import Archive
from tabpe.baselines import METHODS, Baseline, find_method
from tabpe.encoding import Encoder, Records
from tabpe.errors import ParameterError, did_you_mean
from tabpe.evolution import Evolution, Strategy, evolve, resolve_strategy
from tabpe.evolution.config import check_extensions
from tabpe.evolution.extensions import is_extension_name
from tabpe.evolution.proposals import UniformProposal
from tabpe.measurement import NoisyCounts
from tabpe.measurement.checkpoint import restore_measurement
from tabpe.synthesizers.tabpe import TabPE
from tabpe_lab.grid import REAL, TABPE, ExperimentRun
from tabpe_lab.task import Task

# The preset of experiments that name none: they reproduce the paper.
PRESET = "paper"


def parse_strategy(settings: Mapping[str, Any]) -> Strategy:
    """Return the strategy that settings name; other settings are ignored.

    Example:
        >>> parse_strategy({"rounds": 20}).sampling_rounds
        5
        >>> parse_strategy({"preset": "best", "votes": 1, "n_samples": 100}).votes
        1
    """
    preset = resolve_strategy(settings.get("preset", PRESET))
    changed = {name: settings[name] for name in list_strategy_fields(preset) if name in settings}
    return dataclasses.replace(preset, **changed)


def list_strategy_fields(strategy: Strategy) -> tuple[str, ...]:
    """Return the names of the fields of a strategy."""
    return tuple(each.name for each in dataclasses.fields(strategy))


def shorten_strategy(strategy: Strategy) -> Strategy:
    """Return a strategy with all steps of another, but a single small round.

    Example:
        >>> short = shorten_strategy(resolve_strategy("best"))
        >>> short.rounds, short.votes
        (1, 4)
    """
    rounds = min(1, strategy.rounds)
    if isinstance(strategy, Evolution):
        return dataclasses.replace(strategy, rounds=rounds, sampling_rounds=rounds)
    return dataclasses.replace(strategy, rounds=rounds, candidates=20, pool=100)


def require_evolution(strategy: Strategy, what: str) -> Evolution:
    """Return a strategy whose rounds have a population each.

    Args:
        strategy: The strategy.
        what: What needs it, for the error.

    Raises:
        ParameterError: If it has no such rounds.

    Example:
        >>> require_evolution(resolve_strategy("best"), "keep: rounds")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: keep: rounds: needs rounds that each have a population...
    """
    if isinstance(strategy, Evolution):
        return strategy
    raise ParameterError(
        f"{what}: needs rounds that each have a population, which a {type(strategy).__name__} has "
        f"not: use a preset that is an Evolution, 'paper' or 'reference'."
    )


def require_replayable(strategy: Strategy, what: str) -> Evolution:
    """Return a strategy whose rounds follow from their noisy votes alone.

    Args:
        strategy: The strategy.
        what: What needs it, for the error.

    Raises:
        ParameterError: If it has no such rounds.

    Example:
        >>> require_replayable(Evolution(tables=0.1), "keep: rounds")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: keep: rounds: tables=0.1: expected 0: rounds are replayed...
    """
    config = require_evolution(strategy, what)
    if config.tables:
        raise ParameterError(
            f"{what}: tables={config.tables:g}: expected 0: rounds are replayed from their votes "
            f"alone, without 1-way marginals."
        )
    return config


def replay_rounds(run_dir: Path, model: TabPE, wanted: Iterable[int]) -> dict[int, pa.Table]:
    """Return the selected rows of each wanted round.

    Args:
        run_dir: The folder that the model was fitted in.
        model: The model.
        wanted: Rounds, from 1; 0 for the initial random rows. Rounds that the run did not reach are
            left out.

    Raises:
        ParameterError: If its strategy is no `Evolution`, or one with 1-way marginals.
    """
    votes = _load_votes(run_dir)
    rounds = sorted(each for each in set(wanted) if each <= len(votes))
    return {each: _decode_rows(model, _replay_rows(model, votes, each)) for each in rounds}


def _load_votes(run_dir: Path) -> list[NoisyCounts]:
    files = sorted(run_dir.glob("*votes*.measured"))
    return [restore_measurement(Archive.load(file)) for file in files]


def _replay_rows(model: TabPE, votes: Sequence[NoisyCounts], rounds: int) -> list[Records]:
    """Repeat the evolution up to a round, on the schedule of all of them."""
    config = require_replayable(resolve_strategy(model.preset), "rows of single rounds")
    horizon = config.horizon or config.rounds
    cut = dataclasses.replace(config, rounds=max(1, rounds), horizon=horizon)
    encoder, release = Encoder(model.schema_), model.release_
    sizes = np.bincount(release.classes, minlength=encoder.class_count).tolist()
    recorded, populations = iter(votes), []

    def vote(population: Sequence[Records], _: int) -> NoisyCounts:
        populations.append(list(population))
        return next(recorded)

    evolved = evolve(UniformProposal(encoder.spaces), sizes, cut, vote, seed=release.seed)
    return evolved.classes if rounds else populations[0]


def _decode_rows(model: TabPE, rows: Sequence[Records]) -> pa.Table:
    classes = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    return Encoder(model.schema_).decode(Records.concat(list(rows)), classes)


# What is public of the classes: rows and shares, rows alone, or nothing.
SHARES = ("public", "noisy", "measured")
LAB_SETTINGS = ("shares", "oversample", "smooth", "most_samples")
BASELINE_SETTINGS = ("n_samples", "bins", "bins_budget", "most_bins", "rare", "noise")
# Experiments that have run name a source of noise that was removed, and was within 2^-108 of exact.
REMOVED_NOISES = {"table": "exact"}
# Imported before the clock starts; a fit on a small table loads the rest.
HEAVY = {
    "mst": ("jax", "mbi", "networkx"),
    "aim": ("jax", "mbi", "networkx"),
    "privmrf": ("networkx",),
    "gem": ("jax", "optax"),
    "rap++": ("jax", "optax"),
    "privgsd": ("jax",),
}
# Set by the experiment and the data.
NOT_SETTINGS = (
    "epsilon",
    "delta",
    "label",
    "schema",
    "public_rows",
    "public_shares",
    "dataset",
    "ledger",
    "run_dir",
    "random_state",
    "verbose",
)


@dataclass(frozen=True, eq=False)
class MethodOutput:
    """Result of a method.

    Args:
        table: The synthetic rows.
        seconds: Time of fitting and sampling.
        certified_epsilon: The epsilon of the certificate; None for `real`.
        rounds: The rows of single rounds, if they are kept.
    """

    table: pa.Table
    seconds: float
    certified_epsilon: float | None = None
    rounds: Mapping[int, pa.Table] = field(default_factory=dict)


RowMaker = Callable[[Task], MethodOutput]


def build_maker(run: ExperimentRun) -> RowMaker:
    """Return a function that makes the synthetic rows of a run; settings are checked now.

    Raises:
        ParameterError: If the method or a setting is unknown.
    """
    if run.method == REAL:
        check_settings(run.method, run.settings, ())
        return _copy_real_rows
    if run.method == TABPE:
        return _build_tabpe_maker(run)
    if run.method in METHODS or is_extension_name(run.method):
        return _build_baseline_maker(run)
    raise ParameterError(
        f"methods: {run.method!r}: {did_you_mean(run.method, list_method_names())}"
    )


def list_method_names() -> tuple[str, ...]:
    """Return the names of all methods.

    Example:
        >>> list_method_names()[:2]
        ('real', 'tabpe')
    """
    return (REAL, TABPE, *METHODS)


def check_settings(method: str, settings: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a setting that a method does not have, and name the closest one."""
    allowed = list(known)
    for name in settings:
        if name not in allowed:
            hint = did_you_mean(name, allowed) if allowed else "it takes none"
            raise ParameterError(f"methods: {method}: unknown setting {name!r}: {hint}")


def resolve_row_count(given: Any, rows: int, most: int | None = None) -> int | None:
    """Return the number of synthetic rows: a number, or a share of the training rows.

    Args:
        given: The setting.
        rows: The number of training rows.
        most: The largest number for a share; None for any.

    Example:
        >>> [resolve_row_count(given, 7152) for given in (1000, 0.1, 1.0, None)]
        [1000, 715, 7152, None]
        >>> resolve_row_count(0.5, 7152, most=2000)
        2000
    """
    if isinstance(given, float) and 0 < given <= 1:
        share = max(1, round(given * rows))
        return share if most is None else min(share, most)
    return validation.check_optional(validation.check_integer, "n_samples", given, least=1)


def _copy_real_rows(task: Task) -> MethodOutput:
    """Return the training rows themselves: the upper bound."""
    return MethodOutput(task.train, 0.0)


def _build_tabpe_maker(run: ExperimentRun) -> RowMaker:
    parameters = [name for name in inspect.signature(TabPE).parameters if name not in NOT_SETTINGS]
    config = parse_strategy(run.settings)
    check_extensions(config)
    preset = run.settings.get("preset", PRESET)
    named = TABPE if preset == PRESET else f"{TABPE}, preset {preset}"
    check_settings(named, run.settings, (*parameters, *list_strategy_fields(config), *LAB_SETTINGS))
    validation.check_one_of("shares", run.settings.get("shares", "public"), SHARES)
    copies = validation.check_integer("oversample", run.settings.get("oversample", 1), least=1)
    smooth = run.settings.get("smooth", False)
    if not isinstance(smooth, bool):
        raise ParameterError(f"smooth={smooth!r}: expected true or false.")
    most = run.settings.get("most_samples")
    validation.check_optional(validation.check_integer, "most_samples", most, least=1)
    if "rounds" in run.keep:
        require_replayable(config, "keep: rounds")
    given = {name: value for name, value in run.settings.items() if name in parameters}
    if "noise" in given:
        given["noise"] = REMOVED_NOISES.get(given["noise"], given["noise"])

    def make(task: Task) -> MethodOutput:
        wanted = resolve_row_count(given.get("n_samples"), task.train.num_rows, most)
        changed = {"preset": config, "n_samples": wanted}
        model = _make_model(run, task).set_params(**{**given, **changed})
        if "rounds" in run.keep:
            return _fit_by_round(model, task, run.rounds_kept, copies)
        return _fit_and_sample(model, task, copies, smooth=smooth)

    return make


def _build_baseline_maker(run: ExperimentRun) -> RowMaker:
    kind: Any = find_method(run.method)
    own = [each.name for each in dataclasses.fields(kind)]
    check_settings(run.method, run.settings, (*own, *BASELINE_SETTINGS))
    method = kind(**{name: value for name, value in run.settings.items() if name in own})
    given = {name: value for name, value in run.settings.items() if name in BASELINE_SETTINGS}

    def make(task: Task) -> MethodOutput:
        wanted = resolve_row_count(given.get("n_samples"), task.train.num_rows)
        model = Baseline(
            method,
            **{**given, "n_samples": wanted},
            epsilon=float(run.epsilon or 0.0),
            delta=task.delta,
            public_rows=task.train.num_rows,
            random_state=run.seed,
        )
        return _time_fit(model, task, model.sample)

    return make


def warm_up(run: ExperimentRun) -> None:
    """Import the packages of a run, so that this time is not measured."""
    if run.method == REAL:
        return
    for package in HEAVY.get(run.method, ()):
        with suppress(ImportError):
            importlib.import_module(package)
    from tabpe.io.example import hospital_schema, hospital_table

    short = shorten_strategy(parse_strategy(run.settings if run.method == TABPE else {}))
    model = TabPE(epsilon=9.0, delta=1e-3, n_samples=2, preset=short, verbose=0)
    model.fit(hospital_table(100), hospital_schema()).sample()


def _make_model(run: ExperimentRun, task: Task) -> TabPE:
    shares = run.settings.get("shares", "public")
    return TabPE(
        epsilon=float(run.epsilon or 0.0),
        delta=task.delta,
        public_rows=None if shares == "measured" else task.train.num_rows,
        public_shares=task.shares if shares == "public" else None,
        random_state=run.seed,
        verbose=0,
    )


def _time_fit(model: TabPE | Baseline, task: Task, sample: Callable[[], pa.Table]) -> MethodOutput:
    started = time.perf_counter()
    model.fit(task.train, task.schema)
    table = sample()
    return MethodOutput(table, time.perf_counter() - started, model.certificate.epsilon)


def _fit_and_sample(model: TabPE, task: Task, copies: int, *, smooth: bool = False) -> MethodOutput:
    return _time_fit(model, task, lambda: model.sample(copies * model.n_evolved_, smooth=smooth))


def _fit_by_round(model: TabPE, task: Task, wanted: Iterable[int], copies: int) -> MethodOutput:
    """Fit in a folder that keeps the noisy votes, from which rounds are replayed."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        output = _fit_and_sample(model.set_params(run_dir=run_dir), task, copies)
        return dataclasses.replace(output, rounds=replay_rounds(run_dir, model, wanted))
