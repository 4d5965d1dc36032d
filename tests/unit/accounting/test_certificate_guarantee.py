"""The guarantee in plain words."""

import math
import re

import pytest

from certificates import DRAFTED, KINDS, USERS, honest


@pytest.mark.parametrize("kind", KINDS)
def test_the_words_never_guarantee_more_than_was_certified(kind):
    certificate = honest(**KINDS[kind])
    first = certificate.guarantee.promised[0]
    factor, delta = re.search(r"at most (\S+?),? .*by (\S+) \(delta\)", first).groups()
    bound = math.exp(float(factor[2:])) if factor.startswith("e^") else float(factor)
    assert bound >= math.exp(certificate.epsilon) * (1 - 1e-9)
    assert float(delta) >= certificate.delta


def test_rows_and_users_are_distinguished():
    rows, users = honest().guarantee, honest(neighbours=USERS).guarantee
    assert "one row is there or not" in rows.promised[0]
    assert "People with several rows" in rows.not_promised[0]
    assert "all rows of one user are replaced" in users.promised[0]
    assert "'patient'" in users.not_promised[0]


def test_fields_from_the_data_are_a_condition_and_are_named():
    words = honest(schema=DRAFTED).guarantee
    assert "given the fields" in words.promised[0]
    assert any("age.min, age.max" in line for line in words.not_promised)


def test_fake_noise_guarantees_nothing():
    words = honest(private=False).guarantee
    assert words.promised == ()
    assert "fake" in words.not_promised[0]


def test_several_releases_add_up():
    assert any("adds up" in line for line in honest().guarantee.not_promised)
