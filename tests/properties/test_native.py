"""The native votes: every kernel, on every instruction set, gives the answer of the reference."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awkward import NUMBERS, Question, examples, questions, table, with_copies
from tabpe import native
from tabpe.backends import nearest
from tabpe.backends import nearest as reference
from tabpe.backends.local import Segment, count_votes
from tabpe.backends.nearest import NativeIndex, NumpyIndex
from tabpe.encoding import Records

search = native.search
pytestmark = pytest.mark.skipif(search is None, reason="the native votes are not installed")

KERNELS = ("prune", "filter", "dense", "holes", "automatic")
VARIANTS = list(itertools.product(KERNELS, search.instruction_sets())) if search else []


def expected(question):
    with np.errstate(over="ignore"):
        return NumpyIndex(question.candidates, question.weight).find_nearest(
            question.rows, question.k
        )


def answers(question, variant, jobs=1, cuts=()):
    """The answer of one kernel, with the rows in one piece or in several."""
    index = nearest.build_index(question.candidates, question.weight).index
    asked = NativeIndex(index, len(question.candidates), jobs, *variant)
    pieces = np.split(np.arange(len(question.rows)), sorted(cuts))
    found = [asked.find_nearest(question.rows.take(piece), question.k) for piece in pieces]
    return np.concatenate(found)


def wrong(question, jobs=(1,), cuts=()):
    """The kernels whose answers are not the reference's."""
    right = expected(question)
    return [
        (*variant, threads)
        for variant, threads in itertools.product(VARIANTS, jobs)
        if not np.array_equal(answers(question, variant, threads, cuts), right)
    ]


@pytest.mark.parametrize("kind", NUMBERS)
@given(data=st.data())
@examples(50)
def test_every_kernel_gives_the_answer_of_the_reference(kind, data):
    question = data.draw(questions(kind))
    cuts = data.draw(st.lists(st.integers(0, len(question.rows)), max_size=4), label="cuts")
    assert wrong(question, cuts=cuts) == []


@pytest.mark.parametrize("kinds", [["uniform"], ["coarse grid"], ["ulps apart", "one value"]])
@pytest.mark.parametrize(
    ("numeric", "categorical", "categories"), [(6, 0, 1), (3, 5, 4), (0, 9, 300), (40, 2, 2)]
)
def test_the_number_of_threads_changes_nothing(kinds, numeric, categorical, categories):
    """With so many rows that each thread gets some, and that `automatic` tries the kernels."""
    rng = np.random.default_rng(numeric)
    families = (kinds * 40)[:numeric]
    rows, candidates = (table(rng, n, families, categorical, categories) for n in (2300, 90))
    question = Question(rows, with_copies(rng, candidates, rows, 0.2), 1 / 3, 3)
    assert wrong(question, jobs=(1, 2, 3, 50)) == []


@pytest.mark.parametrize("kind", ["uniform", "coarse grid", "one value", "far from zero"])
@pytest.mark.parametrize(("numeric", "categorical"), [(2, 0), (3, 4), (0, 6)])
def test_a_deep_tree_gives_the_answer_of_the_reference(kind, numeric, categorical):
    """More than 4096 candidates make three levels; the last tile and node are not full."""
    rng = np.random.default_rng(0)
    rows, candidates = (table(rng, n, [kind] * numeric, categorical, 40) for n in (100, 4500))
    rows = with_copies(rng, rows, candidates, 0.2)
    assert wrong(Question(rows, candidates, 1 / 3, 1)) == []
    assert wrong(Question(rows, candidates, 1 / 3, 16)) == []


@pytest.mark.parametrize("size", [1, 15, 16, 17, 31, 32, 33, 255, 256, 257])
def test_tiles_that_are_not_full_have_nobody_in_their_empty_places(size):
    """Zeros are what lies in an empty place: rows near zero would go there."""
    rng = np.random.default_rng(size)
    candidates = Records(
        rng.random((size, 2)).astype(np.float32) + 3, np.zeros((size, 1), np.uint8)
    )
    rows = Records(rng.random((40, 2)).astype(np.float32), np.full((40, 1), 255, np.uint8))
    assert wrong(Question(rows, candidates, 1 / 3, min(size, 16))) == []


@pytest.mark.parametrize("categorical", [253, 254, 255, 256, 257, 260, 515])
def test_categorical_columns_are_counted_right_or_refused(categorical):
    """`filter` counts differences in bytes, which must not wrap around."""
    rng = np.random.default_rng(categorical)
    codes = np.zeros((60, categorical), np.uint8)
    for place, row in enumerate(codes):
        row[: min(categorical, 200 + place)] = 1
    candidates = Records(rng.random((60, 1)).astype(np.float32), rng.permutation(codes))
    rows = Records(rng.random((30, 1)).astype(np.float32), np.zeros((30, categorical), np.uint8))
    question = Question(rows, candidates, 1 / 3, 2)
    able = [one for one in VARIANTS if one[0] != "filter" or categorical <= 254]
    for variant in able:
        assert np.array_equal(answers(question, variant), expected(question)), variant
    for variant in set(VARIANTS) - set(able):
        with pytest.raises(ValueError, match="at most 254 categorical columns"):
            answers(question, variant)


