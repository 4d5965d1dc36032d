"""`TabPE`: scikit-learn manners."""

import logging
import subprocess
import sys

import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError as NotFitted
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from facade import FAST, SCHEMA, fitted
from tabpe import TabPE
from tabpe.accounting import ReleaseStatement
from tabpe.errors import NotFittedError, ParameterError


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


def without_old(frame):
    return frame[frame["age"] < 90]


@pytest.mark.parametrize("plain", [False, True])
def test_it_ends_a_pipeline_of_scikit_learn(table, plain, tmp_path):
    """Steps before it are of the user, and see private rows: public functions of single rows."""
    schema = SCHEMA.to_dict() if plain else SCHEMA
    model = make_pipeline(FunctionTransformer(without_old), TabPE(**FAST, schema=schema))
    pipeline = clone(model).fit(table.to_pandas())
    made = pipeline[-1].sample()
    assert isinstance(made, pd.DataFrame)
    assert pipeline[-1].schema_ == SCHEMA
    pipeline[-1].save(tmp_path / "run.tabpe")
    again = TabPE.load(tmp_path / "run.tabpe")
    assert again.schema == SCHEMA
    assert again.sample().equals(made)


def test_parameters_of_a_pipeline_reach_it(table):
    pipeline = Pipeline([("tabpe", TabPE(**FAST, schema=SCHEMA))])
    pipeline.set_params(tabpe__n_samples=17).fit(table)
    assert len(pipeline["tabpe"].sample()) == 17


def test_a_schema_is_given_once(table):
    with pytest.raises(ParameterError, match="given to the model and to fit"):
        TabPE(**FAST, schema=SCHEMA).fit(table, SCHEMA)


def test_a_schema_of_another_kind_is_refused(table):
    with pytest.raises(ParameterError, match="schema: int: expected 'declared' or 'private'"):
        TabPE(**FAST, schema=3).fit(table)


def test_it_is_an_estimator_by_inheritance(table):
    model = TabPE(**FAST)
    assert isinstance(model, BaseEstimator)
    tags = get_tags(model)
    assert tags.non_deterministic
    assert tags.no_validation
    assert tags.requires_fit
    with pytest.raises(NotFitted):
        check_is_fitted(model)
    check_is_fitted(model.fit(table, SCHEMA))
    check_is_fitted(model, "release_")


def test_a_notebook_shows_the_model_and_what_is_guaranteed(table):
    model = TabPE(**FAST, label="ill")
    before = model._repr_html_()
    assert "sk-top-container" in before
    assert "certificate" not in before
    after = model.fit(table, SCHEMA)._repr_html_()
    assert "sk-top-container" in after
    assert model.certificate._repr_html_() in after
    assert model.certificate._repr_html_() in model._repr_mimebundle_()["text/html"]
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    assert "TabPE" in make_pipeline(model)._repr_html_()


def test_the_certificate_escapes_what_it_shows(table):
    model = TabPE(**FAST).fit(table, SCHEMA)
    shown = model.certificate.with_statement(ReleaseStatement("<script>"))._repr_html_()
    assert "<script>" not in shown
    assert "epsilon 50" in shown or "epsilon 4" in shown


def test_it_needs_no_scikit_learn():
    code = """
import sys; sys.modules["sklearn"] = None
import pyarrow as pa
from tabpe import Boolean, Evolution, Schema, TabPE
model = TabPE(epsilon=50, delta=1e-6, n_samples=4, verbose=0, preset=Evolution(rounds=2))
model.set_params(label="ill").fit(pa.table({"ill": [True, False] * 50}), Schema((Boolean("ill"),)))
print(type(model).__mro__[-2].__module__, model.sample().num_rows, model._repr_html_()[:16])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split()[:3] == ["tabpe.synthesizers.tabpe", "4", "<pre>TabPE(epsil"]


def test_a_run_is_logged_under_tabpe_with_public_numbers_only(table, caplog):
    with caplog.at_level(logging.INFO, logger="tabpe"):
        TabPE(**FAST).fit(table, SCHEMA)
    logged = [record.getMessage() for record in caplog.records]
    assert logged[0] == "fit: 4 columns, epsilon 50"
    assert [line for line in logged if line.startswith("round")][-1] == "round 3 of 3"
    assert any(line.startswith("class counts: 1 measured, sigma") for line in logged)
    assert logged[-1].startswith("made 30 rows at epsilon")
    assert all(record.name.startswith("tabpe.") for record in caplog.records)
