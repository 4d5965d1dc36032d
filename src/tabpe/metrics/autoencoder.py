"""An autoencoder: two small networks that carry a row through a narrow passage and back.

Trained to make of each row the same row again: the squared error of each number, and the surprise
(cross-entropy) at each category. How far apart two rows are where the passage is narrowest says how
different they are in what columns have to do with each other.

The result is the same on one machine for the same rows and seed, whatever the number of threads:
training runs in one, and chance comes from numpy alone. Of torch nothing is left changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.metrics.coding import Coding, Features

HIDDEN = 96
BATCH = 256
STEPS, FEWEST_STEPS = 800, 120
_WORK = 320_000  # steps times width: what takes some seconds on one core
_RATE = 6e-3

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Autoencoder:
    """The first half of a trained autoencoder.

    Args:
        inward: Weights and offsets from a row to the hidden layer.
        narrow: Weights and offsets from there to the narrowest one.
    """

    inward: Layer
    narrow: Layer

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return where rows, as vectors, go through the passage."""
        (first, offset), (second, shift) = self.inward, self.narrow
        hidden = rows @ first + offset
        hidden /= 1 + np.exp(-np.maximum(hidden, -80))
        points: NDArray[np.float64] = hidden.astype(np.float64) @ second + shift
        return points


def train(coding: Coding, features: Features, size: int, rng: np.random.Generator) -> Autoencoder:
    """Return an autoencoder for rows, with `size` numbers where it is narrowest.

    It takes a fixed number of steps, fewer where rows are wide, whatever the number of rows.
    """
    import torch

    sizes = [coding.width, HIDDEN, size, HIDDEN, coding.width]
    with _undisturbed():
        weights = [
            torch.from_numpy(part).requires_grad_()
            for layer in pairwise(sizes)
            for part in _drawn(*layer, rng)
        ]
        optimizer = torch.optim.Adam(weights, fused=True)
        steps = max(FEWEST_STEPS, min(STEPS, _WORK // coding.width))
        for step, batch in enumerate(_batches(len(features), steps, rng)):
            optimizer.param_groups[0]["lr"] = _RATE * (1 - step / steps)
            optimizer.zero_grad()
            _loss(coding, features.take(batch), weights).backward()
            optimizer.step()
        done = [part.detach().numpy() for part in weights]
    return Autoencoder((done[0], done[1]), (done[2], done[3]))


def _loss(coding: Coding, batch: Features, weights: list[Any]) -> Any:
    import torch
    from torch.nn.functional import linear, silu

    into, into_shift, narrow, narrow_shift, out, out_shift, back, back_shift = weights
    hidden = silu(torch.from_numpy(coding.dense(batch)) @ into + into_shift)
    hidden = silu((hidden @ narrow + narrow_shift) @ out + out_shift)
    again = linear(hidden, back.T, back_shift)
    count = batch.numbers.shape[1]
    errors = (again[:, :count] - torch.from_numpy(batch.numbers)).square().sum()
    scores = again[:, count:].reshape(len(batch), -1, coding.places)
    chosen = scores.gather(2, torch.from_numpy(batch.digits)[..., None])[..., 0]
    surprise = (scores.logsumexp(2) - chosen) @ torch.from_numpy(coding.weights)
    return (errors + surprise.sum()) / (len(batch) * len(coding.columns))


def _drawn(fan_in: int, fan_out: int, rng: np.random.Generator) -> Layer:
    limit = np.sqrt(3 / fan_in)
    weights = rng.uniform(-limit, limit, (fan_in, fan_out))
    return weights.astype(np.float32), np.zeros(fan_out, np.float32)


def _batches(rows: int, steps: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of each step: all of them in turn, in an order drawn anew each time."""
    waiting = np.empty(0, np.int64)
    for _ in range(steps):
        if len(waiting) < min(BATCH, rows):
            waiting = rng.permutation(rows)
        yield waiting[:BATCH]
        waiting = waiting[BATCH:]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Learn in one thread, whatever the caller has set, and put that back."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode(mode=False), torch.enable_grad():
            yield
    finally:
        torch.set_num_threads(threads)
