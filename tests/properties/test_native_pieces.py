"""Pieces and piecewise linear maps: compiled or in numpy, the same bits."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from awkward import examples
from tabpe import native
from tabpe.encoding.pieces import find_pieces, map_by_pieces

pytestmark = pytest.mark.skipif(native.search is None, reason="the native votes are not installed")

ENDS = {
    "even": lambda rng, count: np.linspace(0, 1, count),
    "uneven": lambda rng, count: np.sort(rng.random(count)),
    "repeated": lambda rng, count: np.sort(rng.choice([0.0, 0.25, 0.5, 1.0], count)),
    "close": lambda rng, count: 1 - 2.0**-53 * np.arange(count)[::-1],
    "denormal": lambda rng, count: 2.0**-1074 * np.arange(count),
}


@st.composite
def columns(draw):
    """Rising ends and images, and numbers on, between and beyond the ends, some of them missing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    count = draw(st.integers(2, 70))
    ends, images = (ENDS[draw(st.sampled_from(list(ENDS)))](rng, count) for _ in range(2))
    near = np.concatenate([ends, np.nextafter(ends, -1), np.nextafter(ends, 2)])
    others = [rng.uniform(-0.2, 1.2, 30), [np.nan, np.inf, -np.inf, 0.0, -0.0]]
    numbers = rng.permutation(np.concatenate([near, *others]))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    table = np.zeros((len(numbers), draw(st.sampled_from([1, 3]))), dtype=dtype)
    table[:, -1] = numbers
    return table[:, -1], ends, images


def in_numpy(function, *arguments):
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        patch.setattr(native, "search", None)
        return function(*arguments)


def assert_same(found, right):
    assert (found.dtype, found.shape) == (right.dtype, right.shape)
    missing = np.isnan(right)
    assert np.array_equal(np.isnan(found), missing)
    assert found[~missing].tobytes() == right[~missing].tobytes()


@given(column=columns())
@examples(100)
def test_pieces_are_those_of_numpy(column):
    numbers, ends, _ = column
    right = np.searchsorted(ends, numbers.astype(np.float64), side="right")
    for found in (find_pieces(numbers, ends), in_numpy(find_pieces, numbers, ends)):
        assert found.dtype == np.int64
        assert found.tolist() == right.tolist()


@given(column=columns())
@examples(100)
def test_images_are_those_of_numpy(column):
    assert_same(map_by_pieces(*column), in_numpy(map_by_pieces, *column))


@given(column=columns())
@examples(100)
def test_images_rise_with_the_numbers_and_stay_within_the_outer_ones(column):
    numbers, ends, images = column
    mapped = map_by_pieces(np.sort(numbers[~np.isnan(numbers)]).astype(np.float64), ends, images)
    assert (np.diff(mapped) >= 0).all()
    assert images[0] <= mapped.min() <= mapped.max() <= images[-1]


@given(column=columns())
@examples(100)
def test_an_image_is_that_of_the_line_between_two_ends(column):
    numbers, ends, images = column
    mapped, values = map_by_pieces(numbers, ends, images), numbers.astype(np.float64)
    line = np.array([interpolate(value, ends, images) for value in values])
    assert_same(mapped, line.astype(numbers.dtype))


def interpolate(value, ends, images):
    """One number at a time, in Python's own floats: each operation is rounded once."""
    if np.isnan(value):
        return value
    piece = sum(float(end) <= value for end in ends)
    if piece in {0, len(ends)} or value == ends[piece - 1]:
        return images[max(piece - 1, 0)]
    (low, high), (first, last) = (
        map(float, ends[piece - 1 : piece + 1]),
        images[piece - 1 : piece + 1],
    )
    with np.errstate(over="ignore"):
        slope = np.float64(last - first) / np.float64(high - low)
        return min(float(slope) * (value - low) + float(first), float(last))


def test_rounding_carries_no_image_above_that_of_the_upper_end():
    """A number one step below the upper end, whose line ends a step too high."""
    low, high, first, last = map(
        float.fromhex,
        (
            "0x1.ba7182ff615bep-3",
            "0x1.ba7182ff615bep-1",
            "0x1.d92e44f113f78p-4",
            "0x1.baeb5c969ed31p-1",
        ),
    )
    below = np.nextafter(high, 0)
    assert (last - first) / (high - low) * (below - low) + first > last
    column = np.array([below]), np.array([low, high]), np.array([first, last])
    for mapped in (map_by_pieces(*column), in_numpy(map_by_pieces, *column)):
        assert mapped.tolist() == [last]


def test_what_is_no_map_is_refused():
    numbers = np.array([0.5])
    for ends, images in [(np.array([0.0, 1.0]), np.array([0.0])), (np.zeros(1), np.zeros(1))]:
        with pytest.raises(ValueError, match="images: expected one for each"):
            native.search.map_by_pieces(numbers, ends, images)


def test_no_numbers_have_no_pieces():
    none, ends = np.empty(0, np.float32), np.array([0.0, 1.0])
    assert find_pieces(none, ends).tolist() == []
    assert map_by_pieces(none, ends, ends).dtype == np.float32
    assert find_pieces(np.array([0.5]), np.empty(0)).tolist() == [0]


def test_numbers_at_odd_addresses_are_mapped_too():
    odd = np.frombuffer(b"x" + np.array([0.25, 0.75]).tobytes(), dtype=np.float64, offset=1)
    assert not odd.flags.aligned
    ends = np.array([0.0, 0.5, 1.0])
    assert find_pieces(odd, ends).tolist() == [1, 2]
    assert map_by_pieces(odd, ends, ends).tolist() == [0.25, 0.75]
