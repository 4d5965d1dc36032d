"""One run of Tab-PE, from a private table to synthetic rows and their certificate.

1. `resolve_schema` and `merge_rare`: the schema without gaps, and which classes there are.
2. `make_rows`: what a strategy asks of a `PrivateSession`, and what it makes of noisy answers.
3. `run`: all of it, charged to a ledger and resumed from a folder where these are given.

Privacy: rows are read through a `PrivateSession` alone. All else follows from its noisy answers and
from public values, so it costs nothing more.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabpe._utils.files import load_secret_key
from tabpe.accounting import Account, Certificate, Spend
from tabpe.accounting.ledger import RunEntry
from tabpe.backends import Backend, EncodedReading, PrivacyUnit, open_backend
from tabpe.backends.queries import RowHashQuery
from tabpe.encoding import Encoder, Records
from tabpe.encoding.cells import JointClasses
from tabpe.encoding.marginals import Marginal
from tabpe.encoding.records import RankTransform
from tabpe.errors import ParameterError, SchemaError, TabpeError, ThinVotesWarning
from tabpe.evolution import Evolution, EvolutionResult, Posterior, evolve, fit_posterior
from tabpe.evolution.adaptive_bins import adapt_bins
from tabpe.evolution.calibrated_labels import CalibrationQuery
from tabpe.evolution.config import (
    CERTAINTY,
    COLUMNS,
    PAIRS,
    PROBE,
    SEARCH,
    VOTES_OR_OBLIVIOUS,
    get_category_weight,
)
from tabpe.evolution.constraint_repair import ConstraintSet
from tabpe.evolution.extensions import make_observer
from tabpe.evolution.marginal_prior import (
    MarginalBins,
    MarginalPrior,
    NoisyMarginal,
    build_marginal_prior,
    choose_bins,
    choose_pairs,
    project_counts,
)
from tabpe.evolution.oblivious_tables import TableBudget, TableQuery
from tabpe.evolution.pile_search import LEVELS, find_piles
from tabpe.evolution.posterior import PopulationSizes, choose_population_sizes
from tabpe.evolution.private_evolution import VoteQuery, apportion_with_floor
from tabpe.evolution.proposals import MarginalProposal, UniformProposal, constrain_proposal
from tabpe.io import TableSource
from tabpe.io.source import check_plain_columns, check_unit_column
from tabpe.measurement import NoisyCounts, PrivateSession
from tabpe.measurement.checkpoint import (
    MeasurementJournal,
    RunFolder,
    RunInfo,
    compute_code_digest,
    compute_fingerprint,
)
from tabpe.measurement.histograms import CLASS_COUNTS
from tabpe.measurement.reservation import (
    ChargedStart,
    WatchedSource,
    reserve_budget,
    run_shielded,
)
from tabpe.schema import Schema
from tabpe.schema.partial import build_constrained_schema
from tabpe.schema.schema import list_combinations
from tabpe.schema_inference import InferredSchema, infer_schema
from tabpe.synthesizers.budget import (
    agree_on_first,
    agree_on_rest,
    compute_schema_cost,
    is_adaptive,
    plan_counts,
    plan_spends,
)
from tabpe.synthesizers.certify import certify_run, versions
from tabpe.synthesizers.options import (
    PublicFacts,
    RunSettings,
    SynthesisRequest,
    establish_facts,
    get_count_name,
)

# A combination with fewer rows than so many times the noise on its count is rare. One without rows
# is then taken for a class of its own once in 30,000 times. Noise on votes is about as large, so
# these would not show in them either.
RARE_BELOW_SIGMAS = 4.0

Floats = NDArray[np.float64]
AnyProposal = TypeVar("AnyProposal", UniformProposal, MarginalProposal)


@dataclass(frozen=True, eq=False)
class RareCombinations:
    """Which combinations share a class, and how many rows all of them have.

    Args:
        joint: The combinations and their classes.
        counts: The declared or noisy number of rows of each combination, none below 0.
        least: From how many rows on a combination is a class of its own.
    """

    joint: JointClasses
    counts: Floats
    least: float

    @classmethod
    def from_facts(
        cls,
        schema: Schema,
        facts: PublicFacts,
        sigma: float,
        *,
        counted: bool,
        of_users: bool,
        most: int | None,
    ) -> Self:
        """Return which combinations of the labels of a schema are rare.

        Args:
            schema: The schema, with several labels.
            facts: What is known: the weights are those of all combinations.
            sigma: The noise on the count of a combination, or what it would be.
            counted: Whether weights are noisy counts; else they are declared shares.
            of_users: Whether counts are of users, whose vectors add up to another number than
                there are users.
            most: The most classes there may be, if there is a limit.
        """
        weights = np.array(facts.weights, dtype=np.float64)
        counts = weights if counted else weights * facts.row_estimate
        total = max(float(counts.sum()), 1.0) if counted and of_users else facts.row_estimate
        least = RARE_BELOW_SIGMAS * sigma
        joint = JointClasses(schema.joint_labels, find_rare_indices(counts, least, most=most))
        return cls(joint, project_counts(counts, total), least)

    def apply_to_schema(self, schema: Schema) -> Schema:
        """Return a schema with these combinations in one class."""
        every = list_combinations(self.joint.columns)
        return dataclasses.replace(
            schema, label_rare=tuple(every[place] for place in self.joint.rare)
        )

    def merge_facts(self, facts: PublicFacts) -> PublicFacts:
        """Return facts about classes in the place of facts about combinations."""
        weights = np.bincount(self.joint.classes, self.counts)
        rare = self.counts[list(self.joint.rare)]
        return dataclasses.replace(
            facts, weights=tuple(weights.tolist()), rare=tuple(rare.tolist())
        )

    @property
    def share(self) -> float:
        """Which part of all rows has a rare combination."""
        return float(self.counts[list(self.joint.rare)].sum() / self.counts.sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the certificate should know."""
        if not self.joint.rare:
            return ()
        labels = " and ".join(repr(column.name) for column in self.joint.columns)
        return (
            f"{len(self.joint.rare):,} of the {self.joint.size:,} combinations of {labels}, with "
            f"about {self.share:.0%} of the rows, were generated together as one class: those with "
            f"fewer than about {self.least:,.0f} rows, or more of them where there would be more "
            f"classes than rows to make",
        )


