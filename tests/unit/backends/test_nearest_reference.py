"""The nearest candidate, against a slow reference in plain Python."""

import numpy as np
import pytest

from tabpe.backends import nearest as module
from tabpe.backends.nearest import NumpyIndex, build_index
from tabpe.encoding import Records

WEIGHT = 1 / 3


@pytest.fixture(params=[NumpyIndex, build_index])
def nearest(request):
    """The reference, and what is used in its place."""
    return lambda rows, candidates, weight: request.param(candidates, weight).find_nearest(rows)[
        :, 0
    ]


def records(numbers, codes, code_type=np.uint8):
    size = max(len(numbers), len(codes))
    return Records(
        np.array(numbers, dtype=np.float32).reshape(size, -1),
        np.array(codes, dtype=code_type).reshape(size, -1),
    )


def drawn(rng, size, numeric, categorical, values=4, code_type=np.uint8):
    return Records(
        rng.random((size, numeric)).astype(np.float32),
        rng.integers(0, values, (size, categorical)).astype(code_type),
    )


def distance(row, other, weight):
    """The distance of the paper, in float64 and one cell at a time."""
    squares = sum((float(a) - float(b)) ** 2 for a, b in zip(row[0], other[0], strict=True))
    return squares + weight * sum(int(a) != int(b) for a, b in zip(row[1], other[1], strict=True))


def brute_force(rows, candidates, weight):
    """The index and by how much it wins, for each row."""
    pairs = [list(zip(r.numbers, r.codes, strict=True)) for r in (rows, candidates)]
    found = []
    for row in pairs[0]:
        distances = [distance(row, other, weight) for other in pairs[1]]
        first, second = sorted(distances)[:2]
        found.append((distances.index(first), second - first))
    return found


@pytest.mark.parametrize("weight", [1 / 3, 2 / 9, 1.5])
@pytest.mark.parametrize(("numeric", "categorical"), [(3, 2), (6, 0), (1, 7)])
def test_rows_go_to_the_candidate_of_the_slow_reference(nearest, numeric, categorical, weight):
    rng = np.random.default_rng(numeric)
    rows, candidates = (drawn(rng, size, numeric, categorical) for size in (60, 25))
    found = nearest(rows, candidates, weight)
    for place, (expected, gap) in zip(found, brute_force(rows, candidates, weight), strict=True):
        assert place == expected or gap < 1e-5


def test_a_row_that_is_a_candidate_finds_itself(nearest):
    rows = drawn(np.random.default_rng(0), 50, 3, 2)
    assert nearest(rows, rows, WEIGHT).tolist() == list(range(50))


def test_of_equal_candidates_the_lowest_index_wins(nearest):
    candidates = records([[0.9], [0.2], [0.2], [0.2]], [[0], [1], [1], [1]])
    assert nearest(records([[0.21]], [[1]]), candidates, WEIGHT).tolist() == [1]


def test_of_equally_far_candidates_the_lowest_index_wins(nearest):
    candidates = records([[0.75], [0.25]], [[], []])
    rows = records([[0.5]], [[]])
    assert nearest(rows, candidates, WEIGHT).tolist() == [0]
    assert nearest(rows, candidates.take(np.array([1, 0])), WEIGHT).tolist() == [0]


def test_a_category_weighs_as_much_as_agreed(nearest):
    """A number off by 0.6 costs 0.36: more than 1/3, less than 1/2."""
    candidates = records([[0.0], [0.6]], [[1], [0]])
    row = records([[0.0]], [[0]])
    assert nearest(row, candidates, 1 / 3).tolist() == [0]
    assert nearest(row, candidates, 1 / 2).tolist() == [1]


def test_categories_alone_decide_without_numbers(nearest):
    candidates = records([], [[0, 0, 0], [1, 1, 0], [1, 1, 1]])
    assert nearest(records([], [[1, 1, 1], [0, 0, 1]]), candidates, WEIGHT).tolist() == [2, 0]


def test_numbers_alone_decide_without_categories(nearest):
    candidates = records([[0.1], [0.8]], [[], []])
    assert nearest(records([[0.3], [0.7]], [[], []]), candidates, WEIGHT).tolist() == [0, 1]


def test_without_any_column_all_rows_go_to_the_first_candidate(nearest):
    empty = Records(np.empty((4, 0), np.float32), np.empty((4, 0), np.uint8))
    assert nearest(empty, empty, WEIGHT).tolist() == [0, 0, 0, 0]


def test_a_single_candidate_gets_every_row(nearest):
    rng = np.random.default_rng(1)
    assert not nearest(drawn(rng, 30, 2, 2), drawn(rng, 1, 2, 2), WEIGHT).any()


def test_no_rows_find_nothing(nearest):
    rng = np.random.default_rng(1)
    assert nearest(drawn(rng, 0, 2, 2), drawn(rng, 5, 2, 2), WEIGHT).shape == (0,)


def test_categories_beyond_255_are_told_apart(nearest):
    candidates = records([], [[0], [256], [44], [300]], np.uint16)
    rows = records([], [[300], [44], [256], [0]], np.uint16)
    assert nearest(rows, candidates, WEIGHT).tolist() == [3, 2, 1, 0]


def test_more_than_255_differing_categories_are_counted(nearest):
    candidates = records([], [[1] * 256 + [0] * 44, [0] * 299 + [1]])
    assert nearest(records([], [[0] * 300]), candidates, WEIGHT).tolist() == [1]


@pytest.mark.parametrize("cells", [1, 7, 64, 2**30])
def test_the_size_of_a_block_does_not_matter(nearest, monkeypatch, cells):
    rng = np.random.default_rng(3)
    rows, candidates = drawn(rng, 101, 3, 2), drawn(rng, 17, 3, 2)
    expected = nearest(rows, candidates, WEIGHT)
    monkeypatch.setattr(module, "BLOCK_CELLS", cells)
    assert (nearest(rows, candidates, WEIGHT) == expected).all()


def test_candidates_in_float64_are_compared_in_float32(nearest):
    third = Records(np.array([[1 / 3]]), np.empty((1, 0), np.uint8))
    both = Records.concat([records([[1 / 3 + 1e-6]], [[]]), third])
    rows = Records(third.numbers.astype(np.float32), third.codes)
    assert nearest(rows, both, WEIGHT).tolist() == [1]


def test_distances_are_direct_differences_and_not_expanded_products(nearest):
    """Close to 1, `a^2 - 2ab + b^2` in float32 loses the last digits that decide here."""
    candidates = records([[0.9999], [0.99995]], [[], []])
    rows = records([[0.99991], [0.99994]], [[], []])
    assert nearest(rows, candidates, WEIGHT).tolist() == [0, 1]
