"""What the rules of a schema with gaps are about."""

from __future__ import annotations

from tabpe.errors import SchemaError, did_you_mean, shown
from tabpe.schema.outline import Outline
from tabpe.schema.rules.parser import parsed
from tabpe.schema.rules.tree import columns_of
from tabpe.schema.sketch import Sketch
from tabpe.schema.table import Schema


def ruled(outline: Outline) -> Schema | None:
    """Return the columns that rules name, with the rules; None without rules.

    A rule about a value that may turn out not to be bought could fail after the purchase. So all
    that rules name must be declared.

    Raises:
        SchemaError: If it is not, or a rule does not fit.

    Example:
        >>> ruled(Outline((Sketch("age"),), rules=("age > 3",)))
        Traceback (most recent call last):
        tabpe.errors.SchemaError: rule 'age > 3': type of column 'age' is not declared: ...
    """
    if not outline.rules:
        return None
    sketches = {column.name: column for column in outline.columns}
    named = {name: rule for rule in outline.rules for name in columns_of(parsed(rule))}
    for name, rule in named.items():
        _check_declared(rule, name, sketches)
    kept = tuple(column.filled() for column in outline.columns if column.name in named)
    label = outline.label if outline.label in named else None
    return Schema(kept, label, outline.label_cuts if label else None, outline.rules)


def _check_declared(rule: str, name: str, sketches: dict[str, Sketch]) -> None:
    if name not in sketches:
        hint = did_you_mean(name, sketches)
        raise SchemaError(f"rule {shown(rule)}: no column {shown(name)}: {hint}")
    missing = sketches[name].missing
    if missing:
        raise SchemaError(
            f"rule {shown(rule)}: {' and '.join(missing)} of column {shown(name)} is not declared: "
            f"declare all that rules name, which can not be bought, or leave the rule out."
        )
