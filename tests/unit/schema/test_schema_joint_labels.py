"""Several labels in a schema: what they may be, what their classes are called, files."""

import pytest

from tabpe import Boolean, Categorical, Integer, Schema
from tabpe.errors import SchemaError
from tabpe.schema import Date, PartialSchema
from tabpe.schema.json_schema import build_json_schema
from tabpe.schema.schema import MOST_COMBINATIONS

WARD = Categorical("ward", ("heart", "lung", "skin"))
COLUMNS = (Integer("age", 0, 100), WARD, Boolean("ill"))
SCHEMA = Schema(COLUMNS, label=("ward", "ill"))
RARE = (("lung", True), ("skin", False))


def test_every_combination_is_a_class():
    assert SCHEMA.labels == ("ward", "ill")
    assert SCHEMA.target == "ward"
    assert SCHEMA.class_names == (
        "heart / False",
        "heart / True",
        "lung / False",
        "lung / True",
        "skin / False",
        "skin / True",
    )


def test_rare_combinations_share_the_last_class():
    schema = Schema(COLUMNS, label=("ward", "ill"), label_rare=RARE)
    assert schema.class_names == (
        "heart / False",
        "heart / True",
        "lung / False",
        "skin / True",
        "rare",
    )


@pytest.mark.parametrize("rare", [(), RARE], ids=["plain", "rare"])
@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_files_keep_it(rare, suffix, tmp_path):
    schema = Schema(COLUMNS, label=["ward", "ill"], label_rare=rare)
    schema.save(tmp_path / f"schema.{suffix}")
    again = Schema.load(tmp_path / f"schema.{suffix}")
    assert again == schema
    assert again.digest == schema.digest
    assert schema.to_dict()["label"] == ["ward", "ill"]


def test_the_labels_are_a_part_of_the_digest():
    digests = {Schema(COLUMNS, label=label).digest for label in ("ward", ("ward", "ill"))}
    digests |= {Schema(COLUMNS, label=("ward", "ill"), label_rare=RARE).digest}
    assert len(digests) == 3


def test_a_list_of_one_is_one_label():
    assert Schema(COLUMNS, label=["ill"]) == Schema(COLUMNS, label="ill")


def test_another_label_takes_the_place_of_all():
    assert SCHEMA.with_label(None) is SCHEMA
    assert SCHEMA.with_label(["ward", "ill"]) is SCHEMA
    assert SCHEMA.of_target == Schema(COLUMNS, label="ward")
    rare = Schema(COLUMNS, label=("ward", "ill"), label_rare=RARE)
    assert rare.with_label("ill") == Schema(COLUMNS, label="ill")


@pytest.mark.parametrize(
    ("label", "words"),
    [
        (("ward", "ward"), "names a column twice"),
        (("ward", "il"), "there is no column 'il'"),
        ((), "expected the name of a column"),
        (("ward", 5), "expected the name of a column"),
        (("ward", "age"), "'age' is of type integer"),
        (("ward", "seen"), "'seen' is of type date"),
    ],
)
def test_what_can_not_be_labels(label, words):
    columns = (*COLUMNS, Date("seen", "2024-01-01", "2024-12-31"))
    with pytest.raises(SchemaError, match=words):
        Schema(columns, label=label)


def test_too_many_combinations_are_refused_with_what_to_do():
    wide = (Categorical("zip", tuple(range(MOST_COMBINATIONS // 2 + 1))), Boolean("ill"))
    with pytest.raises(SchemaError, match=r"1,002 combinations.*Leave a column out of label"):
        Schema(wide, label=("zip", "ill"))


def test_cuts_do_not_go_with_several_labels():
    with pytest.raises(SchemaError, match=r"label_cuts.*name one label"):
        Schema(COLUMNS, label=("ward", "ill"), label_cuts=(5,))


@pytest.mark.parametrize(
    "rare",
    [
        [["lung", True]],
        [["lung", 1], ["skin", 0]],
        [["lung", True], ["eye", True]],
        [["lung", True], ["lung", True]],
        "rare",
        [3, 4],
        [["lung", {}], ["skin", []]],
        {},
    ],
    ids=[
        "one alone",
        "numbers for booleans",
        "unknown",
        "twice",
        "text",
        "places",
        "no values",
        "mapping",
    ],
)
def test_what_can_not_be_rare(rare):
    with pytest.raises(SchemaError, match=r"label_rare=.*two or more combinations"):
        Schema(COLUMNS, label=("ward", "ill"), label_rare=rare)


def test_rare_is_for_several_labels():
    with pytest.raises(SchemaError, match="label_rare"):
        Schema(COLUMNS, label="ill", label_rare=RARE)


def test_an_outline_knows_its_classes_if_all_labels_are_declared():
    whole = PartialSchema.from_schema(SCHEMA).complete_columns(
        {"age": "int64", "ward": "string", "ill": "bool"}, estimate=None
    )
    assert whole.class_names == SCHEMA.class_names
    gaps = PartialSchema.from_schema({"label": ["ward", "ill"]}).complete_columns(
        {"ward": "string", "ill": "bool"}, estimate=None
    )
    assert gaps.class_names is None
    assert gaps.missing == ("ward.type", "ill.type")


def test_editors_know_every_key():
    keys = {"label", "label_cuts", "label_classes", "label_rare", "format", "columns", "rules"}
    assert set(build_json_schema()["properties"]) == keys
    with pytest.raises(SchemaError, match=r"unknown key 'label_cut'.*label_cuts"):
        Schema.from_dict({"label_cut": [1], "columns": []})
