"""Clocks: passes in turns, on one thread, and on a part of the rows where all would take long."""

from __future__ import annotations

import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.voting.machine import cpu_flags

LEAST_REPEATS = 3
MOST_REPEATS = 15
GEMM_SIZE = 2048
GEMM_REPEATS = 5
CORE_TYPE = "OPENBLAS_CORETYPE"
CORES = {"avx512f": "SkylakeX", "avx2": "Haswell"}


@dataclass(frozen=True)
class Timing:
    """Seconds of repeated passes.

    Args:
        measured: As the clock gave them.
        share: Which part of the rows took part.
    """

    measured: tuple[float, ...]
    share: float = 1.0

    @property
    def best(self) -> float:
        """The fastest pass over all rows."""
        return min(self.measured) / self.share

    @property
    def median(self) -> float:
        """The median pass over all rows."""
        return statistics.median(self.measured) / self.share

    def plain(self) -> dict[str, Any]:
        """Return what a result file holds."""
        scaled = {"extrapolated from share of rows": round(self.share, 4)} if self.share < 1 else {}
        return {
            "best_ms": round(self.best * 1e3, 3),
            "median_ms": round(self.median * 1e3, 3),
            "repeats": len(self.measured),
            **scaled,
        }


def seconds(task: Callable[[], object]) -> float:
    """Return what one call takes."""
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def in_turns(
    tasks: Mapping[str, Callable[[], object]], *, budget: float, least: int = LEAST_REPEATS
) -> dict[str, tuple[float, ...]]:
    """Time the tasks in turns, so that a disturbance hits all of them, within a budget."""
    first = {name: seconds(task) for name, task in tasks.items()}
    fitting = min(int(budget / sum(first.values())), MOST_REPEATS)
    turns = range(max(least, fitting) - 1)
    rounds = [first, *({name: seconds(task) for name, task in tasks.items()} for _ in turns)]
    return {name: tuple(one[name] for one in rounds) for name in tasks}


def affordable_share(task: Callable[[float], object], pilot: float, limit: float) -> float:
    """Return the part of the rows that takes about `limit` seconds; 1 if all of them do.

    Small parts overstate the time of a pass, so the part grows until its time is near the limit.
    """
    share = pilot
    while share < 1:
        whole = seconds(partial(task, share)) / share
        affordable = limit / whole
        if affordable < min(1.0, 2 * share):
            return min(share, affordable)
        share = affordable
    return 1.0


@contextmanager
def one_thread() -> Iterator[None]:
    """Bind faiss, torch and the BLAS of numpy to one thread."""
    from threadpoolctl import threadpool_limits

    load_faiss().omp_set_num_threads(1)
    if importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(1)
    with threadpool_limits(1):
        yield


def load_faiss() -> ModuleType:
    """Import faiss with the right kernels of the OpenBLAS that its wheel brings.

    That OpenBLAS is of 2021 and takes newer processors for a Pentium 4 of 2004: on tables with
    many columns faiss is then 4 to 8 times slower than it can be, which would flatter us.
    """
    known = os.environ.get(CORE_TYPE)
    wanted = known or next((core for flag, core in CORES.items() if flag in cpu_flags()), None)
    if wanted:
        os.environ[CORE_TYPE] = wanted
    import faiss

    if not known:  # Not for the processes that are started later.
        os.environ.pop(CORE_TYPE, None)
    return faiss


def gemm_peak() -> float:
    """Return the GFLOP/s of a large float32 matrix product on one thread."""
    square = np.random.default_rng(0).random((GEMM_SIZE, GEMM_SIZE), dtype=np.float32)
    out = np.empty_like(square)
    best = min(seconds(lambda: np.matmul(square, square, out=out)) for _ in range(GEMM_REPEATS))
    return 2 * GEMM_SIZE**3 / best / 1e9
