"""Predictors, behind one name each."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from tables import parity, ruled, total, view_of
from tabpe import Categorical, Float, Schema
from tabpe.errors import ParameterError
from tabpe.evaluation.metrics import predictors
from tabpe.evaluation.metrics.predictors import (
    explain_unusable,
    learner_names,
    predict_target,
    run_together,
)
from tabpe.evaluation.table_arrays import build_examples

ALWAYS = ("gradient boosting", "extra trees", "nearest neighbours")


def rows_of(rule=total, rows=600, **how):
    return build_examples(ruled(rule, rows, **how), "y")


def put_weights(folder):
    """Leave empty files where weights are looked for."""
    for name in (*predictors.TABICL.values(), predictors.TABPFN):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()


@pytest.mark.parametrize("name", ALWAYS)
def test_classes_are_learned(name):
    train, test = rows_of(), rows_of(seed=1)
    chances = predict_target(name, train, test)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    assert (chances.argmax(axis=1) == test.target).mean() > 0.85


@pytest.mark.parametrize("name", ALWAYS)
def test_numbers_are_learned(name):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, (800, 2))
    schema = Schema((Float("a", 0, 1), Float("b", 0, 1), Float("y", 0, 2)))
    view = view_of(schema, {"a": x[:, 0], "b": x[:, 1], "y": x.sum(axis=1)})
    train, test = build_examples(view, "y").split_train_test(rng)
    missed = predict_target(name, train, test) - test.target
    assert missed.var() < 0.1 * test.target.var()


@pytest.mark.parametrize("name", ALWAYS)
def test_a_seed_fixes_everything(name):
    train, test = rows_of(parity), rows_of(parity, seed=1)
    once, twice = (predict_target(name, train, test, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(once, twice)


@pytest.mark.parametrize("name", ALWAYS)
def test_awkward_columns_are_survived(name):
    listed = tuple(f"v{place}" for place in range(300))
    schema = Schema(
        (
            Float("null", 0, 1),
            Float("constant", 5, 5),
            Categorical("many", listed),
            Categorical("gone", ("a", "b")),
            Categorical("y", ("no", "yes")),
        )
    )

    def table(unlisted):
        return {
            "null": np.full(40, np.nan),
            "constant": np.full(40, 5.0),
            "many": [listed[(7 * row) % 300] if row % 5 else unlisted for row in range(40)],
            "gone": [None] * 40,
            "y": ["no", "yes"] * 20,
        }

    train, test = (
        build_examples(view, "y") for view in view_of(schema, table("new"), table("newer"))
    )
    assert predict_target(name, train, test).shape == (40, 2)


@pytest.mark.parametrize("name", ALWAYS)
def test_one_row_is_enough_to_train_on(name):
    one, test = rows_of(rows=1), rows_of(rows=10, seed=1)
    chances = predict_target(name, one, test)
    assert (chances[:, one.target[0]] == 1).all()


@pytest.mark.parametrize("name", ALWAYS)
def test_classes_that_training_lacks_have_no_chance(name):
    def two_of_four(values):
        return 1 + 2 * total(values)

    train = rows_of(two_of_four, classes=("a", "b", "c", "d"))
    chances = predict_target(name, train, train)
    assert chances.shape == (600, 4)
    assert not chances[:, [0, 2]].any()


def test_a_hundred_classes_are_told_apart():
    def nearly_own(values):
        return np.clip((values[:, 0] + 1) * 50, 0, 99)

    classes = tuple(f"c{place}" for place in range(100))
    train = rows_of(nearly_own, 3000, columns=1, classes=classes)
    chances = predict_target("gradient boosting", train, train)
    assert (chances.argmax(axis=1) == train.target).mean() > 0.5


@pytest.mark.parametrize("name", ALWAYS)
def test_a_class_of_one_row_among_thousands_is_survived(name):
    def one_alone(values):
        return np.where(np.arange(len(values)) == 7, 2, total(values))

    train = rows_of(one_alone, 10_500, columns=1, classes=("a", "b", "c"))
    assert predict_target(name, train, train.take(np.arange(5))).shape == (5, 3)


def test_an_unknown_name_is_told_the_known_ones():
    with pytest.raises(ParameterError, match=r"learner='forest'"):
        explain_unusable("forest", rows_of(rows=10))


def test_what_is_not_installed_says_what_to_do(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    rows = rows_of(rows=10)
    for name in ("tabicl", "tabpfn"):
        assert f"{name} is not installed: docs/how-to/learners.md" in explain_unusable(name, rows)
    with pytest.raises(ParameterError, match="learner='tabicl'"):
        predict_target("tabicl", rows, rows)


@pytest.mark.parametrize("name", ["tabicl", "tabpfn"])
def test_what_has_no_weights_says_where_to_put_them(name, tmp_path, monkeypatch):
    class Hub:
        @staticmethod
        def try_to_load_from_cache(repository, file):
            return None

    class Spec:
        origin = str(tmp_path / "package" / "__init__.py")

    monkeypatch.setattr("importlib.util.find_spec", lambda _: Spec)
    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.1.11")
    monkeypatch.setenv(predictors.FOLDER, str(tmp_path))
    assert "$TABPE_WEIGHTS" in explain_unusable(name, rows_of(rows=10))
    put_weights(tmp_path)
    assert explain_unusable(name, rows_of(rows=10)) is None


@pytest.mark.parametrize("package", ["tabpfn", "torch", "scikit-learn"])
def test_versions_that_do_not_go_together_are_told(package, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    newest = {package: "9.13.0+cpu"}
    monkeypatch.setattr("importlib.metadata.version", lambda name: newest.get(name, "0.1.11"))
    assert f"this version of {package}" in explain_unusable("tabpfn", rows_of(rows=10))


def test_a_network_is_asked_for_what_the_weights_are_for(tmp_path, monkeypatch):
    """What stands in for the packages learns nothing, and records how it was made."""
    made = []

    class Network:
        def __init__(self, **how):
            made.append(how)

        def fit(self, features, target):
            self.classes_ = np.unique(target)
            made[-1]["rows"] = len(features)

        def predict_proba(self, features):
            return np.full((len(features), len(self.classes_)), 0.5)

        def predict(self, features):
            return np.zeros(len(features))

    tabicl = SimpleNamespace(TabICLClassifier=Network, TabICLRegressor=Network)
    monkeypatch.setitem(sys.modules, "tabicl", tabicl)
    monkeypatch.setitem(sys.modules, "tabpfn", SimpleNamespace(TabPFNClassifier=Network))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: object())
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.1.11")
    monkeypatch.setenv(predictors.FOLDER, str(tmp_path))
    put_weights(tmp_path)
    classes, numbers = rows_of(rows=1500), build_examples(ruled(total, 20), "x0")
    for name, rows in (("tabicl", classes), ("tabicl", numbers), ("tabpfn", classes)):
        assert len(predict_target(name, rows, rows, random_state=4)) == len(rows)
    classifier, regressor, tabpfn = made
    for asked, weights in ((classifier, False), (regressor, True)):
        assert asked["allow_auto_download"] is False
        assert asked["model_path"] == tmp_path / predictors.TABICL[weights]
        assert asked["random_state"] == 4
    assert (tabpfn["base_path"], tabpfn["seed"], tabpfn["rows"]) == (tmp_path, 4, 1000)


def test_limits_are_explained():
    classes = tuple(map(str, range(11)))
    many = rows_of(lambda x: np.arange(len(x)) % 11, 44, classes=classes)
    assert "at most 10 classes, and there are 11" in explain_unusable("tabpfn", many)
    assert "at most 100 features" in explain_unusable("tabpfn", rows_of(rows=10, columns=101))
    assert "not numbers" in explain_unusable("tabpfn", build_examples(ruled(total, 10), "x0"))


def test_names_are_those_that_can_be_asked_for():
    for name in learner_names():
        explain_unusable(name, rows_of(rows=10))


@pytest.mark.parametrize("jobs", [1, 2, None])
def test_answers_come_in_the_order_of_the_tasks(jobs):
    assert run_together([lambda place=place: place for place in range(20)], jobs) == list(range(20))
