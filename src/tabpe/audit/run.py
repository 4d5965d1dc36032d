"""The audit: every test on one system, and every broken system under the same tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from tabpe._utils.extras import has_opendp_extra
from tabpe.accounting import OpenDPNoise
from tabpe.accounting.pld import check_guarantee
from tabpe.audit.attacks import (
    FITTED,
    BoundaryCanaries,
    MarginalChannel,
    MembershipGame,
    ScatteredCanaries,
    VoteChannel,
)
from tabpe.audit.report import AuditReport, Finding, PrivacyClaim
from tabpe.audit.storage_forms import StorageAudit
from tabpe.audit.systems import (
    BROKEN,
    BROKEN_CHARGES,
    BROKEN_FOR_USERS,
    BROKEN_IN_STORAGE,
    SHIPPED,
    AuditedSystem,
)
from tabpe.errors import ParameterError

# Below, the samples do not distinguish other noise from the right one. Above, there is so little
# noise that it is often 0, and correlations and the reading of discrete noise as Gaussian are no
# longer to be trusted.
EPSILONS = 0.01, 20.0
OnTest = Callable[[str], None]


@dataclass(frozen=True)
class AuditEffort:
    """How many samples each test takes. The defaults take about half a minute in all.

    Args:
        channel: The votes under the default noise.
        opendp_channel: The votes under OpenDP's noise, which is many times slower to draw.
        user_channel: The votes of users.
        game: Many small runs.
        places: One run, with canaries that are near to synthetic rows or not.
        edges: Runs with canaries at the bounds of columns.
        soft_channel: The votes where a row has several, and each histogram is asked for twice.
        columns: 1-way marginals.
        fitted_game: Many small runs of the strategy of the usual preset.
        storage: Neighbouring tables in many storage forms.
    """

    channel: VoteChannel = field(default_factory=VoteChannel)
    opendp_channel: VoteChannel = field(default_factory=lambda: VoteChannel(cells=2**15, rounds=8))
    user_channel: VoteChannel = field(default_factory=lambda: VoteChannel(2**17, 8, rows_a_user=16))
    game: MembershipGame = field(default_factory=MembershipGame)
    places: ScatteredCanaries = field(default_factory=ScatteredCanaries)
    edges: BoundaryCanaries = field(default_factory=BoundaryCanaries)
    soft_channel: VoteChannel = field(
        default_factory=lambda: VoteChannel(2**20, 4, votes_per_row=4, repeats=2)
    )
    columns: MarginalChannel = field(default_factory=MarginalChannel)
    fitted_game: MembershipGame = field(
        default_factory=lambda: MembershipGame(200, FITTED, "runs of best")
    )
    storage: StorageAudit = field(default_factory=StorageAudit)


def audit(
    epsilon: float = 1.0,
    delta: float = 1e-5,
    *,
    effort: AuditEffort | None = None,
    on_test: OnTest = lambda _: None,
) -> AuditReport:
    """Attack the guarantee of this installation, and return what that shows.

    Simulated tables go through the code that makes releases: the calibration, the account, the
    votes, the noise, and whole runs of `TabPE`. If OpenDP is installed, its noise is attacked too.
    No private table is needed. Of correct code all tests together refute the guarantee with a
    probability below one in a million.

    Args:
        epsilon: The guarantee to attack.
        delta: The guarantee to attack. Tests of single runs guarantee a smaller one.
        effort: How many samples are taken.
        on_test: Called with the name of each test before it begins.

    Example:
        >>> votes = VoteChannel(2**10), VoteChannel(2**6, 2), VoteChannel(2**8, 2, rows_a_user=4)
        >>> several = (
        ...     VoteChannel(2**8, 2, votes_per_row=4),
        ...     MarginalChannel(2**8, 4),
        ...     MembershipGame(20, FITTED),
        ... )
        >>> few = AuditEffort(
        ...     *votes, MembershipGame(20), ScatteredCanaries(20), BoundaryCanaries(5, 10), *several
        ... )
        >>> report = audit(epsilon=1.0, effort=few)
        >>> report.holds, len(report.findings)
        (True, 32)
    """
    effort, claim = effort or AuditEffort(), _check_claim(epsilon, delta)
    findings = _audit_votes(SHIPPED, claim, effort, on_test)
    if has_opendp_extra():
        on_test("votes, opendp")
        by_opendp = replace(SHIPPED, noise=OpenDPNoise)
        findings += effort.opendp_channel.audit(by_opendp, claim, "votes, opendp")
    findings += _audit_user_votes(SHIPPED, claim, effort, on_test)
    findings += _audit_several_votes(SHIPPED, claim, effort, on_test)
    findings += _audit_pipeline(SHIPPED, claim, effort, on_test)
    findings += _audit_storage(SHIPPED, effort, on_test)
    return AuditReport(SHIPPED.name, claim, tuple(findings))


def audit_broken(
    epsilon: float = 1.0,
    delta: float = 1e-5,
    *,
    effort: AuditEffort | None = None,
    on_test: OnTest = lambda _: None,
) -> tuple[AuditReport, ...]:
    """Return what the same tests show about systems that are broken on purpose.

    The guarantee of each should be refuted: what `audit` does not see in these it would not see in
    tabpe either.

    Args:
        epsilon: The guarantee that is broken.
        delta: The guarantee that is broken.
        effort: How many samples are taken.
        on_test: Called with the name of each test before it begins.
    """
    effort, claim = effort or AuditEffort(), _check_claim(epsilon, delta)
    reports = []
    for system in BROKEN:

        def announce(test: str, name: str = system.name) -> None:
            on_test(f"{name}: {test}")

        findings = _audit_votes(system, claim, effort, announce)
        findings += _audit_several_votes(system, claim, effort, announce)
        findings += _audit_pipeline(system, claim, effort, announce)
        reports.append(AuditReport(system.name, claim, tuple(findings)))
    for system in BROKEN_CHARGES:
        findings = _audit_several_votes(system, claim, effort, on_test)
        reports.append(AuditReport(system.name, claim, tuple(findings)))
    for system in BROKEN_IN_STORAGE:
        findings = _audit_storage(system, effort, on_test)
        reports.append(AuditReport(system.name, claim, tuple(findings)))
    for system in BROKEN_FOR_USERS:
        findings = _audit_user_votes(system, claim, effort, on_test)
        reports.append(AuditReport(system.name, claim, tuple(findings)))
    return tuple(reports)


def _check_claim(epsilon: float, delta: float) -> PrivacyClaim:
    check_guarantee(epsilon, delta)
    low, high = EPSILONS
    if not low <= epsilon <= high:
        raise ParameterError(
            f"epsilon={epsilon:g}: expected {low:g} to {high:g}: the samples of an audit do not "
            f"distinguish others from broken ones."
        )
    return PrivacyClaim(float(epsilon), float(delta))


def _audit_votes(
    system: AuditedSystem, claim: PrivacyClaim, effort: AuditEffort, on_test: OnTest
) -> list[Finding]:
    on_test("votes")
    return effort.channel.audit(system, claim, "votes")


def _audit_several_votes(
    system: AuditedSystem, claim: PrivacyClaim, effort: AuditEffort, on_test: OnTest
) -> list[Finding]:
    """Return what histograms show to which a row adds several votes, or that are several."""
    on_test("several votes")
    findings = effort.soft_channel.audit(system, claim, "several votes")
    on_test("tables")
    return findings + effort.columns.audit(system, claim, "tables")


def _audit_user_votes(
    system: AuditedSystem, claim: PrivacyClaim, effort: AuditEffort, on_test: OnTest
) -> list[Finding]:
    on_test("votes of users")
    return effort.user_channel.audit(system, claim, "votes of users")


def _audit_storage(system: AuditedSystem, effort: AuditEffort, on_test: OnTest) -> list[Finding]:
    on_test("storage forms")
    return list(effort.storage.audit(system))


def _audit_pipeline(
    system: AuditedSystem, claim: PrivacyClaim, effort: AuditEffort, on_test: OnTest
) -> list[Finding]:
    findings: list[Finding] = []
    for name, test in (
        ("many small runs", effort.game),
        ("many small runs of best", effort.fitted_game),
        ("canaries in one run", effort.places),
        ("canaries at bounds", effort.edges),
    ):
        on_test(name)
        findings += test.audit(system, claim)
    return findings
