"""No error quotes the private table, whatever is wrong with it, and no model keeps it.

What runs say and leave behind is searched in `test_scan`.
"""

import traceback

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from searching import chain_of, files_of
from tabpe import Boolean, Categorical, Float, Integer, Schema, TabPE, draft_schema
from tabpe.backends import LocalBackend, StoredTable
from tabpe.backends.local import EncodedTable
from tabpe.encoding import Encoder
from tabpe.errors import TabpeError
from tabpe.io import batches

TEXT = "zzmarkerqx"
NUMBER = 7_366_931_517
DECIMAL = 918273.6455
MARKERS = (TEXT, str(NUMBER), f"{NUMBER:,}", str(DECIMAL), "7366931517.0", "7.366931517e")
COUNTS = (1237, 411)
PRESETS = pytest.mark.parametrize("preset", ["best", "paper"])

SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Float("bmi", 10.0, 60.0),
        Categorical("ward", ("heart", "lung", "else"), other="else"),
        Boolean("ill"),
    ),
    label="ill",
)
STRICT = Schema(
    (*SCHEMA.columns[:2], Categorical("ward", ("heart", "lung", "else")), SCHEMA.columns[3]),
    label="ill",
)


def columns():
    rng = np.random.default_rng(0)
    size = sum(COUNTS)
    data = {
        "age": rng.integers(0, 101, size).tolist(),
        "bmi": rng.uniform(10, 60, size).tolist(),
        "ward": rng.choice(["heart", "lung"], size).tolist(),
        "ill": [False] * COUNTS[0] + [True] * COUNTS[1],
    }
    data["age"][3], data["bmi"][4], data["ward"][5] = NUMBER, DECIMAL, TEXT
    return data


def printed(error):
    """What Python prints of an error that nobody catches, but for the lines of source code."""
    report = traceback.TracebackException.from_exception(error)
    said = [str(error), repr(error)]
    while report is not None:
        said += report.format_exception_only()
        hidden = None if report.__suppress_context__ else report.__context__
        report = report.__cause__ or hidden
    return "\n".join(said)


def assert_clean(text, markers=MARKERS):
    found = [marker for marker in markers if marker in text]
    assert not found, f"{found} in: {text[:2000]}"


@PRESETS
def test_a_fitted_model_holds_no_private_row(preset):
    """Only what is released is kept: nothing reachable from the model has the private length."""
    model = TabPE(epsilon=1, n_samples=100, random_state=0, verbose=0, preset=preset)
    model.fit(pa.table(columns()), SCHEMA)
    waiting, seen = [model], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        assert not isinstance(one, (pa.Table, pd.DataFrame, LocalBackend, EncodedTable))
        if isinstance(one, np.ndarray):
            assert len(one) not in (*COUNTS, sum(COUNTS))
        waiting += list(getattr(one, "__dict__", {}).values())
        waiting += list(one.values()) if isinstance(one, dict) else []
        waiting += list(one) if isinstance(one, (list, tuple)) else []


BAD = {
    "text in numbers": ("age", lambda cells: [*map(str, cells[:-1]), TEXT]),
    "text in decimals": ("bmi", lambda cells: [*map(str, cells[:-1]), f"{TEXT}{DECIMAL}"]),
    "unknown category": ("ward", lambda cells: cells),
    "text in booleans": ("ill", lambda cells: [*map(str, cells[:-1]), TEXT]),
    "a number in booleans": ("ill", lambda cells: [*map(int, cells[:-1]), NUMBER]),
    "nan": ("bmi", lambda cells: [*cells[:-1], float("nan")]),
    "null": ("age", lambda cells: [*cells[:-1], None]),
    "empty text": ("age", lambda cells: [*map(str, cells[:-1]), ""]),
    "all null": ("ward", lambda cells: [None] * len(cells)),
    "bytes": ("ward", lambda cells: [TEXT.encode() + b"\xff"] * len(cells)),
    "lists": ("ward", lambda cells: [[TEXT]] * len(cells)),
    "times": ("age", lambda cells: pa.array(range(len(cells)), pa.timestamp("s"))),
}


def spoilt(kind):
    name, spoil = BAD[kind]
    data = columns()
    if name != "ward":
        data["ward"][5] = "heart"
    data[name] = spoil(data[name])
    return pa.table(data)


