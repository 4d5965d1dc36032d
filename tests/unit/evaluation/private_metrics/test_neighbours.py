"""What one row, or one user, changes of a whole purchase: of its cells, and of nothing else."""

import numpy as np
import pyarrow as pa
import pytest

from appraised import SCHEMA, no_noise, rows
from tabpe.accounting import Adjacency, NeighboringRelation
from tabpe.backends import LocalBackend
from tabpe.evaluation.private_metrics import appraise, plan
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

CODES = tuple(f"c{place:02}" for place in range(45))
WIDE = Schema(
    (
        *SCHEMA.columns,
        Categorical("code", CODES, other=CODES[-1]),
        Integer("year", 1990, 1994),
        Float("dose", 0.0, 1.0, decimals=2),
        Boolean("same"),
        Integer("constant", 3, 3),
    ),
    label="ill",
)
SCHEMAS = {
    "a label of two classes": WIDE,
    "a label of many classes": Schema(WIDE.columns, "code"),
    "a numeric label": Schema(WIDE.columns, "age", label_cuts=(10, 55)),
    "no label": Schema(WIDE.columns),
}
USERS = NeighboringRelation(max_rows=3)
# A row that is out of the bounds of its columns and in no list.
ODD = {
    "age": 10**9,
    "bmi": -1e300,
    "ward": "zz",
    "ill": True,
    "code": "zz",
    "year": -5,
    "dose": 1e300,
    "same": False,
    "constant": 9,
}


def wide(size, seed):
    rng = np.random.default_rng(seed)
    more = {
        "code": rng.choice([*CODES, "unlisted"], size).tolist(),
        "year": rng.integers(1985, 2000, size),
        "dose": rng.uniform(-1, 2, size),
        "same": [True] * size,
        "constant": rng.integers(0, 9, size),
    }
    return pa.table({**dict(zip(SCHEMA.names, rows(size, seed).columns, strict=True)), **more})


REAL, SYNTHETIC = wide(300, 0), wide(200, 1)


def with_row(row):
    return pa.concat_tables([REAL, pa.Table.from_pylist([row], schema=REAL.schema)])


def counted(monkeypatch, real, schema, **terms):
    """Return the exact counts that are read for a purchase, the cells asked for, and the spends."""
    seen = {}
    answer = LocalBackend.answer

    def heard(backend, query):
        found = answer(backend, query)
        seen["counts"], seen["shapes"] = found.value, [one.shape for one in query.marginals]
        return found

    with monkeypatch.context() as patch:
        patch.setattr(LocalBackend, "answer", heard)
        patch.setattr(plan, "boosting_settings", lambda _: {"max_iter": 3})
        usual = {"epsilon": 1, "delta": 1e-6, "random_state": 0, "noise": no_noise()}
        found = appraise(real, SYNTHETIC, schema, **(usual | terms))
    return seen["counts"], seen["shapes"], found.measures.certificate.spends


@pytest.mark.parametrize("row", [ODD, REAL.slice(7, 1).to_pylist()[0]], ids=["odd", "usual"])
@pytest.mark.parametrize("kind", SCHEMAS)
def test_one_row_more_moves_one_cell_of_each_table_by_one_and_nothing_else(monkeypatch, kind, row):
    before, shapes, spends = counted(monkeypatch, REAL, SCHEMAS[kind])
    after, *rest = counted(monkeypatch, with_row(row), SCHEMAS[kind])
    assert rest == [shapes, spends]
    assert spends[0].times == len(before)
    for one, two in zip(before, after, strict=True):
        moved = two - one
        assert moved[moved != 0].tolist() == [1]


@pytest.mark.parametrize("kind", SCHEMAS)
def test_nothing_but_the_cells_follows_from_the_real_rows(monkeypatch, kind):
    """Neither which tables are estimated, nor their cells, nor the noise."""
    _, *one = counted(monkeypatch, REAL, SCHEMAS[kind])
    _, *two = counted(monkeypatch, wide(4_000, 5).slice(0, 3_999), SCHEMAS[kind])
    _, *three = counted(monkeypatch, pa.Table.from_pylist([ODD], REAL.schema), SCHEMAS[kind])
    assert one == two == three


@pytest.mark.parametrize("kind", SCHEMAS)
def test_one_user_more_moves_each_table_by_a_length_of_one_at_most(monkeypatch, kind):
    ids = [f"p{place // 2}" for place in range(REAL.num_rows)]
    more = pa.concat_tables([REAL, wide(20, 9)])
    terms = {"neighbours": USERS, "unit": "person"}
    before, shapes, spends = counted(
        monkeypatch, REAL.append_column("person", pa.array(ids)), SCHEMAS[kind], **terms
    )
    after, *rest = counted(
        monkeypatch,
        more.append_column("person", pa.array([*ids, *["new"] * 20])),
        SCHEMAS[kind],
        **terms,
    )
    assert rest == [shapes, spends]
    assert shapes[-1] == ()
    for one, two in zip(before, after, strict=True):
        moved = two - one
        assert (moved >= 0).all()
        assert 0 < (moved**2).sum() <= USERS.scale**2
        assert np.count_nonzero(moved) <= USERS.max_rows


def test_a_guarantee_to_those_who_are_replaced_has_more_noise(monkeypatch):
    _, _, added = counted(monkeypatch, REAL, WIDE)
    _, _, replaced = counted(
        monkeypatch, REAL, WIDE, neighbours=NeighboringRelation(Adjacency.REPLACE_ONE)
    )
    assert replaced[0].sigma == pytest.approx(added[0].sigma * 2**0.5, rel=0.01)
