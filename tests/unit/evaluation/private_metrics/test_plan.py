"""A predictor that is trained on synthetic rows, and answers for each row by itself."""

import numpy as np
import pyarrow as pa
import pytest

from appraised import REAL, SCHEMA, SYNTHETIC, rows
from tabpe.encoding import Encoder
from tabpe.evaluation.private_metrics import plan
from tabpe.evaluation.private_metrics.plan import EncodedSynthetic, train_predictor
from tabpe.schema import Boolean, Categorical, Integer, Schema


def synthetic(schema=SCHEMA, table=SYNTHETIC):
    return EncodedSynthetic(Encoder(schema), *Encoder(schema).encode(table))


SCHEMAS = {
    "mixed": SCHEMA,
    "categories": Schema(SCHEMA.columns[2:], "ill"),
    "three classes": Schema(SCHEMA.columns, "ward"),
    "a numeric label": Schema(SCHEMA.columns, "age", label_cuts=(20, 70)),
}


@pytest.mark.parametrize("kind", SCHEMAS)
def test_the_prediction_for_a_row_does_not_depend_on_other_rows(kind):
    """Else one row more or less could move many cells of the table of mistakes."""
    encoder = Encoder(SCHEMAS[kind])
    predict = train_predictor(synthetic(SCHEMAS[kind], rows(400, seed=1)), seed=0)
    records, _ = encoder.encode(REAL.slice(0, 700))
    together = predict(records)
    order = np.random.default_rng(0).permutation(len(records))
    assert predict(records.take(order)).tolist() == together[order].tolist()
    for part in (np.array([5]), np.array([699]), np.arange(33), np.array([8, 8])):
        assert predict(records.take(part)).tolist() == together[part].tolist()


def test_no_rows_get_no_prediction():
    found = synthetic()
    nobody = found.rows.take(np.array([], dtype=np.int64))
    assert train_predictor(found, seed=0)(nobody).tolist() == []


def test_without_a_choice_there_is_nothing_to_predict():
    assert train_predictor(synthetic(Schema(SCHEMA.columns)), seed=0) is None


@pytest.mark.parametrize(
    ("schema", "table"),
    [
        (SCHEMA, rows(20, ill=[True] * 20)),
        (Schema((Boolean("ill"),), "ill"), pa.table({"ill": [True, True, False]})),
    ],
    ids=["one class", "no other column"],
)
def test_where_nothing_can_be_learned_the_most_common_class_is_predicted(schema, table):
    found = synthetic(schema, table)
    assert set(train_predictor(found, seed=0)(found.rows).tolist()) == {1}


def test_a_numeric_label_is_not_among_what_it_is_predicted_from():
    schema = Schema((Integer("age", 0, 100), Boolean("coin")), "age", label_cuts=(50,))
    rng = np.random.default_rng(0)
    table = pa.table({"age": rng.integers(0, 101, 2_000), "coin": rng.integers(0, 2, 2_000) > 0})
    found = synthetic(schema, table)
    predicted = train_predictor(found, seed=0)(found.rows)
    assert np.mean(predicted == found.classes) < 0.6


def test_long_lists_of_values_are_learned_too():
    names = tuple(f"v{place:03}" for place in range(400))
    schema = Schema((Categorical("code", names), Boolean("ill")), "ill")
    codes = np.arange(2_000) % 400
    table = pa.table({"code": [names[code] for code in codes], "ill": codes > 200})
    found = synthetic(schema, table)
    assert np.mean(train_predictor(found, seed=0)(found.rows) == found.classes) > 0.95


def test_of_many_rows_some_are_learned_from_always_the_same_for_a_seed(monkeypatch):
    monkeypatch.setattr(plan, "MOST_ROWS", 100)
    found = synthetic(table=rows(400, seed=1))
    one, two = (train_predictor(found, seed=7)(found.rows).tolist() for _ in range(2))
    assert one == two
