"""What holds for every engine: exact counts, whatever the batches and the order of rows."""

import inspect
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crews import CrewOfBatches
from tabpe.backends import InProcessEngine, LocalEngine, StreamEngine, counting
from tabpe.backends.nearest import NumpyIndex
from tabpe.encoding import Records

OWN = {
    "local": LocalEngine,
    "stream": StreamEngine,
    "stream without spill": partial(StreamEngine, spill=False),
}
CREWS = {f"{shards} shards": partial(CrewOfBatches, shards=shards) for shards in (1, 2, 7)}
KINDS = OWN | CREWS


def merged(rows, _category_weight):
    """Another way to prepare rows: in order, each once, with how often it stood there."""
    whole = np.hstack([rows.numbers, rows.codes])
    _, first, counts = np.unique(whole, axis=0, return_index=True, return_counts=True)
    return rows.take(first), counts.astype(np.int64)


@pytest.fixture(params=["plain", "merged"], autouse=True)
def _preparation(request, monkeypatch):
    if request.param == "merged":
        monkeypatch.setattr(counting, "prepare_rows", merged)


def drawn(rng, size):
    return Records(
        rng.integers(0, 5, (size, 2)).astype(np.float32) / 4,
        rng.integers(0, 3, (size, 2)).astype(np.uint8),
    )


def opening(kind):
    engines = []

    def made(*batches, classes=3, jobs=1):
        engines.append(kind(classes=classes, category_weight=1 / 3, jobs=jobs))
        engines[-1].prepare(batches)
        return engines[-1]

    yield made
    for engine in engines:
        engine.close()


@pytest.fixture(params=KINDS)
def engine_of(request):
    yield from opening(KINDS[request.param])


@pytest.fixture(params=OWN)
def own_engine_of(request):
    """For what holds of engines that take in rows in this process."""
    yield from opening(OWN[request.param])


@pytest.fixture
def private():
    rng = np.random.default_rng(0)
    return drawn(rng, 200), rng.integers(0, 3, 200)


@pytest.fixture
def population():
    rng = np.random.default_rng(1)
    return [drawn(rng, size) for size in (10, 25, 1)]


each_number = pytest.mark.parametrize("each", [1, 2, 3, 4])


def plain(votes):
    return [counts.tolist() for counts in votes]


@pytest.mark.parametrize("kind", [LocalEngine, StreamEngine])
def test_it_has_all_that_an_engine_has(kind):
    for name, expected in inspect.getmembers(InProcessEngine, inspect.isfunction):
        if not name.startswith("_"):
            found = inspect.signature(getattr(kind, name))
            assert list(found.parameters) == list(inspect.signature(expected).parameters)


def test_every_row_votes_once_in_its_own_class(engine_of, private, population):
    engine = engine_of(private)
    votes = engine.votes(population)
    assert [len(counts) for counts in votes] == [10, 25, 1]
    assert [counts.sum() for counts in votes] == np.bincount(private[1]).tolist()
    assert engine.class_counts().tolist() == np.bincount(private[1]).tolist()


@each_number
def test_every_row_votes_for_as_many_candidates_as_it_may(engine_of, private, population, each):
    votes = engine_of(private).votes(population, each)
    different = [len(np.unique(np.hstack([p.numbers, p.codes]), axis=0)) for p in population]
    sizes = np.bincount(private[1])
    assert [counts.sum() for counts in votes] == [
        size * min(each, known) for size, known in zip(sizes, different, strict=True)
    ]
    assert all(counts.max() <= size for counts, size in zip(votes, sizes, strict=True))


def test_one_vote_of_a_row_is_what_it_has_if_nothing_is_said(engine_of, private, population):
    engine = engine_of(private)
    assert plain(engine.votes(population)) == plain(engine.votes(population, 1))


def test_answers_are_exact_integers(engine_of, private, population):
    engine = engine_of(private)
    assert engine.class_counts().dtype == np.int64
    assert {counts.dtype for counts in engine.votes(population)} == {np.dtype(np.int64)}


@each_number
@pytest.mark.parametrize("jobs", [1, 3])
def test_batches_and_threads_do_not_matter(engine_of, private, population, jobs, each):
    rows, labels = private
    cuts = [(rows.take(part), labels[part]) for part in np.array_split(np.arange(200), 7)]
    whole = engine_of(private).votes(population, each)
    assert plain(engine_of(*cuts, jobs=jobs).votes(population, each)) == plain(whole)


@each_number
def test_the_order_of_rows_does_not_matter(engine_of, private, population, each):
    rows, labels = private
    order = np.random.default_rng(2).permutation(200)
    shuffled = rows.take(order), labels[order]
    assert plain(engine_of(shuffled).votes(population, each)) == plain(
        engine_of(private).votes(population, each)
    )


