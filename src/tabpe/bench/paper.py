"""The numbers that the paper prints, to stand beside ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from tabpe.bench.measures import measure
from tabpe.bench.summary import Spread
from tabpe.errors import ParameterError, did_you_mean

SPLITS = 3


@dataclass(frozen=True)
class Printed:
    """A table of the paper.

    Args:
        title: What it is about.
        epsilon: The budget.
        metrics: Its columns.
        percent: Whether shares are printed in per cent.
        values: By data set and method, or by a setting: texts as they are printed.

    Example:
        >>> printed("high-order-real").value(("artificial-characters", "tabpe"), "accuracy")
        Spread(mean=0.4938, std=0.0046, count=3)
    """

    title: str
    epsilon: float
    metrics: tuple[str, ...]
    values: Mapping[str, Any]
    percent: bool = True

    def value(self, row: tuple[Any, ...], metric: str) -> Spread | None:
        """Return what is printed in a row for a metric, in our units; None if nothing is."""
        found: Any = self.values
        for part in row:
            found = found.get(_key(part)) if isinstance(found, Mapping) else None
        if metric not in self.metrics or not isinstance(found, list):
            return None
        return self._read(found[self.metrics.index(metric)], metric)

    def _read(self, text: str, metric: str) -> Spread | None:
        if text == "-":
            return None
        scale = measure(metric).scale if self.percent else 1.0
        mean, *std = (round(float(part) / scale, 6) for part in text.split("±"))
        return Spread(mean, std[0], SPLITS) if std else Spread(mean)


@cache
def paper() -> dict[str, Printed]:
    """Return the tables of the paper by their labels.

    Example:
        >>> "scm-table" in paper()
        True
    """
    from tabpe.schema import yaml12

    text = files("tabpe.bench").joinpath("paper.yaml").read_text(encoding="utf-8")
    return {
        label: Printed(**(entry | {"metrics": tuple(entry["metrics"])}))
        for label, entry in yaml12.load(text).items()
    }


def printed(label: str) -> Printed:
    """Return a table of the paper by its label.

    Raises:
        ParameterError: If there is none.

    Example:
        >>> printed("scm-tabel")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: paper='scm-tabel': did you mean 'scm-table'?
    """
    if label not in paper():
        raise ParameterError(f"paper={label!r}: {did_you_mean(label, paper())}")
    return paper()[label]


def _key(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
