"""`TabPE`: a table in shards, however it is cut and ordered, gives what one process gives."""

import pyarrow as pa
import pytest

from facade import (
    BOTH,
    ESTIMATED,
    LISTED,
    QUICK_BEST,
    QUICK_PAIRS,
    USERS,
    buying_fit,
    columns,
    fake_fit,
    fitted,
    listed,
    of_people,
)
from shard_pools import open_at_random
from tabpe.accounting import FakeNoise
from tabpe.accounting.ledger import Ledger
from tabpe.errors import NotPrivateWarning, TabpeError
from tabpe.evolution import Evolution
from tabpe.io.source import divide_source

KINDS = {
    "evolution": {},
    "estimated": ESTIMATED,
    "users": USERS,
    "estimated for users": ESTIMATED | USERS,
    "rows counted": {"delta": None, "epsilon": 4.0, "preset": Evolution(rounds=6)},
    "streamed": {"engine": "stream"},
    "streamed afresh": {"engine": "stream", "spill": False},
}


def everything(model):
    certificate = model.certificate.to_dict() | {"created": None}
    return model.sample().to_pydict(), model.history_, certificate


def fit(table, **given):
    if given.get("schema") != "private":
        return everything(fake_fit(table, **given))
    estimated = {"drop": () if "unit" in given else ("person",)} | given
    with pytest.warns(NotPrivateWarning):
        return everything(buying_fit(table, noise=FakeNoise(1), **estimated))


@BOTH
@pytest.mark.parametrize("shards", [1, 2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_no_cut_and_no_order_changes_what_comes_out(kind, shards, preset, monkeypatch):
    table, given = of_people(900), {"preset": preset} | KINDS[kind]
    alone = fit(table, **given)
    monkeypatch.setattr(
        "tabpe.synthesizers.pipeline.open_backend", open_at_random(shards, seed=shards)
    )
    assert fit(table, **given) == alone


@pytest.mark.parametrize("users", [{}, USERS])
def test_pairs_and_several_labels_add_up_too(users, monkeypatch):
    given = {"schema": LISTED, "preset": QUICK_PAIRS, "label": ["ill", "insured"], **users}
    alone = everything(fake_fit(listed(900), **given))
    monkeypatch.setattr("tabpe.synthesizers.pipeline.open_backend", open_at_random(3))
    assert everything(fake_fit(listed(900), **given)) == alone


def test_more_shards_than_rows_leave_some_without_any(monkeypatch):
    table, given = pa.table(columns(6)), {"preset": QUICK_BEST}
    alone = fit(table, **given)
    monkeypatch.setattr("tabpe.synthesizers.pipeline.open_backend", open_at_random(9))
    assert fit(table, **given) == alone


@BOTH
@pytest.mark.filterwarnings("ignore::tabpe.errors.ThinVotesWarning")
def test_a_table_without_rows_gives_what_noise_gives(monkeypatch, preset):
    nothing, given = pa.table(columns(3)).slice(3), {"preset": preset}
    alone = everything(fake_fit(nothing, **given))
    monkeypatch.setattr("tabpe.synthesizers.pipeline.open_backend", open_at_random(2))
    assert everything(fake_fit(nothing, **given)) == alone


def test_a_table_that_was_handed_out_in_parts_counts_as_read(tmp_path, monkeypatch):
    """Workers may have read all of it: nothing is given back if the run fails then."""
    ledger = tmp_path / "ledger.db"

    def failing(source, unit, resources, _on_ready):
        divide_source(source, 2)
        raise TabpeError("the cluster is gone")

    monkeypatch.setattr("tabpe.synthesizers.pipeline.open_backend", failing)
    Ledger(ledger).set_budget("patients", epsilon=60, delta=1e-5)
    with pytest.raises(TabpeError, match="the cluster is gone"):
        fitted(of_people(60), ledger=ledger, dataset="patients")
    (entry,) = Ledger(ledger).entries("patients")
    assert entry.counts
