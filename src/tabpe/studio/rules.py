"""Rules with examples of what they exclude, drawn from the schema alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tabpe.encoding import Encoder
from tabpe.encoding.records import draw_uniform_records
from tabpe.evolution.constraint_repair import ConstraintSet
from tabpe.schema import PartialSchema, Schema
from tabpe.schema.constraints.check import UniqueKey

DRAWN, SHOWN = 400, 3


@dataclass(frozen=True)
class RuleExample:
    """A rule and what it excludes.

    Args:
        text: The rule.
        share: The share of random rows of the schema that it excludes; None if it is about all
            rows together, or the schema has gaps.
        rows: Examples of excluded rows: the columns that it names, and their cells.
    """

    text: str
    share: float | None = None
    rows: tuple[Mapping[str, str], ...] = ()


def illustrate_rules(plain: Mapping[str, Any]) -> tuple[RuleExample, ...]:
    """Return what each rule of a schema excludes among random rows of the schema.

    Privacy: no private row is read.

    Raises:
        SchemaError: If a rule can not be read, or no row satisfies all of them.

    Example:
        >>> columns = [{"name": n, "type": "integer", "min": 0, "max": 9} for n in ("low", "high")]
        >>> (found,) = illustrate_rules({"columns": columns, "rules": ["low <= high"]})
        >>> 0.3 < found.share < 0.6, list(found.rows[0])
        (True, ['high', 'low'])
    """
    partial = PartialSchema.from_schema(plain)
    if partial.missing:
        return tuple(RuleExample(rule) for rule in partial.rules)
    schema = partial.fill_gaps({})
    ConstraintSet.from_encoder(Encoder(schema))
    return tuple(_illustrate(schema, rule) for rule in schema.rules)


def _illustrate(schema: Schema, rule: str) -> RuleExample:
    encoder = Encoder(replace(schema, rules=(rule,)))
    (parsed,) = encoder.schema.parsed_rules
    if isinstance(parsed.resolved, UniqueKey):
        return RuleExample(rule)
    rng = np.random.default_rng(0)
    classes = rng.integers(0, encoder.class_count, DRAWN)
    rows = draw_uniform_records(encoder.space, DRAWN, rng)
    broken = np.flatnonzero(ConstraintSet.from_encoder(encoder).find_broken(rows, classes))
    first = broken[:SHOWN]
    decoded = encoder.decode(rows.take(first), classes[first]).to_pylist()
    names = sorted(parsed.columns)
    examples = tuple({name: str(row[name]) for name in names} for row in decoded)
    return RuleExample(rule, len(broken) / DRAWN, examples)
