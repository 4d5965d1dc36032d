"""A scale on which numbers lie more evenly: in order, inside, and each row by itself."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tabpe.encoding import RankTransform, Records
from tabpe.errors import TabpeError

# Plain interpolation puts the number before 1 at 1.0000000000000002.
AWKWARD = RankTransform((np.array([0, 0.3, 1.0]),), (np.array([0, 0.21, 1.0]),))
NOTHING_INSIDE = RankTransform((np.array([0, 0.2, 0.8, 1.0]),), (np.array([0, 0.5, 0.5, 1.0]),))


def rows(numbers, kind=np.float64):
    numbers = np.array(numbers, dtype=kind).reshape(len(numbers), -1)
    return Records(numbers, np.zeros((len(numbers), 0), dtype=np.uint8))


def mapped(transform, numbers, kind=np.float64):
    return transform.transform_rows(rows(numbers, kind)).numbers.ravel()


def ends(draw, size, smallest):
    """From 0 to 1, in steps of various widths."""
    widths = draw(st.lists(st.floats(smallest, 1), min_size=size, max_size=size))
    inner = np.cumsum(widths)[:-1] / sum(widths)
    return np.array([0.0, *inner, 1.0])


@st.composite
def transforms(draw, smallest=1e-3):
    size = draw(st.integers(1, 8))
    return RankTransform((ends(draw, size, smallest),), (ends(draw, size, smallest),))


inside = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]))
several = st.lists(inside, min_size=1, max_size=30)


@given(transform=transforms(), numbers=several)
@settings(deadline=None)
def test_the_way_back_ends_where_it_began(transform, numbers):
    there = transform.transform_rows(rows(numbers)).numbers
    assert np.allclose(transform.inverse_transform(there).ravel(), numbers, rtol=0, atol=1e-9)
    here = transform.inverse_transform(np.array(numbers)[:, None])
    back = transform.transform_rows(Records(here, rows(numbers).codes)).numbers.ravel()
    assert np.allclose(back, numbers, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@given(transform=transforms(smallest=1e-9), numbers=several)
@example(transform=AWKWARD, numbers=[np.nextafter(1.0, 0), 1.0])
@example(transform=NOTHING_INSIDE, numbers=[0.2, 0.5, 0.8])
@settings(deadline=None)
def test_numbers_stay_in_order_inside_and_of_their_type(kind, transform, numbers):
    spread = mapped(transform, sorted(numbers), kind)
    assert spread.dtype == kind
    assert ((spread >= 0) & (spread <= 1)).all()
    assert (np.diff(spread) >= 0).all()
    again = transform.inverse_transform(np.sort(spread.astype(np.float64))[:, None]).ravel()
    assert ((again >= 0) & (again <= 1)).all()
    assert (np.diff(again) >= 0).all()


@given(transform=transforms(smallest=1e-9))
@example(transform=AWKWARD)
@settings(deadline=None)
def test_no_number_goes_over_the_end_of_its_piece(transform):
    """Else the next one could come to lie before it."""
    (edges,), (places,) = transform.edges, transform.positions
    last = np.nextafter(edges[1:], 0)
    assert (mapped(transform, last) <= places[1:]).all()
    assert mapped(transform, edges).tolist() == places.tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@given(transform=transforms(), numbers=several, other=inside, copies=st.integers(1, 40))
@settings(deadline=None)
def test_where_a_row_comes_to_lie_depends_on_that_row_alone(
    kind, transform, numbers, other, copies
):
    together = mapped(transform, [*numbers, *[other] * copies], kind)
    alone = [mapped(transform, [number], kind)[0] for number in numbers]
    assert together[: len(numbers)].tolist() == alone


@given(numbers=st.lists(st.floats(-2, 3), min_size=1))
def test_what_was_moved_outside_is_mirrored_inside(numbers):
    straight = RankTransform((np.array([0.0, 1.0]),), (np.array([0.0, 1.0]),))
    found = straight.inverse_transform(np.array(numbers)[:, None]).ravel()
    assert ((found >= 0) & (found <= 1)).all()
    near = [number for number in numbers if -1 <= number <= 2]
    expected = [1 - abs(1 - abs(number)) for number in near]
    assert np.allclose(straight.inverse_transform(np.array(near)[:, None]).ravel(), expected)


def test_columns_are_stretched_each_by_itself_and_codes_stay():
    transform = RankTransform(
        (AWKWARD.edges[0], np.array([0.0, 1.0])), (AWKWARD.positions[0], np.array([0.0, 1.0]))
    )
    given = Records(np.array([[0.3, 0.3], [1.0, 0.7]]), np.array([[3], [4]], dtype=np.uint8))
    found = transform.transform_rows(given)
    assert found.numbers.tolist() == [[0.21, 0.3], [1.0, 0.7]]
    assert found.codes is given.codes


@pytest.mark.parametrize(
    ("edges", "places"),
    [
        ([0.0, 1.0], [0.0, 0.5, 1.0]),
        ([0.0], [0.0]),
        ([0.0, 0.5, 0.5, 1.0], [0.0, 0.2, 0.3, 1.0]),
        ([0.0, 0.6, 0.5, 1.0], [0.0, 0.2, 0.3, 1.0]),
        ([0.0, 0.5, 1.0], [0.0, 1.1, 1.0]),
        ([0.0, 0.5, 1.0], [0.0, np.nan, 1.0]),
        ([0.1, 0.5, 1.0], [0.0, 0.5, 1.0]),
        ([0.0, 0.5, 1.0], [0.0, 0.5, 0.9]),
        ([[0.0, 1.0]], [[0.0, 1.0]]),
    ],
)
def test_ends_that_do_not_rise_from_0_to_1_are_refused(edges, places):
    with pytest.raises(TabpeError, match="edges"):
        RankTransform((np.array(edges),), (np.array(places),))


def test_rows_of_other_columns_are_refused():
    with pytest.raises(ValueError, match="argument"):
        AWKWARD.transform_rows(Records(np.zeros((2, 2)), np.zeros((2, 0), dtype=np.uint8)))
