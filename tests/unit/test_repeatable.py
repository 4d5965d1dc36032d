"""The noise of the suite is the same in every run, but where noise itself is tested."""

import secrets

import numpy as np
import pytest

from repeatable import noise_of
from tabpe.accounting import ExactNoise, OpenDPNoise
from tabpe.errors import ParameterError

SCORES = np.zeros(1000, np.int64)
each_source = pytest.mark.parametrize("source", [ExactNoise(), OpenDPNoise()])


@pytest.fixture(autouse=True)
def usual(monkeypatch):
    """As if nobody had asked for real noise."""
    monkeypatch.delenv("TABPE_REAL_NOISE", raising=False)


def drawn(name, source):
    with noise_of(name):
        return source.draw(20, 1000.0).tolist()


@each_source
def test_a_test_has_noise_of_its_own_which_repeats(source):
    assert drawn("a", source) == drawn("a", source) != drawn("b", source)
    assert source.private


@each_source
def test_noise_goes_on_from_one_draw_to_the_next(source):
    with noise_of("a"):
        assert source.draw(20, 1000.0).tolist() != source.draw(20, 1000.0).tolist()


@each_source
def test_tests_of_noise_have_the_real_one(source):
    name = "tests/statistical/test_noise.py::test_it"
    assert drawn(name, source) != drawn(name, source)


@each_source
def test_all_tests_have_the_real_one_if_asked_for(source, monkeypatch):
    monkeypatch.setenv("TABPE_REAL_NOISE", "1")
    assert drawn("a", source) != drawn("a", source)


def test_choices_and_seeds_repeat_too():
    found = []
    for _ in range(2):
        with noise_of("a"):
            choices = [ExactNoise().choose(SCORES, 1.0) for _ in range(5)]
            found.append((choices, [secrets.randbits(63) for _ in range(5)]))
    assert found[0] == found[1]
    assert len(set(found[0][0])) > 1
    assert len(set(found[0][1])) == 5
    assert all(0 <= seed < 2**63 for seed in found[0][1])


@each_source
def test_what_is_refused_stays_refused(source):
    with noise_of("a"), pytest.raises(ParameterError, match="sigma="):
        source.draw(3, 0.0)


def test_a_sigma_that_is_too_large_stays_refused():
    with noise_of("a"), pytest.raises(ParameterError, match="sigma="):
        ExactNoise().draw(3, 2.0**49)
