"""What tables and figures know of a measure: its title, which way is better, how it is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from tabpe.bench.records import Record
from tabpe.errors import ParameterError, did_you_mean

Better = Literal["higher", "lower", "neither"]
_KWAY = re.compile(r"^([1-9][0-9]?)-(wd|tv)$")
_VALIDATION = "validation_"


@dataclass(frozen=True)
class Measure:
    """How a number of a record is shown.

    Args:
        name: Its key in `Record.metrics`, or a field of a record such as `seconds`.
        title: What people call it.
        better: Which way is better.
        percent: Whether a share is shown in per cent.
        decimals: Digits after the point.
        unit: What the number counts, if that is to be said on an axis.

    Example:
        >>> measure("accuracy").written(0.4938), measure("5-wd").written(0.1581)
        ('49.38', '0.158')
    """

    name: str
    title: str
    better: Better
    percent: bool = False
    decimals: int = 3
    unit: str = ""

    @property
    def scale(self) -> float:
        """What a value is multiplied by to be shown."""
        return 100.0 if self.percent else 1.0

    @property
    def arrow(self) -> str:
        """Which way is better, as a sign."""
        return {"higher": "↑", "lower": "↓", "neither": ""}[self.better]

    def written(self, value: float) -> str:
        """Return a value as it is shown, without its unit."""
        return f"{self.scale * value:.{self.decimals}f}"

    def of(self, record: Record) -> float | None:
        """Return the value of a record; None if it has none."""
        found = record.metrics.get(self.name)
        if found is None and self.name in _FIELDS:
            found = getattr(record, self.name)
        return None if found is None else float(found)


def measure(name: str) -> Measure:
    """Return the measure of that name.

    Raises:
        ParameterError: If there is none.

    Example:
        >>> measure("2-wd").title, measure("validation_accuracy").title
        ('2-WD', 'Validation accuracy')
        >>> measure("acuracy")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: 'acuracy': no measure: did you mean 'accuracy'?
    """
    plain = name.removeprefix(_VALIDATION)
    if plain in _SHARES:
        title = _SHARES[plain] if plain == name else _validation(_SHARES[plain])
        return Measure(name, title, "higher", percent=True, decimals=2)
    if match := _KWAY.match(name):
        return Measure(name, f"{match[1]}-{match[2].upper()}", "lower")
    if name in _FIELDS:
        return _FIELDS[name]
    known = (*_SHARES, "1-wd", "2-tv", *_FIELDS, "validation_accuracy")
    raise ParameterError(f"{name!r}: no measure: {did_you_mean(name, known)}")


def _validation(title: str) -> str:
    return f"Validation {title if title.isupper() else title[0].lower() + title[1:]}"


_SHARES = {
    "accuracy": "Accuracy",
    "macro_f1": "Macro F1",
    "auc": "AUC",
    "r2": "R2",
    "precision": "Precision",
    "recall": "Recall",
    "density": "Density",
    "coverage": "Coverage",
}
_FIELDS = {
    "seconds": Measure("seconds", "Time", "lower", decimals=1, unit="s"),
    "peak_megabytes": Measure("peak_megabytes", "Memory", "lower", decimals=0, unit="MB"),
    "synthetic_rows": Measure("synthetic_rows", "Synthetic rows", "neither", decimals=0),
    "rows": Measure("rows", "Rows", "neither", decimals=0),
    "certified_epsilon": Measure("certified_epsilon", "Certified epsilon", "neither"),
}
