"""Plans against real runs: how often quality lies in the band that was predicted.

    python -m benchmarks.plans [--seeds 10] [--rows 12000] [--out benchmarks/results/plans.json]

For Adult, Bank and Artificial Characters a plan is made twice without a look at the training rows:
from the schema alone, and with the validation rows as a public stand-in. Then real runs are made at
epsilon 1 and 3, with other seeds: each takes `rows` training rows at random (or all, if there are
fewer), and its 1-way and 2-way error, kept utility and score are looked up in the bands.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np

from benchmarks.common import make_parser, write_record
from tabpe import TabPE, plan
from tabpe.evaluation.planning.simulate import compare_marginals, compare_predictors
from tabpe_lab.datasets import catalog

NAMES = ("artificial-characters", "adult", "bank")
EPSILONS = (1.0, 3.0)
MEASURES = ("column_error", "pair_error", "kept", "score")
# Widths of bands were chosen after a trial with the seeds 1000 and 1001. With 2000 to 2009 the
# utility of one table left its band twice, so that band was widened; these seeds are new again.
FIRST_SEED = 3000


def main() -> None:
    parser = make_parser(__doc__ or "", "plans", seeds=10, rows=12_000, simulations=2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {name: compare(name, options) for name in NAMES}
    write_record(options.out, "plans", {"tables": found})
    print(json.dumps({name: one["within"] for name, one in found.items()}))


def compare(name: str, options: Any) -> dict[str, Any]:
    data = catalog.load(name)
    rows = min(options.rows, data.train.num_rows)
    settings = {"simulations": options.simulations, "random_state": 1}
    plans = {
        "schema alone": plan(data.schema, rows, EPSILONS, **settings),
        "stand-in": plan(data.schema, rows, EPSILONS, stand_in=data.validation, **settings),
    }
    runs = [
        {"seed": seed, "epsilon": epsilon, **run(data, rows, epsilon, FIRST_SEED + seed)}
        for seed in range(options.seeds)
        for epsilon in EPSILONS
    ]
    bands: dict[str, Any] = {}
    within: dict[str, Any] = {}
    for kind, made in plans.items():
        for entry in made.epsilons:
            for measure in MEASURES:
                band = getattr(entry, measure)
                if band is None:
                    continue
                values = [one[measure] for one in runs if one["epsilon"] == entry.epsilon]
                key = f"{kind}, epsilon {entry.epsilon:g}, {measure}"
                bands[key] = [round(end, 4) for end in (band.low, band.middle, band.high)]
                within[key] = f"{sum(value in band for value in values)}/{len(values)}"
    print(name, json.dumps(within), flush=True)
    return {"rows": rows, "bands": bands, "within": within, "runs": runs}


def run(data: Any, rows: int, epsilon: float, seed: int) -> dict[str, float]:
    """Return what a real run gives, measured with the real rows."""
    rng = np.random.default_rng(seed)
    table = data.train.take(rng.permutation(data.train.num_rows)[:rows])
    delta = 1 / (rows * np.log(rows))
    model = TabPE(epsilon=epsilon, delta=delta, random_state=seed, verbose=0)
    synthetic = model.fit(table, data.schema).sample()
    column, pair = compare_marginals(data.schema, table, synthetic)
    kept, score = compare_predictors(data.schema, table, synthetic, data.test, seed=seed)
    found = {"column_error": column, "pair_error": pair, "kept": kept, "score": score}
    return {key: round(float(value), 4) for key, value in found.items() if value is not None}


if __name__ == "__main__":
    main()
