"""Encoded rows: as often as asked; in strict mode errors that say in which file and row."""

import dataclasses
import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from tabpe.backends.local import EncodedRows, read_user_rows, sum_row_hashes
from tabpe.encoding import Encoder, RankTransform, VotingSpace
from tabpe.errors import CellError, DataError
from tabpe.io import batches, open_source
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

SECRET = "Secret-Cell-4711"
SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Float("bmi", 10.0, 60.0),
        Categorical("ward", ("heart", "lung")),
        Boolean("ill"),
    ),
    label="ill",
)
ENCODER, STRICT = Encoder(SCHEMA), Encoder(SCHEMA, strict=True)
FINE = {"age": "31", "bmi": "22.5", "ward": "heart", "ill": "yes"}
BAD = {"age": [SECRET, ""], "bmi": [SECRET, "nan"], "ward": [SECRET], "ill": [SECRET, " "]}


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr(batches, "ROWS_A_BATCH", 4)


def table(rows=10, **bad):
    """Rows of text, with bad cells by column: `age=(7, "x")` puts x into row 7."""
    cells = {name: [cell] * rows for name, cell in FINE.items()}
    for name, (row, cell) in bad.items():
        cells[name][row - 1] = cell
    return pa.table(cells)


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.name.endswith(".csv.gz"):
        with gzip.open(path, "wb") as file:
            pyarrow.csv.write_csv(rows, file)
    elif path.name.endswith(".csv"):
        pyarrow.csv.write_csv(rows, path)
    elif path.name.endswith(".parquet"):
        pq.write_table(rows, path)
    else:
        with pa.ipc.new_file(path, rows.schema) as writer:
            writer.write_table(rows)
    return path


def refusal(data):
    with pytest.raises(CellError) as caught:
        for _ in EncodedRows(open_source(data), STRICT):
            pass
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("column", "cell"), [(name, cell) for name, cells in BAD.items() for cell in cells]
)
@pytest.mark.parametrize("row", [1, 4, 5, 10])
@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".arrow"])
def test_a_bad_cell_is_named_by_file_and_row(tmp_path, ending, row, column, cell):
    path = write(tmp_path / f"t{ending}", table(**{column: (row, cell)}))
    message = refusal(path)
    assert message.startswith(f"{path}: column {column!r}")
    assert f"in row {row}" in message


@pytest.mark.parametrize(
    ("column", "cell"), [(name, cell) for name, cells in BAD.items() for cell in cells]
)
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
def test_a_bad_cell_stops_nothing_and_changes_no_other_row(tmp_path, ending, column, cell):
    def encoded(name, rows):
        parts = list(EncodedRows(open_source(write(tmp_path / f"{name}{ending}", rows)), ENCODER))
        columns = [(part.numbers, part.codes, labels[:, None]) for part, labels in parts]
        return np.concatenate([np.hstack(one) for one in columns])

    fine, bad = encoded("fine", table()), encoded("bad", table(**{column: (5, cell)}))
    assert np.isfinite(bad).all()
    assert np.array_equal(np.delete(bad, 4, axis=0), np.delete(fine, 4, axis=0))
    assert not np.array_equal(bad[4], fine[4]) or column == "ward"  # "heart" is the default there


@pytest.mark.parametrize("row", [1, 6])
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("second", ["b", "b/c", "year=2024/b"])
def test_the_rows_of_a_second_file_are_counted_in_it(tmp_path, ending, row, second):
    above = "year=2023/" if "=" in second else ""
    write(tmp_path / f"{above}a{ending}", table())
    path = write(tmp_path / f"{second}{ending}", table(age=(row, SECRET)))
    message = refusal(tmp_path)
    assert message.startswith(f"{path}: column 'age': the value in row {row} is outside")


def test_the_rows_of_a_pattern_are_counted_in_their_file(tmp_path):
    write(tmp_path / "p-1.csv", table())
    path = write(tmp_path / "p-2.csv", table(ward=(9, SECRET)))
    assert refusal(tmp_path / "p-*.csv").startswith(f"{path}: column 'ward': the value in row 9 ")


def test_the_rows_of_a_dataset_are_counted_in_their_file(tmp_path):
    write(tmp_path / "p-1.parquet", table())
    path = write(tmp_path / "p-2.parquet", table(ward=(9, SECRET)))
    message = refusal(pyarrow.dataset.dataset(tmp_path))
    assert message.startswith(f"{path}: column 'ward': the value in row 9 ")


