"""Records of runs: one line of JSON each, appended as runs end.

Results of an experiment are in `<folder>/<name>.<variant>.jsonl`. A run that was repeated has two
lines with the same key; the last one counts. Anything too large for a line is beside it, in
`<folder>/<name>.<variant>/<key>.json`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from tabpe._utils import files, serialization
from tabpe.errors import ArchiveError, OutputError
from tabpe_lab.grid import ExperimentRun

FOLDER = Path("lab/results")
Status = Literal["done", "did not fit", "failed"]


@dataclass(frozen=True)
class RunRecord:
    """One run.

    Args:
        experiment: The name of the experiment.
        variant: Its variant.
        key: Digest of all that defines the run.
        data: The name of the data set.
        data_options: Options of its loader.
        method: The name of the method.
        called: Its display name.
        settings: The settings of the method that the experiment names, with this run's values.
        epsilon: The budget; None for `real`.
        delta: The requested delta; None if the run ended before it was known.
        seed: The seed of the run.
        split: `authors` or `seed`.
        status: How it ended.
        reason: Why it did not fit or failed; empty if it is done.
        limits: Its limits: `seconds`, `gigabytes`.
        seconds: Time of fitting and sampling in its process; None if it did not end.
        peak_megabytes: The peak memory of the process and its children.
        rows: Training rows.
        synthetic_rows: Synthetic rows.
        certified_epsilon: The epsilon of the certificate; None for `real`.
        metrics: By name. One that is undefined for this data is left out. `validation_accuracy`
            and the like are of the validation rows; the others of the test rows.
        evaluation: Settings of the metrics, chosen learner, compared rows, seconds.
        versions: Versions of the relevant packages.
        machine: Processor, cores, memory, threads of the run.
        made: When it ended, UTC.
        extra: The name of the file beside, if there is one.
    """

    experiment: str
    variant: str
    key: str
    data: str
    method: str
    called: str
    seed: int
    split: str
    status: Status
    data_options: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    epsilon: float | None = None
    delta: float | None = None
    reason: str = ""
    limits: dict[str, float] = field(default_factory=dict)
    seconds: float | None = None
    peak_megabytes: float | None = None
    rows: int | None = None
    synthetic_rows: int | None = None
    certified_epsilon: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    evaluation: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    made: str = ""
    extra: str | None = None

    def to_line(self) -> str:
        """Return the record as one line of JSON, without the line end.

        Example:
            >>> record = RunRecord("a", "quick", "0f", "xor", "real", "real", 0, "seed", "done")
            >>> parse_record(record.to_line(), where="a line") == record
            True
        """
        plain = asdict(self)
        plain["metrics"] = {k: v for k, v in self.metrics.items() if math.isfinite(v)}
        return json.dumps(plain, allow_nan=False, ensure_ascii=False)


_OF_RUNS = (
    *("experiment", "variant", "data", "method", "called", "seed", "split"),
    *("data_options", "settings", "epsilon"),
)


def make_record(run: ExperimentRun, status: Status) -> RunRecord:
    """Return a record with the fields that are known before the run."""
    known = {each.name: getattr(run, each.name) for each in fields(run) if each.name in _OF_RUNS}
    return RunRecord(key=run.key, status=status, **known)


def parse_record(line: str, *, where: str) -> RunRecord:
    """Return the record of a line.

    Raises:
        ArchiveError: If it is none; names the file and line.
    """
    try:
        plain = serialization.parse_strict_json(line)
    except (ValueError, RecursionError) as error:
        raise ArchiveError(f"{where}: not a record ({error}).") from None
    return serialization.read_dataclass(RunRecord, plain, where=where)


def get_results_path(experiment: str, variant: str, folder: Path = FOLDER) -> Path:
    """Return the file that holds the results of an experiment.

    Example:
        >>> get_results_path("xor", "quick").name
        'xor.quick.jsonl'
    """
    return folder / f"{experiment}.{variant}.jsonl"


def get_extra_path(record: RunRecord, folder: Path = FOLDER) -> Path | None:
    """Return the file with what is kept beside a record, if there is one."""
    beside = get_results_path(record.experiment, record.variant, folder).with_suffix("")
    return None if record.extra is None else beside / record.extra


def read_records(path: Path) -> list[RunRecord]:
    """Return the records of a file, the last of each key, in the order of their first lines.

    A missing file has none. A last line without a line end was interrupted while it was written,
    and is left out.

    Raises:
        ArchiveError: If a line can not be read; names the file and the line.
    """
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    found: dict[str, RunRecord] = {}
    for number, line in enumerate(lines, start=1):
        record = parse_record(line, where=f"{path}: line {number}")
        found[record.key] = record
    return list(found.values())


def read_all_records(folder: Path = FOLDER) -> list[RunRecord]:
    """Return the records of all experiments in a folder, but for quick variants, by file."""
    paths = sorted(folder.rglob("*.jsonl"), key=lambda path: path.relative_to(folder).as_posix())
    return [
        record
        for path in paths
        if not path.name.endswith(".quick.jsonl")
        for record in read_records(path)
    ]


def append_record(path: Path, record: RunRecord) -> None:
    """Append a record to a file in one durable write.

    Raises:
        OutputError: If it can not be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _cut_partial_line(path)
        with path.open("ab", buffering=0) as file:
            file.write(f"{record.to_line()}\n".encode())
            os.fsync(file.fileno())
    except OSError as error:
        raise OutputError(f"{path}: can not write ({error.strerror or error}).") from None


def write_extra(path: Path, content: Mapping[str, Any]) -> None:
    """Write what is kept beside a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_text(path, json.dumps(content, allow_nan=False) + "\n")


def write_parquet(records: Iterable[RunRecord], path: Path) -> None:
    """Write records as a table: one row each, metrics as columns, nested values as JSON."""
    import pandas as pd

    frame = pd.DataFrame([_flatten_record(record) for record in records]).convert_dtypes()
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_file(path, lambda file: frame.to_parquet(file, index=False))


def _flatten_record(record: RunRecord) -> dict[str, Any]:
    plain = asdict(record)
    metrics: dict[str, Any] = plain.pop("metrics")
    nested = {
        name: json.dumps(value) for name, value in plain.items() if isinstance(value, Mapping)
    }
    return {**plain, **nested, **metrics}


def _cut_partial_line(path: Path) -> None:
    """Remove a last line without a line end; its run will be repeated."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
