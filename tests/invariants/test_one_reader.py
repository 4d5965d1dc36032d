"""All that comes out of a run is a function of noisy answers.

So two tables with the same noisy answers give the same rows, history, certificate, warnings and
files.

That is the guarantee that nothing exact goes anywhere, tried as a whole: sizes, bins, candidates,
the scale of numbers, the end of a trial and what takes the place of votes.
"""

import itertools
import json
import math
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scripted import Script
from tabpe import Boolean, Categorical, Evolution, Float, Integer, Schema, TabPE
from tabpe._utils.serialization import Archive
from tabpe.accounting import NeighboringRelation
from tabpe.errors import NotPrivateWarning
from tabpe.evolution import Posterior, posterior
from tabpe.evolution.config import PAIRS, VOTES_OR_TABLES
from tabpe.io import batches

SMALL = Posterior(rounds=3, pool=300, sweeps=3, last_sweeps=5)
BY_RANK = Evolution(rounds=4, sampling_rounds=1, votes=2, tables=0.2, by_rank=0.5, tilt=1.0)
FEW = (Float("x", 0.0, 1.0), Integer("age", 0, 99), Categorical("ward", ("heart", "lung", "eye")))
LISTED = (
    Categorical("ward", ("heart", "lung", "eye")),
    Categorical("floor", ("ground", "first")),
    Integer("age", 0, 99),
    Float("x", 0.0, 1.0),
)
MANY = tuple(Integer(f"c{place}", 0, 9) for place in range(42))
USERS = {"unit": "person", "max_rows_per_user": 3}

KINDS = {
    "usual": {},
    "declared": {"delta": 1e-6, "n_samples": 80, "public_rows": 700},
    "replace-one": {"adjacency": "replace-one"},
    "users": USERS,
    "streamed": {"engine": "stream"},
    "streamed users": {"engine": "stream", **USERS},
    "tables alone": {"preset": Posterior(rounds=0, pool=300, last_sweeps=5)},
    "pairs": {"columns": LISTED},
    "pairs, replace-one": {"columns": LISTED, "adjacency": "replace-one"},
    "streamed pairs of users": {"columns": LISTED, "engine": "stream", **USERS},
    "tables and pairs alone": {
        "columns": LISTED,
        "preset": Posterior(rounds=0, pool=300, last_sweeps=5),
    },
    "evolution with tables": {"preset": BY_RANK},
    "paper": {"preset": Evolution(rounds=6)},
    "wide": {"columns": MANY, "helps": True},
    "wide, tables instead": {"columns": MANY, "growth": 9.0},
    "wide users, tables instead": {"columns": MANY, "growth": 9.0, **USERS},
    "wide and streamed, tables instead": {"columns": MANY, "growth": 9.0, "engine": "stream"},
}
TABLES = {"few rows": (400, 1), "many rows": (1_300, 4)}