def error_of(data, **machine):
    """The error that fitting `data` ends with."""
    usual = {"epsilon": 1, "delta": 1e-6, "n_samples": 100, "random_state": 0, "verbose": 0}
    usual["strict"] = True
    with pytest.raises(TabpeError) as caught:
        TabPE(**usual, **machine).fit(data, STRICT)
    return caught.value


@pytest.mark.parametrize("kind", BAD)
def test_errors_about_cells_name_the_column(kind):
    assert BAD[kind][0] in str(error_of(spoilt(kind)))


@pytest.mark.parametrize("look", [printed, chain_of])
@pytest.mark.parametrize("kind", BAD)
def test_errors_about_cells_never_show_a_cell(kind, look, capfd):
    assert_clean(look(error_of(spoilt(kind))) + "".join(capfd.readouterr()))


def csv_text(cells):
    return "age,bmi,ward,ill\n" + "".join(f"{line}\n" for line in cells)


FILES = {
    "ragged": csv_text(["1,20,heart,true", f"2,20,{TEXT},true,{NUMBER}"]),
    "short": csv_text(["1,20,heart,true", f"{NUMBER},{TEXT}"]),
    "no number": csv_text(["1,20,heart,true", f"{TEXT},20,lung,false"]),
    "no category": csv_text(["1,20,heart,true", f"2,20,{TEXT},false"]),
    "no truth": csv_text(["1,20,heart,true", f"2,20,lung,{TEXT}"]),
    "open quote": csv_text(["1,20,heart,true", f'2,20,"{TEXT},false']),
    "not text": csv_text([f"1,20,{TEXT}\udcff,true"]),
}


@pytest.mark.parametrize("look", [printed, chain_of])
@pytest.mark.parametrize("kind", FILES)
def test_errors_about_files_never_show_a_cell(kind, look, tmp_path, capfd):
    path = tmp_path / "rows.csv"
    path.write_bytes(FILES[kind].encode("utf-8", "surrogateescape"))
    assert_clean(look(error_of(path)) + "".join(capfd.readouterr()))


def as_parquet(table, folder):
    pq.write_table(table, folder / "rows.parquet")
    return folder / "rows.parquet"


def as_arrow(table, folder):
    with pa.ipc.new_file(folder / "rows.arrow", table.schema) as writer:
        writer.write_table(table)
    return folder


def as_dataset(table, folder):
    return pyarrow.dataset.dataset(as_parquet(table, folder))


@pytest.mark.parametrize(
    "machine", [{}, {"engine": "stream"}, {"engine": "stream", "spill": False}]
)
@pytest.mark.parametrize("store", [as_parquet, as_arrow, as_dataset])
@pytest.mark.parametrize("kind", BAD)
def test_errors_about_stored_cells_never_show_a_cell(
    kind, store, machine, tmp_path, capfd, monkeypatch
):
    monkeypatch.setattr(batches, "ROWS_A_BATCH", 500)
    error = error_of(store(spoilt(kind), tmp_path), **machine)
    assert BAD[kind][0] in str(error)
    assert_clean(chain_of(error) + printed(error) + "".join(capfd.readouterr()))
    assert error.__context__ is None


@pytest.mark.parametrize("cut", [0.3, 0.9])
@pytest.mark.parametrize("store", [as_parquet, as_arrow])
def test_errors_about_damaged_files_never_show_a_cell(store, cut, tmp_path, capfd):
    store(pa.table(columns() | {"ward": [TEXT] * sum(COUNTS)}), tmp_path)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * cut)])
    error = error_of(path)
    assert_clean(chain_of(error) + "".join(capfd.readouterr()))
    assert error.__context__ is None


FRAMES = {
    "pandas mixed": lambda: (
        pd.DataFrame(columns())
        .astype({"age": object})
        .assign(age=[TEXT, b"x", *[3] * (sum(COUNTS) - 2)])
    ),
    "pandas objects": lambda: pd.DataFrame(columns()).assign(ward=[{TEXT}] * sum(COUNTS)),
    "pandas huge": lambda: pd.DataFrame(columns()).assign(
        age=[NUMBER * 10**20, *[3] * (sum(COUNTS) - 1)]
    ),
    "polars objects": lambda: pl.DataFrame(columns()).with_columns(
        pl.Series("ward", [{TEXT}] * sum(COUNTS), dtype=pl.Object)
    ),
}