@pytest.mark.parametrize("row", [1, 4, 5, 10])
@pytest.mark.parametrize("kind", [pa.table, lambda rows: rows.to_pandas(), pyarrow.dataset.dataset])
def test_the_rows_of_a_frame_are_counted_in_it(kind, row):
    message = refusal(kind(table(age=(row, SECRET))))
    assert message.startswith(f"column 'age': the value in row {row} is outside")


def test_blank_lines_and_line_breaks_in_cells_are_no_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('note,age,bmi,ward,ill\n\n"a\nb\n",1,20,heart,1\n\n"\n",2,20,x,1\n')
    assert "row 2" in refusal(path)


def test_a_column_that_begins_to_be_empty_is_named_by_its_first_empty_row(tmp_path):
    rows = pa.table({**table().to_pydict(), "age": [1] * 6 + [None] * 4})
    path = write(tmp_path / "t.parquet", rows)
    assert refusal(path).startswith(f"{path}: column 'age' has no value in row 7:")


def test_a_missing_key_is_a_missing_value(tmp_path):
    path = tmp_path / "ward=__HIVE_DEFAULT_PARTITION__" / "t.csv"
    write(path, table().drop_columns("ward"))
    assert refusal(tmp_path).startswith(f"{path}: column 'ward' has no value in row 1:")


def test_a_missing_column_is_found_before_a_row_is_read(tmp_path):
    renamed = table(age=(1, SECRET)).rename_columns({"age": "ages"})
    path = write(tmp_path / "t.csv", renamed)
    with pytest.raises(DataError, match="no column 'age': did you mean 'ages'"):
        EncodedRows(open_source(path), ENCODER)


def test_every_iteration_reads_afresh(tmp_path):
    path = write(tmp_path / "t.csv", table())
    rows = EncodedRows(open_source(path), ENCODER)
    before = np.concatenate([part.numbers for part, _ in rows])
    write(path, table().set_column(0, "age", pa.array([99] * 10)))
    after = np.concatenate([part.numbers for part, _ in rows])
    assert after[:, 0] == pytest.approx(0.99)
    assert after[:, 0] != pytest.approx(before[:, 0])
    assert np.array_equal(after[:, 1], before[:, 1])


@pytest.mark.parametrize("transformed", [False, True])
def test_a_table_of_another_size_is_refused_without_that_size(tmp_path, transformed):
    path = write(tmp_path / "t.csv", table())
    rows = EncodedRows(open_source(path), ENCODER)
    assert [len(part) for part, _ in rows] == [4, 4, 2]
    write(path, table(6))
    line = np.array([0.0, 1.0])
    space = VotingSpace(np.zeros(2, bool), RankTransform((line,) * 2, (line,) * 2))
    again = dataclasses.replace(rows, voting_space=space) if transformed else rows
    with pytest.raises(DataError, match="the table changed") as caught:
        list(again)
    assert not {"6", "10"} & set(str(caught.value))


def test_other_sizes_of_classes_are_refused(tmp_path):
    path = write(tmp_path / "t.csv", table())
    rows = EncodedRows(open_source(path), ENCODER)
    list(rows)
    write(path, table().set_column(3, "ill", pa.array(["no"] * 10)))
    with pytest.raises(DataError, match="the table changed"):
        list(rows)


@pytest.mark.parametrize("size", [1, 3, 10, 1000])
def test_how_rows_are_encoded_does_not_depend_on_batches(tmp_path, size, monkeypatch):
    rng = np.random.default_rng(0)
    rows = pa.table(
        {
            "age": rng.integers(-50, 150, 10),
            "bmi": rng.random(10) * 100,
            "ward": pa.array(rng.choice(["heart", "lung"], 10)).dictionary_encode(),
            "ill": rng.random(10) < 0.5,
        }
    )
    whole, classes = ENCODER.encode(rows)
    monkeypatch.setattr(batches, "ROWS_A_BATCH", size)
    for ending in (".csv", ".parquet", ".arrow"):
        path = write(tmp_path / f"t{ending}", rows)
        parts = list(EncodedRows(open_source(path), ENCODER))
        assert np.array_equal(np.concatenate([part.numbers for part, _ in parts]), whole.numbers)
        assert np.array_equal(np.concatenate([part.codes for part, _ in parts]), whole.codes)
        assert np.array_equal(np.concatenate([labels for _, labels in parts]), classes)


