"""`Encoder`: a table to records and classes, and back."""

import dataclasses

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tabpe.encoding import Encoder, Records
from tabpe.errors import DataError
from tabpe.io import open_table, read_table
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

AGE = Integer("age", 0, 100)
ILL = Boolean("ill")
WARD = Categorical("ward", ("a", "b", "c"))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def on_grid(low, decimals):
    return st.integers(0, 10**4).map(lambda steps: round(low + steps / 10**decimals, decimals))


@st.composite
def number_columns(draw, name):
    """Draw a numeric column whose values float32 tells apart, and a strategy for its cells."""
    if draw(st.booleans()):
        low = draw(st.integers(-(2**40), 2**40))
        high = low + draw(st.integers(0, 2**20))
        return Integer(name, low, high), st.integers(low, high)
    decimals = draw(st.integers(0, 4))
    low = round(draw(st.floats(-1e6, 1e6)), decimals)
    high = draw(on_grid(low, decimals))
    column = Float(name, low, high, decimals)
    steps = st.integers(0, column.steps)
    return column, steps.map(lambda step: round(low + step / 10**decimals, decimals))


@st.composite
def listed_columns(draw, name):
    """Draw a column with a list of values, and a strategy for its cells."""
    kind = draw(
        st.sampled_from([texts, st.integers(-(2**63), 2**63 - 1), st.floats(-1e9, 1e9), None])
    )
    if kind is None:
        return Boolean(name), st.booleans()
    values = draw(st.lists(kind, min_size=1, max_size=6, unique=True))
    return Categorical(name, tuple(values)), st.sampled_from(values)


@st.composite
def perhaps_null(draw, column, cells):
    """Draw the same column, or one that may be null."""
    if draw(st.booleans()):
        return column, cells
    return dataclasses.replace(column, nullable=True), st.none() | cells


@st.composite
def tables(draw, numbers=(0, 3), listed=(0, 3)):
    """Draw a schema and a table that lies in it."""
    made = [draw(number_columns(f"n{i}")) for i in range(draw(st.integers(*numbers)))]
    made += [draw(listed_columns(f"c{i}")) for i in range(draw(st.integers(*listed)))]
    assume(made)
    made = [draw(perhaps_null(*one)) for one in draw(st.permutations(made))]
    columns = tuple(column for column, _ in made)
    size = draw(st.integers(1, 6))
    cells = {
        column.name: draw(st.lists(strategy, min_size=size, max_size=size))
        for column, strategy in made
    }
    return draw(labelled(columns)), pa.table(cells)


@st.composite
def labelled(draw, columns):
    column = draw(st.none() | st.sampled_from(columns))
    if isinstance(column, (Integer, Float)):
        if column.steps < 2:
            return Schema(columns)
        steps = draw(st.sets(st.integers(1, column.steps - 1), min_size=1, max_size=3))
        unit = 10**column.decimals
        cuts = sorted({round(column.min + step / unit, column.decimals) for step in steps})
        cuts = [cut for cut in cuts if column.min < cut < column.max]
        return (
            Schema(columns, label=column.name, label_cuts=tuple(cuts)) if cuts else Schema(columns)
        )
    return Schema(columns, label=None if column is None else column.name)


def there_and_back(schema, table):
    encoder = Encoder(schema)
    return encoder.decode(*encoder.encode(table))


@settings(deadline=None, max_examples=80)
@given(tables())
def test_what_is_encoded_is_decoded(drawn):
    schema, table = drawn
    back = there_and_back(schema, table)
    assert back.schema.names == list(schema.names)
    assert back.to_pylist() == table.select(schema.names).to_pylist()


@settings(deadline=None, max_examples=25)
@given(tables(numbers=(1, 3), listed=(0, 0)))
def test_only_numbers_survive(drawn):
    schema, table = drawn
    assert there_and_back(schema, table).to_pylist() == table.select(schema.names).to_pylist()
    assert Encoder(schema).encode(table)[0].codes.shape == (table.num_rows, 0)


