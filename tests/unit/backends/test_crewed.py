"""A crew says what one process says, to every question, for rows and for users, cut at random."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import ASKED, ENCODER, SIGHT, UNIT, answers, plain, population, table
from crews import cut_at_random, frames, near_keeper
from tabpe._utils.resources import Resources
from tabpe.backends import LocalBackend
from tabpe.errors import TabpeError


@pytest.mark.parametrize("engine", ["auto", "stream"])
@pytest.mark.parametrize("unit", [None, UNIT], ids=["rows", "users"])
@given(size=st.integers(1, 40), shards=st.integers(1, 6), seed=st.integers(0, 999))
@settings(deadline=None, max_examples=25)
def test_every_question_has_the_answer_of_one_process(engine, unit, size, shards, seed):
    (source,) = frames(table(size, seed))
    resources = Resources.from_options(engine=engine, n_jobs=1)
    alone = LocalBackend(source, unit, resources)
    crew = near_keeper(cut_at_random(source, unit, shards, seed), unit, resources)
    assert (
        alone.build_raw_counter().scale
        == crew.build_raw_counter().scale
        == crew.build_marginal_counter(ENCODER).scale
    )
    for expected, found in zip(answers(alone, seed), answers(crew, seed), strict=True):
        assert plain(found) == plain(expected)


def test_votes_before_rows_were_taken_in_are_refused():
    held = near_keeper(frames(table(9, 0))).encode_table(ENCODER, 1 / 3)
    with pytest.raises(TabpeError, match="not taken in"):
        held.votes(population(0))


def test_no_rows_at_all_are_none_of_every_class():
    nothing = table(3, 0).slice(3)
    held = near_keeper(frames(nothing, nothing)).encode_table(ENCODER, 1 / 3)
    held.prepare(SIGHT)
    assert not held.class_counts().any()
    assert not any(votes.any() for votes in held.votes(population(0)))


def test_rows_are_read_once_for_tables_and_votes():
    (source,) = frames(table(20, 0))
    reads, batches = [], type(source).batches

    class Watched(type(source)):
        def batches(self, names=None):
            reads.append(names)
            return batches(self, names)

    keeper = near_keeper([Watched(source.table, source.library)])
    held = keeper.encode_table(ENCODER, 1 / 3)
    held.build_marginal_counter().counts(ASKED)
    held.build_marginal_counter().class_counts()
    held.prepare(SIGHT)
    held.votes(population(0))
    assert len(reads) == 1
