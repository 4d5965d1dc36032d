"""`TabPE`: scikit-learn manners, frames in and out, certificates, and every corner of a table."""

import dataclasses
import io
import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from tabpe import (
    Adjacency,
    Boolean,
    Categorical,
    Certificate,
    Evolution,
    Float,
    Integer,
    Schema,
    TabPE,
)
from tabpe.errors import (
    ArchiveError,
    DataError,
    NotFittedError,
    NotPrivateWarning,
    ParameterError,
    SchemaError,
    ThinVotesWarning,
)
from tabpe.privacy import FakeNoise, OpenDPNoise
from tabpe.schema import Source

SCHEMA = Schema(
    (
        Integer("age", 0, 100),
        Float("bmi", 10.0, 60.0, decimals=1),
        Categorical("ward", ("heart", "lung", "skin")),
        Boolean("ill"),
    ),
    label="ill",
)
QUICK = Evolution(rounds=3, sampling_rounds=1)
# A large epsilon and few rounds are calibrated in milliseconds; the noise does not matter here.
FAST = {
    "epsilon": 50.0,
    "delta": 1e-6,
    "n_samples": 30,
    "preset": QUICK,
    "random_state": 0,
    "verbose": 0,
}
# What it takes for delta to follow a noisy number of rows: a fair amount of noise.
NOISY_DELTA = {"epsilon": 4.0, "delta": None, "preset": Evolution(rounds=6)}
HISTORY = {
    "round",
    "selection",
    "mutation_rate",
    "sigma",
    "population",
    "noisy_votes_total",
    "noisy_votes_largest",
}


def columns(size=400, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.integers(0, 101, size),
        "bmi": np.round(rng.uniform(10, 60, size), 1),
        "ward": rng.choice(["heart", "lung", "skin"], size).astype(object),
        "ill": rng.random(size) < 0.3,
    }


@pytest.fixture
def table():
    return pa.table(columns())


def fitted(table, schema=SCHEMA, **changes):
    return TabPE(**(FAST | changes)).fit(table, schema)


def fake_fit(table, schema=SCHEMA, **changes):
    with pytest.warns(NotPrivateWarning):
        return fitted(table, schema, **({"noise": FakeNoise(1)} | changes))


def bill(model):
    return [item.name for item in model.certificate.bill]


def rows_of(frame):
    """The rows of any frame, as plain Python values."""
    if isinstance(frame, pd.DataFrame):
        return frame.to_dict("records")
    return frame.to_pylist() if isinstance(frame, pa.Table) else frame.to_dicts()


# Scikit-learn manners


def test_the_constructor_stores_and_does_not_look():
    nonsense = {"epsilon": -1, "preset": object(), "noise": 3, "adjacency": "?", "n_samples": "x"}
    model = TabPE(**nonsense)
    assert all(getattr(model, name) is value for name, value in nonsense.items())


def test_parameters_are_keyword_only():
    with pytest.raises(TypeError):
        TabPE(1.0)


def test_parameters_come_back_and_can_be_set():
    model = TabPE(epsilon=2.0)
    assert model.get_params()["epsilon"] == 2.0
    assert model.set_params(epsilon=3.0, label="ill") is model
    assert (model.epsilon, model.label) == (3.0, "ill")
    assert TabPE(**model.get_params()).get_params() == model.get_params()


def test_an_unknown_parameter_is_refused_with_a_hint():
    with pytest.raises(ParameterError, match="epsilon"):
        TabPE().set_params(epsilom=1)


def test_scikit_learn_clones_it(table):
    model = fitted(table)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.sample()


def test_the_representation_shows_what_was_changed():
    assert repr(TabPE()) == "TabPE()"
    assert repr(TabPE(epsilon=2.0, label="ill")) == "TabPE(epsilon=2.0, label='ill')"


def test_fit_returns_the_model_and_changes_no_parameter(table):
    model = TabPE(**FAST)
    before = model.get_params()
    assert model.fit(table, SCHEMA) is model
    assert model.get_params() == before


