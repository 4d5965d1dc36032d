"""Tables of very many columns, in which votes may say nothing."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tabpe import Boolean, Float, Posterior, Schema, TabPE
from tabpe.accounting import FakeNoise
from tabpe.evolution import posterior
from tabpe.evolution.config import COLUMNS, VOTES_OR_TABLES, WIDE
from tabpe.verification import verify_plain

pytestmark = pytest.mark.filterwarnings("ignore::tabpe.errors.NotPrivateWarning")
FEW = Posterior(rounds=4, votes=2, candidates=30, pool=400)


def wide(columns=WIDE, size=600):
    rng = np.random.default_rng(0)
    odd = rng.random(size) < 0.5
    data = {f"c{place}": rng.beta(2, 2 + place % 3 + 3 * odd) for place in range(columns)}
    schema = Schema((*(Float(name, 0, 1) for name in data), Boolean("odd")), label="odd")
    return pa.table(data | {"odd": odd}), schema


def fitted(data=None, **settings):
    table, schema = wide() if data is None else data
    given = {"preset": FEW, "delta": 1e-6, "random_state": 0, "verbose": 0} | settings
    return TabPE(**given).fit(table, schema)


@pytest.fixture
def unhelpful(monkeypatch):
    """As if votes were found to say nothing."""
    monkeypatch.setattr(posterior, "votes_help", lambda _: False)


@pytest.fixture
def helpful(monkeypatch):
    """As if votes were found to say something."""
    monkeypatch.setattr(posterior, "votes_help", lambda _: True)


def items(model):
    return {item.name: item.times for item in model.certificate.spends}


def test_a_wide_table_asks_often_and_cheaply(helpful):
    model = fitted()
    tables = 2 * WIDE
    repeats = -(-tables // (2 * FEW.votes))
    assert items(model)[COLUMNS] == tables
    assert items(model)[VOTES_OR_TABLES] == FEW.rounds * FEW.votes * repeats
    assert len(model.history_) == FEW.rounds


def test_many_cheap_answers_are_as_good_as_a_dear_one(helpful):
    """The noise that remains after adding up is that of a table that is not quite so wide."""
    cheap, dear = fitted(), fitted(wide(WIDE - 1))
    assert cheap.history_[0]["sigma"] == pytest.approx(dear.history_[0]["sigma"], rel=0.02)


def test_votes_that_do_not_help_are_given_up_for_tables(unhelpful):
    model = fitted()
    assert set(items(model)) == {"class counts", COLUMNS, VOTES_OR_TABLES}
    assert len(model.history_) == 2
    assert any("votes did not help" in note for note in model.certificate.notes)
    assert model.sample().num_rows > 100


def test_what_is_given_up_is_all_on_the_spends(unhelpful):
    model = fitted()
    assert model.certificate.epsilon == pytest.approx(1.0, abs=1e-3)
    assert verify_plain(model.certificate.to_dict()).holds


def test_rows_follow_the_better_tables(unhelpful):
    """With next to no noise they follow the columns of each class."""
    table, schema = wide(size=4000)
    many = replace(FEW, pool=8000)
    model = fitted((table, schema), epsilon=50.0, noise=FakeNoise(0), preset=many)
    made = model.sample().to_pandas().groupby("odd").mean()
    real = table.to_pandas().groupby("odd").mean()
    assert np.abs(made - real).to_numpy().max() < 0.03


def test_an_interrupted_run_goes_on_to_the_same_rows(unhelpful, tmp_path):
    first = fitted(run_dir=tmp_path / "run")
    again = fitted(run_dir=tmp_path / "run")
    assert first.sample().equals(again.sample())
    assert first.certificate.notes == again.certificate.notes


def test_the_stream_engine_reads_the_rows_again(unhelpful):
    local, stream = (
        fitted(engine=engine, noise=FakeNoise(1)).sample() for engine in ("local", "stream")
    )
    assert local.equals(stream)


def test_a_narrow_table_has_no_trial(unhelpful):
    model = fitted(wide(WIDE - 1))
    assert "votes" in items(model)
    assert len(model.history_) == FEW.rounds
