"""The only door to private rows: charge first, noise on every cell, nothing exact outside."""

import threading

import numpy as np
import pytest

import measuring
from tabpe.accounting import Account, FakeNoise, Spend
from tabpe.encoding import Records
from tabpe.errors import BudgetError, ParameterError, TabpeError


class RecordingEngine:
    """Answers with known counts, and remembers what it was asked."""

    def __init__(self, counts=(5, 0, 7), votes=((3, 2), (0, 0, 0), (7,))):
        self.counts, self.cells = np.array(counts), [np.array(part) for part in votes]
        self.calls, self.threads = [], []

    scale = 1

    def count_rows(self, voting_space=None):
        """Return the number of rows."""
        return self.count_classes().sum(keepdims=True)

    def count_classes(self, voting_space=None):
        """Return the rows of each class."""
        self._note("class_counts")
        return self.counts

    def count_votes(self, population, voting_space=None, each=1):
        """Return the votes of each class, whatever the number of them that a row has."""
        self._note("votes")
        self.each = each
        return self.cells

    def _note(self, name):
        self.calls.append(name)
        self.threads.append(threading.get_ident())


class ConstantNoise:
    """Adds the same number to every cell, and remembers how it was drawn."""

    name, private = "constant", False

    def __init__(self, shift=1000):
        self.shift, self.drawn, self.threads = shift, [], []

    def draw(self, size, sigma):
        """Return the same number for every cell."""
        self.drawn.append((size, sigma))
        self.threads.append(threading.get_ident())
        return np.full(size, self.shift)


def population(*sizes):
    return [Records(np.zeros((n, 1)), np.zeros((n, 1), dtype=np.uint8)) for n in sizes]


def agreed(name, sigma=4.0, times=None):
    account = Account()
    account.authorize(Spend(name, sigma, TIMES.get(name, 1) if times is None else times))
    return account


SOFT = "votes, round 3"
TIMES = {SOFT: 3}
ASKING = {
    SOFT: lambda engine, account, noise: measuring.measure_votes(
        engine, population(2, 3, 1), account, noise, votes_per_row=3, name=SOFT
    ),
    "votes": lambda engine, account, noise: measuring.measure_votes(
        engine, population(2, 3, 1), account, noise
    ),
    "class counts": lambda engine, account, noise: measuring.measure_class_counts(
        engine, 3, account, noise
    ),
    "row count": measuring.measure_row_count,
}
each_measurement = pytest.mark.parametrize("name", ASKING)


@each_measurement
def test_nothing_is_read_or_drawn_when_the_account_refuses(name):
    engine, noise = RecordingEngine(), ConstantNoise()
    with pytest.raises(BudgetError):
        ASKING[name](engine, Account(), noise)
    assert engine.calls == []
    assert noise.drawn == []


@each_measurement
def test_nothing_more_is_read_once_the_item_is_used_up(name):
    engine, account = RecordingEngine(), agreed(name)
    ASKING[name](engine, account, ConstantNoise())
    with pytest.raises(BudgetError, match="used up"):
        ASKING[name](engine, account, ConstantNoise())
    assert len(engine.calls) == 1


@each_measurement
def test_the_account_is_charged_before_the_rows_are_read(name):
    account = agreed(name)

    class Engine(RecordingEngine):
        def _note(self, asked):
            assert account.spent == account.authorized
            super()._note(asked)

    ASKING[name](Engine(), account, ConstantNoise())


@each_measurement
def test_a_failed_measurement_stays_charged(name):
    account = agreed(name)

    class Broken(RecordingEngine):
        def _note(self, asked):
            raise RuntimeError("disk gone")

    with pytest.raises(RuntimeError, match="disk gone"):
        ASKING[name](Broken(), account, ConstantNoise())
    assert account.spent == account.authorized


@each_measurement
def test_a_failure_of_the_noise_releases_nothing(name):
    class Broken(ConstantNoise):
        def draw(self, size, sigma):
            raise OSError("no randomness")

    with pytest.raises(OSError, match="no randomness"):
        ASKING[name](RecordingEngine(), agreed(name), Broken())


@each_measurement
def test_the_item_on_the_spends_is_what_was_charged_at_the_agreed_sigma(name):
    account = agreed(name, 7.5, times=4)
    measured = ASKING[name](RecordingEngine(), account, ConstantNoise())
    assert measured.item == Spend(name, sigma=7.5, times=TIMES.get(name, 1))
    assert account.spent == (measured.item,)


