"""The sources of noise: shapes, types, errors. Their distribution is in tests/statistical."""

import inspect
import math

import numpy as np
import pytest

from tabpe._utils import extras
from tabpe.accounting import ExactNoise, FakeNoise, NoiseSource, OpenDPNoise
from tabpe.accounting.noise import SelectionSource
from tabpe.errors import ParameterError, TabpeError

PRIVATE = [ExactNoise, OpenDPNoise]
each_source = pytest.mark.parametrize("source", [*(kind() for kind in PRIVATE), FakeNoise()])
each_private = pytest.mark.parametrize("kind", PRIVATE)


@each_source
def test_all_sources_keep_the_protocol(source):
    assert isinstance(source, NoiseSource)
    assert isinstance(source, SelectionSource)


@each_source
@pytest.mark.parametrize("size", [0, 1, 17])
def test_draws_are_integers_of_the_size_asked_for(source, size):
    drawn = source.draw(size, sigma=3.0)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64


@each_private
@pytest.mark.parametrize("sigma", [0, -1.0, math.nan, math.inf])
def test_noise_without_a_scale_is_refused(kind, sigma):
    with pytest.raises(ParameterError, match="sigma="):
        kind().draw(3, sigma=sigma)


@each_private
def test_a_private_source_takes_nothing_to_seed_it_with(kind):
    assert not inspect.signature(kind).parameters
    assert set(inspect.signature(kind.draw).parameters) == {"self", "size", "sigma"}


@each_private
def test_the_sources_say_whether_they_are_private(kind):
    assert kind().private
    assert not FakeNoise().private


def test_opendp_is_asked_for_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    ExactNoise().draw(3, sigma=2.0)
    with pytest.raises(TabpeError, match=r"noise='opendp' needs opendp: .*'tabpe\[opendp\]'"):
        OpenDPNoise()


def test_fake_noise_repeats_with_its_seed_and_continues_over_calls():
    one, other = FakeNoise(7), FakeNoise(7)
    first = one.draw(20, 5.0)
    assert (first == other.draw(20, 5.0)).all()
    assert (first != one.draw(20, 5.0)).any()
    assert (first != FakeNoise(8).draw(20, 5.0)).any()


def test_fake_noise_follows_its_strength():
    assert not FakeNoise(strength=0).draw(50, sigma=10.0).any()
    assert FakeNoise(strength=2).draw(5000, sigma=10.0).std() == pytest.approx(20, rel=0.1)
