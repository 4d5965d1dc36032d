"""Made-up runs of experiments, for tests of what is shown of them."""

import hashlib
import json
import random

from tabpe_lab.records import RunRecord

METHODS = ("real", "tabpe", "independent", "mst", "aim", "privsyn", "privmrf", "gem", "rap++")


def run(data="adult", method="tabpe", seed=0, *, metrics=None, **more):
    """A run that is done, but for what is said otherwise."""
    fields = {
        "experiment": "made-up",
        "variant": "full",
        "called": method,
        "split": "seed",
        "status": "done",
        "epsilon": None if method == "real" else 1.0,
        "limits": {"seconds": 3600.0, "gigabytes": 8.0},
        "seconds": 10.0,
        "rows": 1000,
        "metrics": {"accuracy": 0.5} if metrics is None else metrics,
        **more,
    }
    told = [data, method, seed, {key: value for key, value in fields.items() if key != "metrics"}]
    key = hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]
    return RunRecord(key=key, data=data, method=method, seed=seed, **fields)


def plausible(*places, **more):
    """Metrics that look like those of a run, the same for the same place."""
    draw = random.Random(json.dumps(places))
    accuracy = draw.uniform(0.3, 0.9)
    wd = {f"{k}-wd": 0.02 * k + draw.uniform(0, 0.03) for k in range(1, 8)}
    rest = {"macro_f1": accuracy - 0.02, "auc": min(0.99, accuracy + 0.05)}
    return {"accuracy": accuracy, **rest, "precision": 0.8, "recall": 0.7, **wd, **more}
