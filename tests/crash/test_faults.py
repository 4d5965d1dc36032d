"""Every call that writes fails once: no charge is lost, and the same run then ends well."""

import itertools
import json
import shutil

import pyarrow as pa
import pytest

from facade import columns, fake_fit
from faults import Faults
from tabpe import Evolution
from tabpe._utils.serialization import Archive
from tabpe.accounting import FakeNoise
from tabpe.accounting.ledger import Ledger
from tabpe.errors import TabpeError
from tabpe.measurement.checkpoint import restore_measurement
from tabpe.measurement.reservation import WatchedSource

TINY = {"preset": Evolution(rounds=1, sampling_rounds=1), "n_samples": 10}


@pytest.fixture
def read(monkeypatch):
    """Whether private rows were read."""
    seen, batches = [], WatchedSource.batches

    def noted(self, *names):
        seen.append(True)
        return batches(self, *names)

    monkeypatch.setattr(WatchedSource, "batches", noted)
    return seen


def fit(folder):
    named = {"dataset": "patients", "ledger": folder / "ledger.db", "run_dir": folder / "run"}
    return fake_fit(pa.table(columns(60)), noise=FakeNoise(3), **named, **TINY)


def charges(folder):
    """The entries that count, after everything on the disk was found to be whole."""
    for path in (folder / "run").glob("*.measured"):
        restore_measurement(Archive.load(path))
    for path in (folder / "run").glob("run.json"):
        json.loads(path.read_text())
    ledger = Ledger(folder / "ledger.db")
    assert ledger.verify() == []
    return [entry for entry in ledger.entries("patients") if entry.counts]


@pytest.mark.filterwarnings("ignore::tabpe.errors.NoBudgetWarning")
@pytest.mark.parametrize("late", [False, True], ids=["before its effect", "after its effect"])
def test_whatever_fails_once_no_charge_is_lost_and_the_run_goes_on(
    tmp_path, monkeypatch, read, late
):
    hits = []
    for number in itertools.count(1):
        folder = tmp_path / "place"
        folder.mkdir()
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))
        read.clear()
        with monkeypatch.context() as patch:
            faults, failed = Faults(number, late=late, patch=patch), None
            try:
                fit(folder)
            except TabpeError as error:
                failed = error
        if faults.hit is None:
            assert failed is None
            break
        hits.append(faults.hit)
        held = charges(folder)
        assert held or not read, faults.hit
        model = fit(folder)
        again = charges(folder)
        assert {entry.id for entry in held} <= {entry.id for entry in again}
        [spent] = [entry for entry in again if entry.state == "spent"]
        assert spent.certificate_sha256 == model.certificate.digest
        assert spent.progress.sha256 == model.certificate.measurements_sha256
        assert spent.progress.measurements == len(list((folder / "run").glob("*.measured"))) == 2
        shutil.rmtree(folder)
    expected = (
        {"COMMIT", "link", "write"} if late else {"COMMIT", "INSERT", "link", "fsync", "fill"}
    )
    assert expected <= set(hits)
