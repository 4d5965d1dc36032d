"""Fits on a cluster of Spark of which an executor is killed in the middle of a round.

A process of its own, in which no session is active. Usage: python lose_executor.py ADDRESS FOLDER,
prints what it saw as JSON.
"""

import json
import os
import sys
import warnings
from functools import partial
from pathlib import Path

from facade import FAST, SCHEMA
from losing import DeadlyPolled
from tabpe import TabPE
from tabpe.engines import crewed
from tabpe.privacy import FakeNoise
from tabpe.privacy.ledger import Ledger

warnings.simplefilter("ignore", UserWarning)
address, folder = sys.argv[1], Path(sys.argv[2])
crewed.Polled = partial(DeadlyPolled, folder=str(folder))
charged = {"ledger": folder / "ledger.db", "dataset": "people"}
# So many candidates that they are more than one piece of what Spark sends encrypted.
many = {"n_samples": 5_000}
model = TabPE(
    **(FAST | charged | many), noise=FakeNoise(1), engine="spark", address=address, n_jobs=2
).fit(folder / "people.parquet", SCHEMA)

from pyspark import SparkContext  # noqa: E402

seen = {
    "rows": model.sample().to_pydict(),
    "history": model.history_,
    "killed": (folder / "killed").exists(),
    "charges": [entry.state for entry in Ledger(folder / "ledger.db").entries("people")],
    "left behind": [
        SparkContext._active_spark_context is not None,
        SparkContext._gateway is not None,
        "PYSPARK_PYTHON" in os.environ,
    ],
}
print(json.dumps(seen))
