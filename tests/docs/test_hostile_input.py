"""The page on hostile input tells the limits that hold."""

import dataclasses
from pathlib import Path

import pytest

from tabpe._utils import serialization, yaml12
from tabpe.evolution.constraint_repair import MOST_WORK
from tabpe.io import Limits, text_streams
from tabpe.schema import files as schema_files
from tabpe.schema.constraints.check import MOST_OPERATIONS

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "hostile-input.md").read_text()
UNITS = {"TiB": 2**40, "GiB": 2**30, "MiB": 2**20}


def in_words(count):
    for unit, size in UNITS.items():
        if count >= size and count % size == 0:
            return f"{count // size} {unit}"
    return f"{count:,}"


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
def test_every_limit_is_there_with_its_variable(name):
    limit = in_words(getattr(Limits(), name))
    assert f"| {limit} | `TABPE_MAX_{name.upper()}` |" in PAGE


def test_the_limits_that_can_not_be_set_are_there():
    assert f"| {text_streams.LONGEST_ROW:,} | |" in PAGE
    assert f"| {in_words(schema_files.LARGEST_JSON)} | |" in PAGE
    yaml = f"{in_words(schema_files.LARGEST_YAML)}; {yaml12.MOST_ENTRIES:,}"
    assert f"| {yaml} | write JSON |" in PAGE
    assert f"| {MOST_OPERATIONS:,} | make rules shorter |" in PAGE
    assert f"| {MOST_WORK:,} | make rules simpler |" in PAGE
    model = f"{in_words(serialization.LARGEST_ARCHIVE)}; {in_words(serialization.LARGEST_TEXT)}"
    assert f"| {model} | |" in PAGE
