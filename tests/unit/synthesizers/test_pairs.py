"""Tables of mostly listed values, of which the default estimates tables of all pairs of columns."""

import dataclasses
import math

import numpy as np
import pytest

from facade import FLOORS, LISTED, QUICK_PAIRS, USERS, buying_fit, fake_fit, fitted, listed, spends
from tabpe import Schema
from tabpe.accounting import FakeNoise
from tabpe.errors import ArchiveError
from tabpe.evolution.config import COLUMNS, PAIRS
from tabpe.io import batches
from tabpe.verification import verify_plain

NO_VOTES = dataclasses.replace(QUICK_PAIRS, rounds=0)
USUAL = {"preset": QUICK_PAIRS, "epsilon": 2.0, "n_samples": 400}


@pytest.fixture(scope="module")
def table():
    return listed()


def times(model):
    return {item.name: item.times for item in model.certificate.spends}


def on_their_floor(model):
    """Which part of the rows has the floor of its ward; by chance it is a quarter."""
    made = model.sample().to_pydict()
    found = zip(made["ward"], made["floor"], strict=True)
    return float(np.mean([FLOORS[ward] == floor for ward, floor in found]))


def test_the_spends_has_an_item_for_all_pairs_of_columns(table):
    model = fitted(table, LISTED, **(USUAL | {"public_rows": 1500}))
    assert times(model) == {"class counts": 1, COLUMNS: 10, PAIRS: math.comb(5, 2), "votes": 4}
    certificate = model.certificate
    shares = {item.name: certificate.share(item) for item in certificate.spends}
    assert [shares[COLUMNS], shares[PAIRS]] == pytest.approx([0.1, 0.4], rel=0.02)
    assert 0.99 * 2.0 < certificate.epsilon <= 2.0
    assert verify_plain(certificate.to_dict()).holds


@pytest.mark.parametrize(
    ("columns", "label", "pairs"),
    [
        (("ward", "floor", "ill"), "ill", 1),
        (("ward", "age", "ill"), "ill", 1),
        (("ward", "floor", "age"), None, 3),
        (("ward", "floor", "day", "ill"), "ward", 3),
        (("ward", "ill"), "ill", None),
        (("age", "ill"), "ill", None),
    ],
)
def test_pairs_are_of_the_columns_beside_a_label_of_listed_values(table, columns, label, pairs):
    schema = Schema(tuple(LISTED[name] for name in columns), label=label)
    model = fitted(table, schema, **USUAL)
    assert times(model).get(PAIRS) == pairs
    assert model.certificate.epsilon <= 2.0


def test_a_label_of_numbers_is_one_of_the_columns_of_pairs(table):
    schema = Schema(LISTED.columns[:5], label="age", label_cuts=(18, 65))
    model = fitted(table, schema, **USUAL)
    assert times(model)[PAIRS] == math.comb(5, 2)
    assert verify_plain(model.certificate.to_dict()).holds


def test_values_may_be_estimated_where_types_are_declared(table):
    names = ("ward", "floor", "day")
    declared = {"columns": [{"name": name, "type": "categorical"} for name in names]}
    model = buying_fit(table, declared, **(USUAL | {"drop": ["person"], "epsilon": 8.0}))
    assert times(model)[PAIRS] == math.comb(5, 2)
    assert verify_plain(model.certificate.to_dict()).holds


def test_types_that_are_estimated_make_no_pairs(table):
    model = buying_fit(table, **(USUAL | {"drop": ["person"], "epsilon": 8.0}))
    assert PAIRS not in spends(model)


def test_without_votes_tables_and_pairs_take_all_that_counts_leave(table):
    model = fitted(table, LISTED, **(USUAL | {"preset": NO_VOTES, "public_rows": 1500}))
    assert times(model) == {"class counts": 1, COLUMNS: 10, PAIRS: 10}
    certificate = model.certificate
    shares = {item.name: certificate.share(item) for item in certificate.spends}
    assert shares[PAIRS] / shares[COLUMNS] == pytest.approx(4)
    assert 0.99 * 2.0 < certificate.epsilon <= 2.0


