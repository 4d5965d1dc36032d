"""`Crew`: the shards of a table, asked together.

Who brings a question to shards, and how their answers are added up on the way, is what systems for
clusters differ in. All else is here and in `tabpe.engines.crewed`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from tabpe.engines.questions import Answer, Question, total
from tabpe.engines.shard import Failed, Shard


class Crew(Protocol):
    """The shards of a table, wherever they are.

    Guarantees expected of every implementation:

    - In an answer each shard is counted once. One that is lost on the way is made anew from its
      part of the table, with the same number, and asked again; if it answers twice, one answer is
      dropped.
    - Nothing exact is written or logged on the way, and no word of an error but those of `Failed`.
    - Rows stay with the shards; what reaches the driver is the sum.
    """

    @property
    def shards(self) -> int:
        """How many there are; their numbers begin at 0."""
        ...

    def ask(self, question: Question) -> Answer:
        """Return the sum of the answers of all shards.

        Raises:
            TabpeError: The error of the first shard that failed, if one did.
        """
        ...

    def close(self) -> None:
        """Let go of the shards."""
        ...


class NearCrew:
    """Shards in this process, one after the other: a crew to learn from, and to test with.

    Args:
        shards: The shards, by their numbers.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.engines.questions import Cells
        >>> from tabpe.engines.shard import shards_in, spread
        >>> from tabpe.io import open_source
        >>> from tabpe.resources import Resources
        >>> table = open_source(pa.table({"ward": ["heart", "heart", "eye"]}))
        >>> crew = NearCrew(shards_in(spread(table, None, 2), None, Resources.of()))
        >>> crew.ask(Cells("values", {"ward": str})).value
        {'ward': {'eye': 1, 'heart': 2}}
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._shards = list(shards)

    @property
    def shards(self) -> int:
        """How many there are."""
        return len(self._shards)

    def ask(self, question: Question) -> Answer:
        """Return the sum of the answers of all shards."""
        return settled(shard.answer(question) for shard in self._shards)

    def close(self) -> None:
        """Let go of the rows."""
        for shard in self._shards:
            shard.close()


def settled(answers: Iterable[Answer | Failed]) -> Answer:
    """Return the sum of answers, or raise the error of the first shard that failed."""
    found = list(answers)
    failures = [answer for answer in found if isinstance(answer, Failed)]
    if failures:
        raise min(failures, key=lambda failed: failed.shard).error
    return total(answer for answer in found if isinstance(answer, Answer))
