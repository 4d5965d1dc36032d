"""Several columns as one number a row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.evaluation.table_arrays import IntegerCodes, combine_codes

rows = st.integers(1, 70).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(0, 2), min_size=columns, max_size=columns), min_size=1, max_size=20
    )
)


@settings(max_examples=100, deadline=None)
@given(rows, st.sampled_from([3, 1000, 2**40]))
def test_rows_share_a_number_if_and_only_if_they_are_equal(cells, base):
    columns = [IntegerCodes(np.array(column), base) for column in zip(*cells, strict=True)]
    numbers = combine_codes(columns)
    assert (numbers.values >= 0).all()
    assert numbers.values.max() < numbers.base
    pairs = {(tuple(row), int(number)) for row, number in zip(cells, numbers.values, strict=True)}
    assert len(pairs) == len({row for row, _ in pairs}) == len({number for _, number in pairs})


def test_bases_beyond_a_machine_word_are_numbered_anew():
    high = IntegerCodes(np.array([0, 2**40 - 1, 0, 5]), 2**40)
    low = IntegerCodes(np.array([3, 3, 0, 3]), 2**22 + 1)
    assert len(set(combine_codes([high, low, high, low]).values.tolist())) == 4


@pytest.mark.parametrize("cells", [[np.nan, 1.0, np.nan], ["b", "a", "b"], [-1, 7, -1]])
def test_distinct_cells_are_numbered(cells):
    digits = IntegerCodes.from_distinct(np.array(cells))
    assert digits.base == 2
    assert digits.values[0] == digits.values[2] != digits.values[1]
