"""AIM and MST against dpmm: the table that both sides get, and the report."""

import argparse

import pyarrow as pa

from benchmarks.rivals import METHODS, Cells, report
from tabpe.schema import Categorical, Integer, Schema

SCHEMA = Schema((Integer("age", 0, 2), Categorical("ward", ("a", "b"))), label="ward")
ROWS = pa.table({"age": [2, 0], "ward": ["b", "a"]})
CELLS = Cells(SCHEMA, ROWS, ROWS)


def test_codes_and_back():
    assert CELLS.sizes == {"age": 3, "ward": 2}
    codes = CELLS.codes(ROWS)
    assert codes.to_dict("list") == {"age": [2, 0], "ward": [1, 0]}
    assert CELLS.decoded(codes).to_pydict() == ROWS.to_pydict()


def test_the_report_has_means_of_each_side():
    runs = [
        {
            "method": method,
            "side": side,
            "total_variation": {"1": 0.1 + seed / 10},
            "accuracy": 0.5,
            "seconds": 2.0,
            "cpu_seconds": 1.0,
        }
        for method in METHODS
        for side in ("tabpe", "dpmm")
        for seed in range(2)
    ]
    found = report(runs, argparse.Namespace(iterations=3))
    assert found["means"]["aim"]["dpmm"]["1-way TV"] == 0.15
    assert found["iterations"] == 3
