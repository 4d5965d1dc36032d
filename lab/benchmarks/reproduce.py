"""Reproduce the paper's core figures: Artificial Characters and XOR at epsilon 1, paper preset.

    python -m benchmarks.reproduce [--seeds 3] [--out benchmarks/results/reproduce.json]

As in the paper, class shares and the number of rows are taken as public. Accuracy and AUC are of a
classifier trained on the synthetic rows and tested on real ones; the best of gradient boosting,
extra trees and 5 nearest neighbours on Artificial Characters, gradient boosting on XOR. Reads the
data from $TABPE_DATA, or else from ../shared/data.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import tabpe
from tabpe.schema import Source

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("TABPE_DATA", ROOT.parents[1] / "shared" / "data"))
EPSILON = 1.0
XOR_FEATURES = (2, 3, 4)
XOR_BOUND = 10.0
TARGETS = {"Artificial Characters": 0.45, "XOR 2": 0.97, "XOR 3": 0.93, "XOR 4": 0.85}


@dataclass(frozen=True)
class Task:
    """A data set with the size that the paper evolves for it."""

    name: str
    schema: tabpe.Schema
    train: pd.DataFrame
    test: pd.DataFrame
    size: int
    score: Callable[[pd.DataFrame, pd.DataFrame, str], float]


@dataclass(frozen=True)
class Result:
    """Scores over the seeds, and what a run took."""

    task: str
    metric: str
    scores: list[float]
    mean: float
    std: float
    target: float
    seconds: float
    epsilon: float
    sigma: float


def best_accuracy(train: pd.DataFrame, test: pd.DataFrame, label: str) -> float:
    """Best test accuracy of three classifiers."""
    models = [
        HistGradientBoostingClassifier(random_state=0),
        ExtraTreesClassifier(300, random_state=0, n_jobs=-1),
        make_pipeline(MinMaxScaler(), KNeighborsClassifier(5)),
    ]
    features = [name for name in test.columns if name != label]
    return max(
        float(model.fit(train[features], train[label]).score(test[features], test[label]))
        for model in models
    )


def boosting_auc(train: pd.DataFrame, test: pd.DataFrame, label: str) -> float:
    """Test AUC of gradient boosting."""
    features = [name for name in test.columns if name != label]
    model = HistGradientBoostingClassifier(random_state=0).fit(train[features], train[label])
    return float(roc_auc_score(test[label], model.predict_proba(test[features])[:, 1]))


def published(schema: tabpe.Schema) -> tabpe.Schema:
    """Mark a schema as public, which that of a published data set is."""
    columns = (dataclasses.replace(column, source=Source.PUBLIC) for column in schema.columns)
    return dataclasses.replace(schema, columns=tuple(columns))


def artificial_characters() -> Task:
    """The official splits; bounds over all splits, as the authors' metadata has them."""
    if not DATA.is_dir():
        raise SystemExit(f"{DATA}: no data there. Set TABPE_DATA to a folder that has it.")
    parts = {
        part: pd.read_csv(DATA / f"artificial_characters_{part}.csv.gz")
        for part in ("train", "val", "test")
    }
    schema = published(tabpe.draft_schema(pd.concat(parts.values()), label="Class"))
    return Task("Artificial Characters", schema, parts["train"], parts["test"], 1000, best_accuracy)


def xor(features: int) -> Task:
    """The paper's stress test: the label is the parity of the signs."""
    values = np.random.RandomState(42).uniform(-XOR_BOUND, XOR_BOUND, (50_000, features))
    names = [f"num_feat_{place}" for place in range(features)]
    table = pd.DataFrame(values, columns=names)
    table["target"] = (values > 0).sum(axis=1) % 2
    columns = [tabpe.Float(name, -XOR_BOUND, XOR_BOUND) for name in names]
    schema = tabpe.Schema((*columns, tabpe.Categorical("target", (0, 1))), label="target")
    train, test = table.iloc[:35_000], table.iloc[42_500:]
    return Task(f"XOR {features}", schema, train, test, 2000, boosting_auc)


def fit(task: Task, seed: int, preset: str | tabpe.Evolution = "paper") -> tabpe.TabPE:
    """Fit with the class shares and the number of rows taken as public, as in the paper."""
    return tabpe.TabPE(
        epsilon=EPSILON,
        preset=preset,
        n_samples=task.size,
        public_rows=len(task.train),
        public_shares=task.train[str(task.schema.label)].value_counts(normalize=True).to_dict(),
        random_state=seed,
    ).fit(task.train, task.schema)


def run(task: Task, seeds: int) -> Result:
    """Fit with each seed and score the synthetic rows."""
    start = time.perf_counter()
    models = [fit(task, seed) for seed in range(seeds)]
    seconds = (time.perf_counter() - start) / seeds
    label = str(task.schema.label)
    scores = [task.score(model.sample(), task.test, label) for model in models]
    certificate = models[0].certificate
    return Result(
        task=task.name,
        metric="AUC" if task.score is boosting_auc else "accuracy",
        scores=[round(score, 4) for score in scores],
        mean=round(float(np.mean(scores)), 4),
        std=round(float(np.std(scores)), 4),
        target=TARGETS[task.name],
        seconds=round(seconds, 2),
        epsilon=certificate.epsilon,
        sigma=round(certificate.bill[-1].sigma, 4),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/reproduce.json")
    arguments = parser.parse_args()
    results = []
    for task in [artificial_characters(), *(xor(features) for features in XOR_FEATURES)]:
        result = run(task, arguments.seeds)
        results.append(asdict(result))
        verdict = "ok" if result.mean >= result.target else "BELOW"
        print(
            f"{result.task:<22} {result.metric:<9} {result.mean:.4f} +- {result.std:.4f}"
            f"   target {result.target:.2f} {verdict}   {result.seconds:.1f} s a seed",
            flush=True,
        )
    record = {
        "command": "python -m benchmarks.reproduce",
        "tabpe": tabpe.__version__,
        "python": platform.python_version(),
        "preset": "paper",
        "results": results,
    }
    arguments.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
