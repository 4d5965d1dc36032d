"""The same run on the threads of one machine, and on as many worker processes of a cluster.

    python -m benchmarks.cluster --rows 5000000             # local, ray and spark, two workers each
    python -m benchmarks.cluster --rows 500000 --kill         # a worker killed in mid-round
    python -m benchmarks.cluster --rows 20000000 --preset best --fake    # the default, same tables

The table is simulated and written to Parquet once. Each run has a process of its own: the paper's
preset, or another, and the same number of synthetic rows for any number of rows. Noise is exact, or
with `--fake` repeatable, so that tables can be compared. The record has:

- `seconds` of `fit`, and `start_seconds` of the cluster.
- `ratio`: the seconds of an engine to those of `local` with as many threads.
- `driver_mb`: the peak memory of the process that calls `fit`, at a fifth of the rows and at all of
  them. It should be flat for a cluster.
- `bytes_per_round`: what goes to a worker and comes back in the largest round.
- `same_tables`: with `--fake`, whether all engines made the same tables.

With `--kill`, clusters have two nodes: two of Ray, by `ray start`, or a master and two workers of
Spark, by `deploy/spark-standalone.sh`. Noise is fake and seeded, so that tables can be compared to
that of one process. One run is undisturbed; in the other, which is charged to a ledger, a worker
kills itself with SIGKILL while it answers round 8.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common import (
    ROOT,
    compute_digest,
    make_parser,
    measure_peak_megabytes,
    run_benchmark,
)
from tabpe import Boolean, Categorical, Float, Integer, Schema, TabPE
from tabpe.accounting import FakeNoise
from tabpe.accounting.ledger import Ledger
from tabpe.backends import Answer, Query
from tabpe.backends.base import RowAccess
from tabpe.backends.queries import VoteQuery
from tabpe.evolution import PRESETS

WARDS = tuple(f"ward {number}" for number in range(12))
SCHEMA = Schema(
    (
        *(Float(f"x{number}", 0.0, 1.0) for number in range(4)),
        *(Integer(f"n{number}", 0, 99) for number in range(2)),
        *(Categorical(f"c{number}", WARDS) for number in range(3)),
        Boolean("ill"),
    ),
    label="ill",
)
CANDIDATES, ROUND = 2_000, 8
ROWS_A_FILE, ROWS_A_GROUP = 1_000_000, 100_000


def simulate_rows(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    level = rng.random(rows)
    columns: dict[str, Any] = {f"x{number}": level**number * 0.9 for number in range(4)}
    columns |= {f"n{number}": rng.integers(0, 100, rows) for number in range(2)}
    codes = {f"c{number}": rng.integers(0, 12, rows).astype(np.int32) for number in range(3)}
    columns |= {
        name: pa.DictionaryArray.from_arrays(code, list(WARDS)).cast(pa.string())
        for name, code in codes.items()
    }
    return pa.table(columns | {"ill": rng.random(rows) < level / 2})


def write_rows(folder: Path, rows: int) -> Path:
    """Write a table, part by part; return its folder."""
    place = folder / str(rows)
    place.mkdir(exist_ok=True)
    for number, start in enumerate(range(0, rows, ROWS_A_FILE)):
        part = simulate_rows(min(ROWS_A_FILE, rows - start), number)
        pq.write_table(part, place / f"{number:04}.parquet", row_group_size=ROWS_A_GROUP)
    return place


def start_nothing(_workers: int) -> None:
    """One machine needs no cluster."""


def start_ray(workers: int) -> None:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    ray.init(
        address="local",
        num_cpus=workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
    )


def start_spark(workers: int) -> None:
    """Start executors that are processes of their own, of one core each."""
    warnings.simplefilter("ignore", FutureWarning)  # Spark warns of pandas.
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    import pyspark
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    builder = SparkSession.builder.master(f"local-cluster[{workers},1,1536]")
    for name, value in (quiet | {"spark.executor.memory": "1536m"}).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.parallelize(range(workers), workers).count()


@contextmanager
def ray_nodes(workers: int, _folder: Path) -> Iterator[str]:
    """Yield the address of a cluster of nodes with one core each, as `ray start` makes them."""
    os.environ.setdefault("RAY_AUTH_MODE", "token")  # A head asks for it; others must be told to.
    ray, port = Path(sys.executable).with_name("ray"), free_port()
    address = f"127.0.0.1:{port}"
    usual = ("--num-cpus=1", "--object-store-memory=200000000", "--disable-usage-stats")
    places = [["--head", f"--port={port}", "--include-dashboard=false"]]
    places += [[f"--address={address}"]] * (workers - 1)
    try:
        for place in places:
            silently(ray, "start", *place, *usual)
        yield address
    finally:
        silently(ray, "stop", "--force")


@contextmanager
def spark_standalone(workers: int, folder: Path) -> Iterator[str]:
    """Yield the address of a master whose workers have one core each."""
    script, port = ROOT.parent / "deploy" / "spark-standalone.sh", free_port()
    logs = folder / "spark"
    with subprocess.Popen(  # noqa: S603, our own script
        [script, str(workers), str(port), logs],
        env=os.environ | {"PYTHON": sys.executable},
        stdout=subprocess.DEVNULL,
    ) as cluster:
        try:
            while (
                sum("registered with" in log.read_text() for log in logs.glob("w*.log")) < workers
            ):
                time.sleep(0.2)
            yield f"spark://127.0.0.1:{port}"
        finally:
            cluster.terminate()


def silently(*command: Any) -> None:
    subprocess.run([*map(str, command)], check=True, capture_output=True)  # noqa: S603


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


NODES = {"ray": ray_nodes, "spark": spark_standalone}
# By the name of the engine: what starts its cluster, and the pool whose queries are measured.
ENGINES: dict[str, tuple[Callable[[int], None], str | None]] = {
    "local": (start_nothing, None),
    "ray": (start_ray, "tabpe.backends.ray.RayShardPool"),
    "spark": (start_spark, "tabpe.backends.spark.SparkShardPool"),
}


@dataclass(frozen=True, eq=False)
class KillingVoteQuery(VoteQuery):
    """A query that one worker dies of, once."""

    mark: str = ""

    def evaluate(self, rows: RowAccess) -> Any:
        """Answer, and die before anyone hears of it."""
        answer = super().evaluate(rows)
        kill_once(self.mark, os.getpid())
        return answer


@dataclass(frozen=True, eq=False)
class ExecutorKillingVoteQuery(VoteQuery):
    """The same for Spark: an executor dies, and its workers."""

    mark: str = ""

    def evaluate(self, rows: RowAccess) -> Any:
        """Answer, and die before anyone hears of it."""
        answer = super().evaluate(rows)
        # Workers are forked by a process that is a child of the executor.
        stat = Path(f"/proc/{os.getppid()}/stat").read_text()
        kill_once(self.mark, int(stat.rpartition(")")[2].split()[1]))
        return answer


def kill_once(mark: str, process: int) -> None:
    """Kill a process that this one can not do without, unless that was done before."""
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(process, signal.SIGKILL)
    time.sleep(60)


def killing(query: VoteQuery, mark: str, pool: str) -> VoteQuery:
    fields = {one.name: getattr(query, one.name) for one in dataclasses.fields(query)}
    kind = ExecutorKillingVoteQuery if "spark" in pool else KillingVoteQuery
    return kind(**fields, mark=mark)


def weigh(pool: str | None, sizes: list[int], mark: str | None) -> None:
    """Have a pool tell how much goes to a worker and comes back; let one die if that is asked."""
    if pool is None:
        return
    module, _, name = pool.rpartition(".")
    kind = getattr(__import__(module, fromlist=[name]), name)
    ask, votes = kind.answer, []

    def weighed(self: Any, query: Query) -> Answer:
        if not isinstance(query, VoteQuery):
            return ask(self, query)
        votes.append(1)
        there = sum(part.numbers.nbytes + part.codes.nbytes for part in query.population)
        dies = mark is not None and len(votes) == ROUND
        answer = ask(self, killing(query, str(mark), pool) if dies else query)
        sizes.append(there + sum(counts.nbytes for counts in answer.value))
        return answer

    kind.answer = weighed


def run_once(engine: str, data: str, given: argparse.Namespace) -> dict[str, Any]:
    """Run once in this process, and return its costs."""
    start, pool = ENGINES[engine]
    workers, mark, fake = given.workers, given.mark, given.fake
    sizes: list[int] = []
    began = time.perf_counter()
    if given.address is None:
        start(workers)
    weigh(pool, sizes, mark)
    started = time.perf_counter()
    model = TabPE(
        epsilon=1.0,
        delta=1e-6,
        preset=given.preset,
        n_samples=CANDIDATES,
        noise=FakeNoise(1) if fake else "exact",
        engine=engine,
        address=given.address,
        ledger=given.ledger,
        dataset=given.ledger and "people",
        n_jobs=workers,
        random_state=0,
        verbose=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data, SCHEMA)
    done = time.perf_counter()
    return {
        "seconds": round(done - started, 3),
        "start_seconds": round(started - began, 3),
        "driver_mb": round(measure_peak_megabytes(), 1),
        "bytes_per_round": max(sizes, default=0),
        "digest": compute_digest(model.sample().to_pydict()) if fake else None,
    }


def run(engine: str, workers: int, data: Path, *words: str) -> dict[str, Any]:
    """Run in a process of its own."""
    options = ("--workers", workers, *words)
    found: dict[str, Any] = run_benchmark("cluster", "--child", engine, data.resolve(), *options)
    return found


def compare_engines(
    engines: list[str], workers: int, small: Path, large: Path, *words: str
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    digests = []
    for engine in engines:
        less, more = run(engine, workers, small, *words), run(engine, workers, large, *words)
        found[engine] = more | {"driver_mb": [less["driver_mb"], more["driver_mb"]]}
        found[engine]["bytes_per_round"] = [less["bytes_per_round"], more["bytes_per_round"]]
        digests.append((less["digest"], found[engine].pop("digest")))
    if "local" in found:
        for one in found.values():
            one["ratio"] = round(one["seconds"] / found["local"]["seconds"], 3)
    return found | ({"same_tables": len(set(digests)) == 1} if "--fake" in words else {})


def compare_killed(
    engines: list[str], workers: int, data: Path, folder: Path, preset: str
) -> dict[str, Any]:
    chosen = ("--preset", preset)
    alone = run("local", workers, data, "--fake", *chosen)
    found: dict[str, Any] = {"local": {"seconds": alone["seconds"]}}
    for engine in engines:
        if engine not in NODES:
            continue
        mark, ledger = folder / f"killed {engine}", folder / f"{engine}.db"
        Ledger(ledger).set_budget("people", epsilon=10.0, delta=1e-5)
        with NODES[engine](workers, folder) as address:
            words = ("--fake", "--address", address, *chosen)
            peace = run(engine, workers, data, *words)
            killed = run(
                engine, workers, data, *words, "--mark", str(mark), "--ledger", str(ledger)
            )
        found[engine] = {
            "seconds": peace["seconds"],
            "seconds_with_a_loss": killed["seconds"],
            "delay": round(killed["seconds"] - peace["seconds"], 3),
            "driver_mb": peace["driver_mb"],
            "was_killed": mark.exists(),
            "same_table": alone["digest"] == peace["digest"] == killed["digest"],
            "charges": [entry.state for entry in Ledger(ledger).entries("people")],
        }
    return found


def main() -> None:
    parser = make_parser(__doc__, "cluster", rows=5_000_000, workers=2)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--kill", action="store_true", help="kill a worker in mid-round")
    parser.add_argument("--data", type=Path, help="a folder to keep the simulated tables in")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--preset", choices=PRESETS, default="paper")
    parser.add_argument("--fake", action="store_true", help="repeatable noise; compare the tables")
    for word in ("--mark", "--address", "--ledger"):
        parser.add_argument(word, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(run_once(*given.child, given)))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.data or Path(temporary)
        large = write_rows(folder, given.rows)
        engines = given.engines.split(",")
        about = {"rows": given.rows, "workers": given.workers, "cores": os.cpu_count()}
        about |= {"noise": "fake" if given.fake or given.kill else "exact"}
        other = "" if given.preset == "paper" else f", {given.preset}"
        if given.kill:
            found = compare_killed(engines, given.workers, large, Path(temporary), given.preset)
            record = {f"killed{other}": about | found}
        else:
            small = write_rows(folder, given.rows // 5)
            words = ("--preset", given.preset, *(["--fake"] if given.fake else []))
            found = compare_engines(engines, given.workers, small, large, *words)
            record = {f"compared{other}": about | found}
    known = json.loads(given.out.read_text()) if given.out.exists() else {}
    given.out.write_text(json.dumps(known | record, indent=2) + "\n")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