@pytest.mark.parametrize("look", [printed, chain_of])
@pytest.mark.parametrize("kind", FRAMES)
def test_errors_about_frames_never_show_a_cell(kind, look):
    assert_clean(look(error_of(FRAMES[kind]())))


@pytest.mark.parametrize("look", [printed, chain_of])
@pytest.mark.parametrize("kind", ["all null", "lists"])
def test_errors_of_a_draft_never_show_a_cell(kind, look):
    with pytest.raises(TabpeError) as caught:
        draft_schema(spoilt(kind))
    assert_clean(look(caught.value))


def test_a_table_too_small_is_refused_without_its_exact_size():
    """The message shows a number of rows under noise of sigma 30 and more: it varies."""
    small, said = pa.table(columns()).slice(1100, 200), set()
    for _ in range(6):
        with pytest.raises(TabpeError, match="public_rows") as caught:
            TabPE(epsilon=1, random_state=0, verbose=0).fit(small, SCHEMA)
        assert_clean(chain_of(caught.value))
        said.add(str(caught.value))
    assert len(said) > 1


@pytest.mark.parametrize(
    ("where", "what", "engine"),
    [
        *(
            (StoredTable, name, engine)
            for name in ("count_votes", "_store_segments")
            for engine in ("local", "stream")
        ),
        (Encoder, "encode", "local"),
    ],
)
@PRESETS
def test_running_out_of_memory_tells_no_size(monkeypatch, where, what, engine, preset):
    def exhausted(*_, **__):
        raise MemoryError(f"Unable to allocate an array with shape ({COUNTS[0]}, 4)")

    monkeypatch.setattr(where, what, exhausted)
    model = TabPE(delta=1e-6, n_samples=100, verbose=0, engine=engine, preset=preset)
    with pytest.raises(TabpeError, match="out of memory") as caught:
        model.fit(pa.table(columns()), SCHEMA)
    assert_clean(chain_of(caught.value), [str(COUNTS[0])])


@PRESETS
@pytest.mark.parametrize("problem", ["gone", "full", "changed"])
def test_errors_of_streaming_tell_no_size(problem, preset, monkeypatch, tmp_path):
    def full(*_):
        raise OSError(28, f"No space left on device after {COUNTS[0]}")

    pq.write_table(pa.table(columns() | {"ward": ["heart"] * sum(COUNTS)}), tmp_path / "t.parquet")
    machine = {"engine": "stream", "preset": preset}
    if problem == "gone":
        monkeypatch.setattr("tabpe.backends.local.tempfile.tempdir", str(tmp_path / "gone"))
    elif problem == "full":
        monkeypatch.setattr("tabpe.backends.local.SpillFile._write_array", full)
    else:
        machine["spill"] = False
        changed = StoredTable.count_classes
        monkeypatch.setattr(
            StoredTable,
            "count_classes",
            lambda self, space: (
                changed(self, space),
                pq.write_table(pa.table(columns()).slice(1), tmp_path / "t.parquet"),
            )[0],
        )
    error = error_of(tmp_path / "t.parquet", **machine)
    sizes = [str(count + more) for count in (*COUNTS, sum(COUNTS)) for more in (-1, 0, 1)]
    said = chain_of(error).replace(f"after {COUNTS[0]}", "").replace(str(tmp_path), "")
    assert_clean(said, sizes)
    assert error.__context__ is None


@pytest.mark.parametrize("library", [pa.table, pd.DataFrame, pl.DataFrame])
def test_a_column_that_is_not_declared_leaves_no_trace(tmp_path, library):
    table = library(columns() | {TEXT: [0] * sum(COUNTS)})
    model = TabPE(delta=1e-6, n_samples=100, verbose=0).fit(table, SCHEMA)
    model.save(tmp_path / "model.tabpe")
    assert_clean(str(files_of(tmp_path)))
    assert_clean(repr(model.release_) + model.certificate.to_json() + str(model.sample()))