@settings(deadline=None, max_examples=25)
@given(tables(numbers=(0, 0), listed=(1, 3)))
def test_only_categories_survive(drawn):
    schema, table = drawn
    assert there_and_back(schema, table).to_pylist() == table.select(schema.names).to_pylist()
    assert Encoder(schema).encode(table)[0].numbers.shape == (table.num_rows, 0)


@settings(deadline=None, max_examples=40)
@given(tables())
def test_records_lie_in_the_space_of_their_class(drawn):
    schema, table = drawn
    encoder = Encoder(schema)
    rows, classes = encoder.encode(table)
    spaces = encoder.spaces
    assert len(spaces) == encoder.class_count == len(schema.class_names)
    assert rows.numbers.dtype == np.float32
    assert rows.codes.dtype == spaces[0].code_type
    assert ((classes >= 0) & (classes < encoder.class_count)).all()
    for row, place in enumerate(classes):
        space = spaces[place]
        numbers, missing = rows.numbers[row], np.isnan(rows.numbers[row])
        assert (missing | (numbers >= space.low.astype(np.float32))).all()
        assert (missing | (numbers <= space.high.astype(np.float32))).all()
        assert (~missing | space.can_miss).all()
        assert (missing | (space.missing < 1)).all()
        assert (rows.codes[row] < space.sizes).all()


@settings(deadline=None, max_examples=40)
@given(tables())
def test_values_on_the_grid_have_the_bits_of_their_projection(drawn):
    schema, table = drawn
    encoder = Encoder(schema)
    rows, classes = encoder.encode(table)
    for place, space in enumerate(encoder.spaces):
        numbers = rows.numbers[classes == place]
        projected = space.project(numbers.astype(np.float64)).astype(np.float32)
        np.testing.assert_array_equal(projected, numbers)


def test_a_class_of_one_step_lies_on_the_grid():
    column = Float("x", 128.312, 128.314, decimals=3)
    encoder = Encoder(Schema((column,), label="x", label_cuts=(128.313,)))
    assert [(float(s.low[0]), float(s.high[0])) for s in encoder.spaces] == [(0, 0), (0.5, 1)]


@st.composite
def numeric_labels(draw):
    """Draw a numeric column with cuts, on a grid or not."""
    kind = draw(st.sampled_from(["integer", "decimals", "float"]))
    low, width = draw(st.integers(-1000, 1000)), draw(st.integers(2, 5000))
    if kind == "integer":
        column = Integer("x", low, low + width)
        cuts = st.integers(low + 1, low + width - 1)
    elif kind == "decimals":
        column = Float("x", low, low + width, decimals=2)
        cuts = st.integers(1, 100 * width - 1).map(lambda step: round(low + step / 100, 2))
    else:
        column = Float("x", low, low + width)
        cuts = st.integers(1, 99).map(lambda share: low + width * share / 100)
    chosen = draw(st.sets(cuts, min_size=1, max_size=4))
    return Schema((column,), label="x", label_cuts=tuple(sorted(chosen)))


@settings(deadline=None, max_examples=150)
@given(numeric_labels(), st.lists(st.floats(-1, 2), max_size=5))
def test_a_candidate_projected_into_its_class_decodes_into_that_class(schema, numbers):
    encoder = Encoder(schema)
    for place, space in enumerate(encoder.spaces):
        candidates = np.array([[0.0], [1.0], space.low, space.high, *([n] for n in numbers)])
        inside = space.project(candidates)
        classes = np.full(len(inside), place)
        table = encoder.decode(Records(inside, np.empty((len(inside), 0), np.uint8)), classes)
        np.testing.assert_array_equal(encoder.encode(table)[1], classes)


def test_the_lower_end_of_a_class_decodes_into_that_class():
    encoder = Encoder(Schema((Float("x", 0, 49),), label="x", label_cuts=(1.0,)))
    low = encoder.spaces[1].low[None, :]
    table = encoder.decode(Records(low, np.empty((1, 0), np.uint8)), np.array([1]))
    assert table["x"].to_pylist() == [1.0]