def find_rare_indices(counts: Floats, least: float, *, most: int | None) -> tuple[int, ...]:
    """Return the places of counts below `least`, or of more where too many would be left.

    One alone is not rare: there is nothing to merge it with.

    Example:
        >>> find_rare_indices(np.array([90.0, 3.0, 70.0, -8.0]), 20.0, most=None)
        (1, 3)
        >>> find_rare_indices(np.array([90.0, 30.0, 70.0, 50.0]), 20.0, most=3)
        (1, 3)
    """
    falling = np.argsort(-counts, kind="stable")
    kept = int((counts >= least).sum())
    if most is not None and kept + (kept < len(counts)) > most:
        kept = most - 1
    rare = np.sort(falling[kept:])
    return tuple(rare.tolist()) if len(rare) > 1 else ()


@dataclass(frozen=True, eq=False)
class ResolvedSchema:
    """What is known before rows are encoded; all of it is public.

    Args:
        schema: The schema, without gaps.
        counts: The counts that were measured so far.
        notes: What a reader of the certificate should know.
        rare: Which of the combinations of several labels share a class.
    """

    schema: Schema
    counts: Mapping[str, NoisyCounts]
    notes: tuple[str, ...]
    rare: RareCombinations | None = None

    def compute_facts(
        self, request: SynthesisRequest, counts: Mapping[str, NoisyCounts]
    ) -> PublicFacts:
        """Return the facts, from what was declared and the counts that were measured."""
        facts = establish_facts(request, counts)
        return facts if self.rare is None else self.rare.merge_facts(facts)


def resolve_schema(session: PrivateSession, settings: RunSettings) -> ResolvedSchema:
    """Return the schema of a table, with its gaps estimated privately.

    Privacy: rows are read through `session` alone. The part of delta that releasing values takes
    must be known before, so a noisy number of rows is measured first if delta follows it.
    """
    counts: dict[str, NoisyCounts] = {}
    if isinstance(settings.schema, Schema):
        inferred = InferredSchema(settings.schema)
    else:
        counts = _count_first(session, settings)
        inferred = infer_schema(
            settings.schema,
            session,
            **compute_schema_cost(
                settings.request, establish_facts(settings.request, counts).calibration_delta
            ),
        )
    check_size(settings.request, inferred.schema)
    return ResolvedSchema(inferred.schema, counts, inferred.notes)


