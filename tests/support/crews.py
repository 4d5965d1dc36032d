"""Tables in shards of this process, cut in any way, for tests of what adds up."""

import numpy as np
import pyarrow as pa

from tabpe import Boolean, Schema
from tabpe._utils.resources import Resources
from tabpe.backends import LocalEngine
from tabpe.backends.cluster import (
    LocalShardPool,
    Shard,
    ShardedBackend,
    assign_shards,
    build_shards,
)
from tabpe.backends.local import LocalEncodedTable
from tabpe.backends.queries import EncodedReading, ShardSession, VoteQuery
from tabpe.encoding import Encoder
from tabpe.encoding.encoded_rows import ClassSizeGuard
from tabpe.io import open_table
from tabpe.io.source import FrameSource


def cut_at_random(source, unit, shards, seed):
    """Return the rows of a table in parts, in any order; those of a user in the one of its id."""
    empty = pa.table({name: pa.nulls(0) for name in source.names})
    table = pa.concat_tables([batch.table for batch in source.batches()] or [empty])
    rng = np.random.default_rng(seed)
    table = table.take(rng.permutation(table.num_rows))
    where = (
        rng.integers(0, shards, table.num_rows)
        if unit is None
        else assign_shards(table, unit, shards)
    )
    return [
        FrameSource(table.filter(pa.array(where == number)), source.library)
        for number in range(shards)
    ]


def near_keeper(parts, unit=None, resources=None):
    """Return who counts in a table whose parts are these."""
    shards = build_shards(parts, unit, resources or Resources.from_options(n_jobs=1))
    return ShardedBackend(LocalShardPool(shards), 1 if unit is None else unit.scale)


def opening_at_random(shards, seed=0):
    """Return an `open_backend` that cuts each table into so many shards."""

    def opened(source, unit, resources, _on_ready):
        return near_keeper(cut_at_random(source, unit, shards, seed), unit, resources)

    return opened


def frames(*tables):
    """Return tables as parts of one."""
    return [FrameSource(table, "pyarrow") for table in tables]


def halves(data):
    """Return the two halves of a table."""
    table, _ = open_table(data)
    return frames(table.slice(0, len(table) // 2), table.slice(len(table) // 2))


class Batches(list):
    """Encoded batches in the place of `EncodedRows`."""

    def __init__(self, batches, encoder):
        super().__init__(batches)
        self.encoder, self.tally = encoder, ClassSizeGuard()


class BatchKeeper:
    """Holds batches that are encoded already."""

    def __init__(self, batches, classes, jobs):
        self._batches, self._common = batches, {"classes": classes, "jobs": jobs}

    def encode_table(self, encoder, category_weight):
        """Hold them, whatever the encoder is."""
        engine = LocalEngine(category_weight=category_weight, **self._common)
        held = LocalEncodedTable(Batches(self._batches, encoder), None, engine, streams=False)
        held.prepare = lambda sight: (engine.prepare(self._batches), setattr(held, "sight", sight))
        return held


class CrewOfBatches:
    """An engine whose encoded rows lie in shards at random, for the contract of engines."""

    scale = 1

    def __init__(self, *, classes, category_weight, jobs=1, shards=3):
        self._classes, self._jobs, self._shards = classes, jobs, shards
        self._reading = EncodedReading(0, Encoder(Schema((Boolean("any"),))), category_weight)

    def prepare(self, batches):
        """Deal rows to shards."""
        rng, parts = np.random.default_rng(0), [[] for _ in range(self._shards)]
        for rows, labels in batches:
            where = rng.integers(0, self._shards, len(rows))
            for number, part in enumerate(parts):
                part.append((rows.take(where == number), labels[where == number]))
        shards = [Shard.__new__(Shard) for _ in parts]
        for number, (shard, part) in enumerate(zip(shards, parts, strict=True)):
            shard.number = number
            shard._session = ShardSession(BatchKeeper(part, self._classes, self._jobs))
        self._backend = ShardedBackend(LocalShardPool(shards))

    def class_counts(self):
        """Return how many rows each class has."""
        return self._ask("class_counts")

    def votes(self, population, each=1):
        """Return the votes."""
        return self._ask("votes", population, each)

    def close(self):
        """Have nothing more to say."""

    def _ask(self, *asked):
        return self._backend.run_query(VoteQuery(self._reading, object(), *asked))
