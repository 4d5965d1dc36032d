"""`certify`: the certificate of a finished run, of Tab-PE, a baseline or private metrics."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from tabpe.accounting import (
    Account,
    Certificate,
    NeighboringRelation,
    NoiseSource,
    OpenDPNoise,
    Spend,
)
from tabpe.accounting.delta import RowCount
from tabpe.accounting.pld import round_up
from tabpe.accounting.zcdp_filter import GAUSSIAN_DP
from tabpe.evolution import Strategy, serialize_strategy
from tabpe.io.canonical import differ_only_by_text
from tabpe.measurement import PrivateSession
from tabpe.measurement.histograms import CLASS_COUNTS
from tabpe.schema import Categorical, Schema
from tabpe.schema_inference import ASSUMED_PUBLIC
from tabpe.synthesizers.budget import (
    compute_spent_epsilon,
    compute_spent_sampling_delta,
    is_adaptive,
)
from tabpe.synthesizers.options import PublicFacts, SynthesisRequest

ACCOUNTANT = (
    "privacy loss distributions of dp_accounting, discrete Gaussian, pessimistic estimate, "
    "adaptive composition of all items"
)
USER_ACCOUNTANT = (
    "privacy loss distribution of dp_accounting, all items as one Gaussian mechanism, pessimistic "
    "estimate; votes of users in parts of a fixed point, discrete Gaussian"
)
ADAPTIVE_ACCOUNTANT = (
    "privacy loss distribution of dp_accounting, all items as one Gaussian mechanism that "
    "dominates them, pessimistic estimate; a filter with a limit fixed at the beginning, because "
    "noise may follow earlier answers"
)
SEED_POLICY = (
    "random_state drives the search (random, variation, selection) only; noise takes no seed"
)
_PACKAGES = ("tabpe", "dp-accounting", "numpy")


def certify(
    *,
    epsilon: float,
    requested_epsilon: float,
    delta: float,
    delta_source: str,
    neighbours: NeighboringRelation,
    spends: tuple[Spend, ...],
    accountant: str,
    noise: NoiseSource,
    schema: Schema,
    assumed_public: tuple[str, ...],
    configuration: Mapping[str, Any],
    seed_policy: str,
    created: str,
    notes: tuple[str, ...],
    measurements: str,
    sampling_delta: float = 0.0,
    delta_rows: RowCount | None = None,
    unit: str | None = None,
    strict: bool = False,
    estimated_fields: tuple[str, ...] = (),
    privacy_filter: str | None = None,
) -> Certificate:
    """Return the certificate of a finished run.

    Args:
        epsilon: What the spends compose to.
        requested_epsilon: What was asked for; the certificate states no more.
        delta: The delta of the guarantee.
        delta_source: Where it comes from, in words.
        neighbours: The neighboring relation.
        spends: All that was charged.
        accountant: How spends were composed, in words.
        noise: The source of noise.
        schema: The schema of the rows.
        assumed_public: What is taken as public, beside how the table is stored.
        configuration: The settings of the method.
        seed_policy: What a seed drives, in words.
        created: When the run began.
        notes: What a reader should know.
        measurements: The digest of all noisy answers.
        sampling_delta: The part of delta that noise of users takes; 0 at row level.
        delta_rows: The noisy number of rows that delta follows, if it does.
        unit: The column of user ids, for user-level neighbours.
        strict: Whether cells that can not be read were refused.
        estimated_fields: Fields of the schema that were estimated privately.
        privacy_filter: The filter, if noise followed earlier answers.
    """
    return Certificate(
        epsilon=min(requested_epsilon, round_up(epsilon, 6)),
        delta=delta,
        sampling_delta=sampling_delta,
        requested_epsilon=requested_epsilon,
        delta_source=delta_source,
        delta_rows=delta_rows,
        neighbours=neighbours,
        unit=unit,
        strict=strict,
        spends=spends,
        accountant=accountant,
        noise=noise.name,
        private=noise.private,
        schema=schema.to_dict(),
        schema_digest=schema.digest,
        fields_from_data=schema.fields_from_data,
        estimated=estimated_fields,
        assumed_public=assumed_public,
        configuration=dict(configuration),
        seed_policy=seed_policy,
        versions=versions(*(["opendp"] if isinstance(noise, OpenDPNoise) else [])),
        created=created,
        notes=notes,
        adaptive=privacy_filter is not None,
        filter=privacy_filter,
        measurements_sha256=measurements,
    )


def certify_run(
    request: SynthesisRequest,
    facts: PublicFacts,
    session: PrivateSession,
    *,
    schema: Schema,
    config: Strategy,
    size: int,
    unit: str | None,
    strict: bool,
    created: str,
    notes: tuple[str, ...],
) -> Certificate:
    """Return the certificate of a run of Tab-PE."""
    account = session.account
    estimated = _list_estimated_fields(schema, account)
    return certify(
        epsilon=compute_spent_epsilon(request, facts, account),
        requested_epsilon=request.epsilon,
        delta=facts.delta,
        sampling_delta=compute_spent_sampling_delta(request, account),
        delta_source=_describe_delta(request, facts),
        delta_rows=_get_delta_rows(request, facts),
        neighbours=request.neighbours,
        unit=unit,
        strict=strict,
        spends=account.spent,
        accountant=_describe_accountant(request),
        noise=session.noise,
        schema=schema,
        estimated_fields=estimated,
        assumed_public=_list_assumptions(request, schema, estimated=estimated),
        configuration=_make_configuration(config, size, request.floor),
        seed_policy=SEED_POLICY,
        created=created,
        notes=(*_notes(request, facts, account, schema, unit), *notes),
        privacy_filter=GAUSSIAN_DP if is_adaptive(request) else None,
        measurements=session.transcript.sha256,
    )


def _describe_accountant(request: SynthesisRequest) -> str:
    if request.neighbours.is_user_level:
        return USER_ACCOUNTANT
    return ADAPTIVE_ACCOUNTANT if is_adaptive(request) else ACCOUNTANT


def _describe_delta(request: SynthesisRequest, facts: PublicFacts) -> str:
    if request.delta is not None:
        return f"delta {request.delta:g}"
    if facts.rows is not None and facts.rows.is_declared:
        return f"delta = 1/(n ln n) with n = {request.rows:,} declared public"
    return "delta = 1/(n ln n) with a noisy n, stated on the safe side"


def _get_delta_rows(request: SynthesisRequest, facts: PublicFacts) -> RowCount | None:
    """Return the number of rows that delta follows, if it is a noisy one."""
    follows = request.delta is None and facts.rows is not None and not facts.rows.is_declared
    return facts.rows if follows else None


def _list_estimated_fields(schema: Schema, account: Account) -> tuple[str, ...]:
    """Return the estimated fields; with which classes are rare, if that is by noisy counts."""
    counted = CLASS_COUNTS in (item.name for item in account.spent)
    return (*schema.fields_estimated, *(["label_rare"] if schema.label_rare and counted else []))


def _list_assumptions(
    request: SynthesisRequest, schema: Schema, *, estimated: tuple[str, ...]
) -> tuple[str, ...]:
    facts = ["the schema"]
    if estimated:
        facts = [ASSUMED_PUBLIC, "all of the schema that was not estimated"]
    facts += list_storage_facts(schema)
    if request.rows is not None:
        of = "users" if request.neighbours.is_user_level else "rows"
        facts.append(f"the number of {of}, {request.rows:,}")
    if request.shares is not None:
        facts.append(f"the share of each class of {schema.label!r}")
    return tuple(facts)


def list_storage_facts(schema: Schema) -> list[str]:
    """Return what is taken as public of how a table is stored: the little that its schema needs."""
    by_text = [
        column.name
        for column in schema.columns
        if isinstance(column, Categorical) and differ_only_by_text(column.values)
    ]
    return [
        f"that {name!r} is stored as text: some of its values differ in no more" for name in by_text
    ]


def _notes(
    request: SynthesisRequest,
    facts: PublicFacts,
    account: Account,
    schema: Schema,
    unit: str | None,
) -> tuple[str, ...]:
    notes = []
    users = request.neighbours
    if users.max_rows is not None:
        notes.append(
            f"a user is whoever has one value of {unit!r}; of each user at most "
            f"{users.max_rows:,} of the rows count, chosen at random; together they "
            f"contribute a vector of L2 norm at most 1"
        )
    if CLASS_COUNTS in (item.name for item in account.spent):
        notes.append(f"the shares of the classes of {schema.label!r} come from noisy counts")
    if request.floor:
        notes.append(
            f"every class has at least {request.floor:,} rows, so small classes have more than "
            f"their share; a class whose count or share is not above 0 has none"
        )
    if facts.rows is not None and not facts.rows.is_declared:
        rows, of = facts.rows, "users" if users.is_user_level else "rows"
        notes.append(f"noisy number of {of}: {rows.estimate:,.0f} +- {rows.margin:,.0f}")
    return tuple(notes)


def _make_configuration(config: Strategy, size: int, floor: int) -> dict[str, Any]:
    floored = {"class_floor": floor} if floor else {}
    return {"n_samples": size, **floored, **serialize_strategy(config)}


def versions(*more: str) -> dict[str, str]:
    """Return the versions of what a result depends on, and of more packages."""
    import importlib.metadata

    found = {name: importlib.metadata.version(name) for name in (*_PACKAGES, *more)}
    return found | {"python": platform.python_version()}
