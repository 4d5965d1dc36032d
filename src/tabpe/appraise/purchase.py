"""One purchase: charge, measure, certify. Nothing else reads the real rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tabpe import measure
from tabpe.appraise.estimate import Floats
from tabpe.appraise.plan import COARSE_BINS, Plan, Synthetic
from tabpe.appraise.predictor import MOST_ROWS
from tabpe.appraise.terms import Offer
from tabpe.budget import agree_on_rest, spent_epsilon, spent_slack
from tabpe.certify import ACCOUNTANT, USER_ACCOUNTANT, versions
from tabpe.charge import WatchedSource
from tabpe.engines import Tables, Users
from tabpe.engines.users import bounded
from tabpe.errors import TabpeError
from tabpe.measure.tables import MARGINALS
from tabpe.metrics.columns import BINS
from tabpe.privacy import Account, Certificate
from tabpe.privacy.guarantee import round_up
from tabpe.privacy.ledger import Entry
from tabpe.privacy.plan import Part
from tabpe.rows import EncodedRows, user_rows
from tabpe.run_folder import Run
from tabpe.schema import Schema

SEED_POLICY = (
    "random_state drives the training of the predictor and, for users, the choice of rows; noise "
    "takes no seed"
)


@dataclass(frozen=True, eq=False)
class Paid:
    """What was measured and what it promises; all of it is public.

    Args:
        counts: The noisy counts of each table of the plan, in its order.
        certificate: What the purchase promises.
    """

    counts: list[Floats]
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class Order:
    """What is to be bought, before a row is read.

    Args:
        synthetic: The synthetic rows.
        plan: The tables of counts.
        offer: On which terms they are bought.
        run: Name, seed and time of the purchase.
        account: Lets these tables through, with the noise that the terms need.
    """

    synthetic: Synthetic
    plan: Plan
    offer: Offer
    run: Run
    account: Account = field(default_factory=Account)

    def __post_init__(self) -> None:
        request, facts, noise = self.offer.request, self.offer.facts, self.offer.noise
        tables = (Part(MARGINALS, share=1.0, times=len(self.plan.asked)),)
        agree_on_rest(request, facts, self.account, noise, tables)


def buy(source: WatchedSource, order: Order) -> Paid:
    """Measure what was ordered.

    Privacy: the rows are read by `tabpe.measure` alone, after all of it was charged: to the ledger,
    if there is one, and to the account.
    """
    paid = None
    # The message of this error tells the sizes of arrays, which are exact counts of rows.
    with suppress(MemoryError):
        paid = _charged(source, order)
    if paid is None:
        raise TabpeError("the machine ran out of memory: use a larger one.")
    return paid


def _charged(source: WatchedSource, order: Order) -> Paid:
    offer, encoder = order.offer, order.synthetic.encoder
    with _reserved(source, order) as entry:
        users = _users(source, order)
        rows = EncodedRows(source, encoder, None if users is None else users.kept)
        terms = measure.Terms(order.account, offer.noise, offer.request.neighbours)
        counts = measure.marginals(Tables(rows, users), order.plan.asked, terms)
    certificate = certify(order, terms.transcript.sha256)
    if offer.charge is not None and entry is not None:
        certificate = offer.charge.settled(entry, certificate)
    return Paid(counts, certificate)


@contextmanager
def _reserved(source: WatchedSource, order: Order) -> Iterator[Entry | None]:
    """Hold the price in the ledger, if there is one; it is given back only if no row was read."""
    offer, bill = order.offer, order.account.agreed
    if offer.charge is None:
        yield None
        return
    relation, slack = offer.request.neighbours, offer.noise.slack
    with offer.charge.reserved(
        order.run.id, bill, relation, slack, lambda: not source.was_read
    ) as entry:
        yield entry


def _users(source: WatchedSource, order: Order) -> Users | None:
    """Return whose the rows are and which of them count, if the promise is to users."""
    neighbours, unit = order.offer.request.neighbours, order.offer.unit
    if unit is None or neighbours.max_rows is None:
        return None
    names = order.synthetic.encoder.names
    return bounded(
        user_rows(source, unit, names),
        column=unit,
        most=neighbours.max_rows,
        seed=order.run.seed,
        scale=neighbours.scale,
    )


def certify(order: Order, measurements: str) -> Certificate:
    """Return the certificate of a finished purchase, with the digest of what was measured."""
    offer, account, schema = order.offer, order.account, order.synthetic.encoder.schema
    request = offer.request
    epsilon = spent_epsilon(request, offer.facts, account, offer.noise)
    return Certificate(
        epsilon=min(request.epsilon, round_up(epsilon, 6)),
        delta=offer.delta,
        delta_slack=spent_slack(request, account, offer.noise),
        requested_epsilon=request.epsilon,
        delta_source=offer.delta_source,
        delta_rows=None,
        neighbours=request.neighbours,
        unit=offer.unit,
        bill=account.spent,
        accountant=USER_ACCOUNTANT if request.neighbours.of_users else ACCOUNTANT,
        noise=offer.noise.name,
        private=offer.noise.private,
        schema=schema.to_dict(),
        schema_digest=schema.digest,
        fields_from_data=schema.fields_from_data,
        bought=(),
        assumed_public=("the schema", "the synthetic table"),
        configuration=_configuration(order.synthetic, order.plan),
        seed_policy=SEED_POLICY,
        versions=versions(),
        created=order.run.started,
        notes=_notes(schema, offer),
        measurements_sha256=measurements,
    )


def _configuration(synthetic: Synthetic, plan: Plan) -> dict[str, int | str | None]:
    predictor = f"gradient boosting on at most {MOST_ROWS:,} synthetic rows"
    return {
        "purpose": "measures of the real rows for a public report",
        "tables_of_columns": len(plan.columns),
        "tables_of_label_and_column": len(plan.pairs),
        "table_of_predictions": None if plan.mistakes is None else predictor,
        "cells": sum(marginal.size for marginal in plan.asked),
        "most_bins": BINS,
        "most_bins_with_label": COARSE_BINS,
        "synthetic_rows": len(synthetic.rows),
    }


def _notes(schema: Schema, offer: Offer) -> tuple[str, ...]:
    notes = ["measures of the real rows, not the synthetic table, which has its own certificate"]
    if schema.fields_bought:
        notes.append("fields of the schema that were bought before are taken as public here")
    users = offer.request.neighbours
    if users.max_rows is not None:
        notes.append(
            f"a user is whoever has one value of {offer.unit!r}; of each user at most "
            f"{users.max_rows:,} of the rows count, chosen at random, and together they weigh one"
        )
    return tuple(notes)
