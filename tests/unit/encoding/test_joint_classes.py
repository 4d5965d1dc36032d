"""Rows by several labels: their class, the code among rare classes, and the way back."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe import Boolean, Categorical, Integer, Schema
from tabpe.encoding import Encoder
from tabpe.encoding.records import draw_uniform_records
from tabpe.errors import CellError
from tabpe.evolution import Evolution
from tabpe.evolution.proposals import vary_rows

COLUMNS = (
    Integer("age", 0, 100),
    Categorical("ward", ("heart", "lung", "skin"), ordered=True),
    Boolean("ill"),
    Categorical("day", ("mon", "tue")),
)
PLAIN = Schema(COLUMNS, label=("ill", "ward"))
RARE = Schema(
    COLUMNS, label=("ill", "ward"), label_rare=((False, "lung"), (True, "heart"), (True, "skin"))
)
TABLE = pa.table(
    {
        "age": [1, 2, 3, 4, 5, 6],
        "ward": ["heart", "lung", "skin"] * 2,
        "ill": [False] * 3 + [True] * 3,
        "day": ["mon", "tue"] * 3,
    }
)


@pytest.mark.parametrize(
    ("schema", "classes"), [(PLAIN, [0, 1, 2, 3, 4, 5]), (RARE, [0, 3, 1, 3, 2, 3])]
)
def test_rows_come_back(schema, classes):
    encoder = Encoder(schema)
    rows, found = encoder.encode(TABLE)
    assert found.tolist() == classes
    assert encoder.class_count == len(schema.class_names) == max(classes) + 1
    assert encoder.decode(rows, found).equals(TABLE)


def test_a_code_tells_rare_classes_apart_and_nothing_else():
    rows, _ = Encoder(RARE).encode(TABLE)
    assert rows.codes.tolist() == [[0, 0], [1, 0], [0, 0], [1, 1], [0, 0], [1, 2]]
    assert Encoder(PLAIN).encode(TABLE)[0].codes.shape == (6, 1)


@pytest.mark.parametrize("operator", ["random-walk", "genetic"])
def test_candidates_never_leave_their_class(operator):
    encoder, rng = Encoder(RARE), np.random.default_rng(0)
    rare = set(RARE.label_rare)
    for label, space in enumerate(encoder.spaces):
        rows = draw_uniform_records(space, 200, rng)
        rows = vary_rows(rows, space, 0.9, Evolution(operator=operator), rng)
        assert rows.codes.dtype == encoder.space.code_type
        assert label == 3 or not rows.codes[:, -1].any()
        made = encoder.decode(rows, np.full(200, label)).select(["ill", "ward"]).to_pylist()
        found = {tuple(row.values()) for row in made}
        assert found == rare if label == 3 else len(found) == 1 and not found & rare


def test_a_row_stays_in_its_class_whatever_other_rows_there_are():
    encoder = Encoder(RARE)
    together = encoder.encode(TABLE)[1].tolist()
    alone = [int(encoder.encode(TABLE.slice(place, 1))[1][0]) for place in range(6)]
    assert together == alone


def test_very_many_rare_classes_fit_into_a_code():
    column = Categorical("zip", tuple(range(400)))
    every = tuple((zipped, ill) for zipped in range(400) for ill in (False, True))
    schema = Schema((column, Boolean("ill")), label=("zip", "ill"), label_rare=every[1:])
    table = pa.table({"zip": [0, 399], "ill": [False, True]})
    encoder = Encoder(schema)
    rows, classes = encoder.encode(table)
    assert classes.tolist() == [0, 1]
    assert encoder.decode(rows, classes).equals(table)


def test_a_bad_cell_is_named_by_its_row():
    bad = TABLE.set_column(1, "ward", pa.array(["heart", "lung", "attic", "heart", "lung", "skin"]))
    with pytest.raises(CellError, match=r"column 'ward'.*row 3"):
        Encoder(RARE, strict=True).encode(bad)
