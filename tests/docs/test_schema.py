"""The page about schemas: its examples are schemas, the same in both languages, and all run."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from output_types import expected_types, in_arrow, in_pandas, in_polars, types_of
from ruled import broken
from tabpe import Boolean, Categorical, Schema, TabPE
from tabpe._utils import yaml12
from tabpe.encoding import Encoder
from tabpe.schema import PartialSchema
from tabpe.schema.columns import SCALES
from tabpe.schema.files import COLUMN_TYPES
from tabpe.schema.temporal import RESOLUTIONS

PAGES = [
    Path(__file__).parents[2] / "docs" / "how-to" / f"{name}.md"
    for name in ("schema", "schema-cells", "schema-rules", "schema-import")
]
TEXT = "\n".join(page.read_text() for page in PAGES)
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, flags=re.DOTALL | re.MULTILINE))


def schemas(text):
    codes = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    return [Schema.from_dict(yaml12.load(code)) for code in codes]


def rows_of(section, table=0):
    """The rows of a table of a section: cells by the words of the first one."""
    (*tables,) = re.findall(r"(?:^\|.*\n)+", SECTIONS[section], flags=re.MULTILINE)
    rows = [line.strip("|\n").split(" | ") for line in tables[table].splitlines()[2:]]
    return {cells[0].strip("` "): cells[1:] for cells in rows}


YAML = schemas(TEXT)


def test_both_languages_say_the_same():
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    names = {}
    exec(code, names)
    assert names["schema"] == YAML[0]


def test_every_type_and_field_is_told():
    rows = {name: cells[0] for name, cells in rows_of("Types").items()}
    assert set(rows) == set(COLUMN_TYPES)
    for name, kind in COLUMN_TYPES.items():
        for field in kind.domain_fields:
            assert f"`{field}`" in rows[name], (name, field)
    assert "`ordered`" in rows["categorical"]
    assert all("`scale`" in rows[name] for name in ("integer", "float"))
    assert {column.type_name for column in YAML[0].columns} == set(COLUMN_TYPES)
    for resolution in RESOLUTIONS:
        assert f"`{resolution}`" in TEXT


def test_a_table_of_every_type_is_synthesised():
    rng = np.random.default_rng(0)
    size = 300
    table = pa.table(
        {
            "born": rng.choice(["1950-01-31", "1990-12-01"], size),
            "admitted": rng.choice(["2023-10-01T12:30", "2024-02-29T23:59+01:00"], size),
            "dinner": rng.choice(["17:00", "19:45"], size),
            "age": rng.integers(0, 100, size),
            "weight": np.round(rng.uniform(40, 120, size), 1),
            "pain": rng.choice(["none", "mild", "severe"], size),
            "ward": rng.choice(["surgery", "eye"], size),
            "smoker": rng.choice(["yes", "no"], size),
            "outcome": rng.choice(["home", "care", "died"], size),
        }
    )
    model = TabPE(epsilon=2.0, delta=1e-6, n_samples=200, random_state=0, verbose=0)
    made = model.fit(table, YAML[0]).sample()
    assert made.schema.names == list(YAML[0].names)
    assert types_of(made) == expected_types(YAML[0], "pyarrow")
    assert made["patient"].to_pylist()[:2] == ["P1", "P2"]


def test_rules_of_every_kind_are_obeyed():
    (schema,) = [one for one in YAML if one.rules]
    told = " ".join(schema.rules)
    for kind in ("if ", " in (", "unique(", " + ", " - ", "not ", " or ", " and ", "`", "'2024"):
        assert kind in told
    rng = np.random.default_rng(0)
    size = 400
    day = np.datetime64("2024-01-01")
    dates = {name: day + rng.integers(0, 366, size) for name in ("admission", "discharge")}
    fees = {name: rng.uniform(0, 5000, size) for name in ("room fees", "other fees", "total")}
    listed = {
        column.name: rng.choice(np.array(column.values), size)
        for column in schema.columns
        if isinstance(column, (Boolean, Categorical))
    }
    whole = {"age": rng.integers(0, 100, size), "room": rng.integers(1, 400, size)}
    model = TabPE(epsilon=2.0, delta=1e-6, n_samples=200, random_state=0, verbose=0)
    made = model.fit(pa.table(dates | fees | listed | whole), schema).sample(500)
    assert broken(made, schema) == set()
    keys = zip(made["room"].to_pylist(), made["bed"].to_pylist(), strict=True)
    assert len(set(keys)) == 500


def test_a_numeric_label_is_cut():
    (schema,) = schemas(SECTIONS["The label"])
    assert schema.class_names == ("0 to 5000", "5000 to 20000", "20000 to 100000")


def test_skewed_numbers_have_scales():
    (schema,) = schemas(SECTIONS["Skewed numbers"])
    assert [column.scale for column in schema.columns] == ["log", "quantile"]
    assert all(f"**`{scale}`**" in SECTIONS["Skewed numbers"] for scale in SCALES)


def test_cells_that_do_not_fit_count_as_it_says():
    (schema,) = schemas(SECTIONS["Cells that do not fit"])
    table = pa.table(
        {
            "dose": ["1", "7", "x", None],
            "ward": ["heart", "eye", "", None],
            "age": ["130", "x", "", None],
        }
    )
    rows, classes = Encoder(schema).encode(table)
    made = Encoder(schema).decode(rows, classes)
    assert made["dose"].to_pylist() == [1, None, None, None]
    assert made["ward"].to_pylist() == ["heart", *["unknown"] * 3]
    assert made["age"].to_pylist() == [120, 40, 40, 40]
    rules = {rule for kind in COLUMN_TYPES.values() for rule in kind.invalid_rules}
    assert set(rows_of("Cells that do not fit", 1)) == rules


def test_the_types_of_libraries_are_told():
    rows = rows_of("Types of what comes out")
    assert set(rows) == set(COLUMN_TYPES)
    for nullable in (False, True):
        for column in YAML[0].columns:
            one = column if column.type_name == "id" else replace(column, nullable=nullable)
            pandas, polars, arrow = rows[column.type_name]
            zone = getattr(column, "timezone", None)
            words = str(in_arrow(one)).replace(f", tz={zone}", "")
            assert f"`{words}`" in arrow
            assert f"`{in_pandas(one).replace(f', {zone}', '')}`" in pandas
            assert f"`{in_polars(one).base_type().__name__}`" in polars


def test_the_page_about_gaps_has_gaps():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "private-schema.md"
    (code,) = re.findall(r"```yaml\n(.*?)```", page.read_text(), flags=re.DOTALL)
    outline = PartialSchema.from_dict(yaml12.load(code))
    gaps = ["age.max", "ward.values", "weight.type", "pay.quantiles", "town.values"]
    assert list(outline.missing) == [
        *(*gaps, "born.min", "born.max", "dinner.min", "dinner.max"),
    ]
