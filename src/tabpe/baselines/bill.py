"""What a method may spend, and the certificate of what it promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabpe import _validate
from tabpe.baselines.method import Method
from tabpe.certify import ACCOUNTANT, versions
from tabpe.errors import BudgetError, ParameterError
from tabpe.measure import Terms
from tabpe.measure.histograms import ROW_COUNT
from tabpe.privacy import ROWS, Account, BillItem, Certificate, NoiseSource, composed_epsilon
from tabpe.privacy.accounting import check_promise
from tabpe.privacy.bill import EXPONENTIAL
from tabpe.privacy.concentrated import ZCDP, Filter, epsilon_of_loss, loss_within
from tabpe.privacy.delta import RowCount
from tabpe.privacy.guarantee import round_up
from tabpe.privacy.noise import Chooser
from tabpe.privacy.plan import Part, items_for, scaled
from tabpe.schema import Schema

ADAPTIVE_ACCOUNTANT = (
    "concentrated differential privacy, a filter with a limit fixed at the beginning, because "
    "noise may follow earlier answers; converted to epsilon at delta"
)
PLANNED_ACCOUNTANT = f"{ACCOUNTANT}; choices by the exponential mechanism as bounded range"
SEED_POLICY = "random_state drives all that is not noise; noise and private choices take no seed"
UNUSED = "not used"
# Which part of the budget the number of rows takes, if it is bought.
_ROWS_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Agreement:
    """On which terms a method reads, all of it checked and agreed on before a row is read.

    Args:
        epsilon: What was asked for.
        delta: The delta of the promise.
        public_rows: The number of rows, if it was declared.
        terms: The account, the noise and the neighbouring relation, for `tabpe.measure`.
    """

    epsilon: float
    delta: float
    public_rows: int | None
    terms: Terms

    @property
    def adaptive(self) -> bool:
        """Whether noise may follow earlier answers."""
        return isinstance(self.terms.account, Filter)


def agreed_on(
    method: Method,
    *,
    epsilon: float,
    delta: float | None,
    public_rows: int | None,
    attributes: int,
    bins: Sequence[Part],
    bins_budget: float,
    noise: NoiseSource,
) -> Agreement:
    """Return the terms of a run.

    Args:
        method: What is run.
        epsilon: The budget.
        delta: The delta; None for 1 / (n ln n) of the declared number of rows.
        public_rows: The declared number of rows; None to buy it.
        attributes: The number of attributes, the label among them.
        bins: What bins cost, as parts of `bins_budget`.
        bins_budget: Which part of the budget bins take.
        noise: The source of noise.
    """
    rows = _validate.optional(_validate.whole, "public_rows", public_rows, least=1)
    known = _delta(delta, rows)
    check_promise(epsilon, known)
    if not isinstance(noise, Chooser) or noise.slack:
        raise ParameterError("noise: baselines need exact noise that also chooses: use 'opendp'.")
    share = _validate.real("bins_budget", bins_budget, above=0, below=1 - _ROWS_SHARE)
    first: tuple[Part, ...] = () if rows is not None else (Part(ROW_COUNT, _ROWS_SHARE),)
    first += scaled(bins, share)
    account = _account(method, first, attributes, epsilon, known)
    return Agreement(epsilon, known, rows, Terms(account, noise, ROWS))


def _account(
    method: Method, first: tuple[Part, ...], attributes: int, epsilon: float, delta: float
) -> Account:
    if method.adaptive:
        limited = Filter(loss_within(epsilon, delta))
        for part in first:
            limited.agree(part.item(limited.limit))
        return limited
    left = 1 - sum(part.share for part in first)
    account = Account()
    for item in items_for((*first, *scaled(method.parts(attributes), left)), epsilon, delta):
        account.agree(item)
    return account


def _delta(given: float | None, rows: int | None) -> float:
    if given is not None:
        return given
    if rows is None:
        raise ParameterError(
            "delta=None: follows the number of rows, which is private. Give delta, for example "
            "1e-6, or public_rows if the number of rows is public."
        )
    return RowCount.declared(rows).calibration_delta


def certificate_of(
    agreed: Agreement, schema: Schema, configuration: Mapping[str, Any], created: str
) -> Certificate:
    """Return the certificate of a finished run."""
    bill, epsilon = _bill(agreed)
    if epsilon > agreed.epsilon:
        raise BudgetError(f"epsilon={agreed.epsilon:g}: the bill comes to {epsilon:g}.")
    noise = agreed.terms.noise
    return Certificate(
        epsilon=min(agreed.epsilon, round_up(epsilon, 6)),
        delta=agreed.delta,
        delta_slack=0.0,
        requested_epsilon=agreed.epsilon,
        delta_source=f"delta {agreed.delta:.4g}",
        delta_rows=None,
        neighbours=ROWS,
        unit=None,
        bill=bill,
        accountant=ADAPTIVE_ACCOUNTANT if agreed.adaptive else PLANNED_ACCOUNTANT,
        noise=noise.name,
        private=noise.private,
        schema=schema.to_dict(),
        schema_digest=schema.digest,
        fields_from_data=schema.fields_from_data,
        bought=(),
        assumed_public=_assumed_public(agreed),
        configuration=dict(configuration),
        seed_policy=SEED_POLICY,
        versions=versions(),
        created=created,
        notes=_notes(bill),
        measurements_sha256=agreed.terms.transcript.sha256,
        adaptive=agreed.adaptive,
        filter=ZCDP if agreed.adaptive else None,
    )


def _bill(agreed: Agreement) -> tuple[tuple[BillItem, ...], float]:
    """Return all that was agreed on, and what it promises.

    The promise of a filter is that of its limit, so what is left of it is on the bill too.
    """
    account = agreed.terms.account
    if not isinstance(account, Filter):
        return account.agreed, composed_epsilon(account.agreed, agreed.delta)
    unused = account.left
    bill = account.agreed
    if unused > 1e-9 * account.limit:
        bill += (BillItem(UNUSED, unused**-0.5, 1),)
    return bill, epsilon_of_loss(account.limit, agreed.delta)


def _assumed_public(agreed: Agreement) -> tuple[str, ...]:
    rows = agreed.public_rows
    return ("the schema",) if rows is None else ("the schema", f"the number of rows, {rows:,}")


def _notes(bill: tuple[BillItem, ...]) -> tuple[str, ...]:
    if not any(item.mechanism == EXPONENTIAL for item in bill):
        return ()
    return ("items by the exponential mechanism have sigma = 2 / range of their losses",)
