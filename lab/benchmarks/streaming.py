"""Tables of 20 to 100 million rows from Parquet on disk, synthesised in constant memory.

    python -m benchmarks.streaming [--rows 20000000] [--folder DIR] [--out FILE]
    python -m benchmarks.streaming --rows 100000000 --streamed

The record of the second, which has fewer runs, is `streaming-100m.json`.

Writes a simulated table (9 numbers and a class, float32, in files of a million rows) and fits the
presets `paper`, which evolves 2,000 rows, and `best`, which makes 2,000, to it, each time in a
process of its own:

- `stream`, with exact noise, chosen because of a memory limit of 64 MB: peak memory, time, and the
  time of a round.
- `stream` and `local` with the same seed and fake, repeatable noise: the history and the rows must
  be identical, which shows that all votes were. `--streamed` leaves these out.

A round reads all encoded rows from a file and finds the nearest candidates of each. So the record
has what a round would take if only one of these took time: `disk_s`, to read as many bytes from a
file that the system does not hold in memory, `memory_s`, from one that it does, and `kernel_s`, to
search for rows that lie in memory already, on all cores. `bound` names the one that is larger, of
the kernel and of the disk (or memory, where the whole file fits there).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import tempfile
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import tabpe
from benchmarks.common import (
    RESULTS,
    compute_digest,
    make_parser,
    measure_peak_megabytes,
    measure_seconds,
    run_benchmark,
    write_record,
)
from tabpe.accounting import ExactNoise, NoiseSource
from tabpe.accounting.noise import FakeNoise
from tabpe.backends.nearest import build_index, prepare_rows
from tabpe.encoding import Encoder, Records
from tabpe.evolution import resolve_strategy
from tabpe.evolution.config import get_category_weight

NUMBERS = 9
FACTORS = 4
ROWS_A_FILE = 1_000_000
USUAL = 20_000_000
SIZE = 2000
LARGEST_MEMORY = 2 * 10**9
STREAMED = {f"{preset}, stream": {"preset": preset} for preset in ("paper", "best")}
COMPARED = {
    f"{preset}, {engine}, fake noise": {"preset": preset, "engine": engine, "fake": True}
    for preset in ("paper", "best")
    for engine in ("stream", "local")
}
RUNS: dict[str, dict[str, Any]] = STREAMED | COMPARED
# A file that is timed.
TIMED_BYTES, BYTES_AT_ONCE = 2**28, 2**22
# As much of the free memory as the system may use to hold a file.
HELD_SHARE = 0.7


@dataclass
class ClockedNoise:
    """Noise that notes when it was asked for: once a histogram.

    Args:
        source: Where it comes from.
        asked: The times.
    """

    source: NoiseSource
    asked: list[float] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What the certificate says."""
        return self.source.name

    @property
    def private(self) -> bool:
        """Whether the source is a private one."""
        return self.source.private

    def draw(self, size: int, sigma: float) -> NDArray[np.int64]:
        """Return `size` draws of the source."""
        self.asked.append(time.perf_counter())
        return self.source.draw(size, sigma)

    def measure_round(self, rounds: int) -> float:
        """Return the median time from one vote to the next; the last histograms are votes.

        Example:
            >>> ClockedNoise(ExactNoise(), [0.0, 9.0, 10.0, 12.0, 14.0]).measure_round(3)
            2.0
        """
        votes = self.asked[-rounds:]
        return median(after - before for before, after in itertools.pairwise(votes))


def schema() -> tabpe.Schema:
    """Numbers between bounds that nearly all of them keep, and two classes."""
    numbers = [tabpe.Float(f"x{place}", -4.0, 4.0) for place in range(NUMBERS)]
    return tabpe.Schema((*numbers, tabpe.Categorical("y", (0, 1))), label="y")