def test_numbers_are_scaled_by_the_schema_and_clamped():
    rows, _ = Encoder(Schema((AGE,))).encode(pa.table({"age": [0.0, 25, 100, -7, 1e9, np.inf]}))
    assert rows.numbers.dtype == np.float32
    assert rows.numbers.ravel().tolist() == [0, 0.25, 1, 0, 1, 1]


def test_values_between_the_grid_are_moved_onto_it():
    columns = (Integer("a", 0, 10), Float("b", 0, 1, decimals=1))
    table = pa.table({"a": [1.4, 1.6], "b": [0.14, 0.16]})
    assert there_and_back(Schema(columns), table).to_pydict() == {"a": [1, 2], "b": [0.1, 0.2]}


def test_constant_columns_come_back_as_declared():
    columns = (Integer("a", 3, 3), Float("b", 1.5, 1.5), Categorical("c", ("only",)))
    table = pa.table({"a": [3, 9], "b": [1.5, -1.0], "c": ["only", "only"]})
    back = there_and_back(Schema(columns), table)
    assert back.to_pydict() == {"a": [3, 3], "b": [1.5, 1.5], "c": ["only", "only"]}
    rows, _ = Encoder(Schema(columns)).encode(table)
    assert not rows.numbers.any()
    assert Encoder(Schema(columns)).spaces[0].high.tolist() == [0, 0]


def test_a_listed_label_is_the_class_and_no_part_of_the_record():
    encoder = Encoder(Schema((AGE, WARD, ILL), label="ward"))
    rows, classes = encoder.encode(
        pa.table({"ill": [True, False], "age": [0, 100], "ward": ["c", "a"]})
    )
    assert classes.tolist() == [2, 0]
    assert rows.codes.tolist() == [[1], [0]]
    assert [column.name for column in encoder.categorical] == ["ill"]


def test_a_numeric_label_gives_the_class_and_stays_a_number():
    encoder = Encoder(Schema((AGE, ILL), label="age", label_cuts=(20, 60)))
    table = pa.table({"age": [19, 20, 59, 60, 500], "ill": [True] * 5})
    rows, classes = encoder.encode(table)
    assert classes.tolist() == [0, 1, 1, 2, 2]
    assert [column.name for column in encoder.numeric] == ["age"]
    assert encoder.decode(rows, classes)["age"].to_pylist() == [19, 20, 59, 60, 100]


def test_the_class_of_a_numeric_label_is_that_of_its_value_on_the_grid():
    schema = Schema((Float("x", 0, 1, decimals=1),), label="x", label_cuts=(0.5,))
    _, classes = Encoder(schema).encode(pa.table({"x": [0.44, 0.46, 0.54]}))
    assert classes.tolist() == [0, 1, 1]


def test_without_a_label_all_rows_are_of_one_class():
    _, classes = Encoder(Schema((AGE, ILL))).encode(pa.table({"age": [1, 2], "ill": [True, False]}))
    assert classes.tolist() == [0, 0]


def test_more_than_256_categories_are_distinguished():
    column = Categorical("x", tuple(range(300)))
    table = pa.table({"x": [0, 255, 256, 299]})
    for label in (None, "x"):
        assert there_and_back(Schema((column,), label=label), table).equals(table)


def test_columns_that_the_schema_does_not_declare_are_left_out():
    table = pa.table({"id": ["p", "q"], "age": [1, 2]})
    assert there_and_back(Schema((AGE,)), table).to_pydict() == {"age": [1, 2]}


