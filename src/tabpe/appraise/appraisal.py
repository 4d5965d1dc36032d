"""`appraise`: measures of the real rows, bought, as a public report shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe import _validate
from tabpe.appraise.bought import Appraisal
from tabpe.appraise.findings import findings
from tabpe.appraise.plan import Synthetic, plan_of
from tabpe.appraise.predictor import trained
from tabpe.appraise.purchase import Order, buy
from tabpe.appraise.terms import offer_of, schema_of
from tabpe.appraise.together import promised_together
from tabpe.charge import Charge, WatchedSource
from tabpe.encode import Encoder
from tabpe.errors import CellError
from tabpe.io import Source, open_source, open_table
from tabpe.privacy import Certificate, Neighbours, NoiseSource, OpenDPNoise
from tabpe.rows import check_plain_columns, check_unit_column
from tabpe.run_folder import Run
from tabpe.schema import Schema


def appraise(
    real: Any,
    synthetic: Any,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: float | None,
    delta: float | None = None,
    certificate: Certificate | None = None,
    neighbours: Neighbours | None = None,
    unit: str | None = None,
    charge: Charge | None = None,
    noise: NoiseSource | None = None,
    random_state: int | None = None,
) -> Appraisal:
    """Buy measures of how well a synthetic table stands for the real one.

    Privacy: the rows are read by `tabpe.measure` alone, once, after all was charged. All that is
    returned keeps the promise of its certificate, whose epsilon is at most `epsilon`. The synthetic
    table and the schema are taken as public.

    Args:
        real: The real table: a data frame, a dataset, or the path of files.
        synthetic: The synthetic table: a data frame, or the path of files.
        schema: What is public about the table, or the path of a schema file; None for the one in
            the certificate.
        epsilon: The privacy budget of these measures.
        delta: The chance that the promise fails; None for that of the certificate, or else of the
            budget of the data set.
        certificate: The certificate of the synthetic table, if it has one.
        neighbours: Whom the promise is for; None for that of the certificate, or else for rows.
        unit: The column of user ids, if the promise is to users; None for that of the certificate.
        charge: The data set of a ledger that is charged before a row is read; None for no ledger.
        noise: The source of noise; None for the exact one.
        random_state: Seed of the predictor, and of the choice of rows of a user. It never seeds
            the noise.

    Raises:
        ParameterError: If the terms are incomplete or contradict each other.
        DataError: If a table does not fit the schema.
        BudgetError: If the ledger refuses the charge.

    Example:
        >>> from tabpe.schema import Boolean, Integer
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
        >>> real = pa.table({"age": [20, 70] * 5000, "ill": [False, True] * 5000})
        >>> synthetic = pa.table({"age": [22, 68] * 50, "ill": [False, True] * 50})
        >>> found = appraise(real, synthetic, schema, epsilon=1, delta=1e-6, random_state=0).bought
        >>> found.certificate.epsilon <= 1, abs(found.rows[0] - 10_000) < 200
        (True, True)
        >>> found.accuracy[0] > 0.9
        True
    """
    source, public = noise or OpenDPNoise(), open_table(synthetic)[0]
    offer = offer_of(
        epsilon=epsilon,
        delta=delta,
        certificate=certificate,
        neighbours=neighbours,
        unit=unit,
        noise=source,
        charge=charge,
    )
    declared = schema_of(schema, certificate, offer.unit).of_target
    rows = _opened(real, declared, offer.unit)
    run = Run.begin(_validate.optional(_validate.whole, "random_state", random_state, least=0))
    encoded = _encoded(declared, public)
    predict = trained(encoded, seed=run.seed)
    plan = plan_of(encoded, predict, of_users=offer.request.neighbours.of_users)
    order = Order(encoded, plan, offer, run)
    together = promised_together(offer, order.account.agreed)
    return findings(buy(rows, order), order, public, together)


def _opened(real: Any, schema: Schema, unit: str | None) -> WatchedSource:
    """Return the real table, refused before it costs anything if it lacks a column."""
    source: Source = open_source(real)
    encoder = Encoder(schema)
    encoder.check_names(source.names)
    if unit is not None:
        check_unit_column(source, unit)
    check_plain_columns(source, encoder.names)
    return WatchedSource(source)


def _encoded(schema: Schema, table: pa.Table) -> Synthetic:
    """Return the synthetic rows as the real ones will be encoded; refuse those that do not fit.

    They are public, so an error about one of their cells tells nothing.
    """
    try:
        rows, classes = Encoder(schema, strict=True).encode(table)
    except CellError as error:
        found = error.at("synthetic", 0)
    else:
        return Synthetic(Encoder(schema), rows, classes)
    raise found
