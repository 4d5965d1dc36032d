"""Numeric labels: their classes are cut by declared numbers, or by some that are bought."""

from __future__ import annotations

from typing import Any, Protocol

from tabpe.errors import SchemaError, shown
from tabpe.schema.columns import Column, Float, Integer
from tabpe.schema.times import Temporal

FEWEST_CLASSES = 2
# Quantiles are bought as the edges of twice as many bins.
MOST_CLASSES = 16


class Cut(Protocol):
    """What says how a numeric label is cut."""

    @property
    def label_cuts(self) -> tuple[float, ...] | None:
        """The values at which a new class begins, if they are known."""
        ...

    @property
    def label_classes(self) -> int | None:
        """How many classes there should be, if cuts are bought."""
        ...


def check_classes(classes: Any, label: Any) -> None:
    """Refuse a number of classes that no purchase can give."""
    if classes is None:
        return
    if type(classes) is not int or not FEWEST_CLASSES <= classes <= MOST_CLASSES:
        raise SchemaError(
            f"label_classes={shown(classes)}: expected a whole number from {FEWEST_CLASSES} to "
            f"{MOST_CLASSES}."
        )
    if not isinstance(label, str):
        raise SchemaError(f"label_classes={classes}: is for one numeric label: name it in label.")


def check_kind(cut: Cut, name: str, kind: type[Column] | None, *, has_gaps: bool) -> None:
    """Refuse a label whose type does not go with how it is cut.

    Args:
        cut: How it is cut.
        name: Name of the label.
        kind: Its type, if that is declared.
        has_gaps: Whether any of it is to be bought.
    """
    is_number = kind in (Integer, Float)
    if kind is not None and issubclass(kind, Temporal):
        raise SchemaError(
            f"label={name!r} is a date or a time: take another column, or one made of it, such as "
            f"the year."
        )
    if cut.label_cuts and (has_gaps or not is_number):
        raise SchemaError(f"label={name!r} has label_cuts: declare its type, min and max too.")
    if cut.label_classes is not None and kind is not None and not is_number:
        raise SchemaError(
            f"label_classes={cut.label_classes}: is for a numeric label; {name!r} is declared "
            f"{kind.type_name}: leave label_classes out."
        )
    if is_number and not cut.label_cuts and cut.label_classes is None:
        raise SchemaError(
            f"label={name!r} is a number: declare its column categorical, or give label_cuts (the "
            f"values at which a new class begins) or label_classes (how many there should be, to "
            f"buy the cuts)."
        )