def write_table(folder: Path, rows: int) -> None:
    """Write numbers of few common factors, the class by the sign of a product of two."""
    mixing = np.random.default_rng(0).normal(size=(FACTORS, NUMBERS)) / 2
    for number, start in enumerate(range(0, rows, ROWS_A_FILE)):
        rng = np.random.default_rng([1, number])
        factors = rng.normal(size=(min(ROWS_A_FILE, rows - start), FACTORS))
        numbers = (factors @ mixing + 0.2 * rng.normal(size=(len(factors), NUMBERS))).astype("f4")
        columns = {f"x{place}": column for place, column in enumerate(numbers.T)}
        columns["y"] = (factors[:, 0] * factors[:, 1] > 0).astype(np.int8)
        pq.write_table(pa.table(columns), folder / f"part-{number:03}.parquet")


def fit(folder: Path, *, preset: str, engine: str = "auto", fake: bool = False) -> dict[str, Any]:
    """Run once in this process."""
    warnings.simplefilter("ignore", tabpe.errors.NotPrivateWarning)
    noise = ClockedNoise(FakeNoise(seed=0) if fake else ExactNoise())
    limit = {} if engine == "local" else {"memory_limit": "64MB"}
    start, processor = time.perf_counter(), time.process_time()
    model = tabpe.TabPE(
        epsilon=1.0,
        delta=1e-9,
        n_samples=SIZE,
        preset=preset,
        noise=noise,
        engine=engine,
        spill=None if engine == "local" else str(folder),
        random_state=0,
        verbose=0,
        **limit,
    ).fit(folder / "table", schema())
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    peak = round(measure_peak_megabytes() * 2**20)
    rounds = resolve_strategy(preset).rounds
    found = {
        "seconds": round(seconds, 1),
        "processor_s": round(processor, 1),
        "round_s": round(noise.measure_round(rounds), 2),
        "peak_bytes": peak,
        "sha256": compute_digest([model.history_, model.sample().to_pylist()]),
    }
    population = max(record["population"] for record in model.history_)
    return (
        found if fake else found | {"limits_a_million": measure_kernel(folder, model, population)}
    )


def measure_kernel(folder: Path, model: tabpe.TabPE, population: int) -> float:
    """Return the seconds to search the nearest candidates of a million rows in memory."""
    strategy, encoder = resolve_strategy(model.preset), Encoder(schema())
    rows, classes = encoder.encode(pq.read_table(next((folder / "table").glob("*.parquet"))))
    drawn, labels = encoder.encode(model.sample(population))
    weight, jobs = get_category_weight(strategy), os.cpu_count() or 1

    def search(label: int) -> float:
        candidates = Records(drawn.numbers, drawn.codes).take(np.flatnonzero(labels == label))
        index = build_index(candidates, weight, jobs=jobs)
        segment, _ = prepare_rows(rows.take(np.flatnonzero(classes == label)), weight)
        votes = min(strategy.votes, len(candidates))
        return min(measure_seconds(lambda: index.find_nearest(segment, votes)) for _ in range(3))

    return sum(search(label) for label in range(2) if (labels == label).any()) * (1e6 / len(rows))