SAME = {
    "arrow": pa.table(
        {"age": [31, 7], "dose": [0.5, 0.1], "ward": ["c", "a"], "ill": [True, False]}
    ),
    "narrow": pa.table(
        {
            "age": pa.array([31, 7], pa.int8()),
            "dose": pa.array([0.5, 0.1], pa.float32()),
            "ward": pa.array(["c", "a"]).dictionary_encode(),
            "ill": pa.array([1, 0], pa.uint8()),
        }
    ),
    "text": pa.table(
        {
            "age": ["31", " 7 "],
            "dose": ["0.50", ".1"],
            "ward": pa.array(["c", "a"], pa.large_string()),
            "ill": ["yes", "no"],
        }
    ),
    "pandas": pd.DataFrame(
        {"age": [31.0, 7.0], "dose": [0.5, 0.1], "ward": ["c", "a"], "ill": [True, False]}
    ),
    "pandas types": pd.DataFrame(
        {
            "age": pd.array([31, 7], dtype="Int16"),
            "dose": np.array([0.5, 0.1], np.float32),
            "ward": pd.Categorical(["c", "a"], categories=["c", "b", "a"]),
            "ill": pd.array([True, False], dtype="boolean"),
        }
    ),
    "pandas objects": pd.DataFrame(
        {"age": [31, 7], "dose": [0.5, 0.1], "ward": ["c", "a"], "ill": [True, False]}, dtype=object
    ),
    "polars": pl.DataFrame(
        {
            "age": pl.Series([31, 7], dtype=pl.UInt8),
            "dose": pl.Series([0.5, 0.1], dtype=pl.Float32),
            "ward": pl.Series(["c", "a"], dtype=pl.Enum(["c", "a"])),
            "ill": [True, False],
        }
    ),
}


@pytest.mark.parametrize("frame", SAME.values(), ids=SAME.keys())
def test_the_same_table_in_another_library_or_type_gives_the_same_bits(frame):
    columns = (AGE, Float("dose", 0, 1, decimals=1), WARD, ILL)
    encoder = Encoder(Schema(columns, label="ill"))
    expected, expected_classes = encoder.encode(SAME["arrow"])
    rows, classes = encoder.encode(open_table(frame)[0])
    assert rows.numbers.tobytes() == expected.numbers.tobytes()
    assert rows.codes.tobytes() == expected.codes.tobytes()
    assert classes.tobytes() == expected_classes.tobytes()


def test_a_missing_column_comes_with_the_closest_name():
    with pytest.raises(DataError, match="no column 'age': did you mean 'ages'"):
        Encoder(Schema((AGE, ILL))).encode(pa.table({"ages": [1], "ill": [True]}))


def test_a_missing_label_is_named():
    with pytest.raises(DataError, match="no column 'ill': known: 'age'"):
        Encoder(Schema((AGE, ILL), label="ill")).encode(pa.table({"age": [1]}))


def test_a_table_separated_by_semicolons_is_recognised(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("age;ill\n31;yes\n")
    with pytest.raises(DataError, match="';' in its name: pass --delimiter"):
        Encoder(Schema((AGE, ILL))).encode(read_table(path))


@pytest.mark.parametrize(
    ("name", "cell"), [("age", "4711x"), ("ward", "4711x"), ("ill", "4711x"), ("label", "4711x")]
)
def test_no_error_of_a_row_shows_its_cells(name, cell):
    schema = Schema((AGE, WARD, ILL, Categorical("label", ("p", "n"))), label="label")
    good = {"age": "31", "ward": "a", "ill": "yes", "label": "p"}
    rows = [good, {**good, name: cell}]
    with pytest.raises(DataError, match=f"column '{name}'.* row 2 ") as caught:
        Encoder(schema, strict=True).encode(pa.Table.from_pylist(rows))
    assert "4711" not in str(caught.value)


def test_encoding_leaves_the_table_as_it_was():
    values = np.array([1.5, -2.0, 40.0])
    table = pa.table({"x": pa.array(values), "y": pa.array([3, 1, 2])})
    Encoder(Schema((Float("x", 0, 10, decimals=1), Integer("y", 0, 5)))).encode(table)
    assert table.to_pydict() == {"x": [1.5, -2.0, 40.0], "y": [3, 1, 2]}
    assert values.tolist() == [1.5, -2.0, 40.0]


def test_the_cells_of_a_row_lie_side_by_side():
    table = pa.table({"x": [0.1, 0.2], "y": [1, 2], "a": [True, False], "b": [False, True]})
    schema = Schema((Float("x", 0, 1), Integer("y", 0, 5), Boolean("a"), Boolean("b")))
    rows, _ = Encoder(schema).encode(table)
    assert rows.numbers.flags.c_contiguous
    assert rows.codes.flags.c_contiguous