@pytest.mark.parametrize(
    ("name", "cells"), [(SOFT, 6), ("votes", 6), ("class counts", 3), ("row count", 1)]
)
def test_noise_of_the_charged_sigma_is_drawn_for_every_cell_in_one_go(name, cells):
    noise = ConstantNoise()
    ASKING[name](RecordingEngine(), agreed(name, 7.5), noise)
    assert noise.drawn == [(cells, 7.5)]


@each_measurement
def test_noise_is_drawn_in_another_thread(name):
    engine, noise = RecordingEngine(), ConstantNoise()
    ASKING[name](engine, agreed(name), noise)
    assert engine.threads == [threading.get_ident()]
    assert noise.threads != engine.threads


@each_measurement
def test_no_cell_leaves_without_its_noise(name):
    measured = ASKING[name](RecordingEngine(), agreed(name), ConstantNoise(10**6))
    assert all((values >= 10**6).all() for values in measured.values)


def test_votes_come_back_class_by_class():
    measured = ASKING["votes"](RecordingEngine(), agreed("votes"), FakeNoise(strength=0))
    assert [values.tolist() for values in measured.values] == [[3, 2], [0, 0, 0], [7]]


def test_votes_keep_classes_without_candidates():
    engine = RecordingEngine(votes=((), (4,), ()))
    measured = measuring.measure_votes(
        engine, population(0, 1, 0), agreed("votes"), FakeNoise(strength=0)
    )
    assert [values.tolist() for values in measured.values] == [[], [4], []]


@pytest.mark.parametrize("each", [1, 5])
def test_votes_for_nobody_are_still_charged(each):
    account = agreed("votes", times=each)
    measured = measuring.measure_votes(
        RecordingEngine(votes=()), [], account, ConstantNoise(), votes_per_row=each
    )
    assert sum(map(len, measured.values)) == 0
    assert account.spent == account.authorized


@pytest.mark.parametrize("each", [1, 2, 5, 16])
def test_a_row_with_several_votes_is_charged_for_each_however_few_candidates_there_are(each):
    account, engine, noise = agreed("votes", times=each), RecordingEngine(), ConstantNoise()
    measured = measuring.measure_votes(
        engine, population(2, 3, 1), account, noise, votes_per_row=each
    )
    assert account.spent == account.authorized == (measured.item,)
    assert engine.each == each
    assert noise.drawn == [(6, 4.0)]


def test_nothing_is_read_unless_every_vote_of_a_row_is_paid_for():
    engine, noise = RecordingEngine(), ConstantNoise()
    with pytest.raises(BudgetError, match="used up"):
        measuring.measure_votes(
            engine, population(2, 3, 1), agreed("votes", times=3), noise, votes_per_row=4
        )
    assert (engine.calls, noise.drawn) == ([], [])


@pytest.mark.parametrize("each", [0, -1, 17, 2.0, True])
def test_a_number_of_votes_that_no_row_can_have_is_refused_before_it_is_charged(each):
    account, engine = agreed("votes", times=20), RecordingEngine()
    with pytest.raises(ParameterError, match="votes_per_row="):
        measuring.measure_votes(
            engine, population(2, 3, 1), account, ConstantNoise(), votes_per_row=each
        )
    assert (account.spent, engine.calls) == ((), [])


def test_the_row_count_is_that_of_all_classes():
    measured = ASKING["row count"](RecordingEngine(), agreed("row count"), FakeNoise(strength=0))
    assert measured.values[0].tolist() == [12]


def test_the_exact_counts_of_the_engine_are_not_changed_in_place():
    engine = RecordingEngine()
    ASKING["class counts"](engine, agreed("class counts"), ConstantNoise())
    assert engine.counts.tolist() == [5, 0, 7]


@pytest.mark.parametrize(
    ("name", "drawn"),
    [("votes", 1), ("votes", 5), (SOFT, 1), (SOFT, 18), ("class counts", 1), ("row count", 2)],
)
def test_noise_of_another_size_than_the_answer_is_refused(name, drawn):
    """One draw for many cells leaves their differences exact; many for one release it again."""

    class Lazy(ConstantNoise):
        def draw(self, size, sigma):
            return np.full(drawn, self.shift)

    with pytest.raises((TabpeError, ValueError)):
        ASKING[name](RecordingEngine(), agreed(name), Lazy())


@pytest.mark.parametrize("name", ["votes", SOFT, "class counts"])
def test_an_engine_that_counts_one_number_into_every_cell_is_refused(name):
    """Such a number moves all cells at once when a row comes or goes."""
    engine = RecordingEngine(counts=(7919,), votes=((7919,),))
    with pytest.raises((TabpeError, ValueError)) as caught:
        ASKING[name](engine, agreed(name), ConstantNoise())
    assert "7919" not in str(caught.value)
