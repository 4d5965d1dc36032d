"""A small network for pictures: two convolutions and one layer that is fully connected.

Needs torch, which is imported where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabpe.errors import ParameterError
from tabpe.metrics.examples import Examples
from tabpe.metrics.learners import answered

EPOCHS, BATCH, RATE = 60, 32, 2e-3
MOST_STEPS = 4000  # of which many rows need fewer than 60 times all of them
CHANNELS = 16, 32


class SmallCNN:
    """A classifier of square pictures in grey, with the manners of scikit-learn.

    Args:
        side: Pixels on a side; a row has its square.
        seed: Seed of the first weights and of the order of rows.
    """

    def __init__(self, side: int, seed: int) -> None:
        self.side = side
        self.seed = seed

    def fit(self, features: NDArray[Any], target: NDArray[np.int64]) -> Self:
        """Learn from rows of pixels between 0 and 1."""
        import torch

        self.classes_, codes = np.unique(target, return_inverse=True)
        with torch.random.fork_rng(), _one_thread():
            torch.manual_seed(self.seed)
            self._network = _network(self.side, len(self.classes_))
            _train(self._network, self._pictures(features), torch.from_numpy(codes))
        return self

    def predict_proba(self, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability of each class that was learned."""
        import torch

        self._network.eval()
        with torch.no_grad(), _one_thread():
            chances = torch.softmax(self._network(self._pictures(features)), dim=1)
        return chances.numpy().astype(np.float64)

    def _pictures(self, features: NDArray[Any]) -> Any:
        import torch

        shaped = np.asarray(features, dtype=np.float32).reshape(-1, 1, self.side, self.side)
        return torch.from_numpy(np.ascontiguousarray(shaped))


def predicted_by_cnn(train: Examples, test: Examples, *, seed: int = 0) -> NDArray[np.float64]:
    """Return a row of probabilities for each test row, as `tabpe.metrics.learners.predicted` does.

    Raises:
        ParameterError: If rows are no square pictures, or the label is a number.
    """
    side = math.isqrt(len(train.features))
    if side * side != len(train.features) or train.classes is None:
        raise ParameterError(
            f"learners='cnn': rows of {len(train.features)} features: expected square pictures and "
            f"classes."
        )
    return answered(
        lambda _, __: SmallCNN(side, seed), train, test, random_state=seed, threads=None
    )


def _network(side: int, classes: int) -> Any:
    from torch import nn

    first, second = CHANNELS
    return nn.Sequential(
        nn.Conv2d(1, first, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(first, second, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(second * (side // 4) ** 2, classes),
    )


def _train(network: Any, pictures: Any, truth: Any) -> None:
    import torch

    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    batches = math.ceil(len(pictures) / BATCH)
    epochs = max(1, min(EPOCHS, MOST_STEPS // batches))
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs * batches)
    network.train()
    for _ in range(epochs):
        order: Any = torch.randperm(len(pictures))
        for batch in order.split(BATCH):
            optimiser.zero_grad()
            answer = network(pictures[batch])
            loss: Any = torch.nn.functional.cross_entropy(answer, truth[batch])
            loss.backward()
            optimiser.step()
            decay.step()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread: batches are so small that several wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
