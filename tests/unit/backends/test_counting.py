"""Votes of one class: every row once, for the same candidates with and without the extension."""

import numpy as np
import pytest

from tabpe.backends import LocalEngine, native
from tabpe.backends.counting import Segment, count_votes
from tabpe.backends.nearest import _warn_of_numpy
from tabpe.encoding import Records

WEIGHT = 1 / 3
SHAPES = [(0, 4), (3, 0), (3, 2), (20, 1), (1, 12), (0, 0)]


def class_votes(segments, candidates, weight, jobs=1, each=1):
    """The votes of a single class."""
    (votes,) = count_votes(
        [candidates], segments, classes=1, category_weight=weight, jobs=jobs, votes_per_row=each
    )
    return votes


def drawn(size, numeric, categorical, seed=0, grid=7):
    rng = np.random.default_rng(seed)
    return Records(
        rng.integers(0, grid, (size, numeric)).astype(np.float32) / grid,
        rng.integers(0, 3, (size, categorical)).astype(np.uint8),
    )


@pytest.fixture
def without_extension(monkeypatch):
    """Whatever is asked, without the extension."""

    def answer(ask):
        with monkeypatch.context() as patch:
            patch.setattr(native, "search", None)
            return ask()

    yield answer
    _warn_of_numpy.cache_clear()


@pytest.mark.parametrize("each", [1, 4])
@pytest.mark.parametrize(("numeric", "categorical"), SHAPES)
def test_the_votes_are_the_same_without_the_extension(
    without_extension, numeric, categorical, each
):
    rows, candidates = drawn(700, numeric, categorical), drawn(90, numeric, categorical, seed=1)

    def votes():
        segment = Segment(0, rows).prepare_segment(WEIGHT)
        return class_votes([segment], candidates, WEIGHT, jobs=2, each=each).tolist()

    assert votes() == without_extension(votes)


def test_an_engine_counts_the_same_without_the_extension(without_extension):
    rows, labels = drawn(900, 4, 3), np.arange(900) % 4
    population = [drawn(size, 4, 3, seed=size) for size in (50, 1, 0, 300)]

    def votes():
        engine = LocalEngine(classes=4, category_weight=WEIGHT)
        engine.prepare([(rows, labels)])
        return [counts.tolist() for counts in engine.votes(population)]

    assert votes() == without_extension(votes)


def test_every_row_votes_once_whatever_it_stands_for():
    rows, candidates = drawn(50, 2, 1), drawn(9, 2, 1, seed=1)
    plain = class_votes([Segment(0, rows)], candidates, WEIGHT)
    threefold = class_votes([Segment(0, rows, np.full(50, 3))], candidates, WEIGHT)
    assert plain.sum() == 50
    assert threefold.tolist() == (3 * plain).tolist()


def test_of_equal_candidates_the_first_gets_all_votes():
    candidates = drawn(30, 2, 1, seed=1, grid=2)
    votes = class_votes([Segment(0, drawn(200, 2, 1))], candidates, WEIGHT)
    seen = set()
    for place, numbers in enumerate(candidates.numbers):
        candidate = (*numbers.tolist(), *candidates.codes[place].tolist())
        assert candidate not in seen or votes[place] == 0
        seen.add(candidate)
    assert len(seen) < 30
    assert votes.sum() == 200


def test_zeros_of_either_sign_are_equally_far_and_the_first_gets_the_votes():
    no_codes = np.empty((2, 0), np.uint8)
    zeros = np.array([[0.0], [-0.0]])
    rows = Records(np.array([[0.0], [-0.0]], np.float32), no_codes)
    for candidates in (zeros, zeros[::-1]):
        votes = class_votes(
            [Segment(0, rows).prepare_segment(WEIGHT)], Records(candidates, no_codes), WEIGHT
        )
        assert votes.tolist() == [2, 0]


def test_zeros_of_either_sign_are_one_candidate():
    no_codes = np.empty((3, 0), np.uint8)
    candidates = Records(np.array([[-0.0], [0.0], [1.0]]), no_codes)
    rows = Records(np.array([[0.0], [0.1], [-0.0]], np.float32), no_codes)
    segment = Segment(0, rows).prepare_segment(WEIGHT)
    assert class_votes([segment], candidates, WEIGHT, each=2).tolist() == [3, 0, 3]


def test_candidates_that_are_equal_in_float32_are_equal():
    """They keep float64; the votes look at float32."""
    no_codes = np.empty((2, 0), np.uint8)
    candidates = Records(np.array([[1 / 3], [1 / 3 + 1e-12]]), no_codes)
    rows = Records(np.array([[0.3], [0.4]], np.float32), no_codes)
    assert class_votes([Segment(0, rows)], candidates, WEIGHT).tolist() == [2, 0]


def test_no_rows_are_prepared_and_give_no_votes(without_extension):
    def votes():
        return class_votes(
            [Segment(0, drawn(0, 2, 1)).prepare_segment(WEIGHT)], drawn(3, 2, 1), WEIGHT
        ).tolist()

    assert votes() == [0, 0, 0]
    assert without_extension(votes) == [0, 0, 0]


def test_no_segments_and_no_candidates_give_no_votes():
    assert class_votes([], drawn(3, 2, 1), WEIGHT).tolist() == [0, 0, 0]
    assert class_votes([Segment(0, drawn(3, 2, 1))], drawn(0, 2, 1), WEIGHT).tolist() == []
