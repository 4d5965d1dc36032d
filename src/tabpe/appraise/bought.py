"""What was bought: measures of the real rows that may be released."""

from __future__ import annotations

from dataclasses import dataclass

from tabpe.metrics.columns import ColumnView
from tabpe.privacy import Certificate


@dataclass(frozen=True)
class Difference:
    """How far the synthetic rows are from the real ones, as noisy counts show it.

    Args:
        names: The columns whose cells are compared.
        estimate: Total variation between the synthetic shares and the noisy real ones. Noise makes
            it too large rather than too small.
        floor: What it is on average if the two are equal: the work of noise alone.
        margin: The true total variation is within so much of the estimate, in 95% of all cases or
            more.
    """

    names: tuple[str, ...]
    estimate: float
    floor: float
    margin: float


@dataclass(frozen=True)
class Bought:
    """Measures of the real rows that were bought under differential privacy.

    Intervals are about the noise: they say where the exact number for these rows lies.

    Args:
        certificate: What the purchase promises, with its bill.
        total_epsilon: Epsilon of the synthetic table and these measures together; None without a
            certificate of the table that this one can be added to.
        total_delta: Delta of the two together.
        rows: Noisy number of rows, or of users, and half the width of its 95% interval.
        accuracy: Noisy accuracy on the real rows of a predictor trained on the synthetic ones, and
            half the width of its 95% interval; None without a label with classes.
        majority: Noisy share of the most common class of the real rows.
        notes: What a reader should know.
        macro_f1: Macro F1 of the same predictor, from the noisy table of its mistakes; None if
            there are too many classes for one.
        differences: How far each column is from the real one.
        differences_by_label: The same for each column together with the label.
    """

    certificate: Certificate
    total_epsilon: float | None
    total_delta: float | None
    rows: tuple[float, float]
    accuracy: tuple[float, float] | None
    majority: float | None
    notes: tuple[str, ...] = ()
    macro_f1: float | None = None
    differences: tuple[Difference, ...] = ()
    differences_by_label: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class Appraisal:
    """An appraisal; all of it is public.

    Args:
        bought: What was bought, and what it cost.
        columns: Each column: synthetic shares beside noisy real ones, with the band of the noise.
    """

    bought: Bought
    columns: tuple[ColumnView, ...]
