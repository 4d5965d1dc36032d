"""Answers of shards: each counted once, and whole numbers that add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe.backends.queries import (
    EncodedReading,
    MarginalQuery,
    RawColumnQuery,
    ShardAnswer,
    ShardDigests,
    sum_answers,
)
from tabpe.errors import DataError, TabpeError

HELD = MarginalQuery(EncodedReading(0, None, 1 / 3), (), keeps_rows=True)


def answer(shard, *counts, mark=b""):
    return ShardAnswer(np.array(counts), {shard: mark})


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


@pytest.mark.parametrize("shards", [[0, 1], [0, 1, 2, 3], [0, 1, 3]])
def test_an_answer_in_which_not_every_shard_is_counted_is_refused(shards):
    found = sum_answers(answer(shard, 1) for shard in shards)
    with pytest.raises(TabpeError, match="not each of them was counted once"):
        ShardDigests(3).check_answer(RawColumnQuery("row_count"), found)


def test_a_shard_that_has_other_rows_than_before_is_refused():
    marks = ShardDigests(2)
    marks.check_answer(HELD, answer(0, 5, mark=b"5") + answer(1, 7, mark=b"7"))
    marks.check_answer(RawColumnQuery("row_count"), answer(0, 5) + answer(1, 7))
    marks.check_answer(HELD, answer(1, 7, mark=b"7") + answer(0, 5, mark=b"5"))
    with pytest.raises(DataError, match="the table changed") as caught:
        marks.check_answer(HELD, answer(0, 5, mark=b"5") + answer(1, 8, mark=b"8"))
    assert not any(digit in str(caught.value) for digit in "578")


def test_other_cells_do_not_add_up():
    for other in (
        answer(1, 1, 2),
        ShardAnswer(np.array([0.5]), {1: b""}),
        ShardAnswer(3, {1: b""}),
    ):
        with pytest.raises((TabpeError, TypeError, AttributeError)):
            answer(0, 1) + other
    with pytest.raises(TabpeError, match="does not add up"):
        ShardAnswer("31", {0: b""}) + ShardAnswer("32", {1: b""})


def values(shard, counts):
    return ShardAnswer({"ward": counts}, {shard: b""})


def test_values_are_added_up_by_name_and_come_in_order():
    found = values(0, {"lung": 2, "eye": 1}) + values(1, {"heart": 1, "lung": 3})
    assert list(found.value["ward"].items()) == [("eye", 1), ("heart", 1), ("lung", 5)]


def test_values_of_all_shards_add_up():
    both = values(0, {"a": 1, "b": 1}) + values(1, {"b": 1, "c": 1})
    assert both.value == {"ward": {"a": 1, "b": 2, "c": 1}}
