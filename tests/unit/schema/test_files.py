"""Schema files: YAML and JSON in and out."""

import itertools
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabpe.errors import OutputError, SchemaError
from tabpe.schema import Boolean, Categorical, Float, Integer, Schema, Source

NASTY = [
    *("yes", "no", "on", "off", "y", "n", "true", "False", "null", "~", "", " ", " a ", "\t"),
    *("010", "0x1F", "0o7", "1_000", "12:30", "2020-01-01", "1", "-1", "1.5", "1e3", ".inf"),
    *(": #", "# no comment", "- a", "? b", "[c", "{d", "&e", "*f", "!g", "%h", "@i", "`j", "|"),
    *("a\nb", "\n", "a\r\nb", "\r", "'", '"', "'\"", "\\n", "<<", "=", "---", "...", ",", ">"),
    *("é", "中文", "🙂", "\x00", "\x85", "\u2028", "\u2029", "\ufeff", "\x1b", "x" * 300),
]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(NASTY)
names = texts.filter(bool)
sources = st.sampled_from(Source)
whole = st.integers(-(2**53), 2**53)
finite = st.floats(-1e300, 1e300)
value_lists = st.one_of(
    st.lists(kind, min_size=1, max_size=8, unique=True)
    for kind in (texts, st.integers(-(2**63), 2**63 - 1), finite)
)


@st.composite
def columns(draw, name):
    kind = draw(st.sampled_from([Categorical, Integer, Float, Boolean]))
    source = draw(sources)
    if kind is Boolean:
        return Boolean(name, source=source)
    if kind is Categorical:
        values = draw(value_lists)
        other = draw(st.none() | st.sampled_from(values))
        return Categorical(name, tuple(values), other=other, source=source)
    if kind is Integer:
        return Integer(name, *sorted(draw(st.tuples(whole, whole))), source=source)
    decimals = draw(st.none() | st.integers(0, 12))
    bounds = draw(st.tuples(finite, finite))
    if decimals is not None:
        bounds = [round(bound, decimals) for bound in bounds]
    return Float(name, *sorted(bounds), decimals, source=source)


@st.composite
def schemas(draw):
    chosen = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    made = [draw(columns(name)) for name in chosen]
    listed = [c.name for c in made if isinstance(c, (Categorical, Boolean))]
    label = draw(st.none() | st.sampled_from(listed)) if listed else None
    return Schema(tuple(made), label=label)


