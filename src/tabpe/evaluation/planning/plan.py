"""`plan`: what a run would give, for a schema, a number of rows and a range of epsilons.

Three things are predicted, and each says where it comes from:

1. Noise, usable columns and pairs, and the smallest groups that can be seen: computed exactly by
   the code that calibrates a run.
2. Expected quality: measured on simulated tables (`simulate`), and stated as a band. Without a
   public stand-in the structure of the private table is unknown, and bands are wide.
3. Time and memory: measured on this machine with the simulated tables, scaled to the rows planned.

Privacy: no private row is read, and nothing is charged. The number of rows is what the user states.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tabpe._utils import files, validation
from tabpe._utils.extras import has_report_extra
from tabpe.accounting import Spend
from tabpe.accounting.delta import FEWEST_ROWS, RowCount
from tabpe.encoding import Encoder
from tabpe.errors import ParameterError, SchemaError
from tabpe.evaluation.planning.simulate import (
    SimulatedRun,
    Simulation,
    make_structures,
    resample_table,
)
from tabpe.evolution.config import COLUMNS, PAIRS, Posterior
from tabpe.evolution.marginal_prior import choose_bins, choose_pairs
from tabpe.evolution.posterior import choose_population_sizes
from tabpe.io import use_source
from tabpe.measurement.histograms import CLASS_COUNTS
from tabpe.schema import PartialSchema, Schema
from tabpe.synthesizers.budget import plan_spends
from tabpe.synthesizers.options import RunSettings, load_schema

if TYPE_CHECKING:
    from tabpe.synthesizers.tabpe import TabPE

EPSILONS = (0.3, 1.0, 3.0, 10.0)
MOST_SIMULATED = 8000
SIMULATIONS = 3
# A group is seen if its count is so many times its noise: chance alone does so once in 740 cells.
SEEN_SIGMAS = 3.0
# Expected total variation distance that noise alone puts on a marginal.
GOOD_NOISE, COARSE_NOISE = 0.05, 0.15
GOOD, COARSE, LOST = "good", "coarse", "lost in noise"
# How much wider than the simulated range a band is: structures differ from those simulated.
BELOW_ERROR, ABOVE_ERROR, WIDER_KEPT = 2.0, 3.0, 0.15
# With a stand-in: at least so wide, and so many standard deviations.
NARROW_ERROR, NARROW_KEPT, NARROW_SCORE, DEVIATIONS = 0.3, 0.15, 0.05, 3.0
# Bytes of the program itself and its libraries, and of a row of the pool beside its cells.
BASE_BYTES, BYTES_OF_POOL_ROW = 250 * 2**20, 400


@dataclass(frozen=True)
class Band:
    """A predicted value.

    Args:
        low: The lower end.
        middle: The mean of simulated runs.
        high: The upper end.

    Example:
        >>> 0.03 in Band(0.01, 0.02, 0.05)
        True
    """

    low: float
    middle: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class NoisePlan:
    """The noise of one kind of measurement.

    Args:
        name: What is measured.
        sigma: The standard deviation of the noise on each count.
        times: How many histograms have it.
        smallest: The smallest number of rows, in one cell, that stands out of the noise.
    """

    name: str
    sigma: float
    times: int
    smallest: float


@dataclass(frozen=True)
class ColumnPlan:
    """What a run will know of a column.

    Args:
        name: The column.
        cells: In how many cells it is counted.
        noise: The total variation distance that noise alone puts on its marginal, on average.
        usable: `good`, `coarse` or `lost in noise`.
    """

    name: str
    cells: int
    noise: float
    usable: str


@dataclass(frozen=True)
class PairPlan:
    """What a run will know of pairs of columns, by their 2-way marginals.

    Args:
        measured: Whether 2-way marginals are measured; else votes alone show pairs.
        good: How many pairs are good.
        coarse: How many are coarse.
        lost: How many are lost in noise.
        worst: Up to five pairs with the most noise.
    """

    measured: bool
    good: int = 0
    coarse: int = 0
    lost: int = 0
    worst: tuple[str, ...] = ()


@dataclass(frozen=True)
class EpsilonPlan:
    """What a run with one epsilon would give.

    Args:
        epsilon: The epsilon.
        noise: The noise of each kind of measurement.
        columns: What it will know of each column besides the label.
        pairs: What it will know of pairs.
        smallest_group: The fewest rows that share one value of a column and can be seen.
        smallest_class: The fewest rows of a class that can be seen; None without classes to count.
        column_error: Mean total variation distance of 1-way marginals; None if not simulated.
        pair_error: Mean total variation distance of 2-way marginals.
        kept: Which part of the score that real rows give above guessing is kept.
        score: AUC, or R2 of a numeric label; only with a stand-in.
        seconds: About how long a run takes on this machine, at most.
    """

    epsilon: float
    noise: tuple[NoisePlan, ...]
    columns: tuple[ColumnPlan, ...]
    pairs: PairPlan
    smallest_group: float | None
    smallest_class: float | None
    column_error: Band | None = None
    pair_error: Band | None = None
    kept: Band | None = None
    score: Band | None = None
    seconds: float | None = None

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> EpsilonPlan:
        """Read plain values."""
        pairs = {**plain["pairs"], "worst": tuple(plain["pairs"]["worst"])}
        bands = {
            name: None if plain[name] is None else Band(**plain[name])
            for name in ("column_error", "pair_error", "kept", "score")
        }
        return cls(
            **{
                **plain,
                **bands,
                "noise": tuple(NoisePlan(**one) for one in plain["noise"]),
                "columns": tuple(ColumnPlan(**one) for one in plain["columns"]),
                "pairs": PairPlan(**pairs),
            }
        )


@dataclass(frozen=True)
class Plan:
    """What runs would give, epsilon by epsilon; nothing in it is private.

    Args:
        rows: The number of rows, or of users, that was stated.
        delta: The delta.
        relation: The neighboring relation.
        stand_in: Whether a public stand-in was simulated, instead of tables of the schema.
        simulated_rows: The rows of a simulated table; 0 if nothing was simulated.
        memory: About how many bytes a run takes.
        label: The label, if any.
        epsilons: One entry for each epsilon, rising.
        notes: What a reader should know.
    """

    rows: int
    delta: float
    relation: str
    stand_in: bool
    simulated_rows: int
    memory: int
    label: str | None
    epsilons: tuple[EpsilonPlan, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Plan:
        """Read plain values.

        Example:
            >>> from tabpe.schema import Boolean
            >>> made = plan(Schema((Boolean("ill"),)), rows=500, epsilons=[1], simulations=0)
            >>> Plan.from_dict(made.to_dict()) == made
            True
        """
        epsilons = tuple(EpsilonPlan.from_dict(one) for one in plain["epsilons"])
        return cls(**{**plain, "epsilons": epsilons, "notes": tuple(plain["notes"])})

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def to_text(self) -> str:
        """Return it as a table for a terminal of 80 columns."""
        from tabpe.evaluation.planning.page import render_text

        return render_text(self)

    def to_html(self) -> str:
        """Return it as a page with curves."""
        from tabpe.evaluation.planning.page import render_page

        return render_page(self)

    def save(self, path: str | Path) -> None:
        """Write it: a page to `.html`, values to `.json`, a table to `.txt`."""
        forms = {".html": self.to_html, ".json": self.to_json, ".txt": self.to_text}
        suffix = Path(path).suffix.lower()
        if suffix not in forms:
            raise ParameterError(f"path={str(path)!r}: expected a file .html, .json or .txt.")
        files.write_text(Path(path), forms[suffix]())

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        from tabpe.evaluation.planning.page import render_body

        return render_body(self)


def plan(
    schema: Schema | Mapping[str, Any] | str | Path,
    rows: int,
    epsilons: Sequence[float] = EPSILONS,
    *,
    stand_in: Any = None,
    simulations: int = SIMULATIONS,
    random_state: int = 0,
    **settings: Any,
) -> Plan:
    """Return what runs would give, before a private row is read.

    Privacy: no private table is taken, and nothing is charged. `rows` should be public or a guess.

    Args:
        schema: The schema, whole; or the path of its file.
        rows: The number of private rows; with `unit`, of users.
        epsilons: The epsilons to compare.
        stand_in: A public table of the same schema, to simulate runs on instead of tables that are
            drawn from the schema: a frame or a path, as for `TabPE.fit`. It must not be the private
            table.
        simulations: Simulated runs of each epsilon and structure; 0 for noise alone, which is fast.
        random_state: Seed of the simulated tables.
        settings: Of `TabPE`: delta, label, preset, adjacency, unit, n_samples, and so on.

    Example:
        >>> from tabpe.schema import Boolean, Integer
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
        >>> found = plan(schema, rows=5000, epsilons=[1, 3], simulations=0)
        >>> [one.epsilon for one in found.epsilons], found.epsilons[0].columns[0].usable
        ([1.0, 3.0], 'good')
        >>> found.epsilons[0].smallest_group > found.epsilons[1].smallest_group
        True
    """
    count = validation.check_integer("rows", rows, least=FEWEST_ROWS)
    wanted = _check_epsilons(epsilons)
    repeats = validation.check_integer("simulations", simulations, least=0)
    seed = validation.check_integer("random_state", random_state, least=0)
    from tabpe.synthesizers.tabpe import TabPE

    given = TabPE(**settings)
    whole = _load_whole_schema(schema, given)
    delta = given.delta or RowCount.from_declared(count).calibration_delta
    model = TabPE(**settings).set_params(delta=delta)
    exact = [_plan_noise(model, whole, count, epsilon) for epsilon in wanted]
    entries, simulated = [entry for entry, _ in exact], 0
    if repeats:
        simulation = _make_simulation(model, whole, count, delta)
        simulated = simulation.simulated_rows
        tables = (
            make_structures(whole, seed=seed)
            if stand_in is None
            else {"stand-in": resample_table(_read_stand_in(stand_in, whole))}
        )
        entries = [
            _add_quality(
                entry,
                [
                    simulation.run(name, draw, entry.epsilon, seed=seed + index)
                    for name, draw in tables.items()
                    for index in range(repeats)
                ],
                count / simulated,
                known=stand_in is not None,
            )
            for entry in entries
        ]
    return Plan(
        rows=count,
        delta=delta,
        relation=exact[0][1].request.neighbours.meaning,
        stand_in=stand_in is not None,
        simulated_rows=simulated,
        memory=_estimate_memory(*exact[-1], whole, count),
        label=" and ".join(whole.labels) or None,
        epsilons=tuple(entries),
        notes=_write_notes(
            model, whole, known=stand_in is not None, rows=count, simulated=simulated
        ),
    )


def _check_epsilons(given: Sequence[float]) -> list[float]:
    if isinstance(given, (int, float)):
        given = [given]
    if not isinstance(given, (Sequence, np.ndarray)) or isinstance(given, str) or not given:
        raise ParameterError(f"epsilons={given!r}: expected numbers above 0, such as [0.3, 1, 3].")
    return sorted({validation.check_real("epsilons", one, above=0) for one in given})


def _load_whole_schema(given: Any, model: TabPE) -> Schema:
    if isinstance(given, (str, Path)) or (
        isinstance(given, Mapping) and PartialSchema.from_schema(given).missing
    ):
        gaps = PartialSchema.from_schema(given).missing
        if gaps:
            listed = ", ".join(str(gap) for gap in list(gaps)[:5])
            raise SchemaError(
                f"schema: has gaps ({listed}): a plan needs bounds and values. Put in a guess for "
                f"the plan; the run itself may estimate them."
            )
    schema = load_schema(given)
    return replace(schema, label_rare=()).with_label(model.label)


def _plan_noise(
    model: TabPE, schema: Schema, rows: int, epsilon: float
) -> tuple[EpsilonPlan, RunSettings]:
    """Return what calibration says; the same code as that of a run."""
    from tabpe.synthesizers.tabpe import TabPE

    asked = TabPE(**model.get_params()).set_params(
        epsilon=epsilon, dataset=None, ledger=None, run_dir=None, require_budget=False
    )
    settings = asked.make_settings(schema)
    queries = settings.query_plan
    spends = plan_spends(settings.request, settings.classes, queries)
    by_name = {spend.name: spend for spend in spends}
    columns, pairs = _plan_marginals(by_name, schema, rows, settings)
    noise = tuple(
        NoisePlan(spend.name, spend.sigma, spend.times, SEEN_SIGMAS * spend.sigma)
        for spend in spends
    )
    singles = by_name.get(COLUMNS)
    counted = by_name.get(CLASS_COUNTS)
    entry = EpsilonPlan(
        epsilon=epsilon,
        noise=noise,
        columns=columns,
        pairs=pairs,
        smallest_group=SEEN_SIGMAS * (singles or spends[-1]).sigma,
        smallest_class=None if counted is None else SEEN_SIGMAS * counted.sigma,
    )
    return entry, settings


def _plan_marginals(
    by_name: Mapping[str, Spend], schema: Schema, rows: int, settings: RunSettings
) -> tuple[tuple[ColumnPlan, ...], PairPlan]:
    if COLUMNS not in by_name:
        return (), PairPlan(measured=False)
    encoder, sigma = Encoder(schema), by_name[COLUMNS].sigma
    bins = choose_bins(encoder, rows, sigma, by_class=settings.classes > 1)
    columns = tuple(_plan_column(axis.name, axis.size, sigma, rows) for axis in bins.fine)
    if PAIRS not in by_name:
        return columns, PairPlan(measured=False)
    sigma = by_name[PAIRS].sigma
    found = sorted(
        (
            _plan_column(" x ".join(one.names[-2:]), one.shape[-1] * one.shape[-2], sigma, rows)
            for one in choose_pairs(bins, rows, sigma)
        ),
        key=lambda one: -one.noise,
    )
    counts = {word: sum(one.usable == word for one in found) for word in (GOOD, COARSE, LOST)}
    worst = tuple(one.name for one in found[:5] if one.usable != GOOD)
    return columns, PairPlan(
        measured=True,
        good=counts[GOOD],
        coarse=counts[COARSE],
        lost=counts[LOST],
        worst=worst,
    )


def _plan_column(name: str, cells: int, sigma: float, rows: int) -> ColumnPlan:
    """Return what noise does to a marginal: half of the summed mean absolute errors of its cells.

    Empty cells are cut off at 0, so it is at most that, and at most 1.
    """
    noise = min(1.0, cells * sigma * math.sqrt(2 / math.pi) / (2 * rows))
    usable = GOOD if noise <= GOOD_NOISE else COARSE if noise <= COARSE_NOISE else LOST
    return ColumnPlan(name, cells, noise, usable)


def _make_simulation(model: TabPE, schema: Schema, rows: int, delta: float) -> Simulation:
    simulated = min(rows, MOST_SIMULATED)
    from tabpe.synthesizers.tabpe import TabPE

    plain = TabPE(**model.get_params()).set_params(
        dataset=None,
        ledger=None,
        run_dir=None,
        require_budget=False,
        unit=None,
        max_rows_per_user=None,
        public_rows=None,
        engine="local",
        address=None,
        on_round=None,
        label=None,
    )
    return Simulation(plain, schema, rows, simulated, delta)


def _read_stand_in(given: Any, schema: Schema) -> pa.Table:
    with use_source(given) as source:
        Encoder(schema).check_names(source.names)
        parts = [batch.table for batch in source.batches(Encoder(schema).names)]
    table = pa.concat_tables(parts) if parts else pa.table({})
    if not table.num_rows:
        raise ParameterError("stand_in: the table has no rows.")
    rows, classes = Encoder(schema).encode(table)
    return Encoder(schema).decode(rows, classes)


def _add_quality(
    entry: EpsilonPlan, runs: Sequence[SimulatedRun], factor: float, *, known: bool
) -> EpsilonPlan:
    kept = [one.kept for one in runs if one.kept is not None]
    scores = [one.score for one in runs if one.score is not None]
    return replace(
        entry,
        column_error=_make_error_band([one.column_error for one in runs], known=known),
        pair_error=_make_error_band([one.pair_error for one in runs], known=known),
        kept=_make_kept_band(kept, known=known) if kept else None,
        score=_make_kept_band(scores, NARROW_SCORE, known=True) if scores and known else None,
        seconds=max(one.seconds for one in runs) * max(1.0, factor),
    )


def _make_error_band(values: Sequence[float], *, known: bool) -> Band:
    """Return the band of an error, which is never below 0."""
    mean = float(np.mean(values))
    if known:
        half = max(DEVIATIONS * float(np.std(values, ddof=len(values) > 1)), NARROW_ERROR * mean)
        return Band(max(mean - half, 0.0), mean, min(mean + half, 1.0))
    return Band(min(values) / BELOW_ERROR, mean, min(max(values) * ABOVE_ERROR, 1.0))


def _make_kept_band(values: Sequence[float], least: float = NARROW_KEPT, *, known: bool) -> Band:
    """Return the band of a score, of which 1 is the most."""
    mean = float(np.mean(values))
    if known:
        half = max(DEVIATIONS * float(np.std(values, ddof=len(values) > 1)), least)
        return Band(mean - half, mean, mean + half)
    return Band(min(values) - WIDER_KEPT, mean, 1.0 + least)


def _estimate_memory(entry: EpsilonPlan, settings: RunSettings, schema: Schema, rows: int) -> int:
    """Return about how many bytes a run takes: the program, encoded rows, and its pool."""
    encoder, config = Encoder(schema), settings.config
    table = 3 * rows * encoder.bytes_a_row
    if not isinstance(config, Posterior):
        return BASE_BYTES + table
    votes = settings.config.rounds * settings.config.votes
    marginals = settings.query_plan.histograms - votes
    sigma = entry.noise[-1].sigma
    sizes = choose_population_sizes(
        config, rows=rows, sigma=sigma, classes=encoder.class_count, tables=marginals, size=rows
    )
    width = marginals + votes
    return BASE_BYTES + table + sizes.pool * (4 * width + BYTES_OF_POOL_ROW)


def _write_notes(
    model: TabPE, schema: Schema, *, known: bool, rows: int, simulated: int
) -> tuple[str, ...]:
    notes = []
    if model.unit is not None:
        notes.append(
            "rows are users here; simulated users have one row each, and users with several rows "
            "add less per row, so groups must be larger to be seen"
        )
    if not simulated:
        notes.append("nothing was simulated: only noise is predicted")
        return tuple(notes)
    if known:
        notes.append("bands are for a private table that is like the stand-in")
    else:
        notes.append(
            "bands cover simulated tables of three structures; a public stand-in of the table "
            "narrows them"
        )
    if simulated < rows:
        notes.append(f"simulated with {simulated:,} rows under noise that is smaller in proportion")
    if schema.label is not None and not has_report_extra():
        notes.append("no utility: that needs scikit-learn: pip install 'tabpe[report]'")
    return tuple(notes)
