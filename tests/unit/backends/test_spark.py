"""How answers of partitions are merged, without Spark; Spark itself is in `tests/spark`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe.backends import Answer
from tabpe.backends.cluster import ShardFailure
from tabpe.backends.spark import merge_answers
from tabpe.errors import TabpeError


def answer(number, *counts):
    return Answer(np.array(counts), {number: b""})


@given(counts=st.lists(st.integers(0, 9), min_size=2, max_size=6), data=st.data())
def test_the_order_in_which_answers_are_merged_does_not_matter(counts, data):
    left = data.draw(st.permutations([answer(place, one) for place, one in enumerate(counts)]))
    while len(left) > 1:
        one = left.pop(data.draw(st.integers(0, len(left) - 1)))
        left[0] = merge_answers(left[0], one)
    assert left[0].value.tolist() == [sum(counts)]
    assert set(left[0].digests) == set(range(len(counts)))


@pytest.mark.parametrize("first", [0, 1])
def test_of_failures_the_one_of_the_first_shard_is_left(first):
    failures = [ShardFailure(number, TabpeError(str(number))) for number in (3, 2)]
    pair = failures if first else failures[::-1]
    assert merge_answers(*pair).shard == 2
    assert merge_answers(answer(0, 1), failures[0]) is failures[0]
    assert merge_answers(failures[0], answer(0, 1)) is failures[0]


def test_what_does_not_add_up_is_a_failure_and_not_raised():
    for one, other in ((answer(0, 1), answer(0, 1)), (answer(0, 1), answer(1, 1, 2))):
        assert isinstance(merge_answers(one, other), ShardFailure)
