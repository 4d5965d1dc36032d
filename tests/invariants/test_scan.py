"""All that a run says and leaves behind is searched for markers planted in the private table.

Not found may be: a rare text or number, an exact count, a part of an exact histogram, an encoded
row, or a digest of the table that anyone can make. That the search finds such things is tested
with variants that leak on purpose.
"""

import base64
import itertools
import os
import signal
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from planted import SCHEMA, WARDS, table
from searching import files_of
from spoilt import SPOILT, quoting, spoil
from tabpe._utils.serialization import Archive
from tabpe.accounting import Adjacency, NeighboringRelation
from tabpe.accounting.ledger import Ledger
from tabpe.backends.local import sum_row_hashes
from tabpe.errors import DataError, TabpeError
from tabpe.evolution import posterior, private_evolution
from tabpe.evolution.config import PAIRS
from tabpe.io import open_source
from tabpe.measurement.checkpoint import compute_fingerprint, restore_measurement
from tabpe.measurement.reservation import LedgerCharge
from tabpe.schema import Schema

BOTH = pytest.mark.parametrize("scene", ["best", "paper"], indirect=True)
LEDGER = ("--ledger", "ledger.db", "--dataset", "patients")

FITS = {
    "declared": {},
    "delta from a noisy count": {"delta": None, "n_samples": None},
    "estimated": {"schema": "private", "label": "ill", "drop": ["person"]},
    "users": {"unit": "person", "max_rows_per_user": 2, "n_samples": 150},
    "remembered and charged": {"run_dir": "run", "ledger": "ledger.db", "dataset": "patients"},
    "streamed": {"engine": "stream", "spill": "spill", "adjacency": "replace-one"},
}


@BOTH
@pytest.mark.parametrize("kind", FITS)
def test_a_fit_leaks_nothing(scene, kind):
    declared = None if "schema" in FITS[kind] else SCHEMA
    model = scene.fit(table(), declared, verbose=1, **FITS[kind])
    assert model.certificate.private
    assert scene.leaks() == []


@pytest.mark.parametrize("kind", ["declared", "users", "remembered and charged", "streamed"])
def test_a_fit_with_pairs_leaks_nothing(scene, kind):
    half_listed = Schema((SCHEMA["age"], SCHEMA["ward"], SCHEMA["ill"]))
    model = scene.fit(table(), half_listed, verbose=1, **FITS[kind])
    assert PAIRS in [item.name for item in model.certificate.spends]
    assert scene.leaks() == []


COMMANDS = {
    "plain": (),
    "quiet": ("--quiet", "--escape-formulas"),
    "remembered and charged": (*LEDGER, "--run-dir", "run", "-o", "out.parquet"),
    "estimated": (
        "--private-schema",
        "--estimate-columns",
        "all",
        "--estimate-columns",
        "note",
        "--label",
        "ill",
        "--drop",
        "person",
        "--run-dir",
        "run",
    ),
    "streamed": ("--engine", "stream", "--spill-dir", "spill", *LEDGER),
    "users, estimated": (
        *(
            "--private-schema",
            "--estimate-columns",
            "all",
            "--estimate-columns",
            "note",
            "--label",
            "ill",
            "--unit",
            "person",
            "--run-dir",
            "run",
        ),
        *("--rows", 150, *LEDGER),
    ),
}


@pytest.mark.parametrize("data", ["table.csv", "table.parquet"])
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_command_leaks_nothing(scene, kind, data):
    schema = None if "--private-schema" in COMMANDS[kind] else "schema.yaml"
    assert scene.synth(*COMMANDS[kind], data=data, schema=schema) == 0, scene.evidence()["stderr"]
    output = "out.parquet" if "out.parquet" in COMMANDS[kind] else "out.csv"
    assert scene.tabpe("verify", "out.certificate.json", output) == 0
    if "--ledger" in COMMANDS[kind]:
        for words in ("show", "patients"), ("show", "--json"), ("verify",), ("export",):
            assert scene.tabpe("ledger", *words, "--ledger", "ledger.db") == 0
    assert scene.leaks() == []


