"""Tables in shards of this process, cut in any way, for tests of what adds up."""

import numpy as np
import pyarrow as pa

from tabpe import Boolean, Schema
from tabpe._utils.resources import Resources
from tabpe.backends import EncodedReading, StoredTable
from tabpe.backends.cluster import (
    LocalShardPool,
    Shard,
    ShardedBackend,
    ShardIndex,
    assign_shards,
    build_shards,
)
from tabpe.backends.queries import ClassCountQuery, VoteQuery
from tabpe.encoding import Encoder
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


def sharded_backend(parts, unit=None, resources=None):
    """Return the backend of a table whose parts are these."""
    shards = build_shards(parts, unit, resources or Resources.from_options(n_jobs=1))
    return ShardedBackend(LocalShardPool(shards), 1 if unit is None else unit.scale)


def open_at_random(shards, seed=0):
    """Return an `open_backend` that cuts each table into so many shards."""

    def opened(source, unit, resources, _on_ready):
        return sharded_backend(cut_at_random(source, unit, shards, seed), unit, resources)

    return opened


def frames(*tables):
    """Return tables as parts of one."""
    return [FrameSource(table, "pyarrow") for table in tables]


def halves(data):
    """Return the two halves of a table."""
    table, _ = open_table(data)
    return frames(table.slice(0, len(table) // 2), table.slice(len(table) // 2))


class ShardOfBatches(Shard):
    """Holds batches that are encoded already, however a query would have them encoded.

    Args:
        index: Which shard it is.
        table: The rows.
    """

    def __init__(self, index, table):
        super().__init__(index, frames(pa.table({}))[0], None, Resources.from_options(n_jobs=1))
        self._table = table

    def open_table(self, reading):
        """Return them."""
        return self._table

    def close(self):
        """Let go of them."""
        self._table.close()


class ShardedBatches:
    """Encoded rows that lie in shards at random, and are counted as a `StoredTable` is.

    Args:
        batches: The rows, each with its class.
        shards: How many shards there are.
        options: Those of a `StoredTable`.
    """

    scale = 1

    def __init__(self, batches, *, shards, **options):
        rng, parts = np.random.default_rng(0), [[] for _ in range(shards)]
        for rows, labels in batches:
            where = rng.integers(0, shards, len(rows))
            for number, part in enumerate(parts):
                part.append((rows.take(where == number), labels[where == number]))
        pool = LocalShardPool(
            [
                ShardOfBatches(ShardIndex(number, shards), StoredTable(part, **options))
                for number, part in enumerate(parts)
            ]
        )
        self._backend = ShardedBackend(pool)
        self._reading = EncodedReading(Encoder(Schema((Boolean("any"),))), 1 / 3)

    def count_classes(self, voting_space=None):
        """Return how many rows each class has."""
        return self._backend.answer(ClassCountQuery(self._reading, voting_space=voting_space)).value

    def count_votes(self, population, voting_space=None, votes_per_row=1):
        """Return the votes."""
        query = VoteQuery(self._reading, population, votes_per_row, voting_space=voting_space)
        return self._backend.answer(query).value

    def close(self):
        """Let go of the rows."""
        self._backend.close()