@pytest.mark.parametrize("name", ["certificate", "history_", "schema_", "n_evolved_"])
def test_what_is_learned_needs_a_fit(name):
    with pytest.raises(NotFittedError, match="call fit first"):
        getattr(TabPE(), name)


def test_sampling_and_saving_need_a_fit(tmp_path):
    with pytest.raises(NotFittedError):
        TabPE().sample()
    with pytest.raises(NotFittedError):
        TabPE().save(tmp_path / "model.tabpe")
    assert list(tmp_path.iterdir()) == []


# Bad input


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("epsilon", value) for value in (0, -1, math.inf, math.nan, "1", None, True)),
        *(("delta", value) for value in (0, 1, 1.5, math.nan, "1e-6")),
        *(("n_samples", value) for value in (0, -1, 1.5, "30", True)),
        *(("preset", value) for value in ("papr", None, 3)),
        *(("adjacency", value) for value in ("swap", None)),
        *(("class_budget", value) for value in (0, 1, -1, "2%")),
        *(("noise", value) for value in ("laplace", None, object(), OpenDPNoise)),
        *(("random_state", value) for value in (-1, 1.5, "seed", True, np.random.default_rng(0))),
        *(("public_rows", value) for value in (0, 19, 2.5, "400")),
        *(("public_shares", value) for value in ([0.7, 0.3], "shares", 1)),
        *(("verbose", value) for value in (None, "loud")),
    ],
)
def test_a_bad_parameter_is_refused_by_name(table, name, value):
    with pytest.raises(ParameterError, match=name) as caught:
        fitted(table, **{name: value})
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


def test_a_schema_is_needed_and_the_message_tells_how_to_get_one(table):
    with pytest.raises(SchemaError, match="draft_schema"):
        fitted(table, schema=None)


@pytest.mark.parametrize("schema", [SCHEMA.to_dict(), 3, []])
def test_what_is_not_a_schema_is_refused(table, schema):
    with pytest.raises(SchemaError, match="schema"):
        fitted(table, schema=schema)


@pytest.mark.parametrize("label", ["ilk", "", 3])
def test_a_label_that_is_no_column_is_refused(table, label):
    with pytest.raises(SchemaError, match="label="):
        fitted(table, label=label)


def test_a_numeric_label_without_cuts_is_refused(table):
    with pytest.raises(SchemaError, match="label_cuts"):
        fitted(table, label="age")


def test_fewer_rows_than_classes_are_refused(table):
    with pytest.raises(ParameterError, match="n_samples=2"):
        fitted(table, label="ward", n_samples=2)


def test_a_table_without_a_declared_column_is_refused(table):
    with pytest.raises(DataError, match="bmi"):
        fitted(table.drop_columns(["bmi"]))


@pytest.mark.parametrize("data", [[1, 2], None, 3, {"age": [1]}])
def test_what_is_not_a_table_is_refused(data):
    with pytest.raises(DataError):
        fitted(data)


def test_a_failed_fit_leaves_the_model_unfitted(table):
    model = TabPE(**FAST)
    with pytest.raises(DataError):
        model.fit(table.slice(0, 0), SCHEMA)
    with pytest.raises(NotFittedError):
        model.sample()


@pytest.mark.parametrize(
    "numbers",
    [
        {"epsilon": np.float32(50)},
        {"epsilon": np.int64(50)},
        {"n_samples": np.int64(30)},
        {"public_rows": np.int32(400)},
        {"random_state": np.uint64(7)},
        {"delta": np.float32(1e-6)},
        {"class_budget": np.float32(0.02)},
        {"public_shares": {np.bool_(False): np.float32(0.7), np.bool_(True): np.float32(0.3)}},
    ],
)
def test_numpy_numbers_are_as_good_as_python_ones(table, numbers, tmp_path):
    model = fitted(table, **numbers)
    assert json.loads(model.certificate.to_json())["epsilon"] <= 50
    model.save(tmp_path / "model.tabpe")
    assert TabPE.load(tmp_path / "model.tabpe").n_evolved_ == 30


