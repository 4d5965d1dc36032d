"""`TabPE`: which engine runs, and that nobody can tell from what comes out."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from facade import BOTH, FAST, SCHEMA, columns, fake_fit, fitted
from tabpe import Boolean, Integer, Schema, TabPE
from tabpe.backends import StoredTable, local
from tabpe.errors import DataError, OutputError, ParameterError
from tabpe.io import batches
from tabpe.synthesizers.tabpe import RESOURCE_PARAMETERS

MACHINES = {
    "local": {"engine": "local"},
    "stream": {"engine": "stream"},
    "stream without spill": {"engine": "stream", "spill": False},
    "auto, large": {"memory_limit": 1},
    "auto, small": {"memory_limit": "1GB", "n_jobs": 1},
}

MEMORY, STREAM = "memory", "stream"


@pytest.fixture
def folder(tmp_path):
    """The table in several files of Parquet, uneven in size, by the value of a column."""
    table = pa.table(columns(401))
    for ward in ("heart", "lung", "skin"):
        part = table.filter(pa.compute.equal(table["ward"], ward)).drop_columns("ward")
        (tmp_path / "in" / f"ward={ward}").mkdir(parents=True)
        pq.write_table(part, tmp_path / "in" / f"ward={ward}" / "a.parquet", row_group_size=50)
    return tmp_path / "in"


@pytest.fixture
def made(monkeypatch):
    """Where the tables that were made keep their rows."""
    kept = []

    def watched(*rows, open_store, **options):
        kept.append(MEMORY if open_store is list else STREAM)
        return StoredTable(*rows, open_store=open_store, **options)

    monkeypatch.setattr(local, "StoredTable", watched)
    return kept


def everything(model, path):
    """All that a model says or gives, byte by byte, but for the time of its making."""
    model.save(path)
    certificate = model.certificate.to_dict() | {"created": None}
    return model.sample().to_pydict(), model.history_, certificate, model.release_.library


@BOTH
@pytest.mark.parametrize("rows", [1, 7, 64, 2**18])
@pytest.mark.parametrize("machine", MACHINES)
def test_no_engine_and_no_batch_changes_what_comes_out(
    folder, tmp_path, machine, rows, preset, monkeypatch
):
    plain = everything(fake_fit(folder, preset=preset), tmp_path / "plain.tabpe")
    monkeypatch.setattr(batches, "ROWS_A_BATCH", rows)
    monkeypatch.setattr(local, "ROWS_A_SEGMENT", 3 * rows)
    model = fake_fit(folder, preset=preset, **MACHINES[machine])
    assert everything(model, tmp_path / "model.tabpe") == plain
    assert list(tmp_path.glob(".*")) == []


@BOTH
@pytest.mark.parametrize("machine", MACHINES)
def test_files_and_frames_of_the_same_rows_give_the_same(folder, machine, preset):
    table = pyarrow.dataset.dataset(folder, partitioning="hive").to_table()
    expected = fake_fit(table, preset=preset).sample().to_pydict()
    dataset = pyarrow.dataset.dataset(folder, partitioning="hive")
    for data in (folder, str(folder / "*" / "*.parquet"), dataset, table, table.to_pandas()):
        found = fake_fit(data, preset=preset, **MACHINES[machine]).sample()
        found = found.to_dict("list") if hasattr(found, "to_dict") else found.to_pydict()
        assert found == expected


def test_the_engine_is_the_one_that_was_asked_for(table, made):
    for engine in ("local", "stream"):
        fitted(table, engine=engine)
    assert made == [MEMORY, STREAM]


def test_the_engine_follows_the_size_of_the_table(table, made, tmp_path):
    size = 400 * (2 * 4 + 1)
    fitted(table, memory_limit=size)
    fitted(table, memory_limit=size - 1)
    pq.write_table(table, tmp_path / "t.parquet")
    fitted(tmp_path / "t.parquet", memory_limit=size)
    fitted(tmp_path / "t.parquet", memory_limit=size - 1)
    pyarrow.csv.write_csv(table, tmp_path / "t.csv")
    fitted(tmp_path / "t.csv", memory_limit=size - 1)
    fitted(tmp_path / "t.csv", memory_limit=100 * size)
    fitted(pyarrow.dataset.dataset(table), memory_limit="1GB")
    assert made == [MEMORY, STREAM, MEMORY, STREAM, STREAM, MEMORY, STREAM]


def test_threads_reach_the_votes(table, monkeypatch):
    asked, plain = set(), local.build_index

    def watched(*given, jobs):
        asked.add(jobs)
        return plain(*given, jobs=jobs)

    monkeypatch.setattr(local, "build_index", watched)
    fitted(table, n_jobs=3, engine="local")
    fitted(table, n_jobs=4, engine="stream")
    assert asked == {3, 4}


@pytest.mark.parametrize("machine", MACHINES)
def test_what_was_used_of_the_machine_is_not_saved(table, tmp_path, machine):
    model = fitted(table, **MACHINES[machine])
    model.save(tmp_path / "model.tabpe")
    loaded = TabPE.load(tmp_path / "model.tabpe")
    usual = TabPE().get_params()
    assert all(loaded.get_params()[name] == usual[name] for name in RESOURCE_PARAMETERS)
    facts = model.certificate.to_dict()
    del facts["guarantee"]  # The same sentences for all runs: they name failures of machines.
    said = str(facts) + str(model.history_)
    assert not any(word in said.lower() for word in ("engine", "stream", "spill", "memory"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"engine": "abacus"},
        {"memory_limit": "lots"},
        {"spill": "/no/such/folder"},
        {"n_jobs": 0},
    ],
)
def test_what_is_wrong_is_refused_by_name_before_the_table_is_opened(wrong, monkeypatch):
    monkeypatch.setattr("tabpe.synthesizers.tabpe.use_source", lambda _: pytest.fail("opened"))
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"{name}="):
        TabPE(**(FAST | wrong)).fit(pa.table(columns()), SCHEMA)


@BOTH
@pytest.mark.parametrize("machine", ["local", "stream", "stream without spill"])
def test_a_label_alone_is_a_table(machine, preset):
    schema = Schema((Boolean("ill"),), label="ill")
    table = pa.table({"ill": [True, False] * 200})
    model = fitted(table, schema, preset=preset, **MACHINES[machine])
    assert set(model.sample()["ill"].to_pylist()) == {True, False}


@BOTH
@pytest.mark.parametrize("spill", [None, False])
def test_the_private_rows_are_let_go_when_a_run_fails(tmp_path, spill, preset, monkeypatch):
    closed, close = [], StoredTable.close
    monkeypatch.setattr(StoredTable, "close", lambda self: closed.append(close(self)))
    (tmp_path / "t.csv").write_text("age\n1\n" + "x\n")
    schema = Schema((Integer("age", 0, 9),))
    asked = {"engine": "stream", "spill": spill, "preset": preset, "strict": True}
    with pytest.raises(DataError, match=r"t\.csv: column 'age'.*row 2"):
        fitted(tmp_path / "t.csv", schema, **asked)
    assert len(closed) == 1


def test_a_spill_that_fails_in_the_middle_is_named(table, tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tabpe.backends.local.tempfile.TemporaryFile", full)
    with pytest.raises(OutputError, match=r"spill='.*No space left on device.*spill=False"):
        fitted(table, engine="stream", spill=tmp_path)


@BOTH
def test_a_table_that_changes_during_the_run_is_refused(tmp_path, preset):
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    pq.write_table(pa.table(columns(400)), path)
    calls = []

    class Growing:
        """Noise that adds a row to the file before it answers for the second time."""

        name, private = "growing", True

        def draw(self, size, sigma):
            calls.append(size)
            if len(calls) == 2:
                pq.write_table(pa.table(columns(401)), tmp_path / "new")
                (tmp_path / "new").replace(path)
            return rng.integers(0, 2, size)

    with pytest.raises(DataError, match="the table changed") as caught:
        fitted(path, engine="stream", spill=False, noise=Growing(), preset=preset)
    assert "40" not in str(caught.value)
