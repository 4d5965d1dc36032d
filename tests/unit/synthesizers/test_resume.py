"""`TabPE`: a run that was interrupted goes on, pays once, and ends as if nothing had happened."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from facade import (
    BOTH,
    ESTIMATED,
    FAST,
    LISTED,
    QUICK_BEST,
    QUICK_PAIRS,
    SCHEMA,
    USERS,
    columns,
    fake_fit,
    fitted,
    listed,
    of_people,
)
from tabpe import Evolution, Integer, Schema, TabPE
from tabpe.accounting import FakeNoise
from tabpe.backends import StoredTable
from tabpe.errors import ArchiveError, BudgetError, NotPrivateWarning, OutputError, ParameterError

ROUNDS = FAST["preset"].rounds
DRAWS = 1 + ROUNDS  # the counts of classes, and the votes


class CrashError(Exception):
    """The power is gone."""


class Crashing(FakeNoise):
    """Noise that repeats, but for one crash before the draw of a given number."""

    def __init__(self, before, strength=1.0):
        super().__init__(3, strength=strength)
        self.left = before

    def draw(self, size, sigma):
        """Return the next noise; what a crash prevents is drawn after it."""
        self.left -= 1
        if self.left == -1:
            raise CrashError
        return super().draw(size, sigma)


@pytest.fixture
def asked(monkeypatch):
    """The number of times that private rows were asked to vote."""
    calls = []
    votes = StoredTable.count_votes
    monkeypatch.setattr(
        StoredTable, "count_votes", lambda self, *about: calls.append(1) or votes(self, *about)
    )
    return calls


@pytest.fixture
def crashed(table, tmp_path, ledger):
    """The parameters of a run that crashed after its first round."""
    remembered = {
        "run_dir": tmp_path / "run",
        "dataset": "patients",
        "ledger": ledger.path,
        "noise": Crashing(before=2),
    }
    with pytest.raises(CrashError), pytest.warns(NotPrivateWarning):
        fitted(table, **remembered)
    return remembered


def undated(certificate):
    return dataclasses.replace(certificate, created="", ledger=None)


@pytest.mark.parametrize("before", range(DRAWS + 1))
def test_it_ends_as_if_it_had_not_been_interrupted(table, tmp_path, ledger, asked, before):
    whole = fake_fit(table, noise=FakeNoise(3))
    remembered = {"run_dir": tmp_path / "run", "dataset": "patients", "ledger": ledger.path}
    noise = Crashing(before)
    if before < DRAWS:
        with pytest.raises(CrashError):
            fake_fit(table, noise=noise, **remembered)
        assert [entry.state for entry in ledger.entries("patients")] == ["reserved"]
    asked.clear()
    model = fake_fit(table, noise=noise, **remembered)
    assert len(asked) == ROUNDS - (max(before - 1, 0) if before < DRAWS else 0)
    assert model.sample().equals(whole.sample())
    assert model.history_ == whole.history_
    assert undated(model.certificate) == undated(whole.certificate)
    [entry] = ledger.entries("patients")
    assert (entry.state, entry.spends) == ("spent", model.certificate.spends)
    assert [item.times for item in entry.spends] == [1, ROUNDS]


@pytest.mark.parametrize("before", range(11))
def test_the_default_ends_as_if_it_had_not_been_interrupted(table, tmp_path, ledger, asked, before):
    """Its draws are one of counts, six of tables, which are one measurement, and three of votes."""
    quiet = {"preset": QUICK_BEST, "noise": FakeNoise(3, strength=0.0)}
    whole = fake_fit(table, **quiet)
    remembered = {"run_dir": tmp_path / "run", "dataset": "patients", "ledger": ledger.path}
    remembered |= {"preset": QUICK_BEST, "noise": Crashing(before, strength=0.0)}
    if before < 10:
        with pytest.raises(CrashError):
            fake_fit(table, **remembered)
        assert [entry.state for entry in ledger.entries("patients")] == ["reserved"]
    asked.clear()
    model = fake_fit(table, **remembered)
    assert len(asked) == QUICK_BEST.rounds - (max(before - 7, 0) if before < 10 else 0)
    assert model.sample().equals(whole.sample())
    assert model.history_ == whole.history_
    assert undated(model.certificate) == undated(whole.certificate)
    [entry] = ledger.entries("patients")
    assert (entry.state, entry.spends) == ("spent", model.certificate.spends)
    assert [item.times for item in entry.spends] == [1, 6, QUICK_BEST.rounds * QUICK_BEST.votes]


@pytest.mark.parametrize(("before", "rounds_left"), [(11, 2), (20, 2), (21, 2), (22, 1), (23, 0)])
def test_a_run_with_pairs_ends_as_if_it_had_not_been_interrupted(
    tmp_path, ledger, asked, before, rounds_left
):
    """Its draws are one of counts, ten of columns, ten of pairs, and two of votes."""
    quiet = {"preset": QUICK_PAIRS, "noise": FakeNoise(3, strength=0.0)}
    whole = fake_fit(listed(), LISTED, **quiet)
    remembered = {"run_dir": tmp_path / "run", "dataset": "patients", "ledger": ledger.path}
    remembered |= {"preset": QUICK_PAIRS, "noise": Crashing(before, strength=0.0)}
    if before < 23:
        with pytest.raises(CrashError):
            fake_fit(listed(), LISTED, **remembered)
    assert (tmp_path / "run" / "002-way-marginals-001.measured").exists() == (20 < before < 23)
    asked.clear()
    model = fake_fit(listed(), LISTED, **remembered)
    assert len(asked) == (rounds_left if before < 23 else QUICK_PAIRS.rounds)
    assert model.sample().equals(whole.sample())
    assert undated(model.certificate) == undated(whole.certificate)
    [entry] = ledger.entries("patients")
    assert (entry.state, entry.spends) == ("spent", model.certificate.spends)
    assert [item.times for item in entry.spends] == [1, 10, 10, 4]


@BOTH
@pytest.mark.parametrize("random_state", [0, None])
def test_a_finished_run_is_the_same_again_and_costs_nothing(
    table, tmp_path, ledger, asked, random_state, preset
):
    remembered = {"run_dir": tmp_path / "run", "dataset": "patients", "ledger": ledger.path}
    remembered["preset"] = preset
    first = fake_fit(table, random_state=random_state, **remembered)
    head = ledger.head()
    asked.clear()
    again = fake_fit(table, random_state=random_state, **remembered)
    assert again.sample().equals(first.sample())
    assert again.certificate == first.certificate
    assert again.certificate.digest == first.certificate.digest
    assert asked == []
    assert ledger.head() == head


@pytest.mark.parametrize(
    ("preset", "lost"),
    [
        *((FAST["preset"], name) for name in ("votes-002", "class-counts-001")),
        *((QUICK_BEST, name) for name in ("votes-002", "001-way-marginals-001")),
    ],
)
def test_a_spent_run_whose_folder_lost_a_measurement_measures_nothing(
    table, tmp_path, ledger, asked, preset, lost
):
    remembered = {"run_dir": tmp_path / "run", "dataset": "patients", "ledger": ledger.path}
    remembered["preset"] = preset
    fake_fit(table, random_state=0, **remembered)
    (tmp_path / "run" / f"{lost}.measured").unlink()
    asked.clear()
    with pytest.raises(ArchiveError, match="new folder"):
        fake_fit(table, random_state=0, **remembered)
    assert asked == []


OTHER = {
    "configuration": [
        {"epsilon": 40.0},
        {"delta": 1e-5},
        {"n_samples": 31},
        {"random_state": 1},
        {"class_budget": 0.03},
        {"adjacency": "replace-one"},
        {"preset": Evolution(rounds=4, sampling_rounds=1)},
        {"preset": QUICK_BEST},
        {"public_shares": {"False": 0.5, "True": 0.5}},
        {"public_rows": 400},
        {"noise": "opendp"},
        {"dataset": "visits"},
        {"dataset": None, "ledger": None},
    ],
    "schema": [{"label": "ward"}],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("part", "changes"), [(part, changes) for part, every in OTHER.items() for changes in every]
)
def test_another_configuration_or_schema_is_refused(table, crashed, ledger, asked, part, changes):
    head = ledger.head()
    with pytest.raises(ParameterError, match=f"began with another {part}: .* new folder"):
        fitted(table, **(crashed | changes))
    assert asked == []
    assert ledger.head() == head


def test_another_schema_of_the_same_columns_is_refused(table, crashed):
    wider = Schema((Integer("age", 0, 101), *SCHEMA.columns[1:]), label="ill")
    with pytest.raises(ParameterError, match="another schema"):
        fake_fit(table, wider, **crashed)


@pytest.mark.parametrize("name", ["compute_code_digest", "versions"])
def test_another_version_is_refused(table, crashed, monkeypatch, name):
    monkeypatch.setattr(f"tabpe.synthesizers.pipeline.{name}", lambda: "another")
    with pytest.raises(ParameterError, match="another version of"):
        fake_fit(table, **crashed)


def test_another_table_is_refused(table, crashed, ledger, asked):
    older = table.set_column(0, "age", pa.array(np.minimum(table["age"].to_numpy() + 1, 100)))
    asked.clear()
    with pytest.raises(ParameterError, match="the table is not the one"):
        fake_fit(older, **crashed)
    assert asked == []
    assert [entry.state for entry in ledger.entries("patients")] == ["reserved"]


def test_what_the_machine_gives_may_change(table, crashed, ledger):
    fake_fit(table, **(crashed | {"engine": "stream", "n_jobs": 1, "verbose": 1}))
    assert [entry.state for entry in ledger.entries("patients")] == ["spent"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OutputError("no key")])
def test_a_run_that_goes_on_is_never_refunded(table, crashed, ledger, monkeypatch, failure):
    """This process has read nothing when it fails; the one before had."""

    def fail():
        raise failure

    monkeypatch.setattr("tabpe.synthesizers.pipeline.load_secret_key", fail)
    with pytest.raises((KeyboardInterrupt, OutputError)):
        fake_fit(table, **crashed)
    assert [entry.state for entry in ledger.entries("patients")] == ["reserved"]
    monkeypatch.undo()
    monkeypatch.setenv("XDG_DATA_HOME", str(crashed["run_dir"].parent / "home"))
    fake_fit(table, **crashed)
    assert [entry.state for entry in ledger.entries("patients")] == ["spent"]


def test_a_run_that_fails_before_it_reads_leaves_its_folder_free(table, tmp_path, ledger):
    remembered = {"run_dir": tmp_path / "run", "dataset": "patients", "ledger": ledger.path}
    with pytest.raises(BudgetError, match="60 is left"):
        fake_fit(table, **remembered, epsilon=90.0)
    assert list((tmp_path / "run").iterdir()) == []
    fake_fit(table, **remembered)
    assert [entry.state for entry in ledger.entries("patients")] == ["spent"]


@BOTH
@pytest.mark.parametrize("changes", [ESTIMATED, ESTIMATED | USERS, USERS])
@pytest.mark.parametrize("before", range(0, 12, 2))
def test_what_is_estimated_and_whose_rows_count_survive_a_crash(tmp_path, changes, before, preset):
    table = of_people() if "unit" in changes else pa.table(columns(1500))
    declared = None if "schema" in changes else SCHEMA
    noise = Crashing(before, strength=0.0)
    remembered = {"random_state": None, "noise": noise, "run_dir": tmp_path / "run"}
    remembered["preset"] = preset

    def fit():
        with pytest.warns(NotPrivateWarning):
            return TabPE(**(FAST | changes | remembered)).fit(table, declared)

    if before < (DRAWS + 7 * (preset is QUICK_BEST) if declared else 12):
        with pytest.raises(CrashError):
            fit()
    first, again = fit(), fit()
    assert again.certificate == first.certificate
    assert again.sample().equals(first.sample())
    assert again.schema_ == first.schema_


def test_a_fake_run_and_a_private_one_do_not_share_a_folder(table, tmp_path):
    fake_fit(table, run_dir=tmp_path / "run")
    with pytest.raises(ParameterError, match="another configuration"):
        fitted(table, run_dir=tmp_path / "run")


def test_the_folder_is_no_part_of_a_saved_model(table, tmp_path):
    model = fitted(table, run_dir=tmp_path / "run")
    model.save(tmp_path / "model.tabpe")
    assert TabPE.load(tmp_path / "model.tabpe").run_dir is None
    assert str(tmp_path / "run").encode() not in (tmp_path / "model.tabpe").read_bytes()