# Frames in and out


def frames(data):
    arrow = pa.table(data)
    pandas = pd.DataFrame(data)
    return {
        "pyarrow": arrow,
        "pandas": pandas,
        "polars": pl.DataFrame({name: list(cells) for name, cells in data.items()}),
        "polars lazy": pl.LazyFrame({name: list(cells) for name, cells in data.items()}),
        "small types": pandas.astype({"age": "int16", "ward": "category"}),
        "float ages": pandas.astype({"age": "float64"}),
        "text": pandas.astype(str),
        "pandas arrow types": pandas.convert_dtypes(dtype_backend="pyarrow"),
        "dictionary": arrow.set_column(2, "ward", arrow["ward"].dictionary_encode()),
        "chunks": pa.concat_tables([arrow.slice(0, 100), arrow.slice(100)]),
        "another order": arrow.select(["ill", "ward", "bmi", "age"]),
        "more columns": arrow.append_column("id", pa.array(range(len(arrow)))),
    }


@pytest.mark.parametrize("kind", frames(columns(5)))
def test_every_kind_of_frame_gives_the_same_rows(kind):
    data = columns()
    expected = fake_fit(pa.table(data)).sample()
    found = fake_fit(frames(data)[kind]).sample()
    plain = [{**row, "ward": str(row["ward"])} for row in rows_of(found)]
    for row, other in zip(rows_of(expected), plain, strict=True):
        assert float(other["age"]) == row["age"]
        assert float(other["bmi"]) == row["bmi"]
        assert (other["ward"], str(other["ill"])) == (row["ward"], str(row["ill"]))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("pyarrow", pa.Table), ("pandas", pd.DataFrame), ("polars", pl.DataFrame)],
)
def test_what_comes_in_goes_out(kind, expected):
    given = frames(columns())[kind]
    found = fitted(given).sample()
    assert isinstance(found, expected)
    assert list(found.schema.names if kind == "pyarrow" else found.columns) == list(SCHEMA.names)


def test_pandas_types_come_back():
    given = frames(columns())["small types"]
    assert fitted(given).sample().dtypes.to_dict() == given.dtypes.to_dict()


def test_paths_to_csv_and_parquet_give_the_same_rows_as_the_table(table, tmp_path):
    pa.csv.write_csv(table, tmp_path / "rows.csv")
    pq.write_table(table, tmp_path / "rows.parquet")
    expected = rows_of(fake_fit(table).sample())
    for data in (tmp_path / "rows.csv", str(tmp_path / "rows.csv"), tmp_path / "rows.parquet"):
        assert rows_of(fake_fit(data).sample()) == expected


def test_a_schema_may_be_a_path(table, tmp_path):
    SCHEMA.save(tmp_path / "schema.yaml")
    for schema in (tmp_path / "schema.yaml", str(tmp_path / "schema.yaml")):
        assert fitted(table, schema).schema_ == SCHEMA


def as_bytes(frame):
    out = io.BytesIO()
    pa.csv.write_csv(frame, out)
    return out.getvalue()


@pytest.mark.parametrize("preset", ["paper", "reference", Evolution(rounds=4, operator="genetic")])
def test_the_same_seed_and_fake_noise_give_the_same_bytes(table, preset):
    one, other = (fake_fit(table, preset=preset) for _ in range(2))
    assert as_bytes(one.sample()) == as_bytes(other.sample())
    assert as_bytes(one.sample(77)) == as_bytes(other.sample(77))
    assert one.history_ == other.history_


def test_another_seed_gives_other_rows(table):
    assert rows_of(fake_fit(table).sample()) != rows_of(fake_fit(table, random_state=1).sample())


def test_without_a_seed_every_run_differs(table):
    one, other = (fake_fit(table, random_state=None) for _ in range(2))
    assert rows_of(one.sample()) != rows_of(other.sample())


