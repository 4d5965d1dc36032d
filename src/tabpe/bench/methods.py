"""Methods by name: from the settings of a run to a table of synthetic rows.

All get the same: the training rows, the schema, the number of rows as public, epsilon and delta.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe import _validate
from tabpe.baselines import METHODS, Baseline
from tabpe.bench.grid import REAL, TABPE, Run
from tabpe.bench.rounds import rows_by_round
from tabpe.bench.strategy import PRESET, fields_of, replayable, shortest, strategy_in
from tabpe.bench.task import Task
from tabpe.errors import ParameterError, did_you_mean
from tabpe.synthesizer import TabPE

OWN = ("shares", "oversample", "smooth", "most_samples")
BASELINE = ("n_samples", "bins", "bins_budget", "most_bins", "noise")
# What is loaded before the clock starts. Of the rest, a small table makes sure.
HEAVY = {
    "mst": ("jax", "mbi", "networkx"),
    "aim": ("jax", "mbi", "networkx"),
    "privmrf": ("networkx",),
    "gem": ("jax", "optax"),
    "rap++": ("jax", "optax"),
    "privgsd": ("jax",),
}
# What the experiment and the data decide.
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
class Made:
    """What a method made.

    Args:
        table: The synthetic rows.
        seconds: What fitting and sampling took.
        certified_epsilon: What the certificate says; None for `real`.
        rounds: The rows of single rounds, if they were asked for.
    """

    table: pa.Table
    seconds: float
    certified_epsilon: float | None = None
    rounds: Mapping[int, pa.Table] = field(default_factory=dict)


Maker = Callable[[Task], Made]


def maker_of(run: Run) -> Maker:
    """Return what makes the synthetic rows of a run; its settings are checked now.

    Raises:
        ParameterError: If the method or a setting is not known.
    """
    if run.method == REAL:
        refuse_unknown(run.method, run.settings, ())
        return _real
    if run.method == TABPE:
        return _tabpe(run)
    if run.method in METHODS:
        return _baseline(run)
    raise ParameterError(f"methods: {run.method!r}: {did_you_mean(run.method, method_names())}")


def method_names() -> tuple[str, ...]:
    """Return the names of all methods.

    Example:
        >>> method_names()[:2]
        ('real', 'tabpe')
    """
    return (REAL, TABPE, *METHODS)


def refuse_unknown(method: str, settings: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a setting that a method does not have, with the closest that it has."""
    allowed = list(known)
    for name in settings:
        if name not in allowed:
            hint = did_you_mean(name, allowed) if allowed else "it takes none"
            raise ParameterError(f"methods: {method}: unknown setting {name!r}: {hint}")


def rows_wanted(given: Any, rows: int, most: int | None = None) -> int | None:
    """Return how many rows are to be made: a number, or a share of the training rows.

    Args:
        given: What the settings say.
        rows: The number of training rows.
        most: What a share may come to at most; None for any number.

    Example:
        >>> rows_wanted(1000, 7152), rows_wanted(0.1, 7152), rows_wanted(None, 7152)
        (1000, 715, None)
        >>> rows_wanted(0.5, 7152, most=2000), rows_wanted(1.0, 7152)
        (2000, 7152)
    """
    if isinstance(given, float) and 0 < given <= 1:
        share = max(1, round(given * rows))
        return share if most is None else min(share, most)
    return _validate.optional(_validate.whole, "n_samples", given, least=1)


def _real(task: Task) -> Made:
    """Return the training rows themselves: the upper bound."""
    return Made(task.train, 0.0)


def _tabpe(run: Run) -> Maker:
    parameters = [name for name in inspect.signature(TabPE).parameters if name not in NOT_SETTINGS]
    config = strategy_in(run.settings)
    preset = run.settings.get("preset", PRESET)
    named = TABPE if preset == PRESET else f"{TABPE}, preset {preset}"
    refuse_unknown(named, run.settings, (*parameters, *fields_of(config), *OWN))
    _validate.one_of("shares", run.settings.get("shares", "public"), ["public", "bought"])
    copies = _validate.whole("oversample", run.settings.get("oversample", 1), least=1)
    smooth = run.settings.get("smooth", False)
    if not isinstance(smooth, bool):
        raise ParameterError(f"smooth={smooth!r}: expected true or false.")
    most = run.settings.get("most_samples")
    _validate.optional(_validate.whole, "most_samples", most, least=1)
    if "rounds" in run.keep:
        replayable(config, "keep: rounds")
    given = {name: value for name, value in run.settings.items() if name in parameters}

    def make(task: Task) -> Made:
        wanted = rows_wanted(given.get("n_samples"), task.train.num_rows, most)
        changed = {"preset": config, "n_samples": wanted}
        model = _model(run, task).set_params(**{**given, **changed})
        if "rounds" in run.keep:
            return _by_round(model, task, run.rounds_kept, copies)
        return _fitted(model, task, copies, smooth=smooth)

    return make


def _baseline(run: Run) -> Maker:
    kind: Any = METHODS[run.method]
    own = [each.name for each in dataclasses.fields(kind)]
    refuse_unknown(run.method, run.settings, (*own, *BASELINE))
    method = kind(**{name: value for name, value in run.settings.items() if name in own})
    given = {name: value for name, value in run.settings.items() if name in BASELINE}

    def make(task: Task) -> Made:
        wanted = rows_wanted(given.get("n_samples"), task.train.num_rows)
        model = Baseline(
            method,
            **{**given, "n_samples": wanted},
            epsilon=float(run.epsilon or 0.0),
            delta=task.delta,
            public_rows=task.train.num_rows,
            random_state=run.seed,
        )
        return _timed(model, task, model.sample)

    return make


def warm_up(run: Run) -> None:
    """Load the packages that a run uses, so that their time is not counted as its own."""
    if run.method == REAL:
        return
    for package in HEAVY.get(run.method, ()):
        with suppress(ImportError):
            importlib.import_module(package)
    from tabpe.datasets import hospital_schema, hospital_table

    few = shortest(strategy_in(run.settings if run.method == TABPE else {}))
    model = TabPE(epsilon=9.0, delta=1e-3, n_samples=2, preset=few, verbose=0)
    model.fit(hospital_table(100), hospital_schema()).sample()


def _model(run: Run, task: Task) -> TabPE:
    is_public = run.settings.get("shares", "public") == "public"
    return TabPE(
        epsilon=float(run.epsilon or 0.0),
        delta=task.delta,
        public_rows=task.train.num_rows if is_public else None,
        public_shares=task.shares if is_public else None,
        random_state=run.seed,
        verbose=0,
    )


def _timed(model: TabPE | Baseline, task: Task, sample: Callable[[], pa.Table]) -> Made:
    started = time.perf_counter()
    model.fit(task.train, task.schema)
    table = sample()
    return Made(table, time.perf_counter() - started, model.certificate.epsilon)


def _fitted(model: TabPE, task: Task, copies: int, *, smooth: bool = False) -> Made:
    return _timed(model, task, lambda: model.sample(copies * model.n_evolved_, smooth=smooth))


def _by_round(model: TabPE, task: Task, wanted: Iterable[int], copies: int) -> Made:
    """Fit in a folder that remembers the noisy votes, which tell what each round had."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = Path(folder) / "run"
        made = _fitted(model.set_params(run_dir=run_dir), task, copies)
        return dataclasses.replace(made, rounds=rows_by_round(run_dir, model, wanted))
