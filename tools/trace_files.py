"""Print how many files of tabpe a fit, one vote, AIM and a report pass through.

    python tools/trace_files.py [--list]

A newcomer who follows a call must open these. The tables are tiny; noise is fake.
"""

from __future__ import annotations

import argparse
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import tabpe
from tabpe import Boolean, Categorical, Integer, Schema, TabPE, evaluate
from tabpe.accounting import FakeNoise
from tabpe.baselines import AIM, Baseline
from tabpe.measurement import histograms

ROOT = Path(tabpe.__file__).parent
SCHEMA = Schema(
    (Integer("age", 0, 90), Categorical("ward", ("eye", "heart")), Boolean("ill")), label="ill"
)


def make_table() -> pa.Table:
    """Return a table of 60 rows."""
    return pa.table(
        {"age": [20, 70] * 30, "ward": ["eye", "heart"] * 30, "ill": [False, True] * 30}
    )


@contextmanager
def record_files(files: set[str]) -> Iterator[None]:
    """Note each file of the package in which a function is called."""

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT)) and frame.f_code.co_name != "<module>":
            files.add(str(Path(name).relative_to(ROOT)))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def trace(call: Callable[[], Any]) -> set[str]:
    """Return the files that a call passes through, once all is imported."""
    call()
    files: set[str] = set()
    with record_files(files):
        call()
    return files


def fit_paper() -> TabPE:
    """Fit the paper's algorithm."""
    model = TabPE(
        preset="paper", epsilon=1, delta=1e-5, n_samples=6, noise=FakeNoise(1), random_state=0
    )
    return model.fit(make_table(), schema=SCHEMA)


def fit_aim() -> Baseline:
    """Fit AIM."""
    method = AIM(degree=2)
    model = Baseline(method, epsilon=1, delta=1e-5, noise=FakeNoise(1), random_state=0)
    return model.fit(make_table(), schema=SCHEMA)


def trace_vote() -> set[str]:
    """Return the files of one vote: from the mechanism to rows and noise, and back."""
    files: set[str] = set()
    measure = histograms.measure_votes

    def traced(*words: Any, **options: Any) -> Any:
        files.clear()
        with record_files(files):
            return measure(*words, **options)

    histograms.measure_votes = traced
    try:
        fit_paper()
    finally:
        histograms.measure_votes = measure
    return files


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", dest="listed")
    listed = parser.parse_args().listed
    warnings.simplefilter("ignore")
    model = fit_paper()
    found = {
        "fit": trace(fit_paper),
        "one vote": trace_vote(),
        "AIM": trace(fit_aim),
        "evaluate": trace(lambda: evaluate(make_table(), model.sample(), schema=SCHEMA)),
    }
    for name, files in found.items():
        print(f"{name}: {len(files)} files")
        if listed:
            print("".join(f"    {file}\n" for file in sorted(files)), end="")


if __name__ == "__main__":
    main()
