"""A file of one's own, with its schema, as a data set."""

import pytest

from tabpe import Integer, Schema
from tabpe.errors import DataError, ParameterError
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table
from tabpe_lab.datasets import load
from tabpe_lab.task import check_data


@pytest.fixture(params=["csv", "parquet"])
def files(request, tmp_path):
    path = tmp_path / f"patients.{request.param}"
    with path.open("wb") as file:
        make_table_writer(hospital_table(200), path)(file)
    hospital_schema().save(tmp_path / "schema.yaml")
    return str(path), str(tmp_path / "schema.yaml")


def test_a_file_is_split_by_its_label(files):
    path, schema = files
    data = load(path, schema=schema)
    assert [part.num_rows for part in (data.train, data.validation, data.test)] == [140, 30, 30]
    assert (data.title, data.order, data.schema) == ("patients", "own", hospital_schema())
    assert sum(data.shares.values()) == pytest.approx(1)
    assert not load(path, schema=schema, split_seed=3).train.equals(data.train)
    check_data(path)


@pytest.mark.parametrize("options", [{}, {"schema": "schema.yaml", "rows": 5}])
def test_it_needs_a_schema_and_nothing_else(files, options):
    with pytest.raises(ParameterError, match="expected one option, schema"):
        load(files[0], **options)


def test_its_label_must_have_listed_values(files, tmp_path):
    Schema((Integer("age", 0, 110),)).save(tmp_path / "other.yaml")
    with pytest.raises(ParameterError, match="label"):
        load(files[0], schema=str(tmp_path / "other.yaml"))


def test_files_that_are_not_there(files):
    with pytest.raises(DataError):
        load("nowhere.csv", schema=files[1])
    with pytest.raises(ParameterError, match=r"data: 'nowhere\.csv'"):
        check_data("nowhere.csv")
