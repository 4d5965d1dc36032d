"""Runs of every kind on a small public table, under fake noise.

Each returns what a run gives away: rows, history and certificate. `RUNS` has them by name.
"""

import contextlib
import dataclasses
import functools
import json
import warnings

import numpy as np
import pyarrow as pa

from tabpe import Boolean, Categorical, Date, Evolution, Float, Integer, Posterior, Schema, TabPE
from tabpe.accounting import FakeNoise
from tabpe.baselines import METHODS, Baseline
from tabpe.evaluation.private_metrics import appraise

COLUMNS = (
    Integer("age", 0, 99),
    Float("bmi", 10.0, 60.0, decimals=1),
    Categorical("ward", ("heart", "lung", "skin"), nullable=True),
    Date("admission", "2024-01-01", "2024-12-31"),
    Date("discharge", "2024-01-01", "2025-01-31", nullable=True),
    Integer("income", 0, 100_000, scale="log"),
    Boolean("ill"),
)
SCHEMA = Schema(COLUMNS, label="ill")
LISTED = Schema(
    (
        Categorical("ward", ("heart", "lung", "skin"), nullable=True),
        Categorical("floor", ("ground", "first", "second")),
        Boolean("insured"),
        Integer("age", 0, 99),
        Boolean("ill"),
    ),
    label="ill",
)
WIDE = Schema(tuple(Integer(f"c{number}", 0, 9) for number in range(42)))
EVOLUTION = Evolution(rounds=5, sampling_rounds=2)
GUIDED = Evolution(rounds=4, sampling_rounds=1, votes=2, tables=0.2, by_rank=0.5, tilt=1.0)
POSTERIOR = Posterior(rounds=3, votes=2, candidates=40, pool=400, sweeps=5, last_sweeps=10)
PILED = Schema(
    (Integer("age", 0, 99, special=(50,)), *COLUMNS[1:5], Float("income", 0, 100_000), COLUMNS[-1]),
    label="ill",
)
OPTIONS = dataclasses.replace(
    POSTERIOR, spikes=True, adaptive_bins=True, search=0.1, move_copies=True
)
USERS = {"unit": "person", "max_rows_per_user": 3}
ESTIMATED = {
    "schema": "private",
    "estimate_columns": "all",
    "schema_budget": 0.3,
    "epsilon": 8.0,
    "label": "ill",
}


