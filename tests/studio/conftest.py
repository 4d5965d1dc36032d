"""What the tests of the studio share: a desk with a small table."""

import pyarrow as pa
import pytest

from studios import Desk, stop_jobs
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table

ROWS = 400


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A custodian who has been let in, with `visits.csv` and its schema at hand."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    write_table(tmp_path / "visits.csv", hospital_table(ROWS))
    hospital_schema().save(tmp_path / "schema.yaml")
    desk = Desk(tmp_path).enter()
    yield desk
    stop_jobs(desk.studio.project.folder)
    desk.studio.project.close()


def write_table(path, table: pa.Table):
    with path.open("wb") as file:
        make_table_writer(table, path)(file)


@pytest.fixture
def declared(desk):
    """The same desk, with the table chosen and its schema declared."""
    assert desk.post("data/file", address="visits.csv").status_code == 303
    content = (desk.folder / "schema.yaml").read_bytes()
    answer = desk.post("schema/import", files={"file": ("schema.yaml", content)})
    assert answer.status_code == 303
    return desk


@pytest.fixture
def budgeted(declared):
    """The same desk, ready to run."""
    declared.post("protect/save", protects="rows")
    total = {"dataset": "visits", "total": "12", "total_delta": "1e-6"}
    assert declared.post("budget/total", **total).status_code == 303
    chosen = {"dataset": "visits", "epsilon": "8", "delta": "1e-6", "rows": "400"}
    assert declared.post("budget/save", **chosen).status_code == 303
    return declared
