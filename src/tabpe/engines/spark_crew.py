"""`SparkCrew`: shards as partitions of an RDD, whose encoded rows Spark keeps.

Rows are read and encoded on the workers once; Spark keeps them in the memory of its executors, or
on their disks. In a round the candidates go out as a broadcast, each partition answers with whole
numbers, and these are added up in a tree. Spark itself computes a partition anew that is lost with
its executor, and takes one result of a task that ran twice. What it can not know is checked by
`tabpe.engines.questions`: that each partition is in the sum once, with the rows that it had.

Privacy: nothing is told by the way: no accumulator, no counter, no log. No error is raised on
a worker, because Spark writes the words of errors into its logs, and shows them to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tabpe.engines.carried import CarriedDesk, CarriedHeld, encoded, seen
from tabpe.engines.crew import settled
from tabpe.engines.questions import Answer, Polled, Question, Reading, Tabulated
from tabpe.engines.shard import Failed, PartKeeper, Place, Shard, answer_at, without_words
from tabpe.engines.users import Unit
from tabpe.engines.votes import Segment
from tabpe.io import Source
from tabpe.io.spark_tables import imported, without_spark_words
from tabpe.resources import Resources

# So many answers the driver adds up by itself: a level of the tree is a stage, which takes a while.
DIRECT = 16

Ready = Callable[[int, int], None]


@dataclass(frozen=True)
class Common:
    """What all workers know.

    Args:
        unit: Who is a user, if the promise is to users.
        resources: What a shard may use of its machine.
        shards: How many there are.
    """

    unit: Unit | None
    resources: Resources
    shards: int


class SparkCrew:
    """The partitions of an RDD as shards of a table.

    Args:
        sources: An RDD of which each partition holds one `Source`, a part of the table; each
            user must be in one of them.
        unit: Who is a user, if the promise is to users.
        resources: What each shard may use of its machine.
        on_ready: Called with how many shards have answered, and how many there are.
        on_close: Called when the shards are let go.
    """

    def __init__(
        self,
        sources: Any,
        unit: Unit | None,
        resources: Resources,
        *,
        on_ready: Ready = lambda _done, _all: None,
        on_close: Callable[[], Any] = lambda: None,
    ) -> None:
        self._sources, self._on_ready, self._on_close = sources, on_ready, on_close
        self._common = Common(unit, resources, sources.getNumPartitions())
        self._reading = -1
        self._encoded: Any = None
        self._seen: Any = None

    @property
    def shards(self) -> int:
        """How many there are."""
        return self._common.shards

    def ask(self, question: Question) -> Answer:
        """Return the sum of the answers of all shards."""
        rows, answering = self._rows_for(question)
        sent = self._sources.context.broadcast(_serializer().dumps(question))
        try:
            answers = rows.mapPartitionsWithIndex(partial(answering, sent, self._common))
            found = without_spark_words(lambda: self._summed(answers))
        finally:
            sent.destroy()
        self._on_ready(self.shards, self.shards)
        if self._seen is not None and self._encoded is not None:
            self._encoded.unpersist()
            self._encoded = None
        return settled([found])

    def close(self) -> None:
        """Let go of the rows, and of the session if it was started for them."""
        self._forget()
        self._sources = None
        self._on_close()

    def _rows_for(self, question: Question) -> tuple[Any, Callable[..., Iterator[Any]]]:
        """Return the rows that a question is about, and how they answer."""
        if isinstance(question, Polled):
            return self._rows_seen(question), _of_segments
        if isinstance(question, Tabulated) and question.is_held:
            self._begin(question.reading)
            if self._encoded is None:
                self._encoded = self._rows_encoded(question.reading).persist(_level())
            return self._encoded, _of_segments
        return self._sources, _of_source

    def _rows_seen(self, question: Polled) -> Any:
        self._begin(question.reading)
        if self._seen is None:
            rows = self._encoded or self._rows_encoded(question.reading)
            look = partial(_seen, question.sight, question.reading.category_weight)
            self._seen = rows.mapPartitionsWithIndex(look).persist(_level())
        return self._seen

    def _rows_encoded(self, reading: Reading) -> Any:
        return self._sources.mapPartitionsWithIndex(partial(_encoded, self._common, reading))

    def _begin(self, reading: Reading) -> None:
        """Let go of rows that were encoded in another way: one way is kept at a time."""
        if reading.number != self._reading:
            self._forget()
            self._reading = reading.number

    def _forget(self) -> None:
        for rows in (self._encoded, self._seen):
            if rows is not None:
                rows.unpersist()
        self._encoded = self._seen = None

    def _summed(self, answers: Any) -> Answer | Failed:
        if self.shards <= DIRECT:
            found: Answer | Failed = answers.reduce(joined)
        else:
            found = answers.treeReduce(joined)
        return found


def joined(one: Answer | Failed, other: Answer | Failed) -> Answer | Failed:
    """Return the sum of two answers, or the failure of the first shard that failed.

    Example:
        >>> joined(Answer([], {0: b""}), Answer([], {1: b""})).marks
        {0: b'', 1: b''}
    """
    failures = [answer for answer in (one, other) if isinstance(answer, Failed)]
    if failures:
        return min(failures, key=lambda failed: failed.shard)
    try:
        return settled((one, other))
    except Exception as error:
        return Failed(min(one.marks, default=0), without_words(error))  # type: ignore[union-attr]


def _of_source(sent: Any, common: Common, number: int, sources: Iterable[Source]) -> Iterator[Any]:
    """Answer by the rows themselves."""
    (source,) = sources
    place = Place(number, common.shards)
    yield Shard(place, source, common.unit, common.resources).answer(_question(sent))


def _of_segments(
    sent: Any, common: Common, number: int, segments: Iterable[Segment | Failed]
) -> Iterator[Any]:
    """Answer by rows that were encoded before."""
    question = _question(sent)
    sight = question.sight if isinstance(question, Polled) else None
    held = CarriedHeld(_sound(segments), question.reading, common.unit, sight)
    yield answer_at(CarriedDesk(held), question, number)


def _encoded(
    common: Common, reading: Reading, number: int, sources: Iterable[Source]
) -> Iterator[Segment | Failed]:
    (source,) = sources
    place = Place(number, common.shards)
    keeper = PartKeeper(source, common.unit, common.resources, place)
    return _watched(number, lambda: encoded(keeper, reading))


def _seen(
    sight: Any, category_weight: float, number: int, segments: Iterable[Segment | Failed]
) -> Iterator[Segment | Failed]:
    return _watched(number, lambda: seen(_sound(segments), sight, category_weight))


def _watched(number: int, make: Callable[[], Iterable[Segment]]) -> Iterator[Segment | Failed]:
    """Yield segments, and in the place of an error why there are no more of them."""
    try:
        yield from make()
    except Exception as error:
        yield Failed(number, without_words(error))


def _sound(segments: Iterable[Segment | Failed]) -> Iterator[Segment]:
    for segment in segments:
        if isinstance(segment, Failed):
            raise segment.error
        yield segment


def _question(sent: Any) -> Any:
    return _serializer().loads(sent.value)


def _serializer() -> Any:
    """Return what Spark sends values with. By itself it fails to send large arrays encrypted."""
    return imported("pyspark.serializers").CloudPickleSerializer()


def _level() -> Any:
    return imported("pyspark").StorageLevel.MEMORY_AND_DISK
