"""Reproduce the paper's ablations on Artificial Characters at epsilon 1.

    python -m benchmarks.ablations [--seeds 3] [--out benchmarks/results/ablations.json]

Selection (two-stage against sampling and ranking alone), schedule (polynomial against linear), and
operator (random walk against the genetic one of PrivGSD), each with all else as in the paper; and
the preset `reference`, the variant that the authors published as code. Test accuracy as in
`reproduce.py`, from which the data and the score come.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks.reproduce import ROOT, artificial_characters, fit
from tabpe.evolution import PRESETS, Evolution

VARIANTS = {
    "paper": Evolution(),
    "sampling only": Evolution(selection="sampling"),
    "ranking only": Evolution(selection="ranking"),
    "linear schedule": Evolution(schedule="linear"),
    "genetic operator": Evolution(operator="genetic"),
    "reference": PRESETS["reference"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks/results/ablations.json")
    arguments = parser.parse_args()
    task = artificial_characters()
    record = {}
    for name, config in VARIANTS.items():
        scores = [
            task.score(fit(task, seed, config).sample(), task.test, str(task.schema.label))
            for seed in range(arguments.seeds)
        ]
        record[name] = {"scores": [round(score, 4) for score in scores]}
        print(f"{name:<18} {np.mean(scores):.4f} +- {np.std(scores):.4f}", flush=True)
    text = json.dumps({"command": "python -m benchmarks.ablations", "accuracy": record}, indent=2)
    arguments.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
