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
from losing import DeadlyVoteQuery
from tabpe import TabPE
from tabpe.accounting import FakeNoise
from tabpe.accounting.ledger import Ledger
from tabpe.measurement import session

# So many candidates that they are more than one piece of what Spark sends encrypted.
MANY = {"n_samples": 5_000}


def main(address, folder):
    session.VoteQuery = partial(DeadlyVoteQuery, folder=str(folder))
    charged = {"ledger": folder / "ledger.db", "dataset": "people"}
    where = {"engine": "spark", "address": address, "n_jobs": 2}
    model = TabPE(**(FAST | MANY | charged | where), noise=FakeNoise(1))
    model.fit(folder / "people.parquet", SCHEMA)

    from pyspark import SparkContext

    return {
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


if __name__ == "__main__":
    warnings.simplefilter("ignore", UserWarning)
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
