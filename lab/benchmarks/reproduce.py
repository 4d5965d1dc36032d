"""Reproduce the paper's core figures: Artificial Characters and XOR at epsilon 1, paper preset.

    python -m benchmarks.reproduce [--seeds 3] [--out benchmarks/results/reproduce.json]

As in the paper, class shares and the number of rows are taken as public. Accuracy and AUC are of a
classifier trained on the synthetic rows and tested on real ones: the best of gradient boosting,
extra trees and 5 nearest neighbours on Artificial Characters, gradient boosting on XOR.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import tabpe
from benchmarks.common import (
    make_parser,
    make_public_model,
    publish,
    read_splits,
    summarize_scores,
    write_record,
)
from tabpe_lab.datasets.simulated import draw_xor_table, make_xor_schema

XOR_FEATURES = (2, 3, 4)
TARGETS = {"Artificial Characters": 0.45, "XOR 2": 0.97, "XOR 3": 0.93, "XOR 4": 0.85}


@dataclass(frozen=True)
class Task:
    """A data set with the number of synthetic rows of the paper."""

    name: str
    schema: tabpe.Schema
    train: pd.DataFrame
    test: pd.DataFrame
    size: int
    metric: str
    score: Callable[[pd.DataFrame, pd.DataFrame, str], float]


def best_accuracy(train: pd.DataFrame, test: pd.DataFrame, label: str) -> float:
    """Return the best test accuracy of three classifiers."""
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
    """Return the test AUC of gradient boosting."""
    features = [name for name in test.columns if name != label]
    model = HistGradientBoostingClassifier(random_state=0).fit(train[features], train[label])
    return float(roc_auc_score(test[label], model.predict_proba(test[features])[:, 1]))


def artificial_characters() -> Task:
    """Return the official splits; bounds over all splits, as the authors' metadata has them."""
    parts = read_splits("artificial_characters", "train", "val", "test")
    schema = publish(tabpe.draft_schema(pd.concat(parts), label="Class"))
    name = "Artificial Characters"
    return Task(name, schema, parts[0], parts[2], 1000, "accuracy", best_accuracy)


def xor(features: int) -> Task:
    """Return the paper's stress test: the label is the parity of the signs."""
    table = draw_xor_table(features).to_pandas()
    schema = make_xor_schema(features)
    train, test = table.iloc[:35_000], table.iloc[42_500:]
    return Task(f"XOR {features}", schema, train, test, 2000, "AUC", boosting_auc)


def run(task: Task, seeds: int) -> dict[str, Any]:
    """Fit with each seed and score the synthetic rows."""
    label = str(task.schema.label)
    start = time.perf_counter()
    models = [
        make_public_model(task.train, label, n_samples=task.size, random_state=seed).fit(
            task.train, task.schema
        )
        for seed in range(seeds)
    ]
    seconds = (time.perf_counter() - start) / seeds
    certificate = models[0].certificate
    return {
        "task": task.name,
        "metric": task.metric,
        **summarize_scores([task.score(model.sample(), task.test, label) for model in models]),
        "target": TARGETS[task.name],
        "seconds": round(seconds, 2),
        "epsilon": certificate.epsilon,
        "sigma": round(certificate.spends[-1].sigma, 4),
    }


def main() -> None:
    arguments = make_parser(__doc__, "reproduce", seeds=3).parse_args()
    results = []
    for task in [artificial_characters(), *map(xor, XOR_FEATURES)]:
        results.append(run(task, arguments.seeds))
        verdict = "ok" if results[-1]["mean"] >= results[-1]["target"] else "BELOW"
        print(
            "{task:<22} {metric:<9} {mean:.4f} +- {std:.4f}   target {target:.2f} {verdict}   "
            "{seconds:.1f} s a seed".format(verdict=verdict, **results[-1]),
            flush=True,
        )
    write_record(arguments.out, "reproduce", {"preset": "paper", "results": results})


if __name__ == "__main__":
    main()
