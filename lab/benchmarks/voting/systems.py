"""The compared systems: each looks at every pair, on numbers and one-hot codes in float32."""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from benchmarks.common import list_cpu_flags
from benchmarks.voting.cases import Loaded, Population, Votes
from tabpe.encoding import Records

CORE_TYPE = "OPENBLAS_CORETYPE"
CORES = {"avx512f": "SkylakeX", "avx2": "Haswell"}
# Blocks of rows times candidates in which each was fastest over the cases.
NUMPY_CELLS = 2**18
TORCH_CELLS = 2**22
# Up to here a class is taken at once, as the authors do: distances of a gigabyte.
TORCH_WHOLE_CELLS = 2**28
LEAST_BLOCK = 64
LARGEST_BATCH = 1_000
Matrix = NDArray[np.float32]
Winners = NDArray[np.int64]

TABPE = "tabpe"
FAISS = "faiss flat"
NUMPY = "numpy GEMM"
TORCH = "torch topk"
TORCH_ARGMIN = "torch argmin"


@dataclass(frozen=True)
class Rival:
    """A system that finds the nearest candidate of each row of one class.

    Args:
        name: What tables call it.
        winners: From the rows and the candidates of a class.
        limit: Seconds that a pass may take before it is run on a part of the rows. None where
            the time of a part says little about the whole.
    """

    name: str
    winners: Callable[[Matrix, Matrix], Winners]
    limit: float | None

    def votes(self, rows: Sequence[Matrix], population: Sequence[Matrix], share: float) -> Votes:
        """Return the votes of the first part of the rows of each class."""
        return [
            np.bincount(
                self.winners(first_part(part, share), candidates), minlength=len(candidates)
            )
            for part, candidates in zip(rows, population, strict=True)
            if len(part) and len(candidates)
        ]


def first_part(rows: Matrix, share: float) -> Matrix:
    """Return the first rows; tables are in no order that matters."""
    return rows[: math.ceil(share * len(rows))]


def encoded(records: Records, sizes: Sequence[int], weight: float) -> Matrix:
    """Return numbers and one-hot codes, whose squared distance is the one of the votes."""
    hot = [
        (codes[:, None] == np.arange(size)) * np.float32(math.sqrt(weight / 2))
        for codes, size in zip(records.codes.T, sizes, strict=True)
    ]
    return np.ascontiguousarray(np.hstack([records.numbers, *hot]), dtype=np.float32)


def encoded_rows(loaded: Loaded) -> list[Matrix]:
    """Return the rows of each class."""
    return encoded_population(loaded, loaded.rows)


def encoded_population(loaded: Loaded, population: Population) -> list[Matrix]:
    """Return the candidates of each class."""
    return [
        encoded(candidates, space.sizes, loaded.weight)
        for candidates, space in zip(population, loaded.spaces, strict=True)
    ]


def faiss_flat(rows: Matrix, candidates: Matrix) -> Winners:
    import faiss

    index = faiss.IndexFlatL2(candidates.shape[1])
    index.add(candidates)
    return index.search(rows, 1)[1][:, 0]


def numpy_gemm(rows: Matrix, candidates: Matrix) -> Winners:
    """Rank by |c|^2 - 2 r c, in blocks that stay in the cache."""
    factor = np.ascontiguousarray(-2 * candidates.T)
    squares = np.einsum("ij,ij->i", candidates, candidates)
    block = max(LEAST_BLOCK, NUMPY_CELLS // len(candidates))
    scores = np.empty((block, len(candidates)), dtype=np.float32)
    winners = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), block):
        part = rows[start : start + block]
        out = np.matmul(part, factor, out=scores[: len(part)])
        out += squares
        winners[start : start + block] = out.argmin(axis=1)
    return winners


def torch_topk(rows: Matrix, candidates: Matrix) -> Winners:
    import torch

    whole = len(rows) * len(candidates) <= TORCH_WHOLE_CELLS
    with torch.inference_mode():
        near = torch.from_numpy(candidates)
        found = [
            torch.cdist(batch, near).topk(1, dim=1, largest=False).indices[:, 0]
            for batch in torch.from_numpy(rows).split(len(rows) if whole else _torch_batch(near))
        ]
        return torch.cat(found).numpy()


def torch_argmin(rows: Matrix, candidates: Matrix) -> Winners:
    import torch

    with torch.inference_mode():
        near = torch.from_numpy(candidates)
        found = [
            torch.cdist(batch, near).argmin(dim=1)
            for batch in torch.from_numpy(rows).split(_torch_batch(near))
        ]
        return torch.cat(found).numpy()


def _torch_batch(candidates: Sized) -> int:
    return min(LARGEST_BATCH, max(LEAST_BLOCK, TORCH_CELLS // len(candidates)))


def available() -> list[Rival]:
    """Return the rivals that are installed."""
    # faiss takes 20 times longer a row where a search has fewer than 128,000 numbers.
    found = [Rival(FAISS, faiss_flat, limit=None), Rival(NUMPY, numpy_gemm, limit=0.7)]
    if importlib.util.find_spec("torch"):
        found.append(Rival(TORCH, torch_topk, limit=1.5))
        found.append(Rival(TORCH_ARGMIN, torch_argmin, limit=1.0))
    return found


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
    wanted = known or next((core for flag, core in CORES.items() if flag in list_cpu_flags()), None)
    if wanted:
        os.environ[CORE_TYPE] = wanted
    import faiss

    if not known:  # Not for the processes that are started later.
        os.environ.pop(CORE_TYPE, None)
    return faiss