def test_the_fitted_frame_is_not_changed():
    given = frames(columns())["pandas"]
    before = given.copy(deep=True)
    fitted(given)
    pd.testing.assert_frame_equal(given, before)


# Sampling


def test_sample_gives_the_evolved_rows(table):
    model = fitted(table)
    assert len(model.sample()) == model.n_evolved_ == 30
    assert rows_of(model.sample()) == rows_of(model.sample(30))


def counted(frame):
    rows = [tuple(row.items()) for row in rows_of(frame)]
    return {row: rows.count(row) for row in rows}


@pytest.mark.parametrize("size", [1, 7, 29, 31, 60, 95])
def test_a_sample_of_any_size_takes_every_row_as_often_as_the_next(table, size):
    model = fitted(table)
    evolved, drawn = counted(model.sample()), counted(model.sample(size))
    assert sum(drawn.values()) == size
    for row, times in evolved.items():
        assert times * (size // 30) <= drawn.get(row, 0) <= times * -(-size // 30)


def test_samples_repeat(table):
    model = fitted(table)
    assert rows_of(model.sample(50)) == rows_of(model.sample(50))


def test_a_smaller_sample_is_not_always_the_head(table):
    model = fitted(table, label=None)
    assert rows_of(model.sample(20)) != rows_of(model.sample())[:20]


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "10"])
def test_a_sample_has_at_least_one_row(table, size):
    with pytest.raises(ParameterError, match="n="):
        fitted(table).sample(size)


def test_rows_come_out_in_no_order_of_class(table):
    ill = [row["ill"] for row in rows_of(fitted(table, n_samples=60).sample())]
    assert ill != sorted(ill)


def test_samples_lie_in_the_schema(table):
    for row in rows_of(fitted(table, epsilon=0.5, public_rows=400).sample()):
        assert 0 <= row["age"] <= 100
        assert isinstance(row["age"], int)
        assert 10 <= row["bmi"] <= 60
        assert round(row["bmi"], 1) == row["bmi"]
        assert row["ward"] in ("heart", "lung", "skin")


def test_classes_get_their_share_of_the_rows(table):
    ill = [row["ill"] for row in rows_of(fake_fit(table, n_samples=50).sample())]
    assert sum(ill) / 50 == pytest.approx(np.mean(table["ill"].to_numpy()), abs=0.05)


# The budget


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["class counts", "votes"]),
        (NOISY_DELTA | {"n_samples": None}, ["class counts", "votes"]),
        ({"public_rows": 400}, ["class counts", "votes"]),
        ({"public_shares": {False: 0.7, True: 0.3}}, ["votes"]),
        (
            NOISY_DELTA | {"public_shares": {"False": 7, "True": 3}},
            ["row count", "votes"],
        ),
        ({"public_shares": {False: 1, True: 1}, "delta": None, "public_rows": 400}, ["votes"]),
    ],
)
def test_the_bill_holds_what_was_not_declared(table, changes, expected):
    model = fitted(table, **changes)
    assert bill(model) == expected
    assert model.certificate.epsilon <= model.epsilon
    assert model.certificate.bill[-1].times == model.preset.rounds


def test_without_a_label_no_class_is_bought(table):
    model = fitted(table, Schema(SCHEMA.columns))
    assert bill(model) == ["votes"]


@pytest.mark.parametrize("part", [0.02, 0.4])
def test_class_budget_is_the_part_of_the_counts(table, part):
    certificate = fitted(table, class_budget=part, epsilon=1.0, public_rows=400).certificate
    assert certificate.share(certificate.bill[0]) == pytest.approx(part, rel=0.02)


def test_public_facts_are_in_the_certificate(table):
    model = fitted(table, public_rows=400, public_shares={False: 0.7, True: 0.3}, delta=None)
    assert "400" in " ".join(model.certificate.assumed_public)
    assert "share" in " ".join(model.certificate.assumed_public)
    assert model.certificate.delta == 1 / (400 * math.log(400))
    assert "declared" in model.certificate.delta_source