def merge_rare(
    resolved: ResolvedSchema, session: PrivateSession, settings: RunSettings
) -> ResolvedSchema:
    """Return the schema with rare combinations of several labels in one class.

    Privacy: the combinations are counted as the classes of one label are, and charged to the same
    spend. Which of them are rare follows from the noisy counts, or from shares that are declared.
    """
    request, schema = settings.request, resolved.schema
    if not schema.joint_labels:
        return resolved
    # The labels are all that is read.
    labels = settings.make_encoder(Schema(schema.joint_labels, label=schema.label))
    session = dataclasses.replace(session, reading=EncodedReading(labels))
    counts = measure_counts(session, resolved, settings.classes, settings)
    # What counts cost, or would have cost.
    priced = plan_counts(dataclasses.replace(request, shares=None), 2)[CLASS_COUNTS]
    counted = CLASS_COUNTS in counts
    rare = RareCombinations.from_facts(
        schema,
        establish_facts(request, counts),
        counts[CLASS_COUNTS].item.sigma if counted else priced.sigma,
        counted=counted,
        of_users=request.neighbours.is_user_level,
        most=None if request.size is None else request.size // request.least_size(1),
    )
    return ResolvedSchema(
        rare.apply_to_schema(schema), counts, (*resolved.notes, *rare.notes), rare
    )


def measure_counts(
    session: PrivateSession, resolved: ResolvedSchema, classes: int, settings: RunSettings
) -> dict[str, NoisyCounts]:
    """Return all counts that were neither declared nor needless, measuring those that lack."""
    counts = dict(resolved.counts)
    for name, spend in plan_counts(settings.request, classes).items():
        if name not in counts:
            session.account.authorize(spend)
            if name == CLASS_COUNTS:
                counts[name] = session.count_classes(spend, len(resolved.schema.class_names))
            else:
                counts[name] = session.count_rows(spend)
    return counts


def measure_marginal_prior(
    session: PrivateSession,
    spend: Spend | None,
    pairs_spend: Spend | None,
    facts: PublicFacts,
    settings: RunSettings,
    *,
    class_sigma: float,
) -> MarginalPrior:
    """Return what noisy marginals of columns say, and of pairs of columns if these have a spend.

    Privacy: the number of cells of each marginal follows from public and noisy values.
    """
    encoder, sigma = _get_encoder(session), math.inf if spend is None else spend.sigma
    config, counts = settings.config, None
    is_two_stage = isinstance(config, Posterior) and config.is_two_stage and spend is not None
    bins = choose_bins(
        encoder,
        facts.row_estimate,
        sigma,
        by_class=settings.classes > 1,
        spikes=isinstance(config, Posterior) and config.spikes,
    )
    asked = bins.overall if is_two_stage else [*bins.overall, *bins.by_class]
    found = _measure_marginals(session, spend, asked, facts, settings)
    if is_two_stage:
        adapted = adapt_bins(
            bins,
            found,
            encoder.space,
            encoder.atoms,
            rows=facts.row_estimate,
            even_mass=isinstance(config, Posterior) and config.adaptive_bins,
        )
        second = _measure_marginals(session, spend, adapted.second, facts, settings)
        bins, counts = adapted.bins, adapted.split_counts(second)
        found = [*found, *second]
        bins, counts = _search_piles(session, bins, counts, facts, settings)
    prior = build_marginal_prior(
        encoder, bins, found, facts.class_sizes, class_sigma, rare=facts.rare, counts=counts
    )
    if pairs_spend is None:
        return prior
    shares = [column.overall for column in prior.columns[: len(bins.fine)]]
    pairs = choose_pairs(
        bins, facts.row_estimate, pairs_spend.sigma, shares=shares if is_two_stage else None
    )
    more = _measure_marginals(session, pairs_spend, pairs, facts, settings)
    return dataclasses.replace(prior, tables=(*prior.tables, *more))