def measure_disk(folder: Path) -> dict[str, float]:
    """Return the bytes per second that are read from a file on the disk, and from memory."""
    path = folder / "timed"
    block = np.random.default_rng(0).bytes(BYTES_AT_ONCE)
    with path.open("wb") as file:
        for _ in range(TIMED_BYTES // BYTES_AT_ONCE):
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    held = bytearray(BYTES_AT_ONCE)

    def read() -> None:
        with path.open("rb", buffering=0) as opened:
            while opened.readinto(held):
                pass

    found = {name: TIMED_BYTES / measure_seconds(read) for name in ("disk", "memory")}
    path.unlink()
    return found


def describe_bound(
    run: Mapping[str, Any], rows: int, rates: Mapping[str, float], free: float
) -> dict[str, Any]:
    """Return what a round would take if only one thing took time, and which bounds it.

    Args:
        run: What a run measured.
        rows: The number of rows.
        rates: The bytes per second of the disk and of memory.
        free: How many bytes of a file the system may hold in memory.

    Example:
        >>> run = {"round_s": 9.0, "limits_a_million": 0.4}
        >>> found = describe_bound(run, 20_000_000, {"disk": 1e9, "memory": 4e9}, free=1e10)
        >>> found["kernel_s"], found["bound"], found["of_bound"]
        (8.0, 'kernel', 1.12)
    """
    size = rows * NUMBERS * 4
    times = {
        "disk_s": size / rates["disk"],
        "memory_s": size / rates["memory"],
        "kernel_s": rows / 1e6 * run["limits_a_million"],
    }
    source = "memory" if size < free else "disk"
    bound = max((source, "kernel"), key=lambda name: times[f"{name}_s"])
    least = times[f"{bound}_s"]
    rounded = {name: round(seconds, 2) for name, seconds in times.items()}
    return rounded | {"bound": bound, "of_bound": round(run["round_s"] / least, 2)}


def in_own_process(folder: Path, name: str) -> dict[str, Any]:
    """Run once in a fresh process, so that the peak is its own."""
    result: dict[str, Any] = run_benchmark("streaming", "--run", name, "--folder", folder)
    megabytes = result["peak_bytes"] / 2**20
    print(
        f"{name:<26} {result['seconds']:>8.1f} s {result['round_s']:>7.2f} s a round"
        f" {megabytes:>7.0f} MB",
        flush=True,
    )
    return result


def compare(folder: Path, rows: int, *, streamed: bool) -> dict[str, Any]:
    """Write the table and make all runs."""
    (folder / "table").mkdir()
    write_table(folder / "table", rows)
    size = sum(file.stat().st_size for file in (folder / "table").glob("*.parquet"))
    print(f"{rows:,} rows, {NUMBERS + 1} columns, {size / 2**20:,.0f} MB of Parquet", flush=True)
    results = {name: in_own_process(folder, name) for name in (STREAMED if streamed else RUNS)}
    rates, free = measure_disk(folder), HELD_SHARE * _read_free_bytes()
    for name in STREAMED:
        results[name] |= describe_bound(results[name], rows, rates, free)
        found = results[name]
        print(f"{name}: bound by {found['bound']}, {found['of_bound']} times as long", flush=True)
    digests = {
        preset: [results[name]["sha256"] for name in COMPARED if name.startswith(preset)]
        for preset in (() if streamed else ("paper", "best"))
    }
    peak = max(results[name]["peak_bytes"] for name in STREAMED)
    return {
        "rows": rows,
        "columns": NUMBERS + 1,
        "parquet_bytes": size,
        "encoded_bytes": rows * NUMBERS * 4,
        "synthetic_rows": SIZE,
        "megabytes_per_s": {name: round(rate / 1e6) for name, rate in rates.items()},
        "runs": results,
        "peak_below_2_GB": peak < LARGEST_MEMORY,
        **{f"{preset}_same_streamed_and_in_memory": a == b for preset, (a, b) in digests.items()},
    }


def _read_free_bytes() -> float:
    """Return the memory that programs do not hold; none where the system does not say."""
    if not hasattr(os, "sysconf") or "SC_AVPHYS_PAGES" not in os.sysconf_names:
        return 0.0
    info = Path("/proc/meminfo")
    if info.exists():
        lines = dict(line.split(":") for line in info.read_text().splitlines())
        return 1024.0 * float(lines["MemAvailable"].split()[0])
    return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def main() -> None:
    parser = make_parser(__doc__, "streaming", rows=USUAL)
    parser.add_argument("--folder", type=Path, help="where the table is written; deleted after")
    parser.add_argument("--streamed", action="store_true", help="only the runs with exact noise")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        print(json.dumps(fit(arguments.folder, **RUNS[arguments.run])))
        return
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        record = compare(Path(folder), arguments.rows, streamed=arguments.streamed)
    for name, is_met in record.items():
        if isinstance(is_met, bool):
            print(f"{name:<40} {'ok' if is_met else 'FAILED'}")
    out = arguments.out
    if arguments.streamed and out == RESULTS / "streaming.json":
        out = RESULTS / f"streaming-{arguments.rows // 10**6}m.json"
    write_record(out, "streaming", record)


if __name__ == "__main__":
    main()