def test_a_noisy_delta_is_called_so(table):
    certificate = fitted(table, **NOISY_DELTA).certificate
    assert "noisy" in certificate.delta_source
    assert certificate.delta > 1 / (400 * math.log(400))


def test_a_table_too_small_for_a_noisy_delta_says_what_to_do(table):
    with pytest.raises(ParameterError, match="public_rows"):
        fitted(table.slice(0, 20), delta=None, epsilon=1.0)


def test_notes_tell_of_noisy_counts_only_if_counts_were_bought(table):
    one_class = Schema((Integer("age", 0, 100), Categorical("kind", ("a",))), label="kind")
    model = fitted(table.append_column("kind", pa.array(["a"] * 400)), one_class)
    assert "noisy counts" not in " ".join(model.certificate.notes)
    assert "noisy counts" in " ".join(fitted(table).certificate.notes)


def test_replace_one_takes_more_noise(table):
    one, other = (
        fitted(table, adjacency=adjacency).certificate
        for adjacency in (Adjacency.ADD_REMOVE, "replace-one")
    )
    assert other.adjacency is Adjacency.REPLACE_ONE
    assert "same size" in str(other)
    for less, more in zip(one.bill, other.bill, strict=True):
        assert more.sigma > less.sigma


@pytest.mark.parametrize(("preset", "rounds"), [("paper", 15), ("reference", 14)])
def test_presets_pay_for_their_histograms(table, preset, rounds):
    model = fitted(table, preset=preset, epsilon=1.0, public_rows=400)
    assert model.certificate.bill[-1].times == rounds == len(model.history_)
    assert model.certificate.configuration["rounds"] == rounds
    assert 0.99 < model.certificate.epsilon <= 1.0


def test_more_rows_than_votes_can_tell_apart_are_warned_of(table):
    with pytest.warns(ThinVotesWarning, match="fifth"):
        fitted(table, n_samples=200)


def test_a_tenth_of_the_rows_is_evolved_by_default(table):
    assert fitted(table, n_samples=None, public_rows=400).n_evolved_ == 40
    assert fitted(table, n_samples=None).n_evolved_ == pytest.approx(40, abs=2)


# The certificate and the history


def test_the_history_has_only_public_and_noisy_quantities(table):
    model = fitted(table)
    assert [set(entry) for entry in model.history_] == [HISTORY] * 3
    assert {entry["sigma"] for entry in model.history_} == {model.certificate.bill[-1].sigma}
    json.dumps(model.history_)


def test_a_reader_of_the_history_can_not_change_it(table):
    model = fitted(table)
    model.history_[0]["sigma"] = 0
    assert model.history_[0]["sigma"] > 0


def test_the_certificate_survives_json(table):
    certificate = fitted(table).certificate
    assert Certificate.from_dict(json.loads(certificate.to_json())) == certificate


@pytest.mark.parametrize(
    "changes",
    [
        {},
        NOISY_DELTA,
        {"public_rows": 400, "public_shares": {False: 0.5, True: 0.5}},
        {"adjacency": "replace-one"},
    ],
)
def test_the_certificate_fits_a_terminal(table, changes):
    assert max(map(len, str(fitted(table, **changes).certificate).splitlines())) <= 80


def test_the_certificate_tells_how_the_rows_were_made(table):
    plain = fitted(table).certificate.to_dict()
    assert plain["schema_digest"] == SCHEMA.digest
    assert plain["configuration"]["n_samples"] == 30
    assert plain["configuration"]["rounds"] == 3
    assert plain["requested_epsilon"] == 50
    assert "noise takes no seed" in plain["seed_policy"]
    assert {"tabpe", "opendp", "dp-accounting", "numpy", "python"} <= set(plain["versions"])


@pytest.mark.parametrize("epsilon", [1.0, 1 / 3, math.pi])
def test_the_certified_epsilon_is_at_most_the_request(table, epsilon):
    certificate = fitted(table, epsilon=epsilon, public_rows=400).certificate
    assert 0.99 * epsilon <= certificate.epsilon <= epsilon == certificate.requested_epsilon


