"""How much pairs depend on each other is asked in blocks, and is one spend."""

import pyarrow as pa
import pytest

from adultlike import adult_like
from method_corners import fitted
from tabpe.accounting import FakeNoise
from tabpe.baselines import privsyn
from tabpe.baselines.independent import Independent
from tabpe.baselines.privsyn import measure_dependence, measure_one_ways
from tabpe.schema import Boolean, Categorical, Schema

pytestmark = pytest.mark.filterwarnings("ignore::tabpe.errors.NotPrivateWarning")
WARD, CONSTANT = Categorical("ward", ("heart", "eye")), Categorical("x", ("y",))
SCHEMA = Schema((WARD, Boolean("ill"), Boolean("old"), CONSTANT))
TABLE = pa.table(
    {
        "ward": ["heart", "heart", "eye", "eye"] * 100,
        "ill": [True, True, False, False] * 100,
        "old": [True, False, True, False] * 100,
        "x": ["y"] * 400,
    }
)


class Asking(Independent):
    """Asks for the dependence of pairs, and keeps the answer."""

    adaptive = True

    def parts(self, attributes):
        """Plan nothing."""
        return ()

    def synthesise(self, desk, size):
        """Ask, and make any rows."""
        singles = measure_one_ways(desk, desk.left / 2)
        Asking.found = measure_dependence(desk, singles, desk.left)
        return desk.rows_of(desk.rng.integers(0, desk.domain.sizes, (size, len(singles))))


def asked(table=TABLE, schema=SCHEMA, strength=0):
    noise = FakeNoise(0, strength=strength)
    model = fitted(Asking(), table, schema, public_rows=len(table), noise=noise)
    return Asking.found, {item.name: item for item in model.certificate.spends}


def test_dependence_is_the_distance_from_independence_in_rows():
    found, _ = asked()
    assert found == {(0, 1): 400, (0, 2): 0, (1, 2): 0}


def test_every_pair_that_varies_is_charged_once():
    _, spends = asked()
    assert spends["1-way marginals"].times == 4
    assert spends["dependence of pairs"].times == 3
    assert spends["dependence of pairs"].loss == pytest.approx(spends["1-way marginals"].loss)


def test_blocks_change_nothing(monkeypatch):
    table, schema = adult_like(500)
    whole = asked(table, schema)
    monkeypatch.setattr(privsyn, "_MOST_CELLS", 150)
    parts = asked(table, schema)
    assert parts == whole
    assert parts[1]["dependence of pairs"].times == 21


def test_pairs_of_very_many_cells_are_left_out(monkeypatch):
    monkeypatch.setattr(privsyn, "_MOST_CELLS", 3)
    found, spends = asked()
    assert found == {}
    assert "dependence of pairs" not in spends


def test_noise_is_on_every_answer():
    (quiet, _), (loud, _) = asked(), asked(strength=1)
    assert all(loud[pair] != quiet[pair] for pair in quiet)