@each_number
def test_duplicate_candidates_give_all_votes_to_the_first(engine_of, private, population, each):
    twice = [Records.concat([part, part]) for part in population]
    once = engine_of(private).votes(population, each)
    doubled = engine_of(private).votes(twice, each)
    for counts, both in zip(once, doubled, strict=True):
        assert both.tolist() == [*counts.tolist(), *[0] * len(counts)]


def test_an_empty_class_votes_for_nobody(engine_of, private, population):
    rows, labels = private
    engine = engine_of((rows.take(labels != 1), labels[labels != 1]))
    assert engine.class_counts()[1] == 0
    assert plain(engine.votes(population))[1] == [0] * 25


def test_a_class_without_candidates_gets_no_votes(engine_of, private, population):
    nobody = population[0].take(np.array([], dtype=int))
    votes = engine_of(private).votes([nobody, *population[1:]])
    assert votes[0].tolist() == []


def test_an_engine_without_rows_counts_nothing(engine_of, population):
    engine = engine_of()
    assert engine.class_counts().tolist() == [0, 0, 0]
    assert not any(counts.any() for counts in engine.votes(population))


def test_a_closed_engine_has_let_go_of_the_rows(own_engine_of, private, population):
    engine = own_engine_of(private)
    engine.close()
    assert engine.class_counts().tolist() == [0, 0, 0]
    assert not any(counts.any() for counts in engine.votes(population))


def test_voting_changes_nothing(engine_of, private, population):
    engine = engine_of(private)
    assert plain(engine.votes(population)) == plain(engine.votes(population))


def test_a_population_for_other_classes_is_refused(own_engine_of, private, population):
    with pytest.raises(ValueError, match="candidates of each class"):
        own_engine_of(private).votes(population[:2])


def test_a_closed_engine_can_be_closed_again(engine_of, private):
    engine = engine_of(private)
    engine.close()
    engine.close()


def test_an_engine_that_never_saw_rows_can_be_closed():
    for kind in KINDS.values():
        kind(classes=1, category_weight=0.5).close()


def test_small_batches_and_large_segments_do_not_matter(
    engine_of, private, population, monkeypatch
):
    rows, labels = private
    expected = plain(engine_of(private).votes(population))
    one_by_one = [(rows.take([place]), labels[[place]]) for place in range(200)]
    for size in (1, 7, 200, 1000):
        monkeypatch.setattr(counting, "ROWS_A_SEGMENT", size)
        assert plain(engine_of(*one_by_one).votes(population)) == expected


@st.composite
def tables(draw):
    """Batches of rows with classes and a population, of any shape; few values, so many ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    numeric, categorical = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    code = draw(st.sampled_from([np.uint8, np.uint16, np.uint32]))
    classes = draw(st.integers(1, 4))

    def records(size):
        return Records(
            rng.integers(0, 4, (size, numeric)).astype(np.float32) / 3,
            rng.integers(0, 3, (size, categorical)).astype(code),
        )

    sizes = draw(st.lists(st.integers(0, 9), max_size=5))
    batches = [(records(size), rng.integers(0, classes, size)) for size in sizes]
    population = [records(draw(st.integers(0, 6))) for _ in range(classes)]
    return batches, population, draw(st.integers(1, 12))


def expected_votes(batches, population, each):
    """The definition, row by row."""
    counts = [[0] * len(candidates) for candidates in population]
    for rows, labels in batches:
        for place, label in enumerate(labels):
            for winner in winners(rows.take(np.array([place])), population[label], each):
                counts[label][winner] += 1
    return counts


def winners(row, candidates, each):
    """Go from the nearest candidate to the farthest, past those that are like one before."""
    if not len(candidates):
        return []
    chosen = {}
    for place in NumpyIndex(candidates, 1 / 3).find_nearest(row, len(candidates))[0]:
        like = (*candidates.numbers[place].tolist(), *candidates.codes[place].tolist())
        chosen.setdefault(like, place)
    return list(chosen.values())[:each]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("prepare", [lambda rows, _: (rows, None), merged])
@given(table=tables(), each=st.integers(1, 5), jobs=st.sampled_from([1, 2]))
@settings(deadline=None, max_examples=60)
def test_votes_are_those_of_the_definition_bit_for_bit(kind, prepare, table, each, jobs):
    batches, population, segment = table
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(counting, "ROWS_A_SEGMENT", segment)
        patched.setattr(counting, "prepare_rows", prepare)
        engine = KINDS[kind](classes=len(population), category_weight=1 / 3, jobs=jobs)
        engine.prepare(batches)
        expected = expected_votes(batches, population, each)
        assert plain(engine.votes(population, each)) == expected
        labels = [int(label) for _, labels in batches for label in labels]
        assert engine.class_counts().tolist() == [
            labels.count(label) for label in range(len(population))
        ]
        engine.close()