@functools.cache
def make_table(size=600):
    """Return rows with dependent columns, nulls, dates, skewed numbers and users."""
    rng = np.random.default_rng(size)
    ages, days = rng.integers(0, 100, size), rng.integers(0, 366, size)
    wards = np.array(["heart", "lung", "skin", None], dtype=object)[
        (ages // 30 + (rng.random(size) < 0.1)) % 4
    ]
    start = np.datetime64("2024-01-01")
    leave = np.where(rng.random(size) < 0.2, np.datetime64("NaT"), start + days + ages // 10)
    floors = {"heart": "ground", "lung": "first", "skin": "second", None: "ground"}
    return pa.table(
        {
            "age": ages,
            "bmi": np.round(rng.normal(26, 5, size).clip(10, 60), 1),
            "ward": wards.tolist(),
            "floor": [floors[ward] for ward in wards],
            "insured": rng.random(size) < 0.8,
            "admission": (start + days).astype("datetime64[D]"),
            "discharge": pa.array(leave.astype("datetime64[s]"), from_pandas=True),
            "income": np.minimum(rng.lognormal(9, 1, size), 100_000).astype(int),
            "ill": (ages > 50) ^ (rng.random(size) < 0.2),
            "person": [f"p{number}" for number in rng.integers(0, size // 2, size)],
            **{f"c{number}": rng.integers(0, 10, size) for number in range(42)},
        }
    )


def make_piles():
    """Return the rows with very many at two values, one of which nobody declared."""
    table = make_table()
    income = table["income"].to_numpy().astype(float)
    income[::4] = 12_345.5
    place = table.schema.names.index("age")
    ages = np.where(np.arange(len(income)) % 3, table["age"].to_numpy(), 50)
    return table.set_column(place, "age", [ages]).set_column(
        table.schema.names.index("income"), "income", [income]
    )


def fit(declared=SCHEMA, *, table=None, run_dir=None, **changes):
    """Fit under fake noise."""
    usual = {
        "epsilon": 4.0,
        "delta": 1e-6,
        "n_samples": 60,
        "preset": EVOLUTION,
        "noise": FakeNoise(1),
        "random_state": 0,
        "verbose": 0,
        "run_dir": run_dir,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TabPE(**(usual | changes)).fit(make_table() if table is None else table, declared)


def tell(model, rows=None):
    """Return all that a model gives away, but for the time and the versions."""
    rows = model.sample() if rows is None else rows
    return {
        "rows": [list(row.values()) for row in rows.to_pylist()],
        "types": [str(kind) for kind in rows.schema.types],
        "history": json.loads(json.dumps(getattr(model, "history_", []), default=str)),
        "certificate": tell_certificate(model.certificate),
    }


def tell_certificate(certificate):
    """Return what a certificate says, but for the time and the versions of packages."""
    told = json.loads(certificate.to_json())
    return {name: value for name, value in told.items() if name not in {"created", "versions"}}


def run(declared=SCHEMA, **changes):
    """Return a kind of run."""
    return lambda folder: tell(fit(declared, **changes))


def run_with_rules(folder):
    """Rules bind two dates, and a number to a category."""
    rules = ("discharge >= admission", "if ward == 'skin' then age <= 90")
    return tell(fit(Schema(COLUMNS, label="ill", rules=rules)))


class StoppingNoise(FakeNoise):
    """Fake noise that stops the run after so many draws."""

    def __init__(self, seed, draws):
        super().__init__(seed)
        self._left = draws

    def draw(self, size, sigma):
        """Return the next noise, or stop."""
        if not self._left:
            raise KeyboardInterrupt
        self._left -= 1
        return super().draw(size, sigma)


def run_resumed(folder):
    """A run that is stopped after some measurements, and goes on with what it has."""
    given = {"run_dir": folder / "run", "preset": POSTERIOR}
    with contextlib.suppress(KeyboardInterrupt):
        fit(**given, noise=StoppingNoise(1, draws=4))
    return tell(fit(**given, noise=FakeNoise(2)))


def run_conditional(folder):
    """Rows with certain values, more rows than were made, and rows that go with known cells."""
    model = fit(preset=POSTERIOR)
    asked = model.sample(10, conditions={"ward": "heart"}), model.sample(40, smooth=True)
    rest = model.sample_remaining_columns(
        pa.table({"ward": ["skin", "heart"], "ill": [True, False]})
    )
    return tell(model, pa.concat_tables([*asked, rest.select(asked[0].column_names)]))


def run_baseline(name, settings):
    """Return a kind of run: one of the baselines."""

    def fit_baseline(folder):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = Baseline(
                METHODS[name](**settings),
                epsilon=2.0,
                delta=1e-6,
                n_samples=60,
                noise=FakeNoise(1),
                random_state=0,
            ).fit(make_table().select(LISTED.names), LISTED)
        return tell(model)

    return fit_baseline


def run_private_metrics(folder):
    """Measures of the real rows that are estimated."""
    real, made = make_table(), make_table(200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = appraise(
            real, made, LISTED, epsilon=1.0, delta=1e-6, random_state=0, noise=FakeNoise(1)
        )
    measured = {
        number: repr(list_values(getattr(found.measures, field.name)))
        for number, field in enumerate(dataclasses.fields(found.measures))
        if field.name != "certificate"
    }
    certificate = tell_certificate(found.measures.certificate)
    columns = repr(list_values(found.columns))
    return {"measured": measured, "columns": columns, "certificate": certificate}


def list_values(value):
    """Return the values of a frozen value, without the names of its class and fields."""
    if dataclasses.is_dataclass(value):
        return [list_values(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, list | tuple):
        return [list_values(one) for one in value]
    return value


RUNS = {
    "paper preset": run(preset="paper"),
    "reference preset": run(preset="reference"),
    "best preset": run(preset="best", n_samples=None),
    "evolution": run(),
    "evolution guided by marginals": run(preset=GUIDED),
    "posterior": run(preset=POSTERIOR),
    "posterior with pairs": run(LISTED, preset=POSTERIOR, n_samples=None),
    "piles and adaptive bins": run(PILED, table=make_piles(), preset=OPTIONS),
    "calibrated labels": run(preset=dataclasses.replace(POSTERIOR, labels="calibrated")),
    "marginals alone": run(preset=Posterior(rounds=0, pool=300, last_sweeps=5)),
    "no label": run(Schema(COLUMNS)),
    "two labels": run(Schema(COLUMNS), label=("ward", "ill"), preset=POSTERIOR),
    "numeric label": run(Schema(COLUMNS, label="age", label_cuts=(30, 60))),
    "class floor": run(class_floor=20, preset=POSTERIOR),
    "constraints": run_with_rules,
    "noisy delta": run(delta=None, preset=Evolution(rounds=6)),
    "public shares": run(public_shares={False: 0.5, True: 0.5}),
    "replace-one": run(adjacency="replace-one"),
    "users": run(**USERS),
    "posterior of users": run(preset=POSTERIOR, **USERS),
    "estimated schema": run(None, table=make_table().select(SCHEMA.names), **ESTIMATED),
    "estimated schema of users": run(
        None, table=make_table().select([*SCHEMA.names, "person"]), **ESTIMATED, **USERS
    ),
    "wide fallback": run(WIDE, preset=Posterior(rounds=3, pool=300, sweeps=3, last_sweeps=5)),
    "streamed": run(engine="stream", preset=POSTERIOR),
    "streamed users": run(engine="stream", **USERS),
    "resumed": run_resumed,
    "conditional samples": run_conditional,
    "private metrics": run_private_metrics,
    **{
        f"baseline {name}": run_baseline(name, settings)
        for name, settings in {
            "independent": {},
            "mst": {},
            "aim": {"inference": "numpy", "max_iterations": 30, "round_iterations": 10},
            "privsyn": {},
            "privmrf": {"inference": "numpy", "iterations": 100},
            "gem": {"rounds_an_attribute": 1, "steps": 5},
            "rap++": {"rounds": 1, "projections": 100},
            "privgsd": {"generations": 50},
        }.items()
    },
}
