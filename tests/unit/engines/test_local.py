"""The local engine: exact counts, whatever the batches and the order of rows."""

import inspect

import numpy as np
import pytest

from tabpe.encode import Records
from tabpe.engines import Engine, LocalEngine


def drawn(rng, size):
    return Records(
        rng.integers(0, 5, (size, 2)).astype(np.float32) / 4,
        rng.integers(0, 3, (size, 2)).astype(np.uint8),
    )


def engine_of(*batches, classes=3):
    engine = LocalEngine(classes=classes, category_weight=1 / 3)
    engine.prepare(batches)
    return engine


@pytest.fixture
def private():
    rng = np.random.default_rng(0)
    return drawn(rng, 200), rng.integers(0, 3, 200)


@pytest.fixture
def population():
    rng = np.random.default_rng(1)
    return [drawn(rng, size) for size in (10, 25, 1)]


def plain(votes):
    return [counts.tolist() for counts in votes]


def test_it_has_all_that_an_engine_has():
    for name, expected in inspect.getmembers(Engine, inspect.isfunction):
        if not name.startswith("_"):
            found = inspect.signature(getattr(LocalEngine, name))
            assert list(found.parameters) == list(inspect.signature(expected).parameters)


def test_every_row_votes_once_in_its_own_class(private, population):
    engine = engine_of(private)
    votes = engine.votes(population)
    assert [len(counts) for counts in votes] == [10, 25, 1]
    assert [counts.sum() for counts in votes] == np.bincount(private[1]).tolist()
    assert engine.class_counts().tolist() == np.bincount(private[1]).tolist()


def test_answers_are_exact_integers(private, population):
    engine = engine_of(private)
    assert engine.class_counts().dtype == np.int64
    assert {counts.dtype for counts in engine.votes(population)} == {np.dtype(np.int64)}


def test_batches_do_not_matter(private, population):
    rows, labels = private
    cuts = [(rows.take(part), labels[part]) for part in np.array_split(np.arange(200), 7)]
    assert plain(engine_of(*cuts).votes(population)) == plain(engine_of(private).votes(population))


def test_the_order_of_rows_does_not_matter(private, population):
    rows, labels = private
    order = np.random.default_rng(2).permutation(200)
    shuffled = rows.take(order), labels[order]
    assert plain(engine_of(shuffled).votes(population)) == plain(
        engine_of(private).votes(population)
    )


def test_duplicate_candidates_give_all_votes_to_the_first(private, population):
    twice = [Records.concat([part, part]) for part in population]
    once = engine_of(private).votes(population)
    doubled = engine_of(private).votes(twice)
    for counts, both in zip(once, doubled, strict=True):
        assert both.tolist() == [*counts.tolist(), *[0] * len(counts)]


def test_an_empty_class_votes_for_nobody(private, population):
    rows, labels = private
    engine = engine_of((rows.take(labels != 1), labels[labels != 1]))
    assert engine.class_counts()[1] == 0
    assert plain(engine.votes(population))[1] == [0] * 25


def test_a_class_without_candidates_gets_no_votes(private, population):
    nobody = population[0].take(np.array([], dtype=int))
    votes = engine_of(private).votes([nobody, *population[1:]])
    assert votes[0].tolist() == []


def test_an_engine_without_rows_counts_nothing(population):
    engine = engine_of()
    assert engine.class_counts().tolist() == [0, 0, 0]
    assert not any(counts.any() for counts in engine.votes(population))


def test_a_closed_engine_has_let_go_of_the_rows(private, population):
    engine = engine_of(private)
    engine.close()
    assert engine.class_counts().tolist() == [0, 0, 0]
    assert not any(counts.any() for counts in engine.votes(population))


def test_voting_changes_nothing(private, population):
    engine = engine_of(private)
    assert plain(engine.votes(population)) == plain(engine.votes(population))


def test_a_population_for_other_classes_is_refused(private, population):
    with pytest.raises(ValueError, match="zip"):
        engine_of(private).votes(population[:2])
