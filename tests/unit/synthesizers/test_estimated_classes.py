"""`TabPE` with a numeric label whose classes are estimated: cuts at noisy quantiles."""

import json

import numpy as np
import pyarrow as pa
import pytest

from facade import BOTH, QUICK_BEST, USERS, buying_fit, spends
from tabpe import Schema, TabPE
from tabpe.accounting import FakeNoise
from tabpe.errors import NotPrivateWarning, ParameterError, SchemaError
from tabpe.verification import verify_plain

CUTS = ["label cuts, equal bins", "label cuts, even bins"]
PRICE = {"name": "price", "type": "float", "min": 0, "max": 1000, "decimals": 2}
OTHERS = [
    {"name": "age", "type": "integer", "min": 0, "max": 100},
    {"name": "ill", "type": "boolean"},
]
DECLARED = {"label": "price", "label_classes": 4, "columns": [PRICE, *OTHERS]}
SIZE = 3000


def table_of(seed=0):
    rng = np.random.default_rng(seed)
    price = np.round(np.minimum(rng.exponential(100, SIZE), 1000), 2)
    age = np.clip(price / 4 + rng.normal(0, 5, SIZE), 0, 100).astype(int)
    return pa.table({"price": price, "age": age, "ill": rng.random(SIZE) < 0.3})


@pytest.fixture(scope="module")
def rows():
    return table_of()


def fit(table, declared=DECLARED, **changes):
    return buying_fit(table, declared, **({"label": None, "n_samples": 100} | changes))


@BOTH
def test_classes_hold_about_as_many_rows_and_values_stay_in_theirs(rows, preset):
    model = fit(rows, preset=preset)
    schema = model.schema_
    price = rows["price"].to_numpy()
    below = [(price < cut).mean() for cut in schema.label_cuts]
    assert below == pytest.approx([0.25, 0.5, 0.75], abs=0.06)
    assert model.certificate.estimated == ("price.label_cuts",)
    assert [name for name in spends(model) if name in CUTS] == CUTS
    assert spends(model).index(CUTS[1]) < spends(model).index("class counts")
    assert verify_plain(model.certificate.to_dict()).holds
    assert model.certificate.epsilon <= 8.0
    classes = np.searchsorted(schema.label_cuts, model.sample()["price"].to_numpy(), side="right")
    assert (classes == model.release_.classes).all()
    assert "classes of 'price' estimated: 4" in " ".join(model.certificate.notes)


def test_the_price_is_the_part_of_the_budget_that_was_asked_for(rows):
    model = fit(rows, schema_budget=0.1)
    share = sum(model.certificate.share(i) for i in model.certificate.spends if i.name in CUTS)
    assert share == pytest.approx(0.1, abs=0.01)


def test_bounds_and_type_of_the_label_are_estimated_too(rows):
    text = rows.set_column(0, "price", rows["price"].cast(pa.string()))
    for table in (rows, text):
        declared = {"label": "price", "label_classes": 3, "columns": OTHERS}
        model = fit(table, declared, epsilon=20.0)
        assert len(model.schema_.label_cuts) == 2
        estimated = ("price.type", "price.min", "price.max", "price.label_cuts")
        assert set(estimated) <= set(model.certificate.estimated)
        assert verify_plain(model.certificate.to_dict()).holds


@pytest.mark.parametrize(
    ("values", "classes"),
    [([7], 1), ([0, 0, 0, 0, 0, 0, 0, 0, 0, 90], 2), ([0, 1, 2], 2)],
    ids=["constant", "mostly zero", "three values"],
)
def test_values_that_do_not_divide_give_fewer_classes_and_a_note(rows, values, classes):
    table = rows.set_column(0, "price", pa.array(np.resize(values, SIZE)))
    price = {"name": "price", "type": "integer", "min": 0, "max": max(values)}
    for preset in (QUICK_BEST, "paper"):
        model = fit(table, DECLARED | {"columns": [price, *OTHERS]}, preset=preset)
        assert len(model.schema_.class_names) == classes
        assert "4 were asked for" in " ".join(model.certificate.notes)
        assert set(model.sample()["price"].to_pylist()) <= set(range(max(values) + 1))
        assert verify_plain(model.certificate.to_dict()).holds
        assert Schema.from_dict(model.certificate.schema) == model.schema_


