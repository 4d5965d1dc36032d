"""GEM: asks for what its model gets most wrong, learns, and keeps its guarantee."""

import itertools
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

from adultlike import adult_like, two_way_error
from method_corners import CORNERS, survives
from tabpe.accounting import FakeNoise
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.baselines import Baseline, Independent
from tabpe.baselines.gem import CHOICES, GEM, MARGINALS
from tabpe.errors import CapacityError, ParameterError
from tabpe.schema import Categorical, Schema
from tabpe.verification import verify_plain

pytest.importorskip("jax")
pytest.importorskip("optax")
pytestmark = pytest.mark.filterwarnings("ignore:noise:tabpe.errors.NotPrivateWarning")
SMALL = {"points": 256, "noise": 16, "hidden": 32, "rate": 5e-3, "steps": 60}


class Watched:
    """A desk that remembers which marginals were measured."""

    def __init__(self, desk, asked):
        self._desk, self._asked = desk, asked

    def __getattr__(self, name):
        return getattr(self._desk, name)

    def marginals(self, part, cliques):
        """Remember, and pass on."""
        self._asked.extend(cliques)
        return self._desk.marginals(part, cliques)


@dataclass(frozen=True)
class WatchedGEM(GEM):
    """GEM at a desk that remembers."""

    asked: list = field(default_factory=list)

    def synthesise(self, desk, size):
        """Work at the other desk."""
        return super().synthesise(Watched(desk, self.asked), size)


def planted(rows=2000):
    """Return five attributes that know nothing of each other, but the second is the fourth."""
    rng = np.random.default_rng(0)
    cells = [rng.integers(0, 4, rows).astype(str) for _ in range(5)]
    cells[3] = cells[1]
    names = [f"a{place}" for place in range(5)]
    schema = Schema(tuple(Categorical(name, tuple("0123")) for name in names))
    return pa.table(dict(zip(names, cells, strict=True))), schema


def fitted(method, table, schema, **settings):
    settings = {"epsilon": 1.0, "delta": 1e-6, "bins": "uniform", "random_state": 0} | settings
    return Baseline(method, **settings).fit(table, schema=schema)


def test_the_first_choice_is_the_marginal_that_is_most_wrong():
    table, schema = planted()
    method = WatchedGEM(**SMALL, rounds_an_attribute=1)
    fitted(method, table, schema, noise=FakeNoise(strength=0))
    assert method.asked[0] == (1, 3)


def test_no_marginal_is_measured_twice_and_all_are_if_there_are_rounds_for_them():
    table, schema = planted(200)
    method = WatchedGEM(**SMALL | {"steps": 1})
    fitted(method, table, schema)
    assert sorted(method.asked) == list(itertools.combinations(range(5), 2))


@pytest.mark.parametrize(
    ("degree", "attributes", "rounds"), [(2, 8, 28), (2, 15, 75), (3, 2, 1), (5, 1, 1), (3, 8, 40)]
)
def test_rounds_are_five_for_each_attribute_but_no_more_than_marginals(degree, attributes, rounds):
    plan = GEM(degree=degree).parts(attributes)
    assert [(part.share, part.times) for part in plan] == [(0.5, rounds)] * 2
    assert plan[0].mechanism == EXPONENTIAL


def test_it_learns_pairs():
    table, schema = adult_like()
    settings = {"epsilon": 3.0, "most_bins": 8, "public_rows": len(table)}
    errors = [
        two_way_error(table, fitted(method, table, schema, **settings).sample())
        for method in (GEM(**SMALL), Independent())
    ]
    assert errors[0] < 0.5 * errors[1]


def test_its_certificate_holds_and_names_choices_and_marginals():
    table, schema = planted(300)
    certificate = fitted(GEM(**SMALL | {"steps": 2}), table, schema).certificate
    assert verify_plain(certificate.to_dict()).holds
    assert {item.name: item.times for item in certificate.spends} == {
        CHOICES: 10,
        MARGINALS: 10,
        "row count": 1,
    }
    assert 0.99 < certificate.epsilon <= 1.0


@pytest.mark.parametrize("name", CORNERS)
def test_it_survives_corners(name):
    survives(GEM(**SMALL | {"steps": 2}), name)


def test_the_same_seeds_make_the_same_rows():
    table, schema = planted(300)
    made = [
        fitted(GEM(**SMALL | {"steps": 3}), table, schema, noise=FakeNoise(), n_samples=50).sample()
        for _ in range(2)
    ]
    assert made[0].equals(made[1])


def test_a_workload_that_the_machine_can_not_hold_is_refused():
    table, schema = planted(100)
    with pytest.raises(CapacityError, match="degree 2 have 160 cells, limit 159"):
        fitted(GEM(most_cells=159), table, schema)


@pytest.mark.parametrize("wrong", [{"degree": 0}, {"steps": 1.5}, {"rate": 0.0}])
def test_settings_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        GEM(**wrong)