def table(columns, size, skew):
    """Rows that lie low in every column, the lower the larger the skew."""
    rng = np.random.default_rng(size)
    lots = rng.random((len(columns), size)) ** skew
    cells = {
        column.name: (
            np.array(column.values)[(lot * len(column.values)).astype(int)].tolist()
            if isinstance(column, Categorical)
            else (np.floor(lot * column.max) if isinstance(column, Integer) else lot)
        )
        for column, lot in zip(columns, lots, strict=True)
    }
    people = rng.integers(0, size // 2, size).tolist()
    return pa.table(cells | {"ill": rng.random(size) < 0.5 / skew, "person": people})


def settings(kind, patch):
    """What a kind of run is, and the script of its noise."""
    given = {"columns": FEW, "growth": 1.0, "helps": False, **KINDS[kind]}
    columns, growth = given.pop("columns"), given.pop("growth")
    if given.pop("helps"):
        patch.setattr(posterior, "votes_help", lambda _: True)
    scale = NeighboringRelation(max_rows=3).scale if "unit" in given else 1
    noise = Script(patch, scale=scale, growth=growth)
    usual = {"epsilon": 4.0, "delta": None, "n_samples": None, "preset": SMALL}
    schema = Schema((*columns, Boolean("ill")), label="ill")
    return usual | given | {"noise": noise, "random_state": 5, "verbose": 0}, schema


def content(path):
    """What a file says, but for the time at which it was written."""
    archive = Archive.load(path)
    return archive.text, {name: array.tolist() for name, array in archive.arrays.items()}


def outcome(kind, rows, folder, patch):
    """All that a run tells, but for its name, the time, and a digest under a secret key."""
    given, schema = settings(kind, patch)
    data = table(schema.columns[:-1], *TABLES[rows])
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = TabPE(**given, run_dir=folder).fit(data, schema)
    certificate = json.loads(model.certificate.to_json())
    certificate.pop("created")
    files = {path.name: content(path) for path in Path(folder).glob("*.measured")}
    return {
        "certificate": certificate,
        "history": model.history_,
        "files": files,
        "warnings": [str(one.message) for one in warned],
        "evolved": model.sample().to_pydict(),
        "sampled": model.sample(500).to_pydict(),
        "answers": given["noise"].answers,
    }, given["noise"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(batches, "ROWS_A_BATCH", 300)


each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_what_comes_out_follows_from_noisy_answers_alone(kind, tmp_path, monkeypatch):
    found = {}
    for rows in TABLES:
        with monkeypatch.context() as patch:
            found[rows], _ = outcome(kind, rows, tmp_path / rows, patch)
    few, many = (found[rows] for rows in TABLES)
    for told, about in few.items():
        assert about == many[told], told
    assert few["files"]


@each_kind
def test_what_is_read_was_paid_for_before(kind, tmp_path, monkeypatch):
    """By a histogram for each vote of a row, and for each time that it is answered."""
    _, noise = outcome(kind, "few rows", tmp_path / "run", monkeypatch)
    read, together = 0, itertools.groupby(noise.answers, lambda answer: answer.paid)
    for paid, answers in together:
        read += sum(answer.histograms for answer in answers)
        assert read == paid
    assert 0 < read <= noise.paid


@each_kind
def test_the_spends_has_what_was_read_under_the_noise_that_was_drawn(kind, tmp_path, monkeypatch):
    found, noise = outcome(kind, "few rows", tmp_path / "run", monkeypatch)
    read = Counter()
    for answer in noise.answers:
        read[answer.sigma] += answer.histograms
    billed = Counter()
    for item in found["certificate"]["spends"]:
        billed[item["sigma"]] += item["times"]
    instead = "tables instead" in kind
    assert any("votes did not help" in note for note in found["certificate"]["notes"]) == instead
    assert set(read) == set(billed)
    pairs = [item["times"] for item in found["certificate"]["spends"] if item["name"] == PAIRS]
    assert pairs == ([math.comb(len(LISTED), 2)] if "pairs" in kind else [])
    # What is left where tables take the place of votes is paid for all the same.
    assert read == billed or (instead and read < billed)


def test_a_run_that_goes_on_reads_nothing_twice_and_pays_for_all(tmp_path, monkeypatch):
    """Where tables take the place of votes, with votes and tables under one name."""
    kind = "wide, tables instead"
    with monkeypatch.context() as patch:
        whole, _ = outcome(kind, "few rows", tmp_path / "run", patch)
    with monkeypatch.context() as patch:
        again, _ = outcome(kind, "few rows", tmp_path / "run", patch)
    assert again["answers"] == []
    for told in ("certificate", "history", "evolved"):
        assert again[told] == whole[told]


@pytest.mark.parametrize("width", [48, 50])
def test_what_is_left_over_is_paid_for_be_it_nothing(width, tmp_path, monkeypatch):
    """48 tables take all that 6 rounds of 4 votes, twice each, would have cost; 50 do not."""
    columns = tuple(Integer(f"c{place}", 0, 9) for place in range(width))
    config = replace(SMALL, rounds=8)
    noise = Script(monkeypatch, growth=9.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        model = TabPE(epsilon=4.0, delta=1e-6, preset=config, noise=noise, verbose=0).fit(
            table(columns, 400, 1), Schema(columns)
        )
    (item,) = (item for item in model.certificate.spends if item.name == VOTES_OR_TABLES)
    read = sum(answer.histograms for answer in noise.answers if answer.sigma == item.sigma)
    assert item.times == noise.paid - 1 - width
    assert (item.times == read) == (width == 48)