@BOTH
def test_nobody_can_tell_the_engine(rows, preset):
    with pytest.warns(NotPrivateWarning):
        one = fit(rows, preset=preset, noise=FakeNoise(3))
    with pytest.warns(NotPrivateWarning):
        other = fit(rows, preset=preset, noise=FakeNoise(3), engine="stream")
    assert one.sample().equals(other.sample())
    assert one.schema_ == other.schema_


def test_users_are_protected(rows):
    people = rows.append_column("person", [[f"p{number % 1000}" for number in range(SIZE)]])
    model = fit(people, **USERS)
    assert len(model.schema_.label_cuts) == 3
    assert verify_plain(model.certificate.to_dict()).holds


def test_an_interrupted_run_goes_on_and_is_charged_once(rows, tmp_path, ledger):
    kept = {"run_dir": tmp_path / "run", "dataset": "patients", "ledger": ledger.path}
    first = fit(rows, **kept)
    again = fit(rows, **kept)
    assert again.sample().equals(first.sample())
    assert again.schema_ == first.schema_
    assert again.certificate.spends == first.certificate.spends
    assert len(ledger.entries("patients")) == 1
    with pytest.raises(ParameterError, match="schema"):
        fit(rows, DECLARED | {"label_classes": 3}, **kept)


def test_it_survives_saving_and_a_second_run_need_not_buy_again(rows, tmp_path):
    model = fit(rows)
    model.save(tmp_path / "run.tabpe")
    again = TabPE.load(tmp_path / "run.tabpe")
    assert again.sample().equals(model.sample())
    assert again.schema_.label_classes == 4
    second = fit(rows, model.schema_, schema="declared", estimate_columns=(), schema_budget=0.05)
    assert not set(spends(second)) & set(CUTS)
    assert second.certificate.estimated == ("price.label_cuts",)


def test_a_declared_schema_says_how_to_buy_it(rows):
    with pytest.raises(SchemaError, match=r"label_classes=4.*schema='private'"):
        fit(rows, schema="declared", estimate_columns=())


def test_shares_of_classes_that_are_estimated_can_not_be_declared(rows):
    with pytest.raises(ParameterError, match="public_shares"):
        fit(rows, public_shares={"0 to 100": 1})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label_classes": 1}, "label_classes=1: expected a whole number from 2 to 16"),
        ({"label_classes": 17}, "label_classes=17"),
        ({"label_classes": True}, "label_classes=True"),
        ({"label_classes": "4"}, "label_classes='4'"),
        ({"label": "ill"}, "'ill' is declared boolean"),
        ({"label": ["price", "ill"]}, "for one numeric label"),
        ({"label": None}, "for one numeric label"),
    ],
)
def test_what_can_not_be_estimated_costs_nothing(rows, ledger, change, words):
    with pytest.raises(SchemaError, match=words):
        fit(rows, DECLARED | change, dataset="patients", ledger=ledger.path)
    assert ledger.entries("patients") == ()


def test_dates_stay_refused(rows):
    day = {"name": "price", "type": "date", "min": "2020-01-01", "max": "2021-01-01"}
    with pytest.raises(SchemaError, match="'price' is a date or a time"):
        fit(rows, DECLARED | {"columns": [day, *OTHERS]})


def test_text_that_is_estimated_is_no_numeric_label(rows):
    words = rows.set_column(0, "price", pa.array(["low", "high"] * (SIZE // 2)))
    with pytest.raises(SchemaError, match="values are its classes: leave label_classes out"):
        fit(words, {"label": "price", "label_classes": 2, "columns": OTHERS}, epsilon=20.0)


def test_files_keep_it(rows, tmp_path):
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(DECLARED))
    model = fit(rows, path)
    model.schema_.save(tmp_path / "estimated.yaml")
    assert Schema.load(tmp_path / "estimated.yaml") == model.schema_
