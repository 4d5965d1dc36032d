"""What is kept of a run: lines that survive."""

import dataclasses
import math

import pyarrow.parquet as pq
import pytest

from tabpe.errors import ArchiveError
from tabpe_lab.records import (
    RunRecord,
    append_record,
    get_extra_path,
    get_results_path,
    parse_record,
    read_records,
    write_parquet,
)

RECORD = RunRecord(
    experiment="small",
    variant="quick",
    key="0f",
    data="hospital",
    method="tabpe",
    called="Tab-PE",
    seed=3,
    split="seed",
    status="done",
    data_options={"rows": 500},
    settings={"rounds": 5, "preset": "paper"},
    epsilon=1.0,
    delta=1e-5,
    limits={"seconds": 60.0, "gigabytes": 2.0},
    seconds=0.25,
    peak_megabytes=210.5,
    rows=350,
    synthetic_rows=35,
    certified_epsilon=0.99,
    metrics={"accuracy": 0.5, "1-wd": 0.01},
    evaluation={"learner": "gradient boosting", "wd": {"rows": [1000, 35]}},
    versions={"tabpe": "0.1.0"},
    machine={"cores": 2},
    made="2026-01-01T00:00:00+00:00",
    extra="0f.json",
)


def test_a_record_comes_back_as_it_was(tmp_path):
    path = get_results_path("small", "quick", tmp_path / "new")
    append_record(path, RECORD)
    assert read_records(path) == [RECORD]
    assert path.read_text().count("\n") == 1


def test_the_last_line_of_a_key_counts_in_the_place_of_the_first(tmp_path):
    path = tmp_path / "small.quick.jsonl"
    other = dataclasses.replace(RECORD, key="1f")
    again = dataclasses.replace(RECORD, seconds=9.0)
    for record in (RECORD, other, again):
        append_record(path, record)
    assert read_records(path) == [again, other]


def test_a_line_that_was_cut_off_is_left_out_and_mended(tmp_path):
    path = tmp_path / "small.quick.jsonl"
    append_record(path, RECORD)
    with path.open("a") as file:
        file.write(RECORD.to_line()[:50])
    assert read_records(path) == [RECORD]
    other = dataclasses.replace(RECORD, key="1f")
    append_record(path, other)
    assert read_records(path) == [RECORD, other]


def test_a_line_that_is_no_record_is_named(tmp_path):
    path = tmp_path / "small.quick.jsonl"
    append_record(path, RECORD)
    with path.open("a") as file:
        file.write('{"experiment": 5}\n')
    with pytest.raises(ArchiveError, match=r"line 2.*experiment"):
        read_records(path)


@pytest.mark.parametrize("line", ["", "no", '{"key": NaN}', "[]"])
def test_what_is_no_record_is_refused(line):
    with pytest.raises(ArchiveError, match="here"):
        parse_record(line, where="here")


def test_a_metric_that_is_no_number_is_left_out():
    record = dataclasses.replace(RECORD, metrics={"auc": math.nan, "accuracy": 0.5})
    assert parse_record(record.to_line(), where="here").metrics == {"accuracy": 0.5}


def test_no_results_are_no_records(tmp_path):
    assert read_records(tmp_path / "none.jsonl") == []


def test_what_is_beside_a_record_has_a_folder_of_its_experiment(tmp_path):
    assert get_extra_path(RECORD, tmp_path) == tmp_path / "small.quick" / "0f.json"
    assert get_extra_path(dataclasses.replace(RECORD, extra=None)) is None


def test_parquet_has_a_row_for_each_record_and_a_column_for_each_metric(tmp_path):
    failed = dataclasses.replace(RECORD, key="1f", status="failed", metrics={}, seconds=None)
    write_parquet([RECORD, failed], tmp_path / "small.parquet")
    table = pq.read_table(tmp_path / "small.parquet")
    assert table["status"].to_pylist() == ["done", "failed"]
    assert table["1-wd"].to_pylist() == [0.01, None]
    assert table["settings"][0].as_py() == '{"rounds": 5, "preset": "paper"}'
