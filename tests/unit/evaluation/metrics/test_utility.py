"""Trained on synthetic rows, tested on real ones."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from tables import parity, ruled, total, view_of
from tabpe import Boolean, Categorical, Float, Schema
from tabpe.errors import ParameterError
from tabpe.evaluation.metrics.utility import (
    compute_scores,
    find_worst_group,
    measure_certainty,
    measure_utility,
)
from tabpe.evaluation.table_arrays import LabeledExamples, build_examples, build_table_arrays

THREE = ("a", "b", "c")


def by_thirds(values):
    return np.digitize(values[:, 0], [-0.3, 0.3])


def of(found, trained_on, score="accuracy"):
    (one,) = [each for each in found.scores if each.trained_on == trained_on]
    return one.scores[score]


def numeric(rows, *, seed=0, slope=1.0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 1, rows)
    schema = Schema((Float("x", 0, 1), Float("y", -1, 1)), label="y", label_cuts=(0.5,))
    return view_of(schema, {"x": x, "y": slope * x})


def test_bounds_stand_on_both_sides():
    real, test = ruled(total, 3000, noise=0.1), ruled(total, 3000, seed=1, noise=0.1)
    noisy = ruled(total, 3000, seed=2, noise=0.8)
    found = measure_utility(real, noisy, test)
    assert [one.trained_on for one in found.scores] == ["real", "synthetic", "nothing"]
    for score in ("accuracy", "macro F1", "AUC"):
        upper, middle, lower = (of(found, on, score) for on in ("real", "synthetic", "nothing"))
        assert upper > middle + 0.03 > middle > lower + 0.03
    assert of(found, "nothing", "AUC") == 0.5
    assert (found.task, found.test_rows, found.held_out) == ("classification", 3000, False)


def test_label_certainty_is_that_of_scikit_learn_and_of_a_loop():
    rng = np.random.default_rng(0)
    target, weights = rng.integers(0, 3, 400), rng.dirichlet((1, 1, 1), 400)
    found = measure_certainty(weights, LabeledExamples((), target, 3))
    sure, right = weights.max(axis=1), weights.argmax(axis=1) == target
    bins = [np.floor(sure * 15) == at for at in range(15)]
    errors = [abs(sure[b].mean() - right[b].mean()) * b.mean() for b in bins if b.any()]
    assert found.log_loss == pytest.approx(log_loss(target, weights))
    assert found.brier == pytest.approx(np.mean(np.sum((weights - np.eye(3)[target]) ** 2, axis=1)))
    assert found.calibration_error == pytest.approx(sum(errors))
    assert (found.confidence, found.spread) == (
        pytest.approx(sure.mean()),
        pytest.approx(sure.std()),
    )
    assert found.overconfidence == pytest.approx(sure.mean() - right.mean())
    assert measure_certainty(weights[:, 0], LabeledExamples((), weights[:, 1], None)) is None


def test_labels_that_are_cleaner_than_real_ones_teach_too_much_certainty():
    real, test = ruled(total, 3000, noise=0.6), ruled(total, 3000, seed=1, noise=0.6)
    found = measure_utility(real, ruled(total, 3000, seed=2, noise=0.0), test)
    by_origin = {one.trained_on: one.certainty.overconfidence for one in found.scores}
    assert by_origin["synthetic"] > by_origin["real"] + 0.1


def test_the_margin_of_a_difference_shrinks_with_the_test_rows():
    real, made = ruled(total, 500, noise=0.3), ruled(total, 500, seed=2, noise=0.5)
    margins = []
    for rows in (200, 5000):
        found = measure_utility(real, made, ruled(total, rows, seed=1, noise=0.3))
        (one,) = [each for each in found.scores if each.trained_on == "synthetic"]
        margins.append(one.margins["AUC"])
    assert 0 < 3 * margins[1] < margins[0] < 0.1


def test_the_real_rows_themselves_reach_the_upper_bound():
    real, test = ruled(total, 500), ruled(total, 500, seed=1)
    found = measure_utility(real, real, test)
    assert found.scores[0].scores == found.scores[1].scores
    assert found.notes == ()


def test_synthetic_rows_without_the_rule_are_worth_nothing():
    found = measure_utility(
        ruled(parity, 4000), ruled(parity, 4000, noise=1.0), ruled(parity, 4000, seed=1)
    )
    assert of(found, "real") > 0.9
    assert abs(of(found, "synthetic") - 0.5) < 0.08


def test_without_test_rows_some_real_ones_are_held_out():
    real = ruled(total, 1000)
    found = measure_utility(real, ruled(total, 1000, seed=1))
    assert (found.test_rows, found.held_out) == (300, True)
    assert "held out" in found.notes[0]
    # A predictor that had seen the test rows would know labels that are drawn at random.
    drawn = ruled(total, 1000, noise=1.0)
    hidden = measure_utility(drawn, drawn, learners=["extra trees"])
    assert abs(of(hidden, "real") - 0.5) < 0.16
    assert of(hidden, "synthetic") == 1


def test_numbers_are_scored_by_the_variance_that_is_explained():
    found = measure_utility(numeric(500), numeric(500, slope=0.5), numeric(500, seed=1))
    assert found.task == "regression"
    assert of(found, "real", "R2") > 0.99
    assert of(found, "synthetic", "R2") < 0.5
    assert abs(of(found, "nothing", "R2")) < 0.05
    assert found.scores[-1].learner == "mean"


def test_a_number_without_cuts_can_be_asked_for():
    view = ruled(total, 300)
    assert measure_utility(view, view, label="x0").task == "regression"


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_auc_is_that_of_scikit_learn(classes):
    rng = np.random.default_rng(classes)
    names = tuple(map(str, range(classes)))
    test = build_examples(
        ruled(lambda x: rng.integers(0, classes, len(x)), 200, classes=names), "y"
    )
    chances = rng.dirichlet(np.ones(classes), 200)
    given = chances[:, 1] if classes == 2 else chances
    expected = roc_auc_score(test.target, given, multi_class="ovr")
    assert compute_scores(chances, test)["AUC"] == pytest.approx(expected, abs=1e-12)


def test_auc_is_over_the_classes_that_the_test_rows_hold():
    test = build_examples(ruled(lambda x: 2 * total(x), 100, classes=THREE), "y")
    right = np.eye(3)[test.target]
    assert compute_scores(right, test) == {"accuracy": 1, "macro F1": 1, "AUC": 1}


def test_one_synthetic_class_makes_a_constant_predictor():
    found = measure_utility(
        ruled(by_thirds, 300, classes=THREE),
        ruled(lambda x: np.ones(len(x)), 300, classes=THREE),
        ruled(by_thirds, 300, seed=1, classes=THREE),
    )
    assert of(found, "synthetic", "AUC") == 0.5
    assert of(found, "synthetic") < 0.5
    assert found.notes == ("2 of 3 classes of the test rows are in no synthetic row.",)


def test_one_test_class_has_no_auc_and_says_so():
    real, same = ruled(total, 200), ruled(lambda x: np.ones(len(x)), 50)
    found = measure_utility(real, real, same)
    assert set(found.scores[0].scores) == {"accuracy", "macro F1"}
    assert "one class" in found.notes[0]


def test_labels_that_are_not_declared_are_classes_too():
    schema = Schema((Float("x", 0, 1), Categorical("y", ("a", "b"))), label="y")
    x = np.linspace(0, 1, 200)
    declared, other = (
        view_of(schema, {"x": x, "y": np.where(x < 0.5, "a", high)}).columns for high in "bz"
    )
    assert declared[1].names != other[1].names
    tables = [{"x": x, "y": np.where(x < 0.5, "a", high)} for high in "bzb"]
    found = measure_utility(*view_of(schema, *tables))
    assert (of(found, "real"), of(found, "synthetic")) == (1.0, 0.5)


def test_rows_are_capped():
    real = ruled(total, 500)
    assert measure_utility(real, real, real, rows=50).test_rows == 50
    assert measure_utility(real, real, real, rows=None).test_rows == 500


def test_what_can_not_be_used_is_noted(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    real = ruled(total, 100)
    found = measure_utility(real, real, real, learners=["tabicl", "nearest neighbours"])
    assert [one.learner for one in found.scores] == [*["nearest neighbours"] * 2, "majority"]
    (note,) = found.notes
    assert note.startswith("Left out tabicl:")


def test_no_features_leave_the_lower_bound():
    schema = Schema((Categorical("y", ("a", "b")),), label="y")
    view = view_of(schema, {"y": ["a", "b", "a", "a"] * 10})
    found = measure_utility(view, view, view)
    assert [one.learner for one in found.scores] == ["majority"]
    assert of(found, "nothing") == 0.75
    assert "nothing can be learned" in found.notes[0]


@pytest.mark.parametrize("rows", [0, 1])
def test_too_few_real_rows_give_nothing(rows):
    assert measure_utility(ruled(total, rows), ruled(total, 20)) is None


def test_no_synthetic_rows_leave_the_bounds():
    found = measure_utility(ruled(total, 50), ruled(total, 0), ruled(total, 50, seed=1))
    assert [one.trained_on for one in found.scores] == ["real", "nothing"]
    assert any("No synthetic row" in note for note in found.notes)


@pytest.mark.parametrize("rows", [2, 3, 9, 18])
def test_nearly_as_many_classes_as_rows_are_survived_without_a_warning(rows):
    names = tuple(f"c{place}" for place in range(12))
    view = ruled(lambda x: np.arange(len(x)) % 12, rows, classes=names)
    learners = ("gradient boosting", "extra trees", "nearest neighbours")
    assert len(measure_utility(view, view, learners=learners).scores) == 7
    assert len(measure_utility(view, view, view, learners=learners).scores) == 7


def test_no_label_gives_nothing():
    schema = Schema((Float("x", 0, 1),))
    view = view_of(schema, {"x": [0.0, 1.0]})
    assert measure_utility(view, view) is None


def test_a_constant_number_has_no_score():
    found = measure_utility(numeric(50), numeric(50), numeric(50, slope=0.0))
    assert all(one.scores == {} for one in found.scores)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"label": "z"}, "label='z'"),
        ({"learners": ["forest"]}, "learner='forest'"),
        ({"rows": 0}, "rows=0"),
        ({"jobs": 0}, "jobs=0"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    view = ruled(total, 10)
    with pytest.raises(ParameterError, match=message):
        measure_utility(view, view, **wrong)


def test_scores_depend_on_the_seed_and_not_on_jobs():
    real, synthetic = ruled(parity, 800), ruled(parity, 800, seed=1, noise=0.3)
    learners = ("gradient boosting", "extra trees", "nearest neighbours")
    once, twice, other = (
        measure_utility(real, synthetic, learners=learners, rows=400, random_state=seed, jobs=jobs)
        for seed, jobs in ((0, 1), (0, 3), (1, 3))
    )
    assert once == twice
    assert once != other


def test_the_group_for_which_it_is_worst_is_that_of_a_loop():
    rng = np.random.default_rng(0)
    schema = Schema((Categorical("ward", ("eye", "skin", "rare")), Boolean("ill")), label="ill")
    ward = np.array(["eye"] * 200 + ["skin"] * 100 + ["rare"] * 9)
    table = pa.table({"ward": ward, "ill": rng.random(309) < 0.5})
    test = build_examples(*build_table_arrays(schema, [table]), "ill")
    real = np.eye(2)[test.target]
    turned = np.where(((ward == "skin") & (np.arange(309) < 260))[:, None], 1 - real, real)
    turned[300:] = 1 - turned[300:]  # too few rows to say anything
    found = find_worst_group(turned, real, test)
    assert (found.column, found.value, found.rows) == ("ward", "skin", 100)
    assert (found.real, found.synthetic, found.loss) == (1.0, 0.4, 0.6)
    assert found.error == pytest.approx((0.4 * 0.6 / 100) ** 0.5)


def measure_excess(real, synthetic, test):
    """Return by how many margins synthetic rows teach more than real ones."""
    found = measure_utility(real, synthetic, test)
    by_origin = {one.trained_on: one for one in found.scores}
    made, bound = by_origin["synthetic"], by_origin["real"]
    return (made.scores["AUC"] - bound.scores["AUC"]) / made.margins["AUC"]


def test_the_luck_of_training_rows_is_part_of_the_margin_of_what_looks_better_than_real():
    test = ruled(total, 20_000, noise=0.3, seed=99)
    lucky = [
        measure_excess(ruled(total, 150, noise=0.3, seed=2 * seed), made, test)
        for seed in range(8)
        for made in [ruled(total, 150, noise=0.3, seed=2 * seed + 1)]
    ]
    assert 0 < max(lucky) < 3
    cleaner = ruled(total, 2000, noise=0.0, seed=1)
    assert measure_excess(ruled(total, 2000, noise=0.8), cleaner, test) > 3
