"""A method from a module that is not ours."""

import importlib
import sys

import pytest

from tabpe.baselines import AIM, Baseline, find_method
from tabpe.errors import ParameterError
from tabpe.io.example import hospital_schema, hospital_table

METHOD = '''
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabpe.accounting.calibration import BudgetShare


@dataclass(frozen=True)
class Uniform:
    """Measures one marginal, and draws all others uniformly."""

    name: ClassVar[str] = "AIM"
    adaptive: ClassVar[bool] = False
    binned: ClassVar[bool] = False
    method: str = "a hyperparameter of that name"
    parts_of: int = 1

    def parts(self, attributes):
        return (BudgetShare("first", share=1.0, times=1),)

    def synthesise(self, session, size):
        session.marginals("first", [(0,)])
        sizes = session.domain.sizes
        return session.rows_of(session.rng.integers(0, sizes, (size, len(sizes))))


class Plain:
    name, adaptive, binned, parts, synthesise = "plain", False, False, None, None


number = 3
'''


@pytest.fixture
def outside(tmp_path, monkeypatch):
    (tmp_path / "outside_methods.py").write_text(METHOD)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("outside_methods")
    sys.modules.pop("outside_methods", None)


def test_a_method_by_its_module_and_name(outside):
    assert find_method("outside_methods:Uniform") is outside.Uniform
    assert find_method("aim") is AIM


def test_the_certificate_names_where_it_is_from(outside):
    model = Baseline(find_method("outside_methods:Uniform")(), epsilon=3, delta=1e-6, n_samples=50)
    model.fit(hospital_table(300), hospital_schema())
    assert model.sample().num_rows == 50
    stated = model.certificate.configuration
    assert stated["method"] == "outside_methods:Uniform"
    assert stated["parts_of"] == 1
    assert [item.name for item in model.certificate.spends][-1] == "first"


@pytest.mark.parametrize(
    "name", ["amm", "outside_methods:Plain", "outside_methods:number", "outside_methods:No"]
)
def test_what_is_no_method_is_refused(outside, name):
    with pytest.raises(ParameterError, match=f"method='{name}'"):
        find_method(name)


def test_a_plain_object_is_refused_before_it_costs_anything(outside):
    with pytest.raises(ParameterError, match="a dataclass of your own"):
        Baseline(outside.Plain(), epsilon=3, delta=1e-6).fit(hospital_table(9), hospital_schema())