@pytest.fixture
def schema_file(tmp_path):
    def write(text, name="schema.yaml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


@pytest.mark.parametrize("suffix", [".yaml", ".yml", ".json"])
@settings(deadline=None, max_examples=60)
@given(schema=schemas())
def test_every_schema_survives_its_file(suffix, schema):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"schema{suffix}"
        schema.save(path, comment="first line\n\nsecond: [line")
        loaded = Schema.load(path)
    assert loaded == schema
    assert loaded.digest == schema.digest


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
@pytest.mark.parametrize("text", NASTY, ids=ascii)
def test_a_nasty_text_survives_as_category_and_name(tmp_path, suffix, text):
    schema = Schema((Categorical(text or "name", (text, "usual"), other=text),))
    path = tmp_path / f"schema{suffix}"
    schema.save(path)
    assert Schema.load(path) == schema


@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_the_cuts_of_a_numeric_label_survive(tmp_path, suffix):
    columns = (Float("bmi", 10, 60, decimals=1), Boolean("ill"))
    schema = Schema(columns, label="bmi", label_cuts=(18.5, 25))
    schema.save(tmp_path / f"schema{suffix}")
    assert Schema.load(str(tmp_path / f"schema{suffix}")) == schema


def test_a_schema_written_by_hand_is_read(schema_file):
    path = schema_file(
        """
        # patients of the heart clinic
        label: outcome
        columns:
          - name: age
            type: integer
            min: 0
            max: 120

          - {name: bmi, type: float, min: 10, max: 60.5, decimals: 1}
          - name: ward
            type: categorical
            values: [heart, surgery, 'else']
            other: else
          - name: smoker
            type: boolean
            source: data
          - name: outcome
            type: categorical
            values:
              - yes
              - no
        """
    )
    assert Schema.load(path) == Schema(
        (
            Integer("age", 0, 120),
            Float("bmi", 10, 60.5, decimals=1),
            Categorical("ward", ("heart", "surgery", "else"), other="else"),
            Boolean("smoker", source=Source.DATA),
            Categorical("outcome", ("yes", "no")),
        ),
        label="outcome",
    )


def test_a_schema_file_may_begin_with_a_byte_order_mark(schema_file):
    plain = {"columns": [{"name": "ill", "type": "boolean"}]}
    for name in ("schema.yaml", "schema.json"):
        path = schema_file(b"\xef\xbb\xbf" + json.dumps(plain).encode(), name)
        assert Schema.load(path).names == ("ill",)


@pytest.mark.parametrize(
    ("word", "value"),
    [(word, word) for word in ("yes", "no", "on", "off", "y", "12:30", "2020-01-01", "010")]
    + [("1_000", "1_000"), ("0x1F", "0x1F"), ("'1'", "1"), ("'true'", "true"), ('"~"', "~")]
    + [("7", 7), ("+7", 7), ("-7", -7), ("0", 0)]
    + [("7.", 7.0), ("-.5", -0.5), ("1e3", 1000.0), ("2.5E-1", 0.25)],
)
def test_plain_words_of_yaml_mean_what_a_person_expects(schema_file, word, value):
    path = schema_file(f"columns: [{{name: x, type: categorical, values: [{word}]}}]")
    read = Schema.load(path)["x"].values[0]
    assert (read, type(read)) == (value, type(value))


def test_a_truth_among_the_categories_says_what_to_do(schema_file):
    path = schema_file("columns: [{name: x, type: categorical, values: [true, no]}]")
    with pytest.raises(SchemaError, match="use type boolean, or quote them"):
        Schema.load(path)


def test_an_empty_label_is_no_label(schema_file):
    assert Schema.load(schema_file("label:\ncolumns: [{name: x, type: boolean}]")).label is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("label: ill", "columns: expected a list"),
        ("columns:", "columns: expected a list"),
        ("columns: {age: integer}", "columns: expected a list"),
        ("columns: []", "at least one column"),
        ("columns: [age]", "entry 1 has no name"),
        ("columns: [{name: a, type: boolean}, {type: boolean}]", "entry 2 has no name"),
        ("colums: []", "unknown key 'colums': did you mean 'columns'"),
        ("columns: []\nversion: 1", "unknown key 'version': known: 'label'"),
        ("columns: [{name: x}]", "column 'x': type='': known: 'categorical'"),
        ("columns: [{name: x, type: int}]", "type='int': did you mean 'integer'"),
        ("columns: [{name: x, type: [integer]}]", "column 'x': type="),
        ("columns: [{name: x, type: integer, mn: 1, max: 2}]", "key 'mn': did you mean 'min'"),
        ("columns: [{name: x, type: boolean, min: 1}]", "column 'x': unknown key 'min'"),
        ("columns: [{name: x, type: integer, min: 1}]", "'x': max missing from type integer"),
        ("columns: [{name: x, type: float}]", "'x': min and max missing from type float"),
        ("columns: [{name: x, type: categorical}]", "'x': values missing"),
        ("columns: [{name: x, type: integer, min: '1', max: 2}]", "min='1': expected a whole"),
        ("columns: [{name: x, type: float, min: 0, max: .inf}]", "max=.*expected a"),
        ("columns: [{name: x, type: boolean, source: publik}]", "did you mean 'public'"),
        ("columns: [{name: x, type: boolean, source: }]", "source=None"),
        ("columns: [{name: 5, type: boolean}]", "name=5: expected a text"),
        ("columns: [{name: '', type: boolean}]", "name='': expected a text"),
        ("label: 5\ncolumns: [{name: '5', type: boolean}]", "label=5: .* quote it"),
        ("label: z\ncolumns: [{name: x, type: boolean}]", "no column 'z': known: 'x'"),
        ("label: x\nlabel_cuts: 3\ncolumns: []", "label_cuts=3: expected a list"),
        ("columns: [{name: x, type: boolean}, {name: x, type: boolean}]", "'x' is declared twice"),
    ],
)
def test_what_does_not_fit_is_named(schema_file, text, message):
    with pytest.raises(SchemaError, match=message):
        Schema.load(schema_file(text))


