"""Plain values of files, read back strictly by the types of the fields."""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from tabpe._utils import serialization
from tabpe.errors import ArchiveError, ParameterError


class Size(enum.Enum):
    """A field of words."""

    SMALL = "small"
    LARGE = "large"


@dataclass(frozen=True)
class Part:
    """A field with fields."""

    name: str
    weight: float

    def __post_init__(self):
        if self.weight < 0:
            raise ParameterError("weight: expected one above 0.")


@dataclass(frozen=True)
class Whole:
    """Fields of every kind."""

    size: Size
    parts: tuple[Part, ...]
    count: int
    shut: bool
    kind: Literal["a", "b"] = "a"
    note: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    scores: list[float] = field(default_factory=list)


PLAIN = {
    "size": "small",
    "parts": [{"name": "lid", "weight": 1}],
    "count": 3,
    "shut": True,
    "kind": "b",
    "note": "a note",
    "more": {"deep": [{"a": None}]},
    "scores": [1, 2.5],
}


def read(**changes):
    return serialization.read_dataclass(Whole, PLAIN | changes, where="whole")


def test_every_kind_of_field_is_read():
    assert read() == Whole(
        size=Size.SMALL,
        parts=(Part("lid", 1.0),),
        count=3,
        shut=True,
        kind="b",
        note="a note",
        more={"deep": [{"a": None}]},
        scores=[1.0, 2.5],
    )
    assert type(read().parts[0].weight) is float


def test_defaults_stand_for_what_is_missing():
    plain = {name: PLAIN[name] for name in ("size", "parts", "count", "shut")}
    assert serialization.read_dataclass(Whole, plain, where="whole").note is None


def test_other_keys_are_left_alone():
    assert read(other=1) == read()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": "huge"}, "whole.size='huge': expected one of small, large"),
        ({"size": 1}, "whole.size=1"),
        ({"parts": "lid"}, "whole.parts='lid': expected a list"),
        ({"parts": {"name": "lid"}}, "whole.parts="),
        ({"parts": [{"name": "lid"}]}, "whole.parts[0].weight: missing"),
        ({"parts": [{"name": 5, "weight": 1}]}, "whole.parts[0].name=5: expected text"),
        ({"parts": [{"name": "lid", "weight": True}]}, "weight=True: expected a finite number"),
        ({"parts": [{"name": "lid", "weight": math.nan}]}, "weight=nan"),
        ({"parts": [{"name": "lid", "weight": 10**400}]}, "weight=1000"),
        ({"parts": [{"name": "lid", "weight": -1}]}, "whole.parts[0]: weight: expected one above"),
        ({"count": 3.0}, "whole.count=3.0: expected a whole number"),
        ({"count": True}, "whole.count=True"),
        ({"shut": 1}, "whole.shut=1: expected true or false"),
        ({"kind": "c"}, "whole.kind='c': expected one of a, b"),
        ({"note": 5}, "whole.note=5: expected text"),
        ({"note": "\ud800"}, "whole.note="),
        ({"more": {1: 2}}, "whole.more="),
        ({"more": {"a": {"b": "\ud800"}}}, "whole.more.a="),
        ({"more": {"a": object()}}, "whole.more.a="),
        ({"scores": [1, None]}, "whole.scores[1]=None"),
    ],
)
def test_what_does_not_fit_is_named(changes, words):
    with pytest.raises(ArchiveError) as caught:
        read(**changes)
    assert words in str(caught.value)


@pytest.mark.parametrize("plain", [None, 5, "text", [], [PLAIN]])
def test_what_is_no_mapping_is_refused(plain):
    with pytest.raises(ArchiveError, match=r"whole=.*expected a mapping"):
        serialization.read_dataclass(Whole, plain, where="whole")


def test_what_is_nested_too_deeply_is_refused():
    deep = []
    for _ in range(10**5):
        deep = [deep]
    with pytest.raises(ArchiveError, match="nested too deeply"):
        read(more={"a": deep})
    with pytest.raises(ArchiveError, match="nested too deeply"):
        serialization.read_value(Mapping[str, Any], {"a": deep}, where="whole")


def test_a_message_is_short():
    with pytest.raises(ArchiveError) as caught:
        read(count="a" * 10**6)
    assert len(str(caught.value)) < 200