def test_fake_noise_is_stamped_wherever_the_certificate_goes(table, tmp_path):
    model = fake_fit(table)
    model.save(tmp_path / "fake.tabpe")
    for certificate in (model.certificate, TabPE.load(tmp_path / "fake.tabpe").certificate):
        assert "NOT PRIVATE" in str(certificate)
        assert "NOT PRIVATE" in certificate.to_json()
        assert not certificate.private


def test_real_noise_is_not_stamped(table):
    certificate = fitted(table).certificate
    assert certificate.private
    assert "NOT PRIVATE" not in str(certificate) + certificate.to_json()


def test_a_schema_from_the_data_is_loud(table):
    drafted = Schema(
        tuple(dataclasses.replace(column, source=Source.DATA) for column in SCHEMA.columns),
        label="ill",
    )
    with pytest.warns(NotPrivateWarning, match="read off the data"):
        certificate = fitted(table, drafted).certificate
    assert {"age.min", "age.max", "ward.values"} <= set(certificate.fields_from_data)
    assert "age.min" in str(certificate)
    assert certificate.status != "private"


# Saving and loading


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"preset": "paper"},
        {"preset": Evolution(rounds=2, operator="genetic", horizon=4)},
        {"adjacency": Adjacency.REPLACE_ONE},
        {"public_shares": {False: 0.7, True: 0.3}},
        {"random_state": None},
        NOISY_DELTA | {"label": "ward"},
    ],
)
def test_a_saved_model_is_the_same_model(table, tmp_path, changes):
    model = fitted(table, **changes)
    model.save(tmp_path / "model.tabpe")
    loaded = TabPE.load(str(tmp_path / "model.tabpe"))
    assert loaded.certificate == model.certificate
    assert loaded.history_ == model.history_
    assert loaded.schema_ == model.schema_
    for size in (None, 10, 100):
        assert loaded.sample(size).equals(model.sample(size))
    assert loaded.epsilon == model.epsilon
    assert Evolution.of(loaded.preset) == Evolution.of(model.preset)


@pytest.mark.parametrize("changes", [{}, {"noise": OpenDPNoise()}, {"public_shares": {0: 7, 1: 3}}])
def test_a_loaded_model_can_be_fitted_again(table, tmp_path, changes):
    schema = Schema((Integer("age", 0, 100), Categorical("ill", (0, 1))), label="ill")
    numbers = table.set_column(3, "ill", table["ill"].cast(pa.int64()))
    fitted(numbers, schema, **changes).save(tmp_path / "model.tabpe")
    again = TabPE.load(tmp_path / "model.tabpe").fit(numbers, schema)
    assert again.n_evolved_ == 30


@pytest.mark.parametrize("kind", ["pandas", "polars", "small types", "dictionary"])
def test_a_loaded_model_gives_the_kind_of_frame_that_was_fitted(kind, tmp_path):
    model = fitted(frames(columns())[kind])
    model.save(tmp_path / "model.tabpe")
    found, expected = TabPE.load(tmp_path / "model.tabpe").sample(), model.sample()
    assert type(found) is type(expected)
    assert found.equals(expected)


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04" + b"\x00" * 40])
def test_what_is_not_a_saved_model_is_refused(tmp_path, content):
    (tmp_path / "model.tabpe").write_bytes(content)
    with pytest.raises(ArchiveError):
        TabPE.load(tmp_path / "model.tabpe")


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ArchiveError, match="no such file"):
        TabPE.load(tmp_path / "model.tabpe")


# Corners


def test_a_numeric_label_is_cut_into_classes_and_kept_as_a_number(table):
    schema = Schema(SCHEMA.columns, label="age", label_cuts=(30, 60))
    model = fitted(table, schema, n_samples=60)
    ages = model.sample()["age"].to_numpy()
    shares = np.bincount(np.searchsorted([30, 60], ages, side="right"), minlength=3) / 60
    true = np.searchsorted([30, 60], table["age"].to_numpy(), side="right")
    assert shares == pytest.approx(np.bincount(true) / 400, abs=0.05)