def _search_piles(
    session: PrivateSession,
    bins: MarginalBins,
    counts: list[Floats],
    facts: PublicFacts,
    settings: RunSettings,
) -> tuple[MarginalBins, list[Floats]]:
    """Return bins and counts with piles that were searched for, if that was authorized."""
    spend = next((one for one in session.account.authorized if one.name == SEARCH), None)
    if spend is None or not session.account.count_uncharged(spend):
        return bins, counts
    adapted = find_piles(
        _get_encoder(session),
        bins,
        counts,
        lambda marginals: _measure_marginals(session, spend, marginals, facts, settings),
        sigma=spend.sigma,
        rows=facts.row_estimate,
        most=spend.times // LEVELS,
    )
    session.charge_unused(spend)
    return adapted


def _measure_marginals(
    session: PrivateSession,
    spend: Spend | None,
    marginals: Sequence[Marginal],
    facts: PublicFacts,
    settings: RunSettings,
) -> list[NoisyMarginal]:
    if not marginals or spend is None:  # A label alone has no marginal beside class counts.
        return []
    measured = session.count_marginals(spend, marginals)
    return [
        _make_noisy_marginal(marginal, values / measured.scale, spend.sigma, facts, settings)
        for marginal, values in zip(marginals, measured.values, strict=True)
    ]


def _make_noisy_marginal(
    marginal: Marginal,
    counts: NDArray[np.float64],
    sigma: float,
    facts: PublicFacts,
    settings: RunSettings,
) -> NoisyMarginal:
    """Return a marginal in rows. What users add to it says only how rows are divided."""
    unit = 1.0
    if settings.request.neighbours.is_user_level:
        unit = facts.row_estimate / max(float(counts.sum()), 1.0)
    return NoisyMarginal(marginal, unit * counts.reshape(marginal.shape), unit * sigma)


def _get_encoder(session: PrivateSession) -> Encoder:
    if session.reading is None:
        raise TabpeError("reading: expected a session whose rows are encoded.")
    return session.reading.encoder


def check_size(request: SynthesisRequest, schema: Schema) -> None:
    """Refuse to evolve fewer rows than there are classes; of joint ones more are merged instead."""
    classes = 1 if schema.joint_labels else len(schema.class_names)
    if request.size is not None and request.size < request.least_size(classes):
        each = "one row" if request.floor < 2 else f"class_floor={request.floor} rows"  # noqa: PLR2004
        raise ParameterError(
            f"n_samples={request.size}: expected at least {each} for each of the {classes} "
            f"classes of {schema.label!r}: {request.least_size(classes):,} or more."
        )


def _count_first(session: PrivateSession, settings: RunSettings) -> dict[str, NoisyCounts]:
    """Return the noisy number of rows or users, if it is needed and not declared."""
    name = get_count_name(settings.request)
    spend = plan_counts(settings.request, settings.classes).get(name)
    if spend is None:
        return {}
    return {name: session.count_rows(session.account.authorize(spend))}


SHARE_EVOLVED = 0.1
THIN_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class GeneratedRows:
    """What was made; all of it is public.

    Args:
        evolved: The synthetic rows and the history of the rounds.
        facts: What is known of the table.
        notes: What a reader of the certificate should know.
    """

    evolved: EvolutionResult
    facts: PublicFacts
    notes: tuple[str, ...] = ()


def make_rows(
    session: PrivateSession, resolved: ResolvedSchema, settings: RunSettings, *, seed: int
) -> GeneratedRows:
    """Make synthetic rows by the strategy of the settings.

    Privacy: rows are read through `session` alone, which knows how they are encoded.
    """
    config = settings.config
    if isinstance(config, Posterior):
        return _run_posterior(session, resolved, settings, config=config, seed=seed)
    return _run_evolution(session, resolved, settings, config=config, seed=seed)


@dataclass(frozen=True, eq=False)
class _Prepared(Generic[AnyProposal]):
    """What rounds of votes begin with.

    Args:
        session: Knows the voting space of the rows.
        facts: What is known of the table.
        proposal: Where candidates come from.
        class_sigma: The noise on class counts; 0 if they are declared.
    """

    session: PrivateSession
    facts: PublicFacts
    proposal: AnyProposal
    class_sigma: float


