"""A table that lies in shards, as one that one process counts in: what asks a crew.

Privacy: what is here holds no row. It hands on questions of `tabpe.measure` and returns the exact
sums of the answers, to which noise is added once, in this process.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.domain.raw import Bins, Pieces
from tabpe.encode import Encoder, Records, Sight
from tabpe.encode.axes import ListAxis, Marginal
from tabpe.engines.crew import Crew
from tabpe.engines.questions import Cells, Contents, Marks, Polled, Question, Reading, Tabulated
from tabpe.errors import TabpeError
from tabpe.schema import Categorical, Temporal

Whole = NDArray[np.int64]


class CrewKeeper:
    """Counts in a table by asking a crew.

    Args:
        crew: The shards of the table.
        scale: What one row or user counts at most.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.engines.crew import NearCrew
        >>> from tabpe.engines.shard import shards_in, spread
        >>> from tabpe.io import open_source
        >>> from tabpe.resources import Resources
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> crew = NearCrew(shards_in(spread(table, None, 3), None, Resources.of()))
        >>> CrewKeeper(crew).survey().row_count()
        array([3])
    """

    def __init__(self, crew: Crew, scale: int = 1) -> None:
        self._crew, self.scale = crew, scale
        self._marks, self._numbers = Marks(crew.shards), itertools.count()

    def ask(self, question: Question) -> Any:
        """Return the sum of the answers of all shards, each as it was and counted once."""
        return self._marks.checked(question, self._crew.ask(question))

    def contents(self, names: Sequence[str], key: bytes) -> NDArray[np.uint64]:
        """Return sums over all rows that tell tables apart."""
        sums: NDArray[np.uint64] = self.ask(Contents(tuple(names), key))
        return sums

    def survey(self, moments: Mapping[str, Temporal] | None = None) -> CrewSurvey:
        """Return what counts raw cells."""
        return CrewSurvey(self, moments or {})

    def tables(self, encoder: Encoder) -> CrewTables:
        """Return what counts encoded rows and has none of them held."""
        return CrewTables(self, self._reading(encoder, 0.0), is_held=False)

    def hold(self, encoder: Encoder, category_weight: float) -> CrewHeld:
        """Return what has encoded rows held where they are."""
        return CrewHeld(self, encoder, self._reading(encoder, category_weight))

    def close(self) -> None:
        """Let go of the shards."""
        self._crew.close()

    def _reading(self, encoder: Encoder, category_weight: float) -> Reading:
        return Reading(next(self._numbers), encoder, category_weight)


class CrewSurvey:
    """What `Survey` is, for a table in shards.

    Args:
        keeper: Asks the shards.
        moments: How dates and times are read.
    """

    def __init__(self, keeper: CrewKeeper, moments: Mapping[str, Temporal]) -> None:
        self._keeper, self._moments = keeper, dict(moments)
        self.scale = keeper.scale

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        count: Whole = self._keeper.ask(Cells("row_count"))
        return count

    def kinds(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many cells of each column are of each kind (`tabpe.domain.kinds`)."""
        return self._asked("kinds", list(names))

    def magnitudes(self, names: Sequence[str]) -> dict[str, Whole]:
        """Return how many numbers of each column are of each sign and power of two."""
        return self._asked("magnitudes", list(names))

    def bins(self, asked: Mapping[str, Bins | Pieces]) -> dict[str, Whole]:
        """Return how many numbers of each column are in each of its bins."""
        return self._asked("bins", dict(asked))

    def listed(self, asked: Mapping[str, Categorical]) -> dict[str, Whole]:
        """Return how many cells of each column hold each of its declared values."""
        return self._asked("listed", dict(asked))

    def values(self, asked: Mapping[str, type]) -> dict[str, dict[Any, int]]:
        """Return how often each value of each column occurs, in the order of the values."""
        return self._asked("values", dict(asked))

    def _asked(self, name: str, asked: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self._keeper.ask(Cells(name, asked, self._moments))
        return answer


class CrewTables:
    """What `Tables` is, for a table in shards.

    Args:
        keeper: Asks the shards.
        reading: How rows are encoded.
        is_held: Whether they keep encoded rows, as votes will be asked for.
    """

    def __init__(self, keeper: CrewKeeper, reading: Reading, *, is_held: bool) -> None:
        self._keeper, self._reading, self._is_held = keeper, reading, is_held
        self.scale = keeper.scale

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        count: Whole = self._asked(None)
        return count

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        classes = range(self._reading.encoder.class_count)
        return self.counts([Marginal((ListAxis("class", None, tuple(classes)),))])[0]

    def counts(self, asked: Sequence[Marginal]) -> list[Whole]:
        """Return how many rows fall into each cell of each marginal, or what users add to it."""
        found: list[Whole] = self._asked(tuple(asked))
        return found

    def _asked(self, asked: Sequence[Marginal] | None) -> Any:
        return self._keeper.ask(Tabulated(self._reading, asked, self._is_held))


class CrewHeld:
    """What `LoneHeld` is, for a table in shards.

    Args:
        keeper: Asks the shards.
        encoder: How rows are encoded.
        reading: The same, as shards are told.
    """

    def __init__(self, keeper: CrewKeeper, encoder: Encoder, reading: Reading) -> None:
        self.encoder, self.scale = encoder, keeper.scale
        self._keeper, self._reading = keeper, reading
        self._sight: Sight | None = None

    def tables(self) -> CrewTables:
        """Return what counts the rows as they are encoded."""
        return CrewTables(self._keeper, self._reading, is_held=True)

    def prepare(self, sight: Sight) -> None:
        """Have the rows taken in, as they are seen, for votes."""
        self._sight = sight
        self.class_counts()  # shards take rows in when they are first asked

    def row_count(self) -> Whole:
        """Return, in a single cell, how many rows or users there are, times `scale`."""
        count: Whole = self._asked("row_count")
        return count

    def class_counts(self) -> Whole:
        """Return how many rows each class has."""
        counts: Whole = self._asked("class_counts")
        return counts

    def votes(self, population: Sequence[Records], each: int = 1) -> list[Whole]:
        """Return, for the candidates of each class, how many rows vote for each."""
        found: list[Whole] = self._asked("votes", tuple(population), each)
        return found

    def close(self) -> None:
        """Have nothing more to ask; the crew lets go of the rows when it is closed."""
        self._sight = None

    def _asked(self, name: str, population: Sequence[Records] = (), each: int = 1) -> Any:
        if self._sight is None:
            raise TabpeError("votes: the rows were not taken in.")
        return self._keeper.ask(Polled(self._reading, self._sight, name, population, each))