@pytest.mark.parametrize(("ours", "theirs"), [(300, 256), (256, 300), (70_000, 200), (2**32, 256)])
def test_codes_that_agree_in_their_lowest_byte_only_are_told_apart(ours, theirs):
    rng = np.random.default_rng(0)
    kind = np.min_scalar_type(max(ours, theirs) - 1)
    rows, candidates = (
        Records(np.zeros((size, 1), np.float32), rng.integers(0, below, (size, 5)).astype(kind))
        for size, below in ((80, ours), (60, theirs))
    )
    low = rng.permutation(candidates.codes.ravel())[: rows.codes.size].reshape(-1, 5)
    rows.codes[: len(low)] = low + np.array(ours - 256, kind) // 256 * 256
    assert wrong(Question(rows, candidates, 1 / 3, 3)) == []


@given(question=questions(most_rows=40, most_candidates=80))
@examples(200)
def test_the_nearest_is_the_nearest_in_float64_but_for_rounding(question):
    """The reference is not its own judge: direct differences in double precision are."""
    rows, candidates = (part.numbers.astype(float) for part in (question.rows, question.candidates))
    differing = question.rows.codes[:, None] != question.candidates.codes[None]
    far = ((rows[:, None] - candidates[None]) ** 2).sum(axis=2)
    far += float(np.float32(question.weight)) * differing.sum(axis=2)
    columns = rows.shape[1] + differing.shape[2] + 8
    rounding = 2 * columns * 2.0**-24
    least = np.sort(far, axis=1)[:, : question.k]
    limit = least * (1 + rounding) + columns * 2.0**-148
    for variant in VARIANTS:
        chosen = np.take_along_axis(far, answers(question, variant), axis=1)
        overflowed = chosen > 3e38
        assert ((chosen <= limit) | overflowed).all(), variant


@given(question=questions(most_rows=400))
@examples(200)
def test_an_order_has_every_row_once(question):
    order = search.spatial_order(*nearest._convert_arrays(question.rows), question.weight)
    assert np.sort(order).tolist() == list(range(len(question.rows)))


@given(question=questions(most_rows=400))
@examples(200)
def test_the_first_equal_row_is_the_lowest_that_is_equal_bit_by_bit(question):
    first = nearest.find_first_equals(question.rows)
    assert first.tolist() == reference.find_first_equals_numpy(question.rows).tolist()
    seen = {}
    bits = [
        (numbers.tobytes(), codes.tobytes())
        for numbers, codes in zip(question.rows.numbers, question.rows.codes, strict=True)
    ]
    assert first.tolist() == [seen.setdefault(row, place) for place, row in enumerate(bits)]


def multiset(rows, weights=None):
    counts = {}
    weights = np.ones(len(rows), int) if weights is None else weights
    for numbers, codes, times in zip(rows.numbers, rows.codes, weights, strict=True):
        row = numbers.tobytes(), codes.tobytes()
        counts[row] = counts.get(row, 0) + int(times)
    return counts


@given(question=questions(most_rows=400), share=st.sampled_from([0.0, 0.9, 2.0]))
@examples(200)
def test_preparing_rows_keeps_each_as_often_as_it_was(question, share):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "MERGED_SHARE", share)
        segment = Segment(0, question.rows).prepare_segment(question.weight)
    assert multiset(segment.rows, segment.weights) == multiset(question.rows)
    assert segment.size == len(question.rows)


def class_votes(segments, candidates, weight, jobs=1):
    """The votes of a single class."""
    (votes,) = count_votes([candidates], segments, classes=1, category_weight=weight, jobs=jobs)
    return votes


def counted(question):
    """Votes by the reference; it gives those of equal candidates to the first by itself."""
    winners = expected(question)[:, 0]
    return np.bincount(winners, minlength=len(question.candidates))


@given(question=questions(), share=st.sampled_from([0.0, 2.0]), jobs=st.integers(1, 3))
@examples(200)
def test_votes_are_those_of_the_reference_merged_or_not(question, share, jobs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearest, "MERGED_SHARE", share)
        segment = Segment(0, question.rows).prepare_segment(question.weight)
    votes = class_votes([segment], question.candidates, question.weight, jobs=jobs)
    assert votes.dtype == np.int64
    assert votes.tolist() == counted(question).tolist()


@given(question=questions(), data=st.data())
@examples(100)
def test_votes_add_up_over_segments(question, data):
    cuts = data.draw(st.lists(st.integers(0, len(question.rows)), max_size=4), label="cuts")
    pieces = np.split(np.arange(len(question.rows)), sorted(cuts))
    merged = [
        Segment(0, question.rows.take(piece)).prepare_segment(question.weight)
        for piece in pieces[::2]
    ]
    plain = [Segment(0, question.rows.take(piece)) for piece in pieces[1::2]]
    votes = class_votes([*merged, *plain], question.candidates, question.weight)
    assert votes.tolist() == counted(question).tolist()


@given(question=questions())
@examples(100)
def test_votes_of_equal_candidates_go_to_the_first(question):
    twice = Records.concat([question.candidates, question.candidates])
    votes = class_votes([Segment(0, question.rows)], twice, question.weight)
    first = reference.find_first_equals_numpy(twice)
    assert votes[first != np.arange(len(twice))].sum() == 0
    assert votes.sum() == len(question.rows)
