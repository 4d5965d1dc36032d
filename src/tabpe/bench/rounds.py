"""The rows that a round of the evolution had.

All that an evolution sees of the private rows are the noisy votes, which a run folder remembers. So
the rows of any round can be evolved again from them, without the private rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from tabpe.archive import Archive
from tabpe.bench.strategy import replayable
from tabpe.encode import Encoder, Records
from tabpe.evolve import evolve, strategy_of
from tabpe.evolve.terrain import Level
from tabpe.measure import Measured
from tabpe.run_folder import measured_of
from tabpe.synthesizer import TabPE


def rows_by_round(run_dir: Path, model: TabPE, wanted: Iterable[int]) -> dict[int, pa.Table]:
    """Return the rows that were selected in each of the rounds wanted.

    Args:
        run_dir: The folder that the model was fitted in.
        model: The model.
        wanted: Rounds, from 1; 0 for the random rows that all begins with. Those that the run did
            not come to are left out.

    Raises:
        ParameterError: If its strategy is no `Evolution`, or one with tables of columns.
    """
    votes = _votes(run_dir)
    rounds = sorted(each for each in set(wanted) if each <= len(votes))
    return {each: _table(model, _rows(model, votes, each)) for each in rounds}


def _votes(run_dir: Path) -> list[Measured]:
    files = sorted(run_dir.glob("*votes*.measured"))
    return [measured_of(Archive.load(file)) for file in files]


def _rows(model: TabPE, votes: Sequence[Measured], rounds: int) -> list[Records]:
    """Evolve again, up to a round, on the schedule of all of them."""
    config = replayable(strategy_of(model.preset), "rows of single rounds")
    horizon = config.horizon or config.rounds
    cut = dataclasses.replace(config, rounds=max(1, rounds), horizon=horizon)
    encoder, release = Encoder(model.schema_), model.release_
    sizes = np.bincount(release.classes, minlength=encoder.class_count).tolist()
    remembered, populations = iter(votes), []

    def vote(population: Sequence[Records], _: int) -> Measured:
        populations.append(list(population))
        return next(remembered)

    evolved = evolve(Level(encoder.spaces), sizes, cut, vote, seed=release.seed)
    return evolved.classes if rounds else populations[0]


def _table(model: TabPE, rows: Sequence[Records]) -> pa.Table:
    classes = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
    return Encoder(model.schema_).decode(Records.concat(list(rows)), classes)
