"""Tables in shards of this process, cut in any way, for tests of what adds up."""

import numpy as np
import pyarrow as pa

from tabpe.engines.crew import NearCrew
from tabpe.engines.crewed import CrewKeeper
from tabpe.engines.shard import shards_in, shards_of
from tabpe.io import open_table
from tabpe.io.frames import FrameLike
from tabpe.io.source import FrameSource
from tabpe.resources import Resources


def cut_at_random(source, unit, shards, seed):
    """Return the rows of a table in parts, in any order; those of a user in the one of its id."""
    table = pa.concat_tables([batch.table for batch in source.batches()])
    rng = np.random.default_rng(seed)
    table = table.take(rng.permutation(table.num_rows))
    where = (
        rng.integers(0, shards, table.num_rows) if unit is None else shards_of(table, unit, shards)
    )
    return [
        FrameSource(table.filter(pa.array(where == number)), source.form)
        for number in range(shards)
    ]


def near_keeper(parts, unit=None, resources=None):
    """Return who counts in a table whose parts are these."""
    shards = shards_in(parts, unit, resources or Resources.of(n_jobs=1))
    return CrewKeeper(NearCrew(shards), 1 if unit is None else unit.scale)


def opening_at_random(shards, seed=0):
    """Return an `open_keeper` that cuts each table into so many shards."""

    def opened(source, unit, resources):
        return near_keeper(cut_at_random(source, unit, shards, seed), unit, resources)

    return opened


def frames(*tables):
    """Return tables as parts of one."""
    return [FrameSource(table, FrameLike.of_schema(table.schema)) for table in tables]


def halves(data):
    """Return the two halves of a table."""
    table, _ = open_table(data)
    return frames(table.slice(0, len(table) // 2), table.slice(len(table) // 2))
