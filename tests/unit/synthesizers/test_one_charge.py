"""One charge, one release: a folder that was copied, wiped or put back measures nothing anew."""

import json
import shutil

import pytest

from facade import FAST, fake_fit
from tabpe.accounting import FakeNoise
from tabpe.backends import LocalBackend
from tabpe.backends.queries import ClassCountQuery, VoteQuery
from tabpe.errors import BudgetError, TabpeError

DRAWS = 1 + FAST["preset"].rounds


class CrashError(Exception):
    """The power is gone."""


class Staged(FakeNoise):
    """Fake noise that does something before draws of given numbers, counted from 0."""

    def __init__(self, seed, acts):
        super().__init__(seed)
        self._acts, self._drawn = acts, 0

    def draw(self, size, sigma):
        """Return the next noise."""
        act = self._acts.get(self._drawn)
        self._drawn += 1
        if act is not None:
            act()
        return super().draw(size, sigma)


def crash():
    raise CrashError


@pytest.fixture
def asked(monkeypatch):
    """The number of times that private rows were asked for anything."""
    calls = []
    answer = LocalBackend.answer

    def counted(backend, query):
        if isinstance(query, (VoteQuery, ClassCountQuery)):
            calls.append(1)
        return answer(backend, query)

    monkeypatch.setattr(LocalBackend, "answer", counted)
    return calls


@pytest.fixture(params=["a ledger", "no ledger"])
def charged(request, ledger):
    """The parameters of a run that is charged to a ledger, and of one that is not."""
    named = {"dataset": "patients", "ledger": ledger.path}
    return named if request.param == "a ledger" else {}


@pytest.fixture
def named(ledger):
    return {"dataset": "patients", "ledger": ledger.path}


def crashed(table, folder, after, **more):
    with pytest.raises(CrashError):
        fake_fit(table, run_dir=folder, noise=Staged(3, {after: crash}), **more)


def wipe(folder, *kept):
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()


def entries(ledger):
    return [(entry.state, entry.certificate_sha256) for entry in ledger.entries("patients")]


@pytest.mark.parametrize("copied", ["before it goes on", "while it runs"])
def test_of_a_run_and_its_copy_at_the_same_time_only_one_ends(
    table, tmp_path, ledger, named, copied
):
    first, copy = tmp_path / "run", tmp_path / "copy"
    crashed(table, first, 2, **named)
    if copied == "before it goes on":
        shutil.copytree(first, copy)
    released, refused = [], []

    def resume(folder, noise):
        try:
            released.append(fake_fit(table, run_dir=folder, noise=noise, **named))
        except BudgetError as error:
            refused.append(error)

    def resume_the_copy():
        if copied == "while it runs":
            shutil.copytree(first, copy)
        resume(copy, FakeNoise(8))

    resume(first, Staged(4, {1: resume_the_copy}))
    assert (len(released), len(refused)) == (1, 1)
    assert "new folder" in str(refused[0])
    assert entries(ledger) == [("spent", released[0].certificate.digest)]


def test_a_copy_that_went_on_elsewhere_makes_the_first_folder_stale(
    table, tmp_path, ledger, named, asked
):
    first, copy = tmp_path / "run", tmp_path / "copy"
    crashed(table, first, 2, **named)
    shutil.copytree(first, copy)
    crashed(table, copy, 1, **named)
    asked.clear()
    with pytest.raises(BudgetError, match="new folder") as caught:
        fake_fit(table, run_dir=first, **named)
    assert caught.value.exit_code == 3
    assert (asked, entries(ledger)) == ([], [("reserved", None)])
    model = fake_fit(table, run_dir=copy, **named)
    assert entries(ledger) == [("spent", model.certificate.digest)]


@pytest.mark.parametrize("kept", [(), ("fingerprint",), ("fingerprint", "progress.log")])
@pytest.mark.parametrize("after", range(1, DRAWS))
def test_a_folder_that_was_wiped_measures_nothing_anew(
    table, tmp_path, charged, asked, after, kept
):
    folder = tmp_path / "run"
    crashed(table, folder, after, **charged)
    wipe(folder, "run.json", *kept)
    asked.clear()
    with pytest.raises(TabpeError, match="new folder"):
        fake_fit(table, run_dir=folder, **charged)
    assert asked == []


@pytest.mark.parametrize("after", range(2, DRAWS))
def test_a_lost_measurement_is_not_made_again(table, tmp_path, charged, asked, after):
    folder = tmp_path / "run"
    crashed(table, folder, after, **charged)
    last = max(folder.glob("votes-*.measured"))
    last.unlink()
    asked.clear()
    with pytest.raises(TabpeError, match="new folder"):
        fake_fit(table, run_dir=folder, **charged)
    assert asked == []


def test_a_backup_that_is_put_back_does_not_measure_anew(table, tmp_path, ledger, named, asked):
    """It is as the folder was after its first measurement, and the ledger knows of more."""
    folder, backup = tmp_path / "run", tmp_path / "backup"
    noise = Staged(3, {1: lambda: shutil.copytree(folder, backup), 3: crash})
    with pytest.raises(CrashError):
        fake_fit(table, run_dir=folder, noise=noise, **named)
    shutil.rmtree(folder)
    backup.rename(folder)
    asked.clear()
    with pytest.raises(BudgetError, match="new folder"):
        fake_fit(table, run_dir=folder, **named)
    assert (asked, entries(ledger)) == ([], [("reserved", None)])


def test_the_noise_is_in_the_digest_of_a_certificate(table):
    one, same, other = (fake_fit(table, noise=FakeNoise(seed)).certificate for seed in (1, 1, 2))
    assert one.measurements_sha256 == same.measurements_sha256
    assert one.measurements_sha256 != other.measurements_sha256
    assert json.loads(one.to_json())["measurements_sha256"] == one.measurements_sha256


def test_neither_a_folder_nor_a_crash_changes_the_digest_of_measurements(table, tmp_path, charged):
    whole = fake_fit(table, noise=FakeNoise(3)).certificate
    noise = Staged(3, {2: crash})
    remembered = {"run_dir": tmp_path / "run", "noise": noise, **charged}
    with pytest.raises(CrashError):
        fake_fit(table, **remembered)
    resumed = fake_fit(table, **remembered).certificate
    assert resumed.measurements_sha256 == whole.measurements_sha256
