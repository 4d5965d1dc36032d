"""What a schema lacks, under noise: charge first, noise on every cell, nothing exact outside."""

import numpy as np
import pytest

import measuring
from measuring import Terms
from tabpe.accounting import ROW_LEVEL, Account, FakeNoise, NeighboringRelation, Spend
from tabpe.encoding.raw_cells import ClampedBins, EqualWidthBins
from tabpe.errors import BudgetError, TabpeError
from tabpe.measurement import raw_columns as measure
from tabpe.measurement.raw_columns import compute_release_threshold
from tabpe.schema import Categorical

USERS = NeighboringRelation(max_rows=3)
NAMES = ("a", "b")
VALUES = {"a": {"z": 900, "x": 1000, "rare": 1}, "b": {}}


class RecordingSurvey:
    """Answers with known counts, and remembers what it was asked."""

    def __init__(self, scale=1):
        self.calls, self.scale = [], scale

    def count_kinds(self, names):
        """Return the same counts for each column."""
        return self._answered("kinds", names)

    def count_magnitudes(self, names):
        """Return the same counts for each column."""
        return self._answered("magnitudes", names)

    def count_bins(self, asked):
        """Return the same counts for each column."""
        return self._answered("bins", asked)

    def count_declared_values(self, asked):
        """Return the same counts for each column."""
        return self._answered("listed", asked)

    def count_values(self, asked):
        """Return known values."""
        self.calls.append("values")
        return {n: {v: c * self.scale for v, c in VALUES[n].items()} for n in asked}

    def _answered(self, name, asked):
        self.calls.append(name)
        return {column: self.scale * np.array([5, 0, 7]) for column in asked}


class ConstantNoise:
    """Adds the same number to every cell, and remembers how it was drawn."""

    name, private = "constant", False

    def __init__(self, shift=1000):
        self.shift, self.drawn = shift, []

    def draw(self, size, sigma):
        """Return the same number for every cell."""
        self.drawn.append((size, sigma))
        return np.full(size, self.shift)


ASKING = {
    measure.KINDS: (measuring.measure_kinds, NAMES),
    measure.MAGNITUDES: (measuring.measure_magnitudes, NAMES),
    measure.BINS: (measuring.measure_bins, dict.fromkeys(NAMES, EqualWidthBins(0.0, 1.0, 3))),
    measure.QUANTILES: (
        measuring.measure_quantile_bins,
        dict.fromkeys(NAMES, ClampedBins((1.0, 2.0))),
    ),
    measure.COMMON: (
        measuring.measure_declared_values,
        {name: Categorical(name, ("x", "y", "z")) for name in NAMES},
    ),
    measure.VALUES: (measuring.measure_values, dict.fromkeys(NAMES, str)),
}
each_measurement = pytest.mark.parametrize("name", ASKING)
each_histogram = pytest.mark.parametrize(
    "name", [name for name in ASKING if name != measure.VALUES]
)


def agreed(name, times=2, sigma=4.0):
    account = Account()
    account.authorize(Spend(name, sigma, times, 1e-6 if name == measure.VALUES else 0.0))
    return account


def ask(name, survey, account, noise, neighbours=ROW_LEVEL):
    function, asked = ASKING[name]
    return function(survey, asked, Terms(account, noise, neighbours))


@each_measurement
@pytest.mark.parametrize("times", [0, 1])
def test_nothing_is_read_or_drawn_unless_every_column_is_paid_for(name, times):
    survey, noise = RecordingSurvey(), ConstantNoise()
    account = agreed(name, times) if times else Account()
    with pytest.raises(BudgetError):
        ask(name, survey, account, noise)
    assert survey.calls == []
    assert noise.drawn == []


@each_measurement
def test_the_account_is_charged_for_every_column_before_the_rows_are_read(name):
    account = agreed(name)

    class Survey(RecordingSurvey):
        def __getattribute__(self, asked):
            if asked in ("kinds", "magnitudes", "bins", "listed", "values"):
                assert account.spent == account.authorized
            return super().__getattribute__(asked)

    ask(name, Survey(), account, ConstantNoise())
    with pytest.raises(BudgetError, match="used up"):
        ask(name, Survey(), account, ConstantNoise())


@each_histogram
def test_every_cell_gets_noise_of_the_agreed_sigma(name):
    noise = ConstantNoise()
    found = ask(name, RecordingSurvey(), agreed(name), noise)
    assert {column: counts.tolist() for column, counts in found.items()} == {
        "a": [1005, 1000, 1007],
        "b": [1005, 1000, 1007],
    }
    assert noise.drawn == [(3, 4.0)] * 2


@each_histogram
def test_counts_of_users_get_noise_on_their_scale(name):
    noise = ConstantNoise(shift=USERS.scale)
    found = ask(name, RecordingSurvey(USERS.scale), agreed(name), noise, USERS)
    assert found["a"].tolist() == [6, 1, 8]
    assert noise.drawn == [(3, 4.0 * USERS.scale)] * 2


def test_every_value_gets_noise_and_only_those_above_the_threshold_are_told():
    noise = ConstantNoise(shift=-3)
    found = ask(measure.VALUES, RecordingSurvey(), agreed(measure.VALUES), noise)
    assert found == {"a": {"x": 997.0, "z": 897.0}, "b": {}}
    assert list(found["a"]) == ["x", "z"]
    assert noise.drawn == [(3, 4.0), (0, 4.0)]


@pytest.mark.parametrize("neighbours", [ROW_LEVEL, USERS])
@pytest.mark.parametrize("beyond", [0, 1])
def test_a_value_is_told_from_just_above_the_threshold_on(neighbours, beyond):
    scale = neighbours.scale
    above = compute_release_threshold(4.0 * scale, 1e-6, scale)
    noise = ConstantNoise(shift=above - scale + beyond)
    found = ask(measure.VALUES, RecordingSurvey(scale), agreed(measure.VALUES), noise, neighbours)
    assert ("rare" in found["a"]) == bool(beyond)


def test_without_a_chance_no_value_is_asked_for():
    account, survey = Account(), RecordingSurvey()
    account.authorize(Spend(measure.VALUES, 4.0, 2))
    with pytest.raises(TabpeError, match="part of delta"):
        ask(measure.VALUES, survey, account, ConstantNoise())
    assert survey.calls == []


@each_measurement
def test_one_draw_is_never_shared_by_many_cells(name):
    class Short(FakeNoise):
        def draw(self, size, sigma):
            return np.zeros(1, dtype=np.int64)

    with pytest.raises(TabpeError, match="size"):
        ask(name, RecordingSurvey(), agreed(name), Short())