def _run_evolution(
    session: PrivateSession,
    resolved: ResolvedSchema,
    settings: RunSettings,
    *,
    config: Evolution,
    seed: int,
) -> GeneratedRows:
    request = settings.request
    ready = (
        _prepare_marginal(session, resolved, settings)[0]
        if config.tables
        else _prepare_uniform(session, resolved, settings)
    )
    facts = ready.facts
    weights = ConstraintSet.from_encoder(_get_encoder(session)).exclude_classes(facts.weights)
    sizes = apportion_with_floor(_choose_size(request, facts), weights, request.floor)
    vote = _make_vote_query(ready.session, _agree_on_votes(facts, session, settings), settings)
    evolved = evolve(
        ready.proposal,
        sizes,
        config,
        vote,
        seed=seed,
        on_round=settings.on_round,
        observe=make_observer(settings.on_population, _get_encoder(session)),
    )
    return GeneratedRows(evolved, facts)


def _run_posterior(
    session: PrivateSession,
    resolved: ResolvedSchema,
    settings: RunSettings,
    *,
    config: Posterior,
    seed: int,
) -> GeneratedRows:
    ready, spends = _prepare_marginal(session, resolved, settings)
    facts = ready.facts
    if config.rounds:
        spends = _agree_on_votes(facts, session, settings)

    def fit(on: MarginalProposal, config: Posterior) -> EvolutionResult:
        return fit_posterior(
            on,
            config,
            _make_vote_query(ready.session, spends, settings),
            extent=_choose_population_sizes(on, config, facts, spends, settings),
            normalised=settings.request.neighbours.is_user_level,
            seed=seed,
            trial=settings.query_plan.trial,
            floor=settings.request.floor,
            jobs=settings.resources.jobs,
            on_round=settings.on_round,
            observe=make_observer(settings.on_population, _get_encoder(session)),
            calibrate=_make_calibration_query(ready, settings),
            oblivious=_make_table_budget(ready, spends, settings),
        )

    evolved = fit(ready.proposal, config)
    if evolved.votes_help:
        return GeneratedRows(evolved, facts, _describe_tables(evolved, config))
    better = _measure_tables_instead(ready, spends[settings.query_plan.get_votes_name(0)], settings)
    instead = fit(better, dataclasses.replace(config, rounds=0))
    whole = dataclasses.replace(instead, history=evolved.history)
    return GeneratedRows(whole, facts, (_describe_unhelpful_votes(evolved),))


def _prepare_uniform(
    session: PrivateSession, resolved: ResolvedSchema, settings: RunSettings
) -> _Prepared[UniformProposal]:
    """Measure the counts that lack; candidates are uniform."""
    encoder = _get_encoder(session)
    proposal = constrain_proposal(
        UniformProposal(encoder.spaces), ConstraintSet.from_encoder(encoder)
    )
    session = dataclasses.replace(session, voting_space=proposal.voting_space)
    counts = measure_counts(session, resolved, _count_classes(encoder, settings), settings)
    facts = resolved.compute_facts(settings.request, counts)
    return _Prepared(session, facts, proposal, _get_class_sigma(counts))


def _prepare_marginal(
    session: PrivateSession, resolved: ResolvedSchema, settings: RunSettings
) -> tuple[_Prepared[MarginalProposal], Mapping[str, Spend]]:
    """Measure counts and marginals; candidates and the voting space follow from these.

    Returns:
        What rounds begin with, and the spends of votes if there are none to vote in.
    """
    request, config, encoder = settings.request, settings.config, _get_encoder(session)
    counts = measure_counts(session, resolved, _count_classes(encoder, settings), settings)
    facts = resolved.compute_facts(request, counts)
    first = agree_on_first(request, settings.query_plan.first, session.account)
    rest = {} if config.rounds else _agree_on_votes(facts, session, settings)
    class_sigma, spends = _get_class_sigma(counts), first | rest
    prior = measure_marginal_prior(
        session, spends.get(COLUMNS), spends.get(PAIRS), facts, settings, class_sigma=class_sigma
    )
    proposal = _make_marginal_proposal(prior, prior.build_rank_transform(config.by_rank), encoder)
    session = dataclasses.replace(session, voting_space=proposal.voting_space)
    return _Prepared(session, facts, proposal, class_sigma), rest