def test_the_size_is_that_of_the_encoded_rows(tmp_path):
    path = write(tmp_path / "t.parquet", table())
    rows = EncodedRows(open_source(path), ENCODER)
    parts = [part for part, _ in rows]
    encoded = sum(part.numbers.nbytes + part.codes.nbytes for part in parts)
    assert rows.most_bytes == encoded == 10 * ENCODER.bytes_a_row
    assert EncodedRows(open_source(pyarrow.dataset.dataset(table())), ENCODER).most_bytes is None


def test_a_label_alone_takes_no_bytes():
    alone = Encoder(Schema((Boolean("ill"),), label="ill"))
    assert alone.bytes_a_row == 0


NO_ID = {
    "null": pa.array([*"abcde", None]),
    "empty": pa.array([*"abcde", ""]),
    "blank": pa.array([*"abcde", " \t"], pa.large_string()),
    "dictionary": pa.array([*"abcde", ""]).dictionary_encode(),
    "nan": pa.array([1.0, 2.0, 3.0, 4.0, 5.0, float("nan")]),
}


@pytest.mark.parametrize("kind", NO_ID)
def test_in_strict_mode_a_row_without_a_user_is_refused(kind):
    rows = open_source(pa.table({"user": NO_ID[kind]}))
    with pytest.raises(CellError, match="column 'user' has no value in row 6"):
        list(read_user_rows(rows, "user", [], strict=True))
    assert sum(batch.num_rows for batch in read_user_rows(rows, "user", [])) == 6


def test_a_csv_file_has_blanks_for_users_that_are_missing(tmp_path):
    (tmp_path / "rows.csv").write_text("user,age\na,1\n,2\n")
    rows = open_source(tmp_path / "rows.csv")
    with pytest.raises(CellError, match=r"rows\.csv: column 'user' has no value in row 2"):
        list(read_user_rows(rows, "user", ["age"], strict=True))


NUMBERS = [35.0, 0.1, 1e-7, 1e300, 1e17, -0.0, float("inf"), float("-inf"), None]
SAME = {
    "floats": pa.array(NUMBERS),
    "objects of pandas": pd.Series(NUMBERS, dtype=object),
    "text": pa.array([None if one is None else str(one) for one in NUMBERS]),
    "padded text": pa.array([" " if one is None else f" {one} " for one in NUMBERS]),
}


@pytest.mark.parametrize("kind", SAME)
def test_contents_depend_on_cells_and_not_on_what_stores_them(kind):
    """Infinity is a number that text may name, as any other is."""
    rows = pd.DataFrame({"x": SAME[kind]}) if "pandas" in kind else pa.table({"x": SAME[kind]})
    found = sum_row_hashes(open_source(rows), ["x"], b"key")
    expected = sum_row_hashes(open_source(pa.table({"x": SAME["floats"]})), ["x"], b"key")
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("ids", [["a", "b", "a"], [0, 1, 0]])
def test_user_rows_come_as_they_are(ids):
    (batch,) = read_user_rows(open_source(pa.table({"user": ids})), "user", [])
    assert batch["user"].to_pylist() == ids


def test_rows_may_be_moved_onto_another_scale_each_by_itself():
    transform = RankTransform(
        (np.array([0, 0.5, 1.0]), np.array([0, 1.0])), (np.array([0, 0.8, 1.0]), np.array([0, 1.0]))
    )
    ages = pa.table(
        {"age": [0, 25, 75, 100, 50], "bmi": [10.0] * 5, "ward": ["lung"] * 5, "ill": ["no"] * 5}
    )
    kept = np.array([True, True, False, True, True])
    source = open_source(ages)
    space = VotingSpace(np.zeros(2, bool), transform)
    plain, moved = EncodedRows(source, ENCODER, kept), EncodedRows(source, ENCODER, kept, space)
    for (before, classes), (after, same) in zip(plain, moved, strict=True):
        assert after.numbers.dtype == before.numbers.dtype == np.float32
        assert after.codes.tolist() == before.codes.tolist()
        assert classes.tolist() == same.tolist()
    spread = np.concatenate([rows.numbers[:, 0] for rows, _ in moved])
    assert np.allclose(spread, [0.0, 0.4, 1.0, 0.8])
    assert moved.most_bytes == plain.most_bytes
