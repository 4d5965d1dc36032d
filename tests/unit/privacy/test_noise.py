"""The sources of noise: shapes, types, errors. Their distribution is in tests/statistical."""

import inspect
import math

import numpy as np
import pytest

from tabpe.errors import ParameterError
from tabpe.privacy import FakeNoise, NoiseSource, OpenDPNoise


@pytest.mark.parametrize("source", [OpenDPNoise(), FakeNoise()])
def test_both_sources_keep_the_protocol(source):
    assert isinstance(source, NoiseSource)


@pytest.mark.parametrize("source", [OpenDPNoise(), FakeNoise()])
@pytest.mark.parametrize("size", [0, 1, 17])
def test_draws_are_integers_of_the_size_asked_for(source, size):
    drawn = source.draw(size, sigma=3.0)
    assert drawn.shape == (size,)
    assert drawn.dtype == np.int64


@pytest.mark.parametrize("sigma", [0, -1.0, math.nan, math.inf])
def test_noise_without_a_scale_is_refused(sigma):
    with pytest.raises(ParameterError, match="sigma="):
        OpenDPNoise().draw(3, sigma=sigma)


def test_the_private_source_takes_nothing_to_seed_it_with():
    assert not inspect.signature(OpenDPNoise).parameters
    assert set(inspect.signature(OpenDPNoise.draw).parameters) == {"self", "size", "sigma"}


def test_the_sources_say_whether_they_are_private():
    assert OpenDPNoise().private
    assert not FakeNoise().private


def test_fake_noise_repeats_with_its_seed_and_continues_over_calls():
    one, other = FakeNoise(7), FakeNoise(7)
    first = one.draw(20, 5.0)
    assert (first == other.draw(20, 5.0)).all()
    assert (first != one.draw(20, 5.0)).any()
    assert (first != FakeNoise(8).draw(20, 5.0)).any()


def test_fake_noise_follows_its_strength():
    assert not FakeNoise(strength=0).draw(50, sigma=10.0).any()
    assert FakeNoise(strength=2).draw(5000, sigma=10.0).std() == pytest.approx(20, rel=0.1)