def _measure_tables_instead(
    ready: _Prepared[MarginalProposal], spend: Spend, settings: RunSettings
) -> MarginalProposal:
    """Measure marginals with what later rounds of votes would have cost.

    Privacy: each of the histograms that were authorized has the same noise and is charged, whatever
    it is about. So what they are about may follow from earlier answers. Those that are left over
    are charged as well.
    """
    prior = measure_marginal_prior(
        ready.session, spend, None, ready.facts, settings, class_sigma=ready.class_sigma
    )
    ready.session.charge_unused(spend)
    both = dataclasses.replace(prior, tables=(*ready.proposal.prior.tables, *prior.tables))
    transform = prior.build_rank_transform(settings.config.by_rank)
    return _make_marginal_proposal(both, transform, _get_encoder(ready.session))


def _make_marginal_proposal(
    prior: MarginalPrior, transform: RankTransform, encoder: Encoder
) -> MarginalProposal:
    return constrain_proposal(
        MarginalProposal(prior, transform), ConstraintSet.from_encoder(encoder)
    )


def _get_class_sigma(counts: Mapping[str, NoisyCounts]) -> float:
    return counts[CLASS_COUNTS].item.sigma if CLASS_COUNTS in counts else 0.0


def _describe_unhelpful_votes(evolved: EvolutionResult) -> str:
    first, last = (evolved.history[place]["residual"] for place in (0, -1))
    return (
        f"votes did not help: after {len(evolved.history)} rounds their squared distance from "
        f"the prediction was {last:.3g} times that of noise, and {first:.3g} times at first; what "
        f"later rounds would have cost went to {COLUMNS}, and the rows follow from these alone"
    )


def _agree_on_votes(
    facts: PublicFacts, session: PrivateSession, settings: RunSettings
) -> dict[str, Spend]:
    return agree_on_rest(
        settings.request,
        facts,
        session.account,
        settings.query_plan.rest,
        partial_schema=settings.partial_schema,
    )


def _make_vote_query(
    session: PrivateSession, spends: Mapping[str, Spend], settings: RunSettings
) -> VoteQuery:
    """Return what asks for the votes of a round."""
    plan, votes_per_row = settings.query_plan, settings.config.votes

    def vote(population: Sequence[Records], index: int) -> NoisyCounts:
        return session.count_votes(
            spends[plan.get_votes_name(index)],
            population,
            votes_per_row=votes_per_row,
            repeats=plan.repeats,
        )

    return vote


def _make_calibration_query(
    ready: _Prepared[MarginalProposal], settings: RunSettings
) -> CalibrationQuery | None:
    """Return what asks how sure labels are; None if that was not authorized."""
    session = ready.session
    spend = next((one for one in session.account.authorized if one.name == CERTAINTY), None)
    if spend is None:
        return None

    def measure(marginals: Sequence[Marginal]) -> list[NoisyMarginal]:
        return _measure_marginals(session, spend, marginals, ready.facts, settings)

    return measure


def _make_table_budget(
    ready: _Prepared[MarginalProposal], spends: Mapping[str, Spend], settings: RunSettings
) -> TableBudget | None:
    """Return what measures oblivious tables; None if they were not authorized.

    Privacy: what the last round of votes would cost is charged for tables instead, or for its
    votes, as earlier answers decide: so many histograms of the same noise either way.
    """
    session, instead = ready.session, spends.get(VOTES_OR_OBLIVIOUS)
    probe = next((one for one in session.account.authorized if one.name == PROBE), None)
    if probe is None or instead is None:
        return None

    def make_query(spend: Spend) -> TableQuery:
        return lambda asked: _measure_marginals(session, spend, asked, ready.facts, settings)

    parts = settings.config.votes * settings.query_plan.repeats
    return TableBudget(make_query(probe), make_query(instead), parts, probe.sigma)


def _describe_tables(evolved: EvolutionResult, config: Posterior) -> tuple[str, ...]:
    """Return a note if oblivious tables took the place of the last round."""
    if len(evolved.history) == config.rounds:
        return ()
    residual = next(one["table_residual"] for one in evolved.history if "table_residual" in one)
    return (
        f"an oblivious table was not predicted by the rounds before it: its squared distance from "
        f"the prediction was {residual:.3g} times that of noise; what the last round would have "
        f"cost went to more of these tables",
    )


