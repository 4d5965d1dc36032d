"""Metrics of the real rows, measured with budget.

- `MetricTerms`: epsilon, delta and relation, from the certificate of the table or as given
- `MetricRequest`: charge, measure, certify; nothing else reads the real rows
- `compute_joint_guarantee`: what a synthetic table and the measures of its real rows guarantee
  together. Both are measurements of one table, so their spends compose as those of two runs in a
  ledger do. A table whose noise was held to a limit of zCDP counts with all of that limit, and so
  does one by selections: there the whole is composed as zCDP. A total is never below the epsilon of
  a part.
- `appraise`: private measures of the real rows, as a public report shows them
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tabpe._utils import validation
from tabpe._utils.resources import Resources
from tabpe.accounting import (
    ROW_LEVEL,
    Account,
    Certificate,
    ExactNoise,
    NeighboringRelation,
    NoiseSource,
    OpenDPNoise,
    Spend,
    compose_epsilon,
)
from tabpe.accounting.calibration import BudgetShare
from tabpe.accounting.ledger import Budget, RunEntry
from tabpe.accounting.ledger.composition import compute_entries_epsilon
from tabpe.accounting.pld import round_up
from tabpe.accounting.spend import EXPONENTIAL
from tabpe.accounting.zcdp_filter import GAUSSIAN_DP
from tabpe.backends import EncodedReading, LocalBackend, PrivacyUnit
from tabpe.encoding import Encoder, Marginal
from tabpe.encoding.cells import encode_numbers, get_origin
from tabpe.encoding.marginals import ListAxis, MarginalAxis, NumberAxis, build_class_axis
from tabpe.errors import CellError, ParameterError, SchemaError, TabpeError
from tabpe.evaluation.metrics.columns import (
    BINS,
    ColumnComparison,
    ColumnShape,
    describe_bins,
    describe_mean,
)
from tabpe.evaluation.private_metrics.estimates import (
    Appraisal,
    Floats,
    NoisyDifference,
    NoisyTotal,
    PrivateMeasures,
    compute_band,
    estimate_accuracy,
    estimate_difference,
    estimate_macro_f1,
    estimate_shares,
    estimate_total,
)
from tabpe.evaluation.private_metrics.plan import (
    COARSE_BINS,
    MOST_ROWS,
    EncodedSynthetic,
    MarginalPlan,
    plan_marginals,
    train_predictor,
)
from tabpe.io import TableSource, open_source, open_table
from tabpe.io.source import (
    check_plain_columns,
    check_unit_column,
)
from tabpe.measurement import PrivateSession
from tabpe.measurement.checkpoint import RunInfo
from tabpe.measurement.histograms import MARGINALS
from tabpe.measurement.reservation import (
    LedgerCharge,
    WatchedSource,
    reserve_budget,
    run_shielded,
)
from tabpe.schema import Boolean, Categorical, Column, Float, Integer, Schema, Temporal
from tabpe.schema.table_format import TableReading
from tabpe.synthesizers.budget import (
    agree_on_rest,
    compute_spent_epsilon,
    compute_spent_sampling_delta,
)
from tabpe.synthesizers.certify import (
    ACCOUNTANT,
    USER_ACCOUNTANT,
    certify,
    list_storage_facts,
)
from tabpe.synthesizers.options import PublicFacts, SynthesisRequest


@dataclass(frozen=True)
class MetricTerms:
    """The terms of private measures, all of them checked.

    Args:
        request: Epsilon, delta and the neighbouring relation.
        delta_source: Where delta comes from.
        unit: The column of user ids, for a user-level guarantee.
        noise: The source of noise.
        charge: The ledger that they are charged to, if any.
        certificate: That of the synthetic table, if there is one.
    """

    request: SynthesisRequest
    delta_source: str
    unit: str | None
    noise: NoiseSource
    charge: LedgerCharge | None
    certificate: Certificate | None

    @property
    def delta(self) -> float:
        """The delta of the measures."""
        if self.request.delta is None:
            raise AssertionError("offer_of")
        return self.request.delta

    @property
    def facts(self) -> PublicFacts:
        """What is public about the real rows: nothing but delta is needed."""
        return PublicFacts(None, (), self.delta, self.delta)


def resolve_terms(
    *,
    epsilon: float | None,
    delta: float | None,
    certificate: Certificate | None,
    neighbours: NeighboringRelation | None,
    unit: str | None,
    noise: NoiseSource,
    charge: LedgerCharge | None,
) -> MetricTerms:
    """Return the terms, where what is not given is that of the certificate."""
    if epsilon is None:
        raise ParameterError(
            "epsilon: measures of real rows cost privacy: give the budget of these measures, "
            "for example epsilon=0.5."
        )
    if neighbours is None and unit is None and certificate is not None:
        neighbours, unit = certificate.neighbours, certificate.unit
    neighbours = neighbours or ROW_LEVEL
    if (unit is not None) is not neighbours.is_user_level:
        raise ParameterError(
            f"unit={unit!r}: expected the column of user ids if, and only if, the guarantee is for "
            f"users: give both unit and max_rows_per_user, or neither."
        )
    found, words = _resolve_delta(delta, certificate, charge)
    request = SynthesisRequest.for_measures(epsilon, found, neighbours)
    return MetricTerms(request, words, unit, noise, charge, certificate)


def resolve_schema(
    given: Schema | str | Path | None, certificate: Certificate | None, unit: str | None
) -> Schema:
    """Return the schema: the given one, or that of the certificate."""
    if given is None and certificate is None:
        raise SchemaError(
            "schema=None: cells are counted by what is public about the table. Give the schema "
            "that the synthetic table was made with, or its certificate, which holds it."
        )
    if given is None and certificate is not None:
        given = Schema.from_dict(certificate.schema)
    schema = Schema.load(given) if isinstance(given, (str, Path)) else given
    if not isinstance(schema, Schema):
        raise SchemaError(
            f"schema: {type(schema).__name__}: expected a Schema without gaps, or a path to one. "
            f"The one of a private schema is in the certificate."
        )
    if unit is not None and unit in schema.names:
        raise ParameterError(
            f"unit={unit!r}: is a column of the schema too: take it out of the schema."
        )
    return schema


def _resolve_delta(
    given: float | None, certificate: Certificate | None, charge: LedgerCharge | None
) -> tuple[float, str]:
    if given is not None:
        return given, f"delta {given:g}"
    if certificate is not None:
        delta = certificate.accounted_delta
        return delta, f"delta {delta:.4g}, as for the spends of the synthetic table"
    if charge is not None and charge.delta is not None:
        return charge.delta, f"delta {charge.delta:g}, that of the budget of the data set"
    raise ParameterError(
        "delta=None: there is no certificate to take it from, and the number of rows is private. "
        "Give delta, far below 1/rows, for example 1e-6."
    )


SEED_POLICY = (
    "random_state drives the training of the predictor and, for users, the choice of rows; noise "
    "takes no seed"
)


@dataclass(frozen=True, eq=False)
class CertifiedCounts:
    """What was measured and what it guarantees; all of it is public.

    Args:
        counts: The noisy counts of each table of the plan, in its order.
        certificate: What the measures guarantee.
    """

    counts: list[Floats]
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class MetricRequest:
    """What is to be measured, before a row is read.

    Args:
        synthetic: The synthetic rows.
        plan: The tables of counts.
        terms: Their budget and relation.
        run: Name, seed and time of the run.
        account: Lets these tables through, with the noise that the terms need.
    """

    synthetic: EncodedSynthetic
    plan: MarginalPlan
    terms: MetricTerms
    run: RunInfo
    account: Account = field(default_factory=Account)

    def __post_init__(self) -> None:
        request, facts = self.terms.request, self.terms.facts
        tables = (BudgetShare(MARGINALS, share=1.0, times=len(self.plan.marginals)),)
        agree_on_rest(request, facts, self.account, tables)

    @property
    def spend(self) -> Spend:
        """What all marginals cost."""
        (spend,) = self.account.authorized
        return spend


def measure_with_budget(source: WatchedSource, order: MetricRequest) -> CertifiedCounts:
    """Measure what was ordered.

    Privacy: the rows are read by `tabpe.measurement` alone, after all of it was charged: to the
    ledger, if there is one, and to the account.
    """
    return run_shielded(
        lambda: _charge_and_measure(source, order),
        TabpeError("the machine ran out of memory: use a larger one."),
    )


def _charge_and_measure(source: WatchedSource, order: MetricRequest) -> CertifiedCounts:
    terms, neighbours = order.terms, order.terms.request.neighbours
    with reserve_budget(
        terms.charge,
        order.run.id,
        (order.spend,),
        neighbours,
        lambda: not source.was_read,
    ) as entry:
        backend = LocalBackend(source, _make_unit(order), Resources.from_options(n_jobs=1))
        reading = EncodedReading(order.synthetic.encoder)
        session = PrivateSession(backend, order.account, terms.noise, neighbours, reading=reading)
        counts = session.estimate_marginals(order.spend, order.plan.marginals)
    certificate = _certify_measures(order, session)
    if terms.charge is not None and entry is not None:
        certificate = terms.charge.settle_entry(entry, certificate)
    return CertifiedCounts(counts, certificate)


def _make_unit(order: MetricRequest) -> PrivacyUnit | None:
    """Return who is a user, for user-level neighbours."""
    neighbours, unit = order.terms.request.neighbours, order.terms.unit
    if unit is None or neighbours.max_rows is None:
        return None
    names = tuple(order.synthetic.encoder.names)
    return PrivacyUnit(unit, neighbours.max_rows, order.run.seed, neighbours.scale, names)


def _certify_measures(order: MetricRequest, session: PrivateSession) -> Certificate:
    """Return the certificate of finished measures."""
    terms, account, schema = order.terms, order.account, order.synthetic.encoder.schema
    request = terms.request
    return certify(
        epsilon=compute_spent_epsilon(request, terms.facts, account),
        requested_epsilon=request.epsilon,
        delta=terms.delta,
        sampling_delta=compute_spent_sampling_delta(request, account),
        delta_source=terms.delta_source,
        neighbours=request.neighbours,
        unit=terms.unit,
        spends=account.spent,
        accountant=USER_ACCOUNTANT if request.neighbours.is_user_level else ACCOUNTANT,
        noise=terms.noise,
        schema=schema,
        assumed_public=("the schema", "the synthetic table", *list_storage_facts(schema)),
        configuration=_describe_configuration(order.synthetic, order.plan),
        seed_policy=SEED_POLICY,
        created=order.run.started,
        notes=_write_notes(schema, terms),
        measurements=session.transcript.sha256,
    )


def _describe_configuration(
    synthetic: EncodedSynthetic, plan: MarginalPlan
) -> dict[str, int | str | None]:
    predictor = f"gradient boosting on at most {MOST_ROWS:,} synthetic rows"
    return {
        "purpose": "measures of the real rows for a public report",
        "tables_of_columns": len(plan.columns),
        "tables_of_label_and_column": len(plan.pairs),
        "table_of_predictions": None if plan.mistakes is None else predictor,
        "cells": sum(marginal.size for marginal in plan.marginals),
        "most_bins": BINS,
        "most_bins_with_label": COARSE_BINS,
        "synthetic_rows": len(synthetic.rows),
    }


def _write_notes(schema: Schema, offer: MetricTerms) -> tuple[str, ...]:
    notes = ["measures of the real rows, not the synthetic table, which has its own certificate"]
    if schema.fields_estimated:
        notes.append("fields of the schema that were estimated before are taken as public here")
    users = offer.request.neighbours
    if users.max_rows is not None:
        notes.append(
            f"a user is whoever has one value of {offer.unit!r}; of each user at most "
            f"{users.max_rows:,} of the rows contribute, chosen at random; together they "
            "contribute 1"
        )
    return tuple(notes)


_SOURCES = (ExactNoise.name, OpenDPNoise.name)
_DIGITS = 6
# What a filter may let through above its limit, and what its spends may lack.
_ROUNDING = 4e-9


@dataclass(frozen=True)
class JointGuarantee:
    """The guarantee of a table and its private measures together.

    Args:
        epsilon: Epsilon of all spends; None if they do not add up to a guarantee.
        delta: The delta that goes with it.
        note: Why there is no guarantee of both; empty if there is one.
    """

    epsilon: float | None = None
    delta: float | None = None
    note: str = ""


def compute_joint_guarantee(offer: MetricTerms, spends: tuple[Spend, ...]) -> JointGuarantee:
    """Return the guarantee of a table and its private measures together.

    Args:
        offer: The terms of the measures, with the certificate of the table.
        spends: Those of the measures.
    """
    table, obstacle = offer.certificate, _find_obstacle(offer)
    if table is None or obstacle:
        return JointGuarantee(note=obstacle)
    delta, relation = max(table.accounted_delta, offer.delta), offer.request.neighbours
    try:
        budget = Budget("both", 1.0, delta, relation.adjacency, offer.unit)
        entries = [
            RunEntry(
                "table",
                "both",
                table.spends,
                table.neighbours,
                offer.unit,
                adaptive=table.adaptive,
                limit=_compute_limit(table),
            ),
            RunEntry("measures", "both", spends, relation, offer.unit),
        ]
        epsilon = compute_entries_epsilon(entries, budget)
        parts = table.epsilon, compose_epsilon(spends, offer.delta, relation)
    except ParameterError as error:
        return JointGuarantee(note=f"the two do not add up: {error}")
    if math.isinf(epsilon):
        return JointGuarantee(note="the two together take all of delta")
    # Accountants round up by different amounts, which matters where one part is next to nothing.
    return JointGuarantee(round_up(max(epsilon, *parts), _DIGITS), max(table.delta, offer.delta))


def _compute_limit(table: Certificate) -> float | None:
    """Return the loss of zCDP that a table has at most; None if it is a Gaussian mechanism.

    What a filter had left is among the spends, so that its losses add up to the limit.
    """
    of_zcdp = table.adaptive and table.filter != GAUSSIAN_DP
    if of_zcdp or any(item.mechanism == EXPONENTIAL for item in table.spends):
        return (1 + _ROUNDING) * math.fsum(item.loss for item in table.spends)
    return None


def _find_obstacle(offer: MetricTerms) -> str:
    """Return why two guarantees do not add up to one; empty if they do."""
    table, relation = offer.certificate, offer.request.neighbours
    if table is None:
        return "no certificate of the synthetic table: nothing is known of its cost"
    if not (table.private and offer.noise.private):
        return "fake noise was used"
    if table.noise not in _SOURCES:
        return "the noise of the synthetic table is of an unknown source"
    if table.neighbours.adjacency is not relation.adjacency or table.unit != offer.unit:
        return "the synthetic table has another neighboring relation than these measures"
    return ""


def build_comparison(
    synthetic: EncodedSynthetic,
    table: pa.Table,
    marginal: Marginal,
    counts: Floats,
    *,
    difference: float,
    total: NoisyTotal,
    sigma: float,
) -> ColumnComparison:
    """Return one column.

    Args:
        synthetic: The synthetic rows, encoded.
        table: The same rows as they are.
        marginal: The cells of the column.
        counts: The noisy number of real rows in them.
        difference: How far the two are apart.
        total: The number of real rows.
        sigma: Scale of the noise.
    """
    (axis,) = marginal.axes
    column = synthetic.encoder.schema[axis.name]
    bins = describe_bins(column, axis.edges) if isinstance(axis, NumberAxis) else {}
    return ColumnComparison(
        name=axis.name,
        kind="number" if isinstance(axis, NumberAxis) else "category",
        edges=axis.edges if isinstance(axis, NumberAxis) else (),
        bars=_name_bars(column, axis) if isinstance(axis, ListAxis) else (),
        real=ColumnShape(*_split_shares(axis, estimate_shares(counts))),
        synthetic=_build_shape(column, axis, table, synthetic.compute_shares(marginal)),
        difference=difference,
        band=compute_band(total, sigma),
        **bins,
    )


def _split_shares(axis: MarginalAxis, shares: Floats) -> tuple[tuple[float, ...], float]:
    """Return the shares of bins among all that are not null, and that of nulls."""
    if not isinstance(axis, NumberAxis) or not axis.nullable:
        return tuple(shares.tolist()), 0.0
    *known, nulls = shares.tolist()
    whole = sum(known)
    return tuple(share / whole if whole > 0 else 0.0 for share in known), nulls


def _build_shape(
    column: Column, axis: MarginalAxis, table: pa.Table, shares: Floats
) -> ColumnShape:
    known, nulls = _split_shares(axis, shares)
    values = np.empty(0)
    if isinstance(column, (Integer, Float, Temporal)):
        values = encode_numbers(column, table[column.name]) + get_origin(column)
        values = values[~np.isnan(values)]
    if not len(values):
        return ColumnShape(known, nulls)
    shape = ColumnShape(
        known,
        nulls,
        mean=float(values.mean()),
        deviation=float(values.std()),
        least=float(values.min()),
        most=float(values.max()),
    )
    return describe_mean(column, shape)


def _name_bars(column: Column, axis: ListAxis) -> tuple[str, ...]:
    """Return what each cell is called: as its value, or how many share it."""
    values: tuple[Any, ...] = ()
    if isinstance(column, (Categorical, Boolean)):
        values = (*column.values, "null") if column.nullable else column.values
    held: dict[int, list[Any]] = {cell: [] for cell in range(axis.size)}
    for value, cell in zip(values, axis.groups, strict=True):
        held[cell].append(value)
    return tuple(
        str(one[0]) if len(one) == 1 else f"{len(one)} other values" for one in held.values()
    )


# Below so many standard deviations of its noise a number of rows says nothing.
_FEW = 10.0


@dataclass(frozen=True, eq=False)
class NoisyMarginals:
    """Noisy counts, table by table.

    Args:
        tables: The tables and their counts.
        users: The number of users; None if rows were counted.
        sigma: Scale of the noise.
    """

    tables: Sequence[tuple[Marginal, Floats]]
    users: Floats | None
    sigma: float

    @property
    def number(self) -> NoisyTotal:
        """The number of rows or users."""
        tables = [counts for _, counts in self.tables] if self.users is None else [self.users]
        return estimate_total(tables, self.sigma)

    def get_total(self, counts: Floats) -> NoisyTotal:
        """Return what the cells of a table add up to.

        All tables hold all rows. What users weigh is another number in each.
        """
        return self.number if self.users is None else estimate_total([counts], self.sigma)

    def __getitem__(self, marginal: Marginal) -> Floats:
        return next(counts for one, counts in self.tables if one is marginal)


def build_appraisal(
    paid: CertifiedCounts, order: MetricRequest, table: pa.Table, together: JointGuarantee
) -> Appraisal:
    """Return the estimates, in numbers and in pictures.

    Args:
        paid: The noisy counts and their certificate.
        order: What was ordered.
        table: The synthetic rows as they are.
        together: The guarantee of the table and the measures together.
    """
    plan, synthetic = order.plan, order.synthetic
    counts = _collect_counts(paid, plan)
    columns = [_estimate_difference(marginal, synthetic, counts) for marginal in plan.columns]
    views = [
        build_comparison(
            synthetic,
            table,
            marginal,
            counts[marginal],
            difference=difference.estimate,
            total=counts.get_total(counts[marginal]),
            sigma=counts.sigma,
        )
        for marginal, difference in zip(plan.columns, columns, strict=True)
    ]
    mistakes = None if plan.mistakes is None else counts[plan.mistakes]
    measures = PrivateMeasures(
        certificate=paid.certificate,
        total_epsilon=together.epsilon,
        total_delta=together.delta,
        rows=counts.number.interval,
        accuracy=_estimate_accuracy(mistakes, counts),
        majority=_estimate_majority(mistakes, plan, synthetic, counts),
        notes=_write_joint_notes(paid.certificate, counts.number, together),
        macro_f1=None if mistakes is None else estimate_macro_f1(mistakes),
        differences=tuple(columns),
        differences_by_label=tuple(
            _estimate_difference(one, synthetic, counts) for one in plan.pairs
        ),
    )
    return Appraisal(measures, tuple(views))


def _collect_counts(paid: CertifiedCounts, plan: MarginalPlan) -> NoisyMarginals:
    found = list(zip(plan.marginals, paid.counts, strict=True))
    users = None if plan.users is None else found.pop()[1]
    (item,) = paid.certificate.spends
    return NoisyMarginals(found, users, item.sigma)


def _estimate_difference(
    marginal: Marginal, synthetic: EncodedSynthetic, counts: NoisyMarginals
) -> NoisyDifference:
    found = counts[marginal]
    return estimate_difference(
        marginal.names,
        found,
        synthetic.compute_shares(marginal),
        counts.get_total(found),
        counts.sigma,
    )


def _estimate_accuracy(
    mistakes: Floats | None, counts: NoisyMarginals
) -> tuple[float, float] | None:
    if mistakes is None:
        return None
    return estimate_accuracy(mistakes, counts.get_total(mistakes), counts.sigma)


def _estimate_majority(
    mistakes: Floats | None, plan: MarginalPlan, synthetic: EncodedSynthetic, counts: NoisyMarginals
) -> float | None:
    """Return the share of the most common class, by the table with the least noise on classes."""
    if mistakes is None:
        return None
    classes = build_class_axis(synthetic.encoder)
    for marginal in plan.columns:
        if marginal.axes == (classes,):
            return float(estimate_shares(counts[marginal]).max())
    return None if mistakes.ndim == 1 else float(estimate_shares(mistakes.sum(axis=1)).max())


def _write_joint_notes(
    certificate: Certificate, number: NoisyTotal, together: JointGuarantee
) -> tuple[str, ...]:
    notes = []
    if certificate.fields_from_data:
        notes.append(
            "NOT COVERED by any guarantee, because they were read off the data: "
            f"{', '.join(certificate.fields_from_data)}"
        )
    if not certificate.private:
        notes.append("NOT PRIVATE: made with a fake source of noise, for tests only")
    if together.note:
        notes.append(f"no guarantee of both together: {together.note}")
    if certificate.neighbours.is_user_level:
        notes.append(
            "a user contributes 1 to every table, however many rows there are, and shares are of "
            "these weights; the number is that of users"
        )
    if number.value < _FEW * number.deviation:
        notes.append(
            "the noise is as large as the table: these measures say next to nothing. Ask for a "
            "larger epsilon"
        )
    return tuple(notes)


def appraise(
    real: Any,
    synthetic: Any,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: float | None,
    delta: float | None = None,
    certificate: Certificate | None = None,
    neighbours: NeighboringRelation | None = None,
    unit: str | None = None,
    charge: LedgerCharge | None = None,
    noise: NoiseSource | None = None,
    random_state: int | None = None,
) -> Appraisal:
    """Estimate privately how well a synthetic table represents the real one.

    Privacy: the rows are read by `tabpe.measurement` alone, once, after all was charged. All that
    is returned satisfies the guarantee of its certificate, whose epsilon is at most `epsilon`. The
    synthetic table and the schema are taken as public.

    Args:
        real: The real table: a data frame, a dataset, or the path of files.
        synthetic: The synthetic table: a data frame, or the path of files.
        schema: What is public about the table, or the path of a schema file; None for the one in
            the certificate.
        epsilon: The privacy budget of these measures.
        delta: The delta of the guarantee; None for that of the certificate, or else of the budget
            of the data set.
        certificate: The certificate of the synthetic table, if it has one.
        neighbours: The neighboring relation; None for that of the certificate, or else for rows.
        unit: The column of user ids, for a user-level guarantee; None for that of the certificate.
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
        >>> private = appraise(real, synthetic, schema, epsilon=1, delta=1e-6, random_state=0)
        >>> found = private.measures
        >>> found.certificate.epsilon <= 1, abs(found.rows[0] - 10_000) < 200
        (True, True)
        >>> found.accuracy[0] > 0.9
        True
    """
    source, public = noise or ExactNoise(), open_table(synthetic)[0]
    offer = resolve_terms(
        epsilon=epsilon,
        delta=delta,
        certificate=certificate,
        neighbours=neighbours,
        unit=unit,
        noise=source,
        charge=charge,
    )
    declared = resolve_schema(schema, certificate, offer.unit).of_target
    rows = _open_real(real, declared, offer.unit)
    run = RunInfo.begin_run(
        validation.check_optional(validation.check_integer, "random_state", random_state, least=0)
    )
    encoded = _encode_synthetic(declared, public)
    predict = train_predictor(encoded, seed=run.seed)
    plan = plan_marginals(encoded, predict, of_users=offer.request.neighbours.is_user_level)
    order = MetricRequest(encoded, plan, offer, run)
    together = compute_joint_guarantee(offer, order.account.authorized)
    return build_appraisal(measure_with_budget(rows, order), order, public, together)


def _open_real(real: Any, schema: Schema, unit: str | None) -> WatchedSource:
    """Return the real table, refused before it costs anything if it lacks a column."""
    source: TableSource = open_source(real, reading=TableReading.from_schema(schema, unit))
    encoder = Encoder(schema)
    encoder.check_names(source.names)
    if unit is not None:
        check_unit_column(source, unit, schema.names)
    check_plain_columns(source, encoder.names)
    return WatchedSource(source)


def _encode_synthetic(schema: Schema, table: pa.Table) -> EncodedSynthetic:
    """Return the synthetic rows as the real ones will be encoded; refuse those that do not fit.

    They are public, so an error about one of their cells tells nothing.
    """
    try:
        rows, classes = Encoder(schema, strict=True).encode(table)
    except CellError as error:
        found = error.at("synthetic", 0)
    else:
        return EncodedSynthetic(Encoder(schema), rows, classes)
    raise found
