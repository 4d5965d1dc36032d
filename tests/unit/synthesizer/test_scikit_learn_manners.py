"""`TabPE`: scikit-learn manners."""

import pytest
from sklearn.base import clone

from facade import FAST, SCHEMA, fitted
from tabpe import (
    TabPE,
)
from tabpe.errors import (
    NotFittedError,
    ParameterError,
)


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
