"""Rows as arrays, and the space in which they lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabpe.encoding import Records, RecordSpace


def records(*rows):
    numbers = np.array([[number] for number, _ in rows])
    return Records(numbers, np.array([[code] for _, code in rows], dtype=np.uint8))


def rows_of(records):
    return list(zip(records.numbers.ravel().tolist(), records.codes.ravel().tolist(), strict=True))


def space(low=(0.0,), high=(1.0,), steps=(0.0,), sizes=()):
    return RecordSpace(
        *(np.array(x, dtype=float) for x in (low, high, steps)), np.array(sizes, int)
    )


THREE = records((0.0, 2), (0.5, 1), (1.0, 0))


def test_records_have_the_length_of_their_rows():
    assert len(THREE) == 3
    assert len(Records(np.empty((4, 0)), np.zeros((4, 1), np.uint8))) == 4


@pytest.mark.parametrize(
    ("which", "places"),
    [(np.array([2, 0]), [2, 0]), (np.array([False, True, False]), [1]), (np.array([], int), [])],
)
def test_rows_are_taken_by_place_or_mask(which, places):
    assert rows_of(THREE.take(which)) == [rows_of(THREE)[place] for place in places]


def test_rows_are_repeated_one_whole_copy_after_the_other():
    assert rows_of(THREE.repeat(2)) == rows_of(THREE) * 2


def test_parts_are_joined_in_order():
    joined = Records.concat([THREE, records((0.25, 7))])
    assert rows_of(joined) == [*rows_of(THREE), (0.25, 7)]
    assert joined.codes.dtype == np.uint8


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        ((), "uint8"),
        ((1,), "uint8"),
        ((2, 256), "uint8"),
        ((257,), "uint16"),
        ((70_000,), "uint32"),
    ],
)
def test_codes_take_the_smallest_type_that_holds_them(sizes, kind):
    assert space(sizes=sizes).code_type == np.dtype(kind)


@pytest.mark.parametrize(
    ("number", "steps", "projected"),
    [(-0.5, 0, 0), (1.5, 0, 1), (0.3, 0, 0.3), (0.3, 4, 0.25), (1.7, 4, 1), (-np.inf, 0, 0)],
)
def test_numbers_are_moved_into_the_box_and_onto_the_grid(number, steps, projected):
    assert space(steps=[steps]).project(np.array([[number]])).item() == projected


def test_a_constant_column_is_projected_to_its_one_value():
    constant = space(high=[0.0])
    assert constant.project(np.array([[0.7], [-3.0]])).ravel().tolist() == [0, 0]


def test_no_numeric_columns_are_fine():
    none = space((), (), (), (2,))
    assert none.project(np.empty((3, 0))).shape == (3, 0)


@given(st.lists(st.floats(-2, 3), min_size=1, max_size=20), st.integers(0, 1000))
def test_projecting_twice_is_projecting_once(numbers, steps):
    box = space(steps=[steps])
    once = box.project(np.array(numbers)[:, None])
    np.testing.assert_array_equal(box.project(once), once)
    assert ((once >= 0) & (once <= 1)).all()


def test_a_narrowed_space_binds_one_column_and_leaves_the_first_space_alone():
    whole = space((0, 0), (1, 1), (0, 0), (3,))
    narrow = whole.narrow_column(1, 0.25, 0.5)
    assert narrow.project(np.array([[0.0, 0.0], [1.0, 1.0]])).tolist() == [[0, 0.25], [1, 0.5]]
    assert whole.project(np.array([[1.0, 1.0]])).tolist() == [[1, 1]]
    assert narrow.sizes.tolist() == [3]