@pytest.mark.parametrize("rounds", [0, QUICK_PAIRS.rounds])
@pytest.mark.parametrize("changes", [{}, {"adjacency": "replace-one"}, USERS], ids=str)
def test_what_two_columns_say_together_is_kept_far_better_with_pairs(table, changes, rounds):
    """The ward tells the floor, and nothing of the label; each of both is uniform."""
    usual = USUAL | changes | {"epsilon": 4.0}
    kept, lost = (
        on_their_floor(fake_fit(table, LISTED, **(usual | {"preset": preset})))
        for preset in (
            dataclasses.replace(QUICK_PAIRS, rounds=rounds),
            dataclasses.replace(QUICK_PAIRS, rounds=rounds, pairs=0),
        )
    )
    assert kept > 0.6
    assert kept - lost > 0.3


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
@pytest.mark.parametrize("users", [{}, USERS], ids=["rows", "users"])
def test_the_noise_is_that_of_the_spends(table, users, adjacency):
    drawn = []

    class Noting(FakeNoise):
        """Notes the scale of what is drawn."""

        def draw(self, size, sigma):
            """Draw."""
            drawn.append(sigma)
            return super().draw(size, sigma)

    changes = USUAL | users | {"adjacency": adjacency, "epsilon": 4.0}
    model = fake_fit(table, LISTED, noise=Noting(1), **changes)
    scale = model.certificate.neighbours.scale
    expected = [
        item.sigma * scale
        for item in model.certificate.spends
        for _ in range(item.times // (QUICK_PAIRS.votes if item.name == "votes" else 1))
    ]
    assert drawn == expected
    assert model.certificate.epsilon <= 4.0


def test_another_row_in_the_place_of_one_takes_more_noise_on_pairs(table):
    less, more = (
        next(
            item
            for item in fitted(table, LISTED, adjacency=one, **USUAL).certificate.spends
            if item.name == PAIRS
        )
        for one in ("add-remove", "replace-one")
    )
    assert more.sigma == pytest.approx(math.sqrt(2) * less.sigma, rel=0.01)


@pytest.mark.parametrize("users", [{}, USERS], ids=["rows", "users"])
@pytest.mark.parametrize("preset", [QUICK_PAIRS, NO_VOTES], ids=["votes", "no votes"])
def test_no_engine_and_no_batch_changes_what_comes_out(table, users, preset, monkeypatch):
    changes = USUAL | users | {"preset": preset}
    local = fake_fit(table, LISTED, engine="local", **changes)
    monkeypatch.setattr(batches, "ROWS_A_BATCH", 64)
    for machine in ({"engine": "stream"}, {"engine": "stream", "spill": False}, {"n_jobs": 3}):
        other = fake_fit(table, LISTED, **changes, **machine)
        assert other.sample().equals(local.sample())
        assert other.history_ == local.history_
        assert other.certificate.spends == local.certificate.spends


def test_a_finished_run_is_the_same_again(table, tmp_path):
    changes = USUAL | {"run_dir": tmp_path / "run"}
    first = fitted(table, LISTED, **changes)
    again = fitted(table, LISTED, **changes)
    assert again.certificate == first.certificate
    assert again.sample().equals(first.sample())


def test_a_spent_run_whose_folder_lost_its_pairs_measures_nothing(table, tmp_path, ledger):
    changes = USUAL | {"run_dir": tmp_path / "run", "dataset": "patients", "ledger": ledger.path}
    fitted(table, LISTED, **changes)
    (tmp_path / "run" / "002-way-marginals-001.measured").unlink()
    with pytest.raises(ArchiveError, match=r"measurement \d+ is missing"):
        fitted(table, LISTED, **changes)
