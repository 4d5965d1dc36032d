"""What every engine can do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records


class Engine(Protocol):
    """Holds the private rows and answers with exact integers.

    Guarantees expected of every implementation:

    - Where neighbours differ by a row, each private row adds one to at most one cell of an answer,
      so that one row more or less changes exactly one cell by one, or none; `scale` is 1. Of votes
      it adds one to each of at most `each` different cells.
    - Where they differ by a user, each user adds a vector of whole numbers without negative parts,
      of length `scale` at most, over all classes together. Of votes its squared length is at most
      `each` times that of `scale`, and a user with a single row adds `scale` to each of its cells.
    - A row votes among the candidates of its own class for the nearest ones: the smallest
      `category_weight * (differing categories) + sum of squared differences of scaled numbers`,
      in float32 and in that order of operations. Ties go to the lowest index. Of equal candidates
      only the first is there; a row votes for all where there are fewer than `each`.
    - Answers do not depend on threads, batches or the order of rows.
    """

    scale: int

    def prepare(self, batches: Iterable[tuple[Records, NDArray[np.int64]]]) -> None:
        """Take in the private rows, each with its class.

        An engine may iterate `batches` once and hold the rows, or again for every answer.
        """
        ...

    def row_count(self) -> NDArray[np.int64]:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        ...

    def class_counts(self) -> NDArray[np.int64]:
        """Return how many rows each class has."""
        ...

    def votes(self, population: Sequence[Records], each: int = 1) -> list[NDArray[np.int64]]:
        """Return, for the candidates of each class, how many rows vote for each.

        Args:
            population: The candidates of each class.
            each: For how many of the nearest candidates a row votes.
        """
        ...

    def close(self) -> None:
        """Let go of the private rows."""
        ...
