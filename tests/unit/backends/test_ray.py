"""What runs on a worker of Ray, without one; the cluster itself is in `tests/cluster`."""

import numpy as np
import pyarrow as pa

from hanging import BrokenQuery
from shard_pools import frames
from tabpe._utils.resources import Resources
from tabpe.backends import Answer
from tabpe.backends.cluster import ShardIndex
from tabpe.backends.queries import RawRowCountQuery
from tabpe.backends.ray import ShardActor

SECRET = "31 years and two months"


def actor(number=0):
    (part,) = frames(pa.table({"age": [1, 2, 3]}))
    return ShardActor(ShardIndex(number, 2), part, (None, Resources.from_options(n_jobs=1)))


def test_an_answer_says_whose_it_is():
    failed, answer = actor(1).answer(RawRowCountQuery())
    assert failed is None
    assert answer.value.tolist() == [3]
    assert set(answer.digests) == {1}


def test_a_failure_is_returned_without_its_words_and_never_raised():
    failed, answer = actor(1).answer(BrokenQuery(SECRET))
    assert answer is None
    assert failed.shard == 1
    assert str(failed.error).startswith("a worker failed: ValueError in backends/")
    assert SECRET not in str(failed.error)


def test_answers_are_added_up_where_shards_are():
    parts = [Answer(np.array([number]), {number: b""}) for number in range(3)]
    failed, total = actor().sum_answers(*parts)
    assert failed is None
    assert total.value.tolist() == [3]
    assert set(total.digests) == {0, 1, 2}


def test_a_shard_that_would_be_counted_twice_is_a_failure():
    part = Answer(np.array([1]), {0: b""})
    failed, total = actor().sum_answers(part, part)
    assert total is None
    assert "counted twice" in str(failed.error)