@pytest.mark.parametrize("preset", [QUICK, dataclasses.replace(QUICK, operator="genetic")])
@pytest.mark.parametrize(
    "schema",
    [
        Schema(SCHEMA.columns),
        Schema(SCHEMA.columns[:2]),
        Schema(SCHEMA.columns[2:]),
        Schema(SCHEMA.columns[3:], label="ill"),
        Schema(SCHEMA.columns, label="ward"),
        Schema((Integer("age", 7, 7), Float("bmi", 1.0, 1.0), Boolean("ill")), label="ill"),
        Schema((Integer("age", 7, 7),)),
        Schema((*SCHEMA.columns[:2], Categorical("ward", ("heart", "x"), other="x"))),
    ],
    ids=["no label", "numbers", "categories", "label only", "3 classes", "flat", "one", "other"],
)
def test_every_shape_of_schema_works(table, schema, preset):
    model = fitted(table, schema, preset=preset)
    sample = model.sample()
    assert sample.schema.names == list(schema.names)
    assert len(sample) == 30


def test_constant_columns_come_out_constant(table):
    schema = Schema((Integer("age", 7, 7), Boolean("ill")), label="ill")
    assert set(fitted(table, schema).sample()["age"].to_pylist()) == {7}


def test_an_empty_class_is_no_error(table):
    schema = Schema((*SCHEMA.columns[:2], Categorical("ward", ("heart", "lung", "skin", "eye"))))
    model = fitted(table, schema, label="ward")
    assert len(model.sample()) == 30


def test_a_class_that_is_declared_but_empty_gets_its_rows(table):
    schema = Schema((*SCHEMA.columns[:2], Categorical("ward", ("heart", "lung", "skin", "eye"))))
    shares = {"heart": 1, "lung": 1, "skin": 1, "eye": 1}
    model = fitted(table, schema, label="ward", public_shares=shares, n_samples=40)
    assert model.sample()["ward"].to_pylist().count("eye") == 10


def test_a_class_of_a_single_row_is_no_error(table):
    ill = [True] + [False] * 399
    single = table.set_column(3, "ill", pa.array(ill))
    assert len(fitted(single).sample()) == 30


@pytest.mark.parametrize("size", [1, 2])
def test_a_table_of_one_or_two_rows_is_no_error(table, size):
    with pytest.warns(ThinVotesWarning):
        model = fitted(table.slice(0, size))
    assert len(model.sample()) == 30


def test_more_than_255_categories_work():
    names = tuple(f"c{place:04d}" for place in range(700))
    data = pa.table({"c": [names[place * 7 % 700] for place in range(2000)]})
    found = set(fitted(data, Schema((Categorical("c", names),)), n_samples=200).sample()["c"])
    assert {cell.as_py() for cell in found} <= set(names)


def test_strong_noise_gives_rows_too(table):
    model = fitted(table, epsilon=0.05, public_shares={False: 0.7, True: 0.3})
    assert len(model.sample()) == 30


def test_little_noise_finds_the_shape_of_the_table():
    """Ages are 20 for the healthy and 80 for the ill: the evolution has to find that."""
    ill = np.arange(600) % 3 == 0
    data = pa.table({"age": np.where(ill, 80, 20), "ill": ill})
    schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
    sample = fitted(data, schema, preset="paper", epsilon=5.0, n_samples=60).sample()
    ages, ill = sample["age"].to_numpy(), sample["ill"].to_numpy(zero_copy_only=False)
    assert np.median(ages[ill]) == pytest.approx(80, abs=15)
    assert np.median(ages[~ill]) == pytest.approx(20, abs=15)


def test_nothing_is_printed_in_a_pipe(table, capfd):
    fitted(table, verbose=1)
    assert capfd.readouterr() == ("", "")
