"""Joint classes: the combinations of the values of several labels.

A combination is a tuple of values, one of each label in their order. Combinations that a run finds
rare share one class, the last.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from tabpe.errors import SchemaError, did_you_mean, shown
from tabpe.schema.columns import Boolean, Categorical, Column

MOST_COMBINATIONS = 1000
RARE = "rare"
BETWEEN = " / "

Listed = Categorical | Boolean
Combination = tuple[Any, ...]


def label_of(given: Any) -> str | tuple[str, ...] | None:
    """Return one name as it is, and several as a tuple.

    Example:
        >>> label_of(["ward", "outcome"]), label_of(["ward"])
        (('ward', 'outcome'), 'ward')
    """
    if given is None or isinstance(given, str):
        return given
    listed = isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given)
    if not listed or not given:
        raise SchemaError(
            f"label={shown(given)}: expected the name of a column as text, or a list of names; "
            f"quote it."
        )
    if len(set(given)) < len(given):
        raise SchemaError(f"label={shown(list(given))}: names a column twice.")
    return tuple(given) if len(given) > 1 else str(given[0])


def names_of(label: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the names of all labels."""
    if label is None:
        return ()
    return (label,) if isinstance(label, str) else label


def changed_label(given: Any, columns: Sequence[str]) -> str | tuple[str, ...] | None:
    """Return a label that is to take the place of another, if all of it are columns."""
    label = label_of(given)
    for name in names_of(label):
        if name not in columns:
            raise SchemaError(f"label={name!r} is not a column: {did_you_mean(name, columns)}")
    return label


def check_joint(columns: Sequence[Column]) -> tuple[Listed, ...]:
    """Return several labels, if all have listed values and not too many combinations."""
    for column in columns:
        if not isinstance(column, (Categorical, Boolean)):
            raise SchemaError(
                f"label: {column.name!r} is of type {column.type_name}: several labels are "
                f"categories or truths. Declare it categorical, or leave it out of label: it is "
                f"synthesised all the same."
            )
    listed = tuple(column for column in columns if isinstance(column, (Categorical, Boolean)))
    count = math.prod(column.states for column in listed)
    if count > MOST_COMBINATIONS:
        named = " and ".join(repr(column.name) for column in listed)
        raise SchemaError(
            f"label: {named} have {count:,} combinations of values: expected at most "
            f"{MOST_COMBINATIONS:,}. Leave a column out of label, which is synthesised all the "
            f"same, or declare fewer values and an other."
        )
    return listed


def combinations_of(columns: Sequence[Listed]) -> tuple[Combination, ...]:
    """Return all combinations of values, and nulls, the last column running fastest.

    Example:
        >>> combinations_of((Boolean("ill"), Categorical("ward", ("eye", "skin"))))
        ((False, 'eye'), (False, 'skin'), (True, 'eye'), (True, 'skin'))
    """
    return tuple(itertools.product(*map(_states, columns)))


def _states(column: Listed) -> tuple[Any, ...]:
    return (*column.values, None) if column.nullable else column.values


def rare_of(given: Any, columns: Sequence[Listed]) -> tuple[Combination, ...]:
    """Return combinations that share a class, if they are some of all, in the order of these."""
    listed = isinstance(given, (list, tuple)) and all(map(_is_combination, given))
    every = combinations_of(columns)
    # True equals 1, so the type is a part of what is looked up.
    wanted = {_typed(combination) for combination in given} if listed else set()
    found = tuple(combination for combination in every if _typed(combination) in wanted)
    if not listed or len(found) != len(given) or len(found) == 1:
        raise SchemaError(
            f"label_rare={shown(given)}: expected two or more combinations of values of the "
            f"labels, each once. A run finds them out: leave label_rare out."
        )
    return found


def class_names(columns: Sequence[Listed], rare: Sequence[Combination]) -> tuple[str, ...]:
    """Return what each joint class is called; the last is that of all rare combinations.

    Example:
        >>> class_names((Boolean("ill"), Boolean("old")), [(True, False), (True, True)])
        ('False / False', 'False / True', 'rare')
    """
    merged = set(rare)
    kept = (one for one in combinations_of(columns) if one not in merged)
    return (*map(class_name, kept), *([RARE] if rare else []))


def class_name(combination: Any) -> str:
    """Return what a class is called: by its value, or by the values of several labels."""
    if isinstance(combination, tuple):
        return BETWEEN.join("null" if value is None else str(value) for value in combination)
    return str(combination)


def _is_combination(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and all(
        value is None or isinstance(value, (str, int, float)) for value in given
    )


def _typed(combination: Sequence[Any]) -> tuple[Any, ...]:
    return tuple((type(value) is bool, value) for value in combination)
