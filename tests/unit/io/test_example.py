"""The made-up hospital."""

import numpy as np
import pyarrow as pa

from tabpe.encoding import Encoder
from tabpe.io.example import compute_pattern_share, hospital_schema, hospital_table


def test_the_table_fits_its_schema_and_is_the_same_every_time():
    table = hospital_table()
    rows, classes = Encoder(hospital_schema()).encode(table)
    assert len(rows) == len(classes) == 5000
    assert table.equals(hospital_table())
    assert hospital_schema().fields_from_data == ()


def test_the_pattern_needs_three_columns():
    table = hospital_table(50_000)
    back = np.array(table["readmitted"].to_pylist()) == "yes"
    poor = table["kidney_function"].to_numpy() < 60
    drug, support = (
        table[name].to_numpy(zero_copy_only=False) for name in ("new_drug", "home_support")
    )
    for guess in (poor, drug, support, poor ^ drug, poor ^ support, drug ^ support):
        assert abs(np.mean(guess == back) - 0.5) < 0.05
    assert compute_pattern_share(table) > 0.85


def test_the_pattern_reads_text_as_csv_holds_it():
    table = hospital_table(1000)
    text = pa.table({name: table[name].cast(pa.string()) for name in table.column_names})
    assert compute_pattern_share(text) == compute_pattern_share(table)
