"""Answers of shards: each counted once, and whole numbers that add up. Readings."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe.backends import Answer, EncodedReading
from tabpe.backends.base import sum_answers
from tabpe.errors import TabpeError


def answer(shard, *counts):
    return Answer(np.array(counts), {shard: b""})


@given(
    counts=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=9),
    data=st.data(),
)
def test_sums_do_not_depend_on_who_is_added_first(counts, data):
    answers = [answer(shard, *cells) for shard, cells in enumerate(counts)]
    order = data.draw(st.permutations(answers))
    middle = data.draw(st.integers(1, len(order)))
    parts = [sum_answers(part) for part in (order[:middle], order[middle:]) if part]
    found = sum_answers(parts)
    assert found.value.tolist() == np.sum(counts, axis=0).tolist()
    assert set(found.digests) == set(range(len(counts)))


def test_a_shard_that_answers_twice_is_not_counted_twice():
    once = answer(0, 1) + answer(1, 2)
    with pytest.raises(TabpeError, match="counted twice"):
        once + answer(1, 2)


def test_other_cells_do_not_add_up():
    for other in (
        answer(1, 1, 2),
        Answer(np.array([0.5]), {1: b""}),
        Answer(3, {1: b""}),
    ):
        with pytest.raises((TabpeError, TypeError, AttributeError)):
            answer(0, 1) + other
    with pytest.raises(TabpeError, match="does not add up"):
        Answer("31", {0: b""}) + Answer("32", {1: b""})


def values(shard, counts):
    return Answer({"ward": counts}, {shard: b""})


def test_values_are_added_up_by_name_and_come_in_order():
    found = values(0, {"lung": 2, "eye": 1}) + values(1, {"heart": 1, "lung": 3})
    assert list(found.value["ward"].items()) == [("eye", 1), ("heart", 1), ("lung", 5)]


def test_values_of_all_shards_add_up():
    both = values(0, {"a": 1, "b": 1}) + values(1, {"b": 1, "c": 1})
    assert both.value == {"ward": {"a": 1, "b": 2, "c": 1}}


def test_readings_are_told_apart_also_in_another_process():
    one, other = EncodedReading(None), EncodedReading(None)
    assert one.number != other.number
    assert pickle.loads(pickle.dumps(one)).number == one.number
