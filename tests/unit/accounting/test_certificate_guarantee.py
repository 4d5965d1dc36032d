"""The guarantee in plain words."""

import math
import re

import pytest

from certificates import DRAFTED, KINDS, USERS, honest


@pytest.mark.parametrize("kind", KINDS)
def test_the_words_never_guarantee_more_than_was_certified(kind):
    certificate = honest(**KINDS[kind])
    first = certificate.guarantee.guaranteed[0]
    factor, delta = re.search(r"a factor of (\S+?),? .*plus (\S+) \(delta\)", first).groups()
    bound = math.exp(float(factor[2:])) if factor.startswith("e^") else float(factor)
    assert bound >= math.exp(certificate.epsilon) * (1 - 1e-9)
    assert float(delta) >= certificate.delta


def test_rows_and_users_are_distinguished():
    rows, users = honest().guarantee, honest(neighbours=USERS).guarantee
    assert "one row is there or not" in rows.guaranteed[0]
    assert "People with several rows" in rows.not_guaranteed[0]
    assert "all rows of one user are replaced" in users.guaranteed[0]
    assert "'patient'" in users.not_guaranteed[0]


def test_fields_from_the_data_are_a_condition_and_are_named():
    words = honest(schema=DRAFTED).guarantee
    assert "given the fields" in words.guaranteed[0]
    assert any("age.min, age.max" in line for line in words.not_guaranteed)


def test_fake_noise_guarantees_nothing():
    words = honest(private=False).guarantee
    assert words.guaranteed == ()
    assert "fake" in words.not_guaranteed[0]


def test_several_releases_add_up():
    assert any("add up" in line for line in honest().guarantee.not_guaranteed)
