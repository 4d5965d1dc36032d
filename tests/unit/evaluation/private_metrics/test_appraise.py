"""`appraise`: what is estimated about real rows, end to end."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from appraised import REAL, SCHEMA, SYNTHETIC, no_noise, rows
from tabpe import TabPE
from tabpe.accounting import (
    Adjacency,
    Certificate,
    ExactNoise,
    FakeNoise,
    NeighboringRelation,
    OpenDPNoise,
    compose_epsilon,
)
from tabpe.errors import DataError, ParameterError, SchemaError, TabpeError
from tabpe.evaluation.private_metrics import appraise
from tabpe.measurement.histograms import MARGINALS
from tabpe.schema import Boolean, Categorical, Integer, Schema, Source
from tabpe.verification.verify import verify_plain

USERS = NeighboringRelation(max_rows=3)
USUAL = {"epsilon": 1.0, "delta": 1e-6, "random_state": 0}


def estimated(real=REAL, synthetic=SYNTHETIC, schema=SCHEMA, **changes):
    return appraise(real, synthetic, schema, **(USUAL | changes))


def with_users(table=REAL):
    return table.append_column("person", pa.array([f"p{row // 2}" for row in range(len(table))]))


@pytest.fixture(scope="module")
def exact():
    return estimated(noise=no_noise())


def test_without_noise_the_number_of_rows_is_exact(exact):
    assert exact.measures.rows[0] == pytest.approx(REAL.num_rows)


def test_without_noise_shares_are_exact(exact):
    views = {view.name: view for view in exact.columns}
    assert list(views) == list(SCHEMA.names)
    wards = REAL["ward"].to_pylist()
    expected = [wards.count(name) / len(wards) for name in ("heart", "lung", "skin")]
    assert views["ward"].real.shares == pytest.approx(expected)
    assert views["ward"].bars == ("heart", "lung", "else")
    assert views["ward"].synthetic.shares == (0.0, 1.0, 0.0)
    assert views["ward"].difference == pytest.approx(1 - expected[1])
    ages, edges = REAL["age"].to_numpy(), views["age"].edges
    assert views["age"].real.shares == pytest.approx(np.histogram(ages, edges)[0] / len(ages))


def test_the_shape_of_synthetic_numbers_is_told(exact):
    ages = SYNTHETIC["age"].to_numpy()
    shape = exact.columns[0].synthetic
    assert (shape.mean, shape.least, shape.most) == (ages.mean(), ages.min(), ages.max())


def test_real_rows_have_no_moments_as_none_were_estimated(exact):
    for view in exact.columns:
        assert view.real.mean is view.real.deviation is view.real.least is view.real.most is None


def test_a_predictor_of_synthetic_rows_is_tested_on_real_ones(exact):
    accuracy, margin = exact.measures.accuracy
    assert accuracy > 0.98
    assert 0 < margin < 0.1
    assert exact.measures.macro_f1 > 0.98
    ill = REAL["ill"].to_pylist()
    share = ill.count(True) / len(ill)
    assert exact.measures.majority == pytest.approx(max(share, 1 - share))


def test_differences_are_told_for_each_column_and_with_the_label(exact):
    assert [one.names for one in exact.measures.differences] == [(n,) for n in SCHEMA.names]
    pairs = [one.names for one in exact.measures.differences_by_label]
    assert pairs == [("ill", name) for name in SCHEMA.names[:-1]]


def test_a_difference_with_the_label_is_that_of_both_columns_together():
    """Synthetic labels are turned round, which the columns by themselves do not show."""
    turned = rows(400, seed=1)
    turned = turned.set_column(3, "ill", pa.array([not one for one in turned["ill"].to_pylist()]))
    found = estimated(synthetic=turned, noise=no_noise()).measures
    assert found.differences[0].estimate < 0.2
    assert found.differences_by_label[0].estimate > 0.9
    assert found.accuracy[0] < 0.1


def test_equal_tables_do_not_differ_without_noise():
    found = estimated(synthetic=REAL, noise=no_noise()).measures
    for one in (*found.differences, *found.differences_by_label):
        assert one.estimate == pytest.approx(0, abs=1e-9)


def test_under_noise_truth_is_within_the_stated_margins(exact):
    found = estimated(epsilon=0.5, noise=FakeNoise(3))
    pairs = [
        (found.measures.rows, exact.measures.rows),
        (found.measures.accuracy, exact.measures.accuracy),
    ]
    for (noisy, margin), (true, _) in pairs:
        assert 0 < abs(noisy - true) < margin
    for noisy, true in zip(found.measures.differences, exact.measures.differences, strict=True):
        assert abs(noisy.estimate - true.estimate) < noisy.margin
    for noisy, true in zip(found.columns, exact.columns, strict=True):
        off = np.abs(np.subtract(noisy.real.shares, true.real.shares))
        assert np.mean(off < 1.5 * noisy.band) > 0.9


def test_shares_add_up_and_are_never_negative():
    for view in estimated(epsilon=0.05).columns:
        assert sum(view.real.shares) == pytest.approx(1)
        assert min(view.real.shares) >= 0


CERTIFIED = {
    "rows": {},
    "replace-one": {"neighbours": NeighboringRelation(Adjacency.REPLACE_ONE)},
    "noise of OpenDP": {"noise": OpenDPNoise()},
    "users": {"real": with_users(), "neighbours": USERS, "unit": "person"},
    "users, replace-one": {
        "real": with_users(),
        "neighbours": NeighboringRelation(Adjacency.REPLACE_ONE, 2),
        "unit": "person",
    },
    "a drafted schema": {
        "schema": Schema((Integer("age", 0, 100, source=Source.DATA), Boolean("ill")), "ill")
    },
    "no label": {"schema": Schema(SCHEMA.columns)},
    "little noise": {"epsilon": 20.0},
}


@pytest.mark.parametrize("kind", CERTIFIED)
def test_the_certificate_of_a_purchase_can_be_verified(kind):
    certificate = estimated(**CERTIFIED[kind]).measures.certificate
    asked = CERTIFIED[kind].get("epsilon", 1.0)
    assert asked * 0.99 < certificate.epsilon <= asked
    plain = json.loads(certificate.to_json())
    found = verify_plain(plain)
    assert found.holds, found
    assert Certificate.from_dict(plain) == certificate


def test_every_table_is_on_the_spends_and_the_spends_comes_to_at_most_the_request():
    certificate = estimated().measures.certificate
    (item,) = certificate.spends
    # Four columns, three of them with the label, and the predictions.
    assert (item.name, item.times) == (MARGINALS, 8)
    assert compose_epsilon(certificate.spends, 1e-6) <= 1.0
    assert certificate.configuration["tables_of_columns"] == 4
    assert "the synthetic table" in certificate.assumed_public


def test_fields_that_were_read_off_the_data_are_called_so():
    found = estimated(**CERTIFIED["a drafted schema"]).measures
    assert found.certificate.fields_from_data == ("age.min", "age.max")
    assert any("NOT COVERED" in note and "age.min" in note for note in found.notes)


def test_fake_noise_is_stamped():
    found = estimated(noise=FakeNoise()).measures
    assert not found.certificate.private
    assert found.certificate.status == "NOT PRIVATE"
    assert any("NOT PRIVATE" in note for note in found.notes)


@pytest.fixture(scope="module")
def fitted():
    model = TabPE(epsilon=1, delta=1e-6, n_samples=200, random_state=0, verbose=0)
    return model.fit(REAL, SCHEMA)


def test_the_certificate_of_the_table_gives_terms_and_the_total(fitted):
    found = appraise(
        REAL, fitted.sample(), epsilon=0.5, certificate=fitted.certificate, random_state=0
    ).measures
    assert found.certificate.delta == 1e-6
    assert found.certificate.schema_digest == fitted.certificate.schema_digest
    both = compose_epsilon((*fitted.certificate.spends, *found.certificate.spends), 1e-6)
    assert found.total_epsilon == pytest.approx(both, rel=1e-3)
    assert 1.0 < found.total_epsilon < 1.5
    assert found.total_delta == 1e-6


def test_users_of_the_certificate_are_users_of_the_purchase():
    real = with_users()
    model = TabPE(
        epsilon=2, delta=1e-6, n_samples=100, unit="person", max_rows_per_user=2, verbose=0
    ).fit(real, SCHEMA)
    found = appraise(real, model.sample(), epsilon=1, certificate=model.certificate).measures
    assert found.certificate.unit == "person"
    assert found.certificate.neighbours == NeighboringRelation(max_rows=2)
    assert found.certificate.accountant == model.certificate.accountant
    assert 2.0 < found.total_epsilon < 3.0
    number, margin = found.rows
    assert abs(number - REAL.num_rows / 2) < 3 * margin


def test_users_are_counted_instead_of_their_rows():
    found = estimated(**CERTIFIED["users"], noise=no_noise()).measures
    assert found.rows[0] == REAL.num_rows / 2
    assert found.certificate.spends[0].times == 9
    assert any("users" in note for note in found.notes)
    assert found.accuracy[0] > 0.95


def test_a_user_with_all_rows_weighs_no_more_than_another():
    ids = ["one"] * 2_900 + [f"p{place}" for place in range(100)]
    real = rows(3_000, ward=["heart"] * 2_900 + ["lung"] * 100).append_column(
        "person", pa.array(ids)
    )
    found = estimated(real, neighbours=USERS, unit="person", noise=no_noise())
    ward = next(view for view in found.columns if view.name == "ward")
    assert ward.real.shares == pytest.approx((1 / 101, 100 / 101, 0.0))


def test_shares_of_users_are_parts_of_all_their_weights():
    """Two rows in two cells weigh more in all than two rows in one, so users do not add up."""
    real = with_users(rows(600, ward=["heart", "lung"] * 300))
    synthetic = rows(400, seed=1, ward=["heart", "lung"] * 200)
    found = estimated(real, synthetic, neighbours=USERS, unit="person", noise=no_noise())
    ward = next(one for one in found.measures.differences if one.names == ("ward",))
    assert found.measures.rows[0] == 300
    assert ward.estimate == pytest.approx(0, abs=1e-3)


def test_noise_never_follows_the_random_state():
    one, two = estimated(), estimated()
    assert one.measures.rows != two.measures.rows


def test_paths_and_frames_are_read_alike(tmp_path):
    pa.csv.write_csv(REAL, tmp_path / "real.csv")
    SCHEMA.save(tmp_path / "schema.yaml")
    found = estimated(
        tmp_path / "real.csv", SYNTHETIC.to_pandas(), tmp_path / "schema.yaml", noise=no_noise()
    )
    assert found.columns[0].real == estimated(noise=no_noise()).columns[0].real


CORNERS = {
    "one column": (Schema((Integer("age", 0, 100),)), {}),
    "the label alone": (Schema((Boolean("ill"),), "ill"), {}),
    "only categories": (Schema(SCHEMA.columns[2:], "ill"), {}),
    "only numbers": (Schema(SCHEMA.columns[:2]), {}),
    "a constant": (Schema((Integer("age", 7, 7), Boolean("ill")), "ill"), {}),
    "one class declared": (Schema((SCHEMA["age"], Categorical("ward", ("x",), "x")), "ward"), {}),
    "a numeric label": (Schema(SCHEMA.columns, "age", label_cuts=(30, 60)), {}),
    "one class in synthetic": (SCHEMA, {"ill": [True] * 400}),
}  # fmt: skip


@pytest.mark.parametrize("kind", CORNERS)
def test_corners(kind):
    schema, changes = CORNERS[kind]
    found = estimated(synthetic=rows(400, seed=1, **changes), schema=schema, noise=no_noise())
    assert len(found.columns) == len(schema.columns)
    assert found.measures.rows[0] == pytest.approx(REAL.num_rows)
    assert (found.measures.accuracy is None) == (len(schema.class_names) < 2)


def test_a_single_synthetic_row_is_enough():
    assert estimated(synthetic=SYNTHETIC.slice(0, 1)).measures.accuracy is not None


def test_a_table_smaller_than_the_noise_says_so():
    found = estimated(REAL.slice(0, 1), epsilon=0.1).measures
    assert any("next to nothing" in note for note in found.notes)
    assert 0 <= found.accuracy[0] <= 1
    assert all(math.isfinite(one.estimate) and one.margin <= 1 for one in found.differences)


def many(size):
    names = tuple(f"w{place:03}" for place in range(size))
    return Schema((Integer("age", 0, 100), Categorical("ward", names, other="w000")), label="ward")


def test_rare_values_share_a_bar_and_many_classes_are_told_apart_by_right_and_wrong():
    schema = many(300)
    real = rows(3_000, ward=[f"w{place % 300:03}" for place in range(3_000)])
    synthetic = rows(400, seed=1, ward=[f"w{place % 50:03}" for place in range(400)])
    found = estimated(real, synthetic, schema, noise=no_noise())
    ward = found.columns[1]
    assert len(ward.bars) == len(ward.real.shares) == 20
    assert ward.bars[-1] == "281 other values"
    assert ward.real.shares[-1] == pytest.approx(281 / 300)
    assert found.measures.macro_f1 is None
    assert found.measures.majority is None
    assert 0 <= found.measures.accuracy[0] < 0.2
    assert found.measures.certificate.configuration["cells"] < 500


REFUSED = {
    "no epsilon": ({"epsilon": None}, ParameterError, "epsilon"),
    "epsilon 0": ({"epsilon": 0}, ParameterError, "epsilon=0"),
    "a tiny epsilon": ({"epsilon": 1e-6}, ParameterError, "larger epsilon"),
    "no delta": ({"delta": None}, ParameterError, "delta=None.*1e-6"),
    "delta 1": ({"delta": 1}, ParameterError, "delta"),
    "a seed below 0": ({"random_state": -1}, ParameterError, "random_state"),
    "no schema": ({"schema": None}, SchemaError, "certificate"),
    "no schema at all": ({"schema": 5}, SchemaError, "int"),
    "unit without users": ({"unit": "person"}, ParameterError, "max_rows_per_user"),
    "users without unit": ({"neighbours": USERS}, ParameterError, "unit"),
    "unit in the schema": ({"neighbours": USERS, "unit": "ward"}, ParameterError, "take it out"),
    "no unit column": ({"neighbours": USERS, "unit": "person"}, DataError, "person"),
    "no column": ({"real": REAL.drop_columns("bmi")}, DataError, "bmi"),
    "no synthetic column": ({"synthetic": SYNTHETIC.drop_columns("bmi")}, DataError, "bmi"),
    "no synthetic row": ({"synthetic": SYNTHETIC.slice(0, 0)}, DataError, "no rows"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_can_not_be_estimated_is_refused_before_a_row_is_read(kind, monkeypatch):
    changes, error, words = REFUSED[kind]
    monkeypatch.setattr("tabpe.measurement.histograms.measure_marginals", None)
    with pytest.raises(error, match=words):
        estimated(**changes)


def test_an_error_about_the_synthetic_table_says_so():
    broken = SYNTHETIC.set_column(0, "age", pa.array([None] * 400, pa.int64()))
    with pytest.raises(DataError, match=r"synthetic.*'age'.*row 1"):
        estimated(synthetic=broken)


def test_running_out_of_memory_tells_no_size(monkeypatch):
    def fail(*_):
        raise MemoryError("array of shape (3000, 7)")

    monkeypatch.setattr("tabpe.backends.StoredTable.count_marginals", fail)
    with pytest.raises(TabpeError) as caught:
        estimated()
    assert "3000" not in str(caught.value)
    assert caught.value.__context__ is None


def test_the_usual_noise_is_the_exact_one():
    assert estimated().measures.certificate.noise == ExactNoise.name
