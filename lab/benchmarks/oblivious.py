"""Gated oblivious tables: how often the gate opens where it should not, and what it brings on XOR.

    python -m benchmarks.oblivious gate [--seeds 3] [--out benchmarks/results/oblivious_gate.json]
    python -m benchmarks.oblivious xor [--seeds 3] [--out benchmarks/results/oblivious_xor.json]

`gate` runs the default strategy with a probe until the probe is measured, on tables that are no
XOR, and shows its normalised residual; above `HIGH_RESIDUAL` the gate opens. Some tables are public
ones with another of their columns as the label. `xor` compares whole runs with and without, by the
accuracy on validation rows of the better of extra trees and gradient boosting.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from benchmarks.common import RESULTS, make_parser, summarize_scores, write_record
from tabpe import Posterior, Schema, TabPE
from tabpe.evolution.extensions import RoundPopulation
from tabpe.evolution.oblivious_tables import HIGH_RESIDUAL
from tabpe.io.example import hospital_schema, hospital_table
from tabpe_lab import datasets
from tabpe_lab.evaluate import evaluate_rows
from tabpe_lab.experiment import EvaluationSettings
from tabpe_lab.task import Task

# How many seeds at each, at most.
EPSILONS = {1.0: 5, 3.0: 1}
SHARE = 0.02
Real = Callable[[], tuple[pa.Table, Schema]]


class _ProbedError(Exception):
    """Ends a run when its probe is measured."""


def load_train(name: str, label: str | None = None) -> tuple[pa.Table, Schema]:
    """Return the training rows of a data set, maybe with another label."""
    data = datasets.load(name)
    return data.train, data.schema if label is None else data.schema.with_label(label)


_SETS = (
    *("scm-tree", "scm-nn", "scm-rff", "regions", "zero-inflated", "capped", "survey"),
    *("many-classes", "artificial-characters", "person-activity", "adult", "breast-cancer"),
    *("insurance", "monk-1", "monk-2", "monk-3", "walking-activity", "bank"),
)
_OTHER_LABELS = {
    "adult": ("sex", "marital-status", "workclass", "education", "occupation", "race"),
    "bank": ("housing", "marital", "job", "education", "loan", "poutcome"),
}
TABLES: dict[str, Real] = {
    **{name: partial(load_train, name) for name in _SETS},
    **{
        f"{name}, label {label}": partial(load_train, name, label)
        for name, labels in _OTHER_LABELS.items()
        for label in labels
    },
    "hospital": lambda: (hospital_table(20_000), hospital_schema()),
}
CASES: dict[str, tuple[str, dict[str, int], float]] = {
    "XOR 5": ("xor", {"features": 5}, 1.0),
    "XOR 5, cuts at random ranks": ("xor-shifted", {"features": 5}, 1.0),
    "XOR 6": ("xor", {"features": 6}, 1.0),
    "XOR 5, epsilon 3": ("xor", {"features": 5}, 3.0),
}


def compute_delta(table: pa.Table) -> float:
    """Return the delta of the paper, 1/(n log n)."""
    return 1 / (table.num_rows * math.log(table.num_rows))


def probe_table(table: pa.Table, schema: Schema, epsilon: float, seed: int) -> float | None:
    """Return the normalised residual of the probe; None if there was none."""
    found: list[float] = []

    def stop(population: RoundPopulation) -> None:
        if "table_residual" in population.record:
            found.append(population.record["table_residual"])
            raise _ProbedError

    model = TabPE(
        epsilon=epsilon,
        delta=compute_delta(table),
        preset=Posterior(oblivious=SHARE),
        random_state=seed,
        verbose=0,
        on_round=stop,
    )
    try:
        model.fit(table, schema)
    except _ProbedError:
        return round(found[0], 3)
    return None


def measure_gate(seeds: int) -> dict[str, Any]:
    """Return the residuals of all tables, and how often the gate opened; fewer seeds at more."""
    tables: dict[str, Any] = {name: {"residual": {}} for name in TABLES}
    opened: dict[str, str] = {}
    for epsilon, most in EPSILONS.items():
        found: list[float] = []
        for name, load in TABLES.items():
            table, schema = load()
            each = [probe_table(table, schema, epsilon, seed) for seed in range(min(seeds, most))]
            tables[name]["rows"] = table.num_rows
            tables[name]["residual"][f"{epsilon:g}"] = each
            found += [residual for residual in each if residual is not None]
            print(f"{epsilon:g}  {name:<28} {table.num_rows:>7}  {each}", flush=True)
        times = sum(residual > HIGH_RESIDUAL for residual in found)
        opened[f"{epsilon:g}"] = f"{times} of {len(found)}"
        print(f"epsilon {epsilon:g}: opened {opened[f'{epsilon:g}']}", flush=True)
    return {"limit": HIGH_RESIDUAL, "opened": opened, "tables": tables}


def score_accuracy(data: datasets.Dataset, synthetic: pa.Table) -> float:
    """Return the accuracy of the better of two predictors on validation rows."""
    task = Task(data.schema, data.train, data.validation, data.test, data.shares, delta=0.0)
    learners = EvaluationSettings(learners=("gradient boosting", "extra trees"))
    scores = evaluate_rows(task, synthetic, ["accuracy"], learners)
    return scores.metrics["validation_accuracy"]


def measure_xor(seeds: int) -> dict[str, Any]:
    """Return the accuracy with and without oblivious tables."""
    cases: dict[str, Any] = {}
    for name, (source, options, epsilon) in CASES.items():
        data = datasets.load(source, **options)
        found: dict[str, Any] = {}
        for variant, share in (("gated", SHARE), ("best", 0.0)):
            scores, seconds = [], time.process_time()
            for seed in range(seeds):
                model = TabPE(
                    epsilon=epsilon,
                    delta=compute_delta(data.train),
                    preset=Posterior(oblivious=share),
                    random_state=seed,
                    verbose=0,
                )
                synthetic = model.fit(data.train, data.schema).sample()
                scores.append(score_accuracy(data, synthetic))
            found[variant] = summarize_scores(scores)
            found[variant]["processor seconds"] = round(time.process_time() - seconds, 1)
            print(f"{name:<30} {variant:<6} {found[variant]}", flush=True)
        cases[name] = found
    return {"seeds": seeds, "cases": cases}


def main() -> None:
    """Measure one of the two."""
    parser = make_parser(__doc__, "oblivious", seeds=3)
    parser.add_argument("what", choices=("gate", "xor"))
    parser.set_defaults(out=None)
    arguments = parser.parse_args()
    measure = {"gate": measure_gate, "xor": measure_xor}[arguments.what]
    out = arguments.out or RESULTS / f"oblivious_{arguments.what}.json"
    content = {"share": SHARE, **measure(arguments.seeds)}
    write_record(out, "oblivious", content)


if __name__ == "__main__":
    main()