def _choose_population_sizes(
    proposal: MarginalProposal,
    config: Posterior,
    facts: PublicFacts,
    spends: Mapping[str, Spend],
    settings: RunSettings,
) -> PopulationSizes:
    guide, size = proposal.prior, settings.request.size
    least = settings.request.least_size(len(guide.sizes))
    sigma = spends[settings.query_plan.get_votes_name(0)].sigma
    return choose_population_sizes(
        config,
        rows=guide.rows,
        sigma=sigma / math.sqrt(settings.query_plan.repeats),
        classes=len(guide.sizes),
        tables=len(guide.tables),
        size=max(least, round(facts.row_estimate)) if size is None else size,
    )


def _count_classes(encoder: Encoder, settings: RunSettings) -> int:
    """Return how many classes are counted, as far as that was known before a row was read."""
    return encoder.class_count if settings.partial_schema is None else settings.classes


def _choose_size(request: SynthesisRequest, facts: PublicFacts) -> int:
    """Return how many rows to evolve, with a warning if they are many."""
    if facts.rows is None:
        return request.evolved_size
    classes = len(facts.weights)
    least = request.least_size(classes)
    usual = max(least, round(SHARE_EVOLVED * facts.rows.estimate))
    size = usual if request.size is None else request.size
    if size > max(least, THIN_SHARE * facts.rows.estimate):
        warnings.warn(
            f"evolving {size:,} rows, more than a fifth of the private ones: votes are thin and "
            f"the noise wins. Evolve about {usual:,} and draw more from those.",
            ThinVotesWarning,
            stacklevel=2,
        )
    return size


@dataclass(frozen=True, eq=False)
class PipelineResult:
    """What a run gives; all of it is public.

    Args:
        evolved: The synthetic rows and the history of the rounds.
        certificate: What was guaranteed.
        schema: The schema of the rows.
        seed: Seed of the search.
    """

    evolved: EvolutionResult
    certificate: Certificate
    schema: Schema
    seed: int


def run(source: TableSource, settings: RunSettings) -> PipelineResult:
    """Evolve synthetic rows from private ones.

    Privacy: the rows are read by `tabpe.measurement` alone. The outcome satisfies the guarantee of
    its certificate, whose epsilon is at most the one of the request.
    """
    _check_columns(source, settings)
    _check_rules(settings)
    error = TabpeError(
        "the machine ran out of memory: pass engine='stream', evolve fewer rows, or use a "
        "larger one."
    )

    def run_in_folder() -> PipelineResult:
        with _open_run_folder(settings) as folder:
            return _run_charged(WatchedSource(source), folder, settings)

    return run_shielded(run_in_folder, error)


def _run_charged(
    source: WatchedSource, folder: RunFolder | None, settings: RunSettings
) -> PipelineResult:
    """Run; one that fails before it has read a row leaves no trace of itself."""

    def is_unread() -> bool:
        # A run that goes on was begun by a process that may have read all rows.
        unread = not source.was_read and (folder is None or folder.is_new)
        return unread and (folder is None or folder.discard_run())

    begun = RunInfo.begin_run(settings.seed) if folder is None else folder.run
    journals: list[MeasurementJournal] = []

    def list_measured(error: BaseException) -> tuple[Spend, ...]:
        return _list_settled(error, journals, settings)

    try:
        with _reserve(begun, folder, settings, is_unread, list_measured) as entry:
            is_closed = entry is not None and entry.state == "spent"
            follower = _make_follower(entry, settings)
            journal = MeasurementJournal(Account(), folder, is_closed=is_closed, observer=follower)
            journals.append(journal)
            outcome = _run_pipeline(source, begun, folder, journal, settings)
    except BaseException:
        is_unread()
        raise
    if settings.charge is None or entry is None:
        return outcome
    certificate = settings.charge.settle_entry(entry, outcome.certificate)
    return dataclasses.replace(outcome, certificate=certificate)


def _list_settled(
    error: BaseException, journals: Sequence[MeasurementJournal], settings: RunSettings
) -> tuple[Spend, ...]:
    """Return what was measured, if the error follows from noisy answers and public values alone.

    An error of a schema or a parameter that is raised between two measurements does: nothing there
    knows the rows. An error while the rows are asked may follow from them. A run whose plan is
    fixed is composed as a whole, and stays charged as a whole.
    """
    decided = isinstance(error, (SchemaError, ParameterError)) and is_adaptive(settings.request)
    if not decided or not journals or journals[-1].is_asking:
        return ()
    return journals[-1].account.spent


