"""A public report is searched for markers planted in the real table: the page, its figures, all.

The commands are those of a custodian, careful or not. Beside what `test_scan` looks for, the real
table's own name must not be found, which tells where it comes from.
"""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

from planted import PERSON, RARE, made_up, table
from spoilt import SPOILT, quoting, spoil
from tabpe import draft_schema
from tabpe.accounting.ledger import Ledger

LEDGER = ("--ledger", "ledger.db", "--dataset", "patients")
BUDGET = ("--epsilon", 2, "--delta", 1e-6, "--ledger", "ledger.db")
SPOILT_CELLS = [kind for kind in SPOILT if SPOILT[kind][2] and not SPOILT[kind][3]]


def evaluate(scene, *words, data="table.csv", epsilon=1):
    """Make a public page of `out.csv`, and return the exit code of the command."""
    estimated = () if epsilon is None else ("--epsilon", epsilon)
    written = ("-o", "page.html", "--json", "page.json", "--force")
    code = scene.tabpe(
        "evaluate", scene.private / data, "out.csv", "--public", *estimated, *written, *words
    )
    if code == 0 and epsilon is not None:
        # Noise may hit an exact number of rows, which is no leak.
        rows, _ = json.loads(Path("page.json").read_text())["private_measures"]["rows"]
        scene.witness.noisy.update({round(rows)})
    return code


def bare(scene, *words, schema="schema.yaml", **given):
    """Make a page of rows without a certificate, which need a delta and a schema."""
    pa.csv.write_csv(made_up(), "out.csv")
    terms = ("--delta", 1e-6) if given.get("epsilon", 1) else ()
    return evaluate(scene, "--schema", scene.private / schema, *terms, *words, **given)


def pages():
    return {name: Path(name).read_bytes() for name in ("page.html", "page.json")}


def charged_items():
    """What the ledger holds against the data set."""
    return [entry.state for entry in Ledger("ledger.db").entries("patients")]


WAYS = {
    "rows": ((), {}),
    "from Parquet": ((), {"data": "table.parquet"}),
    "charged": (LEDGER, {}),
    "next to no guarantee": ((), {"epsilon": 8}),
    "nothing estimated": ((), {"epsilon": None}),
    "another label": (("--label", "ward"), {}),
    "its rounds": (("--run", "run.tabpe"), {}),
    "silent": (("--quiet",), {}),
}
GUARANTEES = {
    "rows": (),
    "replace-one": ("--adjacency", "replace-one"),
    "users": ("--unit", "person", "--max-rows-per-user", 2, "--rows", 150),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_public_report_leaks_nothing(scene, way):
    words, given = WAYS[way]
    assert scene.synth("--save", "run.tabpe") == 0
    assert evaluate(scene, *words, **given) == 0, scene.evidence()["stderr"]
    assert all(b"table.csv" not in page and b"private/" not in page for page in pages().values())
    assert b"May be released: holds" in pages()["page.html"]
    assert scene.leaks() == []


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_public_report_leaks_nothing_whatever_the_guarantee(scene, guarantee):
    assert scene.synth(*GUARANTEES[guarantee]) == 0
    assert evaluate(scene, *LEDGER) == 0, scene.evidence()["stderr"]
    (entry,) = Ledger("ledger.db").entries("patients")
    assert entry.unit == ("person" if guarantee == "users" else None)
    plain = json.loads(pages()["page.json"])
    assert (
        plain["private_measures"]["certificate"]["adjacency"] == plain["certificate"]["adjacency"]
    )
    assert plain["certificate"]["epsilon"] < plain["private_measures"]["total_epsilon"] < 2
    assert scene.leaks() == []


def test_without_a_certificate_nothing_leaks_either(scene):
    assert bare(scene) == 0
    assert scene.leaks() == []


def test_what_is_read_off_the_data_is_not_said_to_be_releasable(scene):
    """It holds the rare values: a leak that the custodian asked for, and is told of."""
    assert scene.synth() == 0
    real = table().drop_columns(["person", "note"])
    draft_schema(real, label="ill").save(scene.private / "drafted.yaml")
    assert evaluate(scene, "--schema", scene.private / "drafted.yaml", epsilon=None) == 0
    page = pages()["page.html"].split(b"</style>")[1]
    assert RARE.encode() in page
    assert b"May be released" not in page
    assert b"age.max" in page.partition(b"<main>")[0]
    assert b"read from the data" in scene.evidence()["stderr"]


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_terminal_shows_nothing(scene, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    with scene.terminal(monkeypatch) as shown:
        assert bare(scene) == 0
    assert b"under noise" in b"".join(shown)
    assert scene.leaks() == []


@pytest.mark.parametrize("data", ["table.csv", "table.parquet"])
@pytest.mark.parametrize("kind", SPOILT_CELLS)
def test_a_cell_outside_the_schema_is_counted_by_its_rule_and_not_shown(scene, kind, data):
    name, cell, schema, _ = SPOILT[kind]
    spoil(scene, name, cell)
    assert scene.tabpe("ledger", "set-budget", "patients", *BUDGET) == 0
    assert bare(scene, *LEDGER, schema=schema, data=data) == 0
    assert charged_items() == ["spent"]
    assert scene.leaks() == []


def test_a_missing_column_costs_nothing_and_shows_nothing(scene):
    scene.store(table().drop_columns(["age"]))
    assert scene.tabpe("ledger", "set-budget", "patients", *BUDGET) == 0
    assert bare(scene, *LEDGER) == 2
    assert charged_items() == []
    assert scene.leaks() == []


def test_a_refused_budget_reads_nothing(scene):
    assert scene.tabpe("ledger", "set-budget", "patients", *BUDGET) == 0
    assert bare(scene, *LEDGER, epsilon=3) == 3
    assert scene.witness.exact == []
    assert not Path("page.html").exists()
    assert scene.leaks() == []


# Where it fails, and what the ledger says then: only what has read nothing is given back.
PLACES = {
    "plan": ("tabpe.evaluation.private_metrics.measure.plan_marginals", []),
    "engine": ("tabpe.evaluation.private_metrics.measure.LocalBackend", ["refunded"]),
    "counts": ("tabpe.backends.StoredTable.count_marginals", ["refunded"]),
    "cells": ("tabpe.encoding.Marginal.find_cells", ["reserved"]),
    "rows": ("tabpe.backends.local.EncodedRows._encode_batch", ["reserved"]),
    "noise": ("tabpe.accounting.ExactNoise.draw", ["reserved"]),
    "findings": ("tabpe.evaluation.private_metrics.measure.build_appraisal", ["spent"]),
    "page": ("tabpe.evaluation.report.html.render_page", ["spent"]),
}
KINDS = {MemoryError: 1, RuntimeError: 1, KeyError: 1, KeyboardInterrupt: 2}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_what_fails_is_not_quoted_and_charged_if_a_row_was_read(scene, monkeypatch, place, kind):
    target, states = PLACES[place]
    assert scene.tabpe("ledger", "set-budget", "patients", *BUDGET) == 0
    with monkeypatch.context() as patch:
        patch.setattr(target, quoting(kind))
        assert bare(scene, *LEDGER) == KINDS[kind]
    assert charged_items() == states
    assert not Path("page.html").exists()
    assert scene.leaks() == []


def test_users_without_an_id_are_not_shown(scene):
    assert scene.synth("--unit", "person", "--rows", 150) == 0
    spoil(scene, "person", None)
    assert evaluate(scene) == 0
    assert PERSON not in scene.evidence()["stderr"].decode()
    assert scene.leaks() == []