def _pandas_in_arrow():
    """Arrow keeps what pandas says of its index: how many rows there are."""
    return pa.Table.from_pandas(table().to_pandas())


FRAMES = {
    "pandas": lambda: table().to_pandas(),
    "pandas categories": lambda: table().to_pandas().astype({"ward": "category"}),
    "pandas index": lambda: table().to_pandas().set_index("person"),
    "polars": lambda: pl.from_arrow(table()),
    "polars enumeration": lambda: pl.from_arrow(table()).cast({"ward": pl.Enum([*WARDS])}),
    "polars categories": lambda: pl.from_arrow(table()).cast({"ward": pl.Categorical}),
    "pandas in arrow": _pandas_in_arrow,
    "arrow dictionary": lambda: table().set_column(4, "ward", table()["ward"].dictionary_encode()),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_no_frame_carries_more_than_its_rows(scene, kind):
    assert scene.fit(FRAMES[kind]()).certificate.private
    assert scene.leaks() == []


def test_a_parquet_file_of_pandas_hands_nothing_on(scene):
    pq.write_table(_pandas_in_arrow(), scene.private / "table.parquet")
    assert scene.synth("-o", "out.parquet", data="table.parquet") == 0
    assert scene.leaks() == []


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_terminal_shows_nothing(scene, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    with scene.terminal(monkeypatch) as shown:
        assert scene.synth(*LEDGER) == 0
    assert b"round" in b"".join(shown)
    assert scene.leaks() == []


REMEMBERED = (*LEDGER, "--run-dir", "run")


@pytest.mark.parametrize(("data", "engine"), [("table.csv", "local"), ("table.parquet", "stream")])
@pytest.mark.parametrize("kind", SPOILT)
@pytest.mark.parametrize("strict", [False, True])
def test_a_cell_outside_the_schema_is_not_shown(scene, kind, data, engine, strict):
    name, cell, schema, words = SPOILT[kind]
    spoil(scene, name, cell)
    words = (*words, *REMEMBERED, "--engine", engine, *(["--strict"] if strict else []))
    # Ids can not be estimated, which noisy counts say.
    expected = 2 if strict or kind == "ids to estimate" else 0
    assert scene.synth(*words, data=data, schema=schema) == expected, scene.evidence()["stderr"]
    assert scene.leaks() == []


@pytest.mark.parametrize("kind", [kind for kind in SPOILT if SPOILT[kind][2]])
def test_a_check_shows_counts_and_no_cell(scene, kind):
    """It is for the custodian, and says that its counts are private."""
    name, cell, schema, words = SPOILT[kind]
    spoil(scene, name, cell)
    assert scene.tabpe("schema", "check", scene.private / schema, scene.private / "table.csv") == 0
    assert words or b"do not share them" in scene.evidence()["stdout"]
    assert all(found.startswith("the exact count") for found in scene.leaks())


@pytest.mark.parametrize("kind", [kind for kind in SPOILT if SPOILT[kind][2]])
def test_an_error_about_a_cell_has_nothing_behind_it(scene, kind):
    name, cell, schema, words = SPOILT[kind]
    spoil(scene, name, cell)
    unit = {"unit": "person"} if words else {}
    error = scene.fit(scene.private / "table.csv", scene.private / schema, strict=True, **unit)
    assert isinstance(error, DataError)
    assert name in str(error)
    assert scene.leaks() == []


def charged():
    """The ledger of the scene."""
    ledger = Ledger("ledger.db")
    ledger.set_budget("patients", epsilon=2, delta=1e-6)
    return LedgerCharge(ledger, "patients", None)


APPRAISALS = {
    "rows": dict,
    "replace-one": lambda: {"neighbours": NeighboringRelation(Adjacency.REPLACE_ONE)},
    "users": lambda: {"neighbours": NeighboringRelation(max_rows=2), "unit": "person"},
    "charged": lambda: {"charge": charged()},
    "next to no guarantee": lambda: {"epsilon": 8},
}


@pytest.mark.parametrize("kind", APPRAISALS)
@pytest.mark.parametrize("data", ["frame", "table.csv", "table.parquet"])
def test_an_appraisal_leaks_nothing(scene, kind, data):
    found = scene.appraise(
        table() if data == "frame" else scene.private / data, **APPRAISALS[kind]()
    )
    assert found.measures.certificate.private
    assert scene.tabpe("verify", "measures.certificate.json") == 0
    assert scene.leaks() == []


@pytest.mark.parametrize("kind", [kind for kind in SPOILT if SPOILT[kind][2]])
def test_an_appraisal_does_not_show_a_cell_outside_the_schema(scene, kind):
    name, cell, schema, words = SPOILT[kind]
    spoil(scene, name, cell)
    users = {"neighbours": NeighboringRelation(max_rows=2), "unit": "person"} if words else {}
    found = scene.appraise(scene.private / "table.csv", scene.private / schema, **users)
    assert found.measures.certificate.private
    assert scene.leaks() == []


def break_in_round(number, fail, patch):
    """Let the search fail in some round, whatever the strategy."""
    # Candidates of all classes are selected once a round, and a pool is fitted at once.
    for strategy, name, times in (
        (private_evolution, "_select_parents", 1),
        (posterior, "fit_weights", 1),
    ):
        honest = getattr(strategy, name)
        patch.setattr(strategy, name, failing(honest, times * number, fail))


def failing(honest, call, fail):
    """Return a function that fails when it is called for so many times."""
    calls = itertools.count(1)
    return lambda *given, **named: fail() if next(calls) == call else honest(*given, **named)


PLACES = {
    "engine": "tabpe.backends.local.count_votes",
    "tables": "tabpe.backends.StoredTable.count_marginals",
    "noise": "tabpe.accounting.ExactNoise.draw",
    "encoder": "tabpe.encoding.Encoder.encode",
    "search": None,
    "certificate": "tabpe.synthesizers.pipeline.certify_run",
    "output": "tabpe.cli.release.make_table_writer",
}
PAPER = [("paper", place) for place in PLACES if place != "tables"]
EVERYWHERE = pytest.mark.parametrize(
    ("scene", "place"), [*(("best", place) for place in PLACES), *PAPER], indirect=["scene"]
)
KINDS = {MemoryError: 1, RuntimeError: 1, KeyError: 1, KeyboardInterrupt: 2}


def break_at(patch, place, kind):
    """Let something fail with an error that quotes private rows."""
    if PLACES[place] is None:
        break_in_round(5, quoting(kind), patch)
    else:
        patch.setattr(PLACES[place], quoting(kind))


@pytest.mark.parametrize("kind", KINDS)
@EVERYWHERE
def test_what_fails_within_a_run_is_not_quoted(scene, monkeypatch, place, kind):
    with monkeypatch.context() as patch:
        break_at(patch, place, kind)
        assert scene.synth(*REMEMBERED, "--engine", "local") == KINDS[kind]
    assert scene.leaks() == []


@EVERYWHERE
def test_running_out_of_memory_hides_sizes_in_the_chain_of_errors(scene, monkeypatch, place):
    if place == "output":
        pytest.skip("a fit writes none")
    break_at(monkeypatch, place, MemoryError)
    assert isinstance(scene.fit(table(), run_dir="run"), TabpeError)
    assert scene.leaks() == []


@pytest.mark.parametrize(
    "target", ["tabpe.backends.StoredTable.count_marginals", "tabpe.accounting.ExactNoise.draw"]
)
def test_an_appraisal_that_runs_out_of_memory_hides_sizes(scene, monkeypatch, target):
    monkeypatch.setattr(target, quoting(MemoryError))
    assert isinstance(scene.appraise(table(), charge=charged()), TabpeError)
    assert scene.leaks() == []


@BOTH
@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
def test_a_fit_that_stops_in_the_middle_leaves_nothing_behind(scene, monkeypatch, kind):
    def fail():
        raise kind

    break_in_round(5, fail, monkeypatch)
    machine = {"engine": "stream", "spill": "spill", "run_dir": "run"}
    assert isinstance(scene.fit(table(), **machine), kind)
    assert list(Path("spill").iterdir()) == []
    assert scene.leaks() == []


def interrupt(scene, monkeypatch):
    """Begin a run that stops in the middle."""
    with monkeypatch.context() as patch:
        break_in_round(5, quoting(OSError), patch)
        assert scene.synth(*REMEMBERED, "--seed", 1) == 1


@BOTH
def test_a_run_that_goes_on_leaks_nothing(scene, monkeypatch):
    interrupt(scene, monkeypatch)
    assert scene.synth(*REMEMBERED, "--seed", 1) == 0
    assert scene.leaks() == []


@BOTH
def test_a_table_that_changed_is_refused_without_saying_how(scene, monkeypatch):
    interrupt(scene, monkeypatch)
    scene.store(table().slice(1))
    assert scene.synth(*REMEMBERED, "--seed", 1) == 2
    assert b"not the one" in scene.evidence()["stderr"]
    assert scene.leaks() == []


def test_a_refused_budget_tells_nothing_of_the_table(scene):
    budget = ("--epsilon", 0.5, "--delta", 1e-6, "--ledger", "ledger.db")
    assert scene.tabpe("ledger", "set-budget", "patients", *budget) == 0
    assert scene.synth(*REMEMBERED) == 3
    assert scene.witness.exact == []
    assert scene.leaks() == []


@BOTH
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_leaves_nothing_of_the_table_behind(scene):
    words = (*REMEMBERED, "--engine", "stream", "--spill-dir", "spill", "--seed", 1)
    assert scene.killed_synth(*words) == -signal.SIGKILL
    assert len(list(Path("run").glob("votes-*.measured"))) == 5
    assert scene.leaks() == []
    assert scene.synth(*words) == 0
    assert scene.leaks() == []


@pytest.mark.parametrize(("scene", "rounds"), [("best", 8), ("paper", 15)], indirect=["scene"])
def test_what_a_run_remembers_is_under_the_noise_that_was_charged(scene, rounds):
    assert scene.synth(*REMEMBERED) == 0
    exact = scene.witness.exact[-rounds:]
    stored = [
        restore_measurement(Archive.load(path)) for path in sorted(Path("run").glob("votes-*"))
    ]
    assert len(stored) == rounds
    assert min(map(len, exact)) >= 250
    for true, measured in zip(exact, stored, strict=True):
        added = np.concatenate(measured.values) - true
        assert 0.7 < added.std() / measured.item.sigma < 1.3


def test_a_fingerprint_tells_nothing_without_the_key_which_stays_at_home(scene, monkeypatch):
    fingerprints = {}
    for home, run in ("first", "a"), ("first", "b"), ("second", "c"):
        monkeypatch.setenv("XDG_DATA_HOME", str(scene.public / home))
        assert scene.synth("--run-dir", run) == 0
        fingerprints[run] = Path(run, "fingerprint").read_text()
    assert fingerprints["a"] == fingerprints["b"] != fingerprints["c"]
    source, columns = open_source(scene.private / "table.csv"), list(SCHEMA.names)
    key = (scene.public / "first" / "tabpe" / "fingerprint.key").read_bytes()

    def told(key):
        sums = sum_row_hashes(source, columns, key)
        return compute_fingerprint(columns, sums, key)

    assert told(key) == fingerprints["a"]
    assert told(b"") not in fingerprints.values()
    keys = [key, key.hex().encode(), base64.b64encode(key)]
    seen = b"".join(files_of(scene.public / "work").values())
    assert not [one for one in keys if one in seen]