def _reserve(
    begun: RunInfo,
    folder: RunFolder | None,
    settings: RunSettings,
    is_unread: Callable[[], bool],
    list_measured: Callable[[BaseException], tuple[Spend, ...]],
) -> AbstractContextManager[RunEntry | None]:
    """Hold what a run may cost in the ledger, if it is charged to one."""
    request = settings.request
    spends: tuple[Spend, ...] = ()
    if settings.charge is not None:
        spends = plan_spends(
            request, settings.classes, settings.query_plan, settings.partial_schema
        )
    start = folder.record_start() if folder is not None and settings.charge is not None else None
    return reserve_budget(
        settings.charge,
        begun.id,
        spends,
        request.neighbours,
        is_unread,
        start=start,
        adaptive=is_adaptive(request),
        list_measured=list_measured,
    )


def _make_follower(entry: RunEntry | None, settings: RunSettings) -> ChargedStart | None:
    """Return what informs the ledger of each measurement, if there are a ledger and a folder."""
    if settings.charge is None or entry is None or entry.progress is None:
        return None
    return ChargedStart(settings.charge.ledger, entry.id, entry.progress.token)


def _run_pipeline(
    source: TableSource,
    begun: RunInfo,
    folder: RunFolder | None,
    journal: MeasurementJournal,
    settings: RunSettings,
) -> PipelineResult:
    request, noise = settings.request, settings.noise
    unit = _make_unit(begun, settings)
    with closing(open_backend(source, unit, settings.resources, settings.on_ready)) as backend:
        if folder is not None:
            folder.check_fingerprint(_compute_fingerprint(backend, settings))
        session = PrivateSession(backend, journal.account, noise, request.neighbours, journal)
        resolved = merge_rare(resolve_schema(session, settings), session, settings)
        weighed = settings.weigh_categories(resolved.schema)
        encoder, weight = (
            settings.make_encoder(resolved.schema),
            get_category_weight(weighed.config),
        )
        session = dataclasses.replace(session, reading=EncodedReading(encoder, weight, "votes"))
        made = make_rows(session, resolved, weighed, seed=begun.seed)
    certificate = certify_run(
        request,
        made.facts,
        session,
        schema=resolved.schema,
        config=settings.config,
        size=sum(len(part) for part in made.evolved.classes),
        unit=settings.unit,
        strict=settings.strict,
        created=begun.started,
        notes=(*resolved.notes, *made.notes, *weighed.notes),
    )
    return PipelineResult(made.evolved, certificate, resolved.schema, begun.seed)


def _check_columns(source: TableSource, settings: RunSettings) -> None:
    """Refuse a table that lacks a column, before it costs anything."""
    if isinstance(settings.schema, Schema):
        Encoder(settings.schema).check_names(source.names)
    if settings.unit is not None:
        declared = [column.name for column in settings.schema.columns]
        check_unit_column(source, settings.unit, declared)
    check_plain_columns(source, settings.columns)


def _check_rules(settings: RunSettings) -> None:
    """Refuse rules that no row obeys, before they cost anything."""
    schema = (
        settings.schema
        if settings.partial_schema is None
        else build_constrained_schema(settings.partial_schema)
    )
    if isinstance(schema, Schema):
        ConstraintSet.from_encoder(Encoder(schema))


def _make_unit(begun: RunInfo, settings: RunSettings) -> PrivacyUnit | None:
    """Return who is a user, for a user-level guarantee."""
    neighbours = settings.request.neighbours
    if settings.unit is None or neighbours.max_rows is None:
        return None
    return PrivacyUnit(
        settings.unit,
        neighbours.max_rows,
        begun.seed,
        neighbours.scale,
        tuple(settings.columns),
        settings.strict,
    )


def _compute_fingerprint(backend: Backend, settings: RunSettings) -> str:
    key, names = load_secret_key(), settings.columns
    sums = backend.answer(RowHashQuery(tuple(names), key)).value
    return compute_fingerprint(names, sums, key)


@contextmanager
def _open_run_folder(settings: RunSettings) -> Iterator[RunFolder | None]:
    if settings.run_dir is None:
        yield None
        return
    identity = settings.identity | {
        "version of tabpe": compute_code_digest(),
        "version of a package": versions(),
    }
    with closing(RunFolder(settings.run_dir, RunInfo.begin_run(settings.seed), identity)) as folder:
        yield folder
