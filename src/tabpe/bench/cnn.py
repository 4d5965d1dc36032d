"""A small network for pictures: two convolutions and one layer that is fully connected.

Needs torch, which is imported where it is used.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabpe.errors import ParameterError
from tabpe.metrics.examples import Examples
from tabpe.metrics.learners import answered

EPOCHS, BATCH, RATE = 60, 32, 2e-3
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
        generator = torch.Generator().manual_seed(self.seed)
        self._network = _network(self.side, len(self.classes_), self.seed)
        pictures: Any = self._pictures(features)
        truth = torch.from_numpy(codes.astype(np.int64))
        optimiser = torch.optim.Adam(self._network.parameters(), lr=RATE)
        steps = EPOCHS * math.ceil(len(pictures) / BATCH)
        decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        self._network.train()
        for _ in range(EPOCHS):
            order: Any = torch.randperm(len(pictures), generator=generator)
            for batch in order.split(BATCH):
                optimiser.zero_grad()
                answer = self._network(pictures[batch])
                loss: Any = torch.nn.functional.cross_entropy(answer, truth[batch])
                loss.backward()
                optimiser.step()
                decay.step()
        return self

    def predict_proba(self, features: NDArray[Any]) -> NDArray[np.float64]:
        """Return the probability of each class that was learned."""
        import torch

        self._network.eval()
        with torch.no_grad():
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


def _network(side: int, classes: int, seed: int) -> Any:
    import torch
    from torch import nn

    with torch.random.fork_rng():
        torch.manual_seed(seed)
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
