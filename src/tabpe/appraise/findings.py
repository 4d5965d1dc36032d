"""What noisy counts say about the real rows: nothing here sees more than these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from tabpe.appraise.bought import Appraisal, Bought, Difference
from tabpe.appraise.estimate import (
    Floats,
    Total,
    accuracy_of,
    difference_of,
    macro_f1_of,
    shares_of,
    total_of,
)
from tabpe.appraise.plan import Plan, Synthetic
from tabpe.appraise.purchase import Order, Paid
from tabpe.appraise.together import Together
from tabpe.appraise.views import view_of
from tabpe.encode import Marginal
from tabpe.encode.axes import class_axis
from tabpe.privacy import Certificate

# Below so many standard deviations of its noise a number of rows says nothing.
_FEW = 10.0


@dataclass(frozen=True, eq=False)
class Counts:
    """Noisy counts, table by table.

    Args:
        of: The tables and their counts.
        users: The number of users; None if rows were counted.
        sigma: Scale of the noise.
    """

    of: Sequence[tuple[Marginal, Floats]]
    users: Floats | None
    sigma: float

    @property
    def number(self) -> Total:
        """The number of rows or users."""
        tables = [counts for _, counts in self.of] if self.users is None else [self.users]
        return total_of(tables, self.sigma)

    def total(self, counts: Floats) -> Total:
        """Return what the cells of a table add up to.

        All tables hold all rows. What users weigh is another number in each.
        """
        return self.number if self.users is None else total_of([counts], self.sigma)

    def __getitem__(self, marginal: Marginal) -> Floats:
        return next(counts for one, counts in self.of if one is marginal)


def findings(paid: Paid, order: Order, table: pa.Table, together: Together) -> Appraisal:
    """Return what was bought, in numbers and in pictures.

    Args:
        paid: The noisy counts and their certificate.
        order: What was ordered.
        table: The synthetic rows as they are.
        together: The promise of the table and the purchase together.
    """
    plan, synthetic = order.plan, order.synthetic
    counts = _counts(paid, plan)
    columns = [_difference(marginal, synthetic, counts) for marginal in plan.columns]
    views = [
        view_of(
            synthetic,
            table,
            marginal,
            counts[marginal],
            difference=difference.estimate,
            total=counts.total(counts[marginal]),
            sigma=counts.sigma,
        )
        for marginal, difference in zip(plan.columns, columns, strict=True)
    ]
    mistakes = None if plan.mistakes is None else counts[plan.mistakes]
    bought = Bought(
        certificate=paid.certificate,
        total_epsilon=together.epsilon,
        total_delta=together.delta,
        rows=counts.number.interval,
        accuracy=_accuracy(mistakes, counts),
        majority=_majority(mistakes, plan, synthetic, counts),
        notes=_notes(paid.certificate, counts.number, together),
        macro_f1=None if mistakes is None else macro_f1_of(mistakes),
        differences=tuple(columns),
        differences_by_label=tuple(_difference(one, synthetic, counts) for one in plan.pairs),
    )
    return Appraisal(bought, tuple(views))


def _counts(paid: Paid, plan: Plan) -> Counts:
    found = list(zip(plan.asked, paid.counts, strict=True))
    users = None if plan.users is None else found.pop()[1]
    (item,) = paid.certificate.bill
    return Counts(found, users, item.sigma)


def _difference(marginal: Marginal, synthetic: Synthetic, counts: Counts) -> Difference:
    found = counts[marginal]
    return difference_of(
        marginal.names, found, synthetic.shares(marginal), counts.total(found), counts.sigma
    )


def _accuracy(mistakes: Floats | None, counts: Counts) -> tuple[float, float] | None:
    if mistakes is None:
        return None
    return accuracy_of(mistakes, counts.total(mistakes), counts.sigma)


def _majority(
    mistakes: Floats | None, plan: Plan, synthetic: Synthetic, counts: Counts
) -> float | None:
    """Return the share of the most common class, by the table with the least noise on classes."""
    if mistakes is None:
        return None
    classes = class_axis(synthetic.encoder)
    for marginal in plan.columns:
        if marginal.axes == (classes,):
            return float(shares_of(counts[marginal]).max())
    return None if mistakes.ndim == 1 else float(shares_of(mistakes.sum(axis=1)).max())


def _notes(certificate: Certificate, number: Total, together: Together) -> tuple[str, ...]:
    notes = []
    if certificate.fields_from_data:
        notes.append(
            "NOT COVERED by any promise, because they were read off the data: "
            f"{', '.join(certificate.fields_from_data)}"
        )
    if not certificate.private:
        notes.append("NOT PRIVATE: made with a fake source of noise, for tests only")
    if together.note:
        notes.append(f"no promise of both together: {together.note}")
    if certificate.neighbours.of_users:
        notes.append(
            "a user weighs one in every table, however many rows there are, and shares are of "
            "these weights; the number is that of users"
        )
    if number.value < _FEW * number.deviation:
        notes.append(
            "the noise is as large as the table: these measures say next to nothing. Ask for a "
            "larger epsilon"
        )
    return tuple(notes)