@pytest.mark.parametrize("plain", [None, [], "columns", 3])
def test_plain_values_that_are_no_mapping_are_refused(plain):
    with pytest.raises(SchemaError, match="a schema is a mapping"):
        Schema.from_dict(plain)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("s.yaml", "columns:\n  - name: x\n   type: y\n", "line 3: "),
        ("s.yaml", "columns:\n\t- name: x\n", "line 2: "),
        ("s.yaml", "label: 'open\n", "line 2: "),
        ("s.yaml", "columns: [\n", "line 2: "),
        ("s.yaml", "label: a\n---\nlabel: b\n", "line 2: "),
        ("s.yaml", "\n!!python/object/apply:os.getcwd []\n", "line 2: "),
        ("s.yaml", "label: a\nlabel: b\n", "line 1: key 'label' is given twice"),
        ("s.yaml", "columns:\n- name: x\n  name: y\n", "line 2: key 'name' is given twice"),
        ("s.yaml", "? [a]\n: b\n", "line 1: "),
        ("s.yaml", "label: \x00", "special characters"),
        ("s.yaml", "[" * 10_000, "recursion"),
        ("s.json", '{"label":\n\n', "line 3"),
        ("s.json", '{"label": "a", "label": "b"}', "key 'label' is given twice"),
        ("s.json", "[" * 100_000, "recursion"),
        ("s.json", "", "line 1"),
        ("s.yaml", "label: é".encode("latin-1"), "UTF-8"),
    ],
)
def test_an_unreadable_file_gives_one_line_that_says_where(schema_file, name, text, reason):
    path = schema_file(text, name)
    with pytest.raises(SchemaError) as caught:
        Schema.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert reason in message
    assert len(message.splitlines()) == 1


@pytest.mark.parametrize(("name", "text"), [("s.yaml", "- a"), ("s.yaml", ""), ("s.json", "[1]")])
def test_a_file_that_holds_no_mapping_is_refused(schema_file, name, text):
    with pytest.raises(SchemaError, match="not a schema: expected a mapping with the key columns"):
        Schema.load(schema_file(text, name))


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "absent.yaml"
    with pytest.raises(SchemaError, match=r"absent.yaml: no such file"):
        Schema.load(path)


def test_a_folder_is_no_schema_file(tmp_path):
    path = tmp_path / "folder.yaml"
    path.mkdir()
    with pytest.raises(SchemaError, match=r"folder.yaml: not a regular file"):
        Schema.load(path)


@pytest.mark.parametrize("name", ["schema.txt", "schema", "schema.yaml.gz"])
def test_a_foreign_ending_is_refused_both_ways(tmp_path, name):
    with pytest.raises(SchemaError, match=r"ends in .yaml, .yml, .json"):
        Schema.load(tmp_path / name)
    with pytest.raises(SchemaError, match=r"ends in .yaml, .yml, .json"):
        Schema((Boolean("ill"),)).save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_too_large_for_a_schema_is_not_read(tmp_path):
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(2**22 + 1)
    with pytest.raises(SchemaError, match="larger than 4,194,304 bytes: write JSON"):
        Schema.load(path)


