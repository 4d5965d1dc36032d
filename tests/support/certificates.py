"""Certificates for tests: an honest one of each kind, without a run."""

import math

from tabpe.accounting import (
    ROW_LEVEL,
    Adjacency,
    Certificate,
    ExactNoise,
    LedgerEntry,
    NeighboringRelation,
    Spend,
    WrittenTable,
    compose_epsilon,
)
from tabpe.accounting.calibration import BudgetShare, calibrate_spends
from tabpe.accounting.delta import RowCount, subtract_sampling_delta
from tabpe.accounting.zcdp_filter import (
    GAUSSIAN_DP,
    ZCDP,
    compute_epsilon_from_loss,
    find_largest_loss,
)
from tabpe.schema import Categorical, Float, Integer, Schema, Source
from tabpe.verification.verify import SAMPLING_ERRORS

SCHEMA = Schema(
    (
        Integer("age", 0, 99),
        Float("bmi", 10.0, 60.0, decimals=1),
        Categorical("ward", ("heart", "lung", "else"), other="else"),
    )
)
DRAFTED = Schema((Integer("age", 0, 99, source=Source.DATA), *SCHEMA.columns[1:]))
USERS = NeighboringRelation(Adjacency.REPLACE_ONE, max_rows=4)
# A source of noise of earlier versions, in certificates that must still verify.
TABLE_NOISE = "discrete Gaussian by table, within 2^-108 of exact, operating system randomness"
NOISY = RowCount.from_noisy_counts(5000.0, sigma=30.0, cells=1)


def honest(
    epsilon=1.0,
    *,
    neighbours=ROW_LEVEL,
    noise=ExactNoise.name,
    schema=SCHEMA,
    rows=None,
    delta_share=0.0,
    release=None,
    ledger=None,
    private=True,
    filtered=None,
    strict=False,
):
    """A certificate as `tabpe.synthesizers.certify` would write it."""
    spends = [Spend("row count", 30.0 / epsilon, 1, delta_share)]
    sampling_error = SAMPLING_ERRORS[noise] + neighbours.sampling_error
    sampling_delta = (1 + math.exp(epsilon)) * 16 * neighbours.cells * sampling_error
    delta = rows.calibration_delta if rows else 1e-6
    exact = subtract_sampling_delta(delta, sampling_delta)
    plan = (BudgetShare("votes", 1.0, 15),)
    if filtered == ZCDP:
        left = find_largest_loss(epsilon, exact) - sum(item.loss for item in spends)
        spends.append(plan[0].make_spend(left))
        total = compute_epsilon_from_loss(sum(item.loss for item in spends), exact)
    else:
        follows = filtered is not None
        spends += calibrate_spends(plan, epsilon, exact, neighbours, spends, adaptive=follows)
        total = compose_epsilon(spends, exact, neighbours, adaptive=follows)
    return Certificate(
        epsilon=total,
        delta=rows.guaranteed_delta if rows else delta,
        sampling_delta=sampling_delta,
        requested_epsilon=epsilon,
        delta_source="delta 1e-06",
        delta_rows=rows,
        neighbours=neighbours,
        unit="patient" if neighbours.is_user_level else None,
        strict=strict,
        spends=tuple(spends),
        accountant="privacy loss distributions",
        noise=noise if private else "fake",
        private=private,
        schema=schema.to_dict(),
        schema_digest=schema.digest,
        fields_from_data=schema.fields_from_data,
        estimated=("bmi.min", "bmi.max"),
        assumed_public=("the schema",),
        configuration={"n_samples": 10, "rounds": 15},
        seed_policy="noise takes no seed",
        versions={"tabpe": "0.1.0"},
        created="2025-01-01T00:00:00+00:00",
        notes=("a note",),
        measurements_sha256="cd" * 32,
        adaptive=filtered is not None,
        filter=filtered,
        release=release,
        ledger=ledger,
    )


TABLE = WrittenTable("out.csv", "ab" * 32, rows=10, size_bytes=1234)
ENTRY = LedgerEntry("patients", "17")
KINDS = {
    "rows": {},
    "a table and a ledger": {"release": TABLE, "ledger": ENTRY},
    "replace-one": {"neighbours": NeighboringRelation(Adjacency.REPLACE_ONE)},
    "users": {"neighbours": USERS},
    "noise from a table": {"noise": TABLE_NOISE},
    "a noisy delta": {"rows": NOISY},
    "told values": {"delta_share": 1e-8},
    "a limit of zCDP": {"filtered": ZCDP},
    "a limit of Gaussian DP": {"filtered": GAUSSIAN_DP, "delta_share": 1e-8},
    "a limit of Gaussian DP and little noise": {"filtered": GAUSSIAN_DP, "epsilon": 20.0},
    "a limit for users": {"filtered": GAUSSIAN_DP, "neighbours": USERS},
    "a limit and replaced rows": {
        "filtered": GAUSSIAN_DP,
        "neighbours": NeighboringRelation(Adjacency.REPLACE_ONE),
    },
    "a drafted schema": {"schema": DRAFTED},
    "little noise": {"epsilon": 30.0},
    "much noise": {"epsilon": math.pi / 100},
    "a strict run": {"strict": True},
}