def test_a_missing_folder_is_an_output_error(tmp_path):
    with pytest.raises(OutputError, match=r"schema.yaml: can not write"):
        Schema((Boolean("ill"),)).save(tmp_path / "absent" / "schema.yaml")


def test_yaml_is_written_for_people(tmp_path):
    columns = (Integer("age", 0, 120, source=Source.DATA), Categorical("ward", ("heart", "é")))
    Schema(columns, label="ward").save(tmp_path / "schema.yaml", comment="Check\n\nthis.")
    assert (tmp_path / "schema.yaml").read_text(encoding="utf-8") == (
        "# Check\n"
        "#\n"
        "# this.\n"
        "label: ward\n"
        "columns:\n"
        "- name: age\n"
        "  type: integer\n"
        "  min: 0\n"
        "  max: 120\n"
        "  source: data\n"
        "- name: ward\n"
        "  type: categorical\n"
        "  values: [heart, é]\n"
        "  source: public\n"
    )


ONE = "columns: [{name: x, type: boolean}]"
LISTS = "".join(
    f"- &{new} [{', '.join([f'*{old}'] * 10)}]\n" for old, new in itertools.pairwise("abcdefghi")
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"columns: []\nlabel:\n- &a [x]\n{LISTS}", "line 4: an alias: write the value out"),
        ("columns: &a [*a]", "line 1: an alias"),
        ("a: &a {x: 1}\nb: {!!merge x : 1}", "line 2: a tag"),
        ("label: !!bool abc", "line 1: a tag: write text in quotes"),
        ("label: !!python/object:os.system x", "line 1: a tag"),
        ("label: !x y", "line 1: a tag"),
        ("? [a]\n: 1", "line 1: a key that is not a word"),
        ("? {a: 1}\n: 1", "line 1: a key that is not a word"),
        ("columns: " + "1" * 5000, "digits"),
        ('columns: [{name: "\\ud800", type: boolean}]', "name="),
        ('columns: [{name: x, type: categorical, values: ["\\ud800"]}]', "valid Unicode"),
    ],
)
def test_a_bomb_is_refused_in_one_short_line(tmp_path, text, words):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(SchemaError) as caught:
        Schema.load(path)
    assert words in str(caught.value)
    assert len(str(caught.value).replace(str(path), "")) < 200


def test_an_anchor_that_nobody_uses_does_no_harm(tmp_path):
    (tmp_path / "s.yaml").write_text(f"{ONE.replace('[{', '&all [{')}")
    assert Schema.load(tmp_path / "s.yaml") == Schema((Boolean("x"),))


def test_more_entries_than_a_schema_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tabpe._utils.yaml12.MOST_ENTRIES", 4)
    (tmp_path / "s.yaml").write_text("columns: [a, b, c]")
    with pytest.raises(SchemaError, match="more than 4 entries: write JSON"):
        Schema.load(tmp_path / "s.yaml")


@pytest.mark.parametrize(
    "plain",
    [
        {"label": "a" * 10**6, "columns": [{"name": "x", "type": "boolean"}]},
        {"a" * 10**6: 1},
        {"label": ["a"] * 10**5, "columns": []},
        {"columns": [{"name": "a" * 10**6, "type": "b" * 10**6}]},
        {"columns": [{"name": "x", "type": "boolean", "source": "b" * 10**6}]},
        {"columns": [{"name": "x", "type": "integer", "min": ["b"] * 10**5, "max": 1}]},
        {"columns": [{"name": "x", "type": "categorical", "values": ["b" * 10**6] * 2}]},
    ],
)
def test_a_message_is_short_whatever_the_file_holds(plain):
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(plain)
    assert len(str(caught.value)) < 400


def test_a_wide_schema_takes_no_time():
    columns = [{"name": f"c{place}", "type": "boolean"} for place in range(20_000)]
    assert len(Schema.from_dict({"columns": columns}).names) == 20_000
