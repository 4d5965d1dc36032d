"""One run, from a private table to a population and its certificate.

Which combinations of the values of several labels are rare, and what becomes of their counts.

Privacy: all of it follows from declared shares, or from noisy counts of the combinations, which are
an item of the bill. So it costs nothing more.

What a run stands on before its first round: the schema and the counts, declared or bought.

How the rows of a run are made: what its strategy asks, and what it makes of noisy answers.

The private rows are here only on their way into what counts them for `tabpe.measurement`.

The private rows are here only on their way into an engine, and the engine lets go of them before
the run returns.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabpe import measurement
from tabpe._utils.files import load_secret_key
from tabpe.accounting import Account, Certificate
from tabpe.accounting.ledger import RunEntry
from tabpe.backends import (
    Backend,
    EncodedTable,
    Engine,
    PrivacyUnit,
    SupportsClassCounts,
    SupportsMarginals,
    open_backend,
)
from tabpe.encoding import Encoder, Records
from tabpe.encoding.cells import JointClasses
from tabpe.encoding.encoded_rows import check_plain_columns, check_unit_column, compute_fingerprint
from tabpe.encoding.marginals import Marginal
from tabpe.errors import ParameterError, TabpeError, ThinVotesWarning
from tabpe.evolution import Evolution, EvolutionResult, Posterior, evolve, fit_posterior
from tabpe.evolution.config import COLUMNS, PAIRS, get_category_weight
from tabpe.evolution.constraint_repair import ConstraintSet
from tabpe.evolution.extensions import make_observer
from tabpe.evolution.marginal_prior import (
    MarginalPrior,
    NoisyMarginal,
    build_marginal_prior,
    choose_bins,
    choose_pairs,
    project_counts,
)
from tabpe.evolution.posterior import PopulationSizes, apportion_with_floor, choose_population_sizes
from tabpe.evolution.private_evolution import VoteQuery
from tabpe.evolution.proposals import MarginalProposal, UniformProposal, constrain_proposal
from tabpe.io import TableSource
from tabpe.measurement import NoisyCounts
from tabpe.measurement.checkpoint import MeasurementJournal, RunFolder, RunInfo, compute_code_digest
from tabpe.measurement.histograms import CLASS_COUNTS
from tabpe.measurement.reservation import ChargedStart, WatchedSource
from tabpe.schema import PartialSchema, Schema
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
from tabpe.synthesizers.certify import certify, versions
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
            f"about {self.share:.0%} of the rows, were evolved together as one class: those with "
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
        counts: The counts that were bought so far.
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
        """Return the facts, from what was declared and the counts that were bought."""
        facts = establish_facts(request, counts)
        return facts if self.rare is None else self.rare.merge_facts(facts)


def resolve_schema(
    backend: Backend, journal: MeasurementJournal, settings: RunSettings
) -> ResolvedSchema:
    """Return the schema of a table, with its gaps bought.

    Privacy: rows are read by `tabpe.measurement` alone, and what it measures is charged to the
    account of the journal. The part of delta that telling values takes must be known before, so a
    noisy number of rows is bought first if delta follows it.
    """
    counts: dict[str, NoisyCounts] = {}
    if isinstance(settings.schema, Schema):
        bought = InferredSchema(settings.schema)
    else:
        counts = _count_first(backend, journal, settings)
        bought = _estimate_schema(
            settings.schema, backend, journal, settings=settings, counts=counts
        )
    check_size(settings.request, bought.schema)
    return ResolvedSchema(bought.schema, counts, bought.notes)


def merge_rare(
    resolved: ResolvedSchema, backend: Backend, journal: MeasurementJournal, settings: RunSettings
) -> ResolvedSchema:
    """Return the ground with rare combinations of several labels in one class.

    Privacy: the combinations are counted as the classes of one label are, by `tabpe.measurement`
    and as the same item of the bill. Which of them are rare follows from the noisy counts, or from
    shares that are declared.
    """
    request, schema = settings.request, resolved.schema
    if not schema.joint_labels:
        return resolved
    # The labels are all that is read.
    labels = settings.make_encoder(Schema(schema.joint_labels, label=schema.label))
    counts = measure_counts(
        backend.build_marginal_counter(labels), resolved, settings.classes, journal, settings
    )
    # What counts cost, or would have cost.
    priced = plan_counts(dataclasses.replace(request, shares=None), 2)[CLASS_COUNTS]
    rare = RareCombinations.from_facts(
        schema,
        establish_facts(request, counts),
        _find_sigma(journal.account, CLASS_COUNTS, priced.sigma),
        counted=CLASS_COUNTS in counts,
        of_users=request.neighbours.is_user_level,
        most=None if request.size is None else request.size // request.least_size(1),
    )
    return ResolvedSchema(
        rare.apply_to_schema(schema), counts, (*resolved.notes, *rare.notes), rare
    )


def measure_counts(
    engine: SupportsClassCounts,
    resolved: ResolvedSchema,
    classes: int,
    journal: MeasurementJournal,
    settings: RunSettings,
) -> dict[str, NoisyCounts]:
    """Return all counts that were neither declared nor needless, buying those that are missing."""
    account, noise, counted = journal.account, settings.noise, get_count_name(settings.request)
    cells = len(resolved.schema.class_names)
    ask: dict[str, Callable[[], NoisyCounts]] = {
        counted: lambda: measurement.measure_row_count(engine, account, noise, counted),
        CLASS_COUNTS: lambda: measurement.measure_class_counts(engine, cells, account, noise),
    }
    bought = dict(resolved.counts)
    for name, item in plan_counts(settings.request, classes).items():
        if name not in bought:
            account.authorize(item)
            bought[name] = journal.measure_once(name, ask[name])
    return bought


def measure_marginal_prior(
    tables: SupportsMarginals,
    encoder: Encoder,
    facts: PublicFacts,
    journal: MeasurementJournal,
    settings: RunSettings,
    *,
    name: str,
) -> MarginalPrior:
    """Return what tables of columns say, buying them as an item of the bill, and pairs as another.

    Privacy: they are read by `tabpe.measurement` alone, and charged to the account of the journal.
    The number of cells of each follows from public and noisy facts.
    """
    account = journal.account
    bins = choose_bins(
        encoder, facts.row_estimate, _find_sigma(account, name), by_class=settings.classes > 1
    )
    asked = [*bins.overall, *bins.by_class]
    found = _measure_marginals(tables, asked, facts, journal, settings, name=name)
    sigma = _find_sigma(account, CLASS_COUNTS, 0.0)
    guide = build_marginal_prior(encoder, bins, found, facts.class_sizes, sigma, rare=facts.rare)
    if all(item.name != PAIRS for item in account.authorized):
        return guide
    pairs = choose_pairs(bins, facts.row_estimate, _find_sigma(account, PAIRS))
    more = _measure_marginals(tables, pairs, facts, journal, settings, name=PAIRS)
    return dataclasses.replace(guide, tables=(*guide.tables, *more))


def _measure_marginals(
    tables: SupportsMarginals,
    queries: Sequence[Marginal],
    facts: PublicFacts,
    journal: MeasurementJournal,
    settings: RunSettings,
    *,
    name: str,
) -> list[NoisyMarginal]:
    if not queries:  # A label alone has no table beside the counts of classes.
        return []
    terms = measurement.MeasurementTerms(
        journal.account, settings.noise, settings.request.neighbours
    )
    bought = journal.measure_once(
        name,
        lambda: measurement.measure_marginal_counts(tables, queries, terms, name),
        times=len(queries),
    )
    sigma = _find_sigma(journal.account, name)
    return [
        _make_noisy_marginal(marginal, values / bought.scale, sigma, facts, settings)
        for marginal, values in zip(queries, bought.values, strict=True)
    ]


def _make_noisy_marginal(
    marginal: Marginal,
    counts: NDArray[np.float64],
    sigma: float,
    facts: PublicFacts,
    settings: RunSettings,
) -> NoisyMarginal:
    """Return a table in rows. What users add to it says only how rows are divided."""
    unit = 1.0
    if settings.request.neighbours.is_user_level:
        unit = facts.row_estimate / max(float(counts.sum()), 1.0)
    return NoisyMarginal(marginal, unit * counts.reshape(marginal.shape), unit * sigma)


def _find_sigma(account: Account, name: str, otherwise: float = math.inf) -> float:
    """Return the noise on each count of an item of the bill."""
    return next((item.sigma for item in account.authorized if item.name == name), otherwise)


def check_size(request: SynthesisRequest, schema: Schema) -> None:
    """Refuse to evolve fewer rows than there are classes; of joint ones more are merged instead."""
    classes = 1 if schema.joint_labels else len(schema.class_names)
    if request.size is not None and request.size < request.least_size(classes):
        each = "one row" if request.floor < 2 else f"class_floor={request.floor} rows"  # noqa: PLR2004
        raise ParameterError(
            f"n_samples={request.size}: expected at least {each} for each of the {classes} "
            f"classes of {schema.label!r}: {request.least_size(classes):,} or more."
        )


def _count_first(
    backend: Backend, journal: MeasurementJournal, settings: RunSettings
) -> dict[str, NoisyCounts]:
    """Return the noisy number of rows or users, if it is needed and not declared."""
    name, account = get_count_name(settings.request), journal.account
    item = plan_counts(settings.request, settings.classes).get(name)
    if item is None:
        return {}
    account.authorize(item)
    survey = backend.build_raw_counter()
    return {
        name: journal.measure_once(
            name, lambda: measurement.measure_row_count(survey, account, settings.noise, name)
        )
    }


def _estimate_schema(
    partial_schema: PartialSchema,
    backend: Backend,
    journal: MeasurementJournal,
    *,
    settings: RunSettings,
    counts: Mapping[str, NoisyCounts],
) -> InferredSchema:
    request = settings.request
    return infer_schema(
        partial_schema,
        backend,
        **compute_schema_cost(request, establish_facts(request, counts).calibration_delta),
        account=journal.account,
        noise=settings.noise,
        neighbours=request.neighbours,
        ask_once=journal.ask_once,
    )


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
    encoded: EncodedTable,
    resolved: ResolvedSchema,
    journal: MeasurementJournal,
    settings: RunSettings,
    *,
    seed: int,
) -> GeneratedRows:
    """Make synthetic rows by the strategy of the settings.

    Privacy: rows are read by `tabpe.measurement` alone, and what it measures is charged to the
    account of the journal.
    """
    config = settings.config
    if isinstance(config, Posterior):
        return _run_posterior(encoded, resolved, journal, settings, config=config, seed=seed)
    return _run_evolution(encoded, resolved, journal, settings, config=config, seed=seed)


def _run_evolution(
    encoded: EncodedTable,
    resolved: ResolvedSchema,
    journal: MeasurementJournal,
    settings: RunSettings,
    *,
    config: Evolution,
    seed: int,
) -> GeneratedRows:
    request = settings.request
    terrain: UniformProposal | MarginalProposal
    if config.tables:
        facts, terrain = _prepare_marginal(encoded, resolved, journal, settings)
    else:
        facts, terrain = _prepare_uniform(encoded, resolved, journal, settings)
    weights = ConstraintSet.from_encoder(encoded.encoder).exclude_classes(facts.weights)
    sizes = apportion_with_floor(_choose_size(request, facts), weights, request.floor)
    _agree_on_votes(facts, journal, settings)
    vote = _make_vote_query(encoded, journal, settings)
    evolved = evolve(
        terrain,
        sizes,
        config,
        vote,
        seed=seed,
        on_round=settings.on_round,
        observe=make_observer(settings.on_population, encoded.encoder),
    )
    return GeneratedRows(evolved, facts)


def _run_posterior(
    encoded: EncodedTable,
    resolved: ResolvedSchema,
    journal: MeasurementJournal,
    settings: RunSettings,
    *,
    config: Posterior,
    seed: int,
) -> GeneratedRows:
    facts, terrain = _prepare_marginal(encoded, resolved, journal, settings)
    if config.rounds:
        _agree_on_votes(facts, journal, settings)

    def fit(on: MarginalProposal, config: Posterior) -> EvolutionResult:
        return fit_posterior(
            on,
            config,
            _make_vote_query(encoded, journal, settings),
            extent=_choose_population_sizes(on, config, facts, journal, settings),
            normalised=settings.request.neighbours.is_user_level,
            seed=seed,
            trial=settings.query_plan.trial,
            floor=settings.request.floor,
            jobs=settings.resources.jobs,
            on_round=settings.on_round,
            observe=make_observer(settings.on_population, encoded.encoder),
        )

    evolved = fit(terrain, config)
    if evolved.votes_help:
        return GeneratedRows(evolved, facts)
    better = _measure_tables_instead(encoded, terrain, facts, journal, settings)
    instead = fit(better, dataclasses.replace(config, rounds=0))
    whole = dataclasses.replace(instead, history=evolved.history)
    return GeneratedRows(whole, facts, (_describe_unhelpful_votes(evolved),))


def _prepare_uniform(
    encoded: EncodedTable,
    resolved: ResolvedSchema,
    journal: MeasurementJournal,
    settings: RunSettings,
) -> tuple[PublicFacts, UniformProposal]:
    """Take in the rows and buy the counts that are missing."""
    encoder = encoded.encoder
    terrain = constrain_proposal(
        UniformProposal(encoder.spaces), ConstraintSet.from_encoder(encoder)
    )
    encoded.prepare(terrain.voting_space)
    counts = measure_counts(encoded, resolved, _count_classes(encoded, settings), journal, settings)
    return resolved.compute_facts(settings.request, counts), terrain


def _prepare_marginal(
    encoded: EncodedTable,
    resolved: ResolvedSchema,
    journal: MeasurementJournal,
    settings: RunSettings,
) -> tuple[PublicFacts, MarginalProposal]:
    """Buy counts and tables of columns, and take in the rows as the tables spread them."""
    request, config, encoder = settings.request, settings.config, encoded.encoder
    tables = encoded.build_marginal_counter()
    counts = measure_counts(tables, resolved, _count_classes(encoded, settings), journal, settings)
    facts = resolved.compute_facts(request, counts)
    agree_on_first(request, settings.query_plan.first, journal.account)
    if not config.rounds:
        _agree_on_votes(facts, journal, settings)
    guide = measure_marginal_prior(tables, encoder, facts, journal, settings, name=COLUMNS)
    terrain = constrain_proposal(
        MarginalProposal(guide, guide.build_rank_transform(config.by_rank)),
        ConstraintSet.from_encoder(encoder),
    )
    encoded.prepare(terrain.voting_space)
    return facts, terrain


def _measure_tables_instead(
    encoded: EncodedTable,
    known: MarginalProposal,
    facts: PublicFacts,
    journal: MeasurementJournal,
    settings: RunSettings,
) -> MarginalProposal:
    """Buy tables with what later rounds of votes would have cost.

    Privacy: each of the histograms that were agreed on has the same noise and is paid for, whatever
    it is about. So what they are about may follow from earlier answers. Those that are left over
    are paid for as well.
    """
    name, encoder = settings.query_plan.get_votes_name(0), encoded.encoder
    guide = measure_marginal_prior(
        encoded.build_marginal_counter(), encoder, facts, journal, settings, name=name
    )
    journal.charge_unused(name)
    both = dataclasses.replace(guide, tables=(*known.prior.tables, *guide.tables))
    return constrain_proposal(
        MarginalProposal(both, guide.build_rank_transform(settings.config.by_rank)),
        ConstraintSet.from_encoder(encoder),
    )


def _describe_unhelpful_votes(evolved: EvolutionResult) -> str:
    first, last = (evolved.history[place]["surprise"] for place in (0, -1))
    return (
        f"votes did not help: after {len(evolved.history)} rounds their squared distance from what "
        f"was foretold was {last:.3g} times that of noise, and {first:.3g} times at first; what "
        f"later rounds would have cost went to {COLUMNS}, and the rows follow from these alone"
    )


def _agree_on_votes(facts: PublicFacts, journal: MeasurementJournal, settings: RunSettings) -> None:
    agree_on_rest(
        settings.request,
        facts,
        journal.account,
        settings.noise,
        settings.query_plan.rest,
        partial_schema=settings.partial_schema,
    )


def _make_vote_query(
    engine: Engine, journal: MeasurementJournal, settings: RunSettings
) -> VoteQuery:
    """Return what asks for the votes of a round."""
    account, noise, asked = journal.account, settings.noise, settings.query_plan
    each, repeats = settings.config.votes, settings.query_plan.repeats

    def vote(population: Sequence[Records], index: int) -> measurement.NoisyCounts:
        name = asked.get_votes_name(index)
        return journal.measure_once(
            name,
            lambda: measurement.measure_votes(
                engine, population, account, noise, votes_per_row=each, repeats=repeats, name=name
            ),
            times=each * repeats,
        )

    return vote


def _choose_population_sizes(
    proposal: MarginalProposal,
    config: Posterior,
    facts: PublicFacts,
    journal: MeasurementJournal,
    settings: RunSettings,
) -> PopulationSizes:
    guide, size = proposal.prior, settings.request.size
    least = settings.request.least_size(len(guide.sizes))
    repeats, name = settings.query_plan.repeats, settings.query_plan.get_votes_name(0)
    sigma = next(item.sigma for item in journal.account.authorized if item.name == name)
    return choose_population_sizes(
        config,
        rows=guide.rows,
        sigma=sigma / math.sqrt(repeats),
        classes=len(guide.sizes),
        tables=len(guide.tables),
        size=max(least, round(facts.row_estimate)) if size is None else size,
    )


def _count_classes(encoded: EncodedTable, settings: RunSettings) -> int:
    """Return how many classes are counted, as far as that was known before a row was read."""
    return encoded.encoder.class_count if settings.partial_schema is None else settings.classes


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
        certificate: What was promised.
        schema: The schema of the rows.
        seed: Seed of the search.
    """

    evolved: EvolutionResult
    certificate: Certificate
    schema: Schema
    seed: int


def run(source: TableSource, settings: RunSettings) -> PipelineResult:
    """Evolve synthetic rows from private ones.

    Privacy: the rows are read by `tabpe.measurement` alone. The outcome keeps the promise of its
    certificate, whose epsilon is at most the one of the request.
    """
    _check_columns(source, settings)
    _check_rules(settings)
    outcome = None
    try:
        with _open_run_folder(settings) as folder:
            outcome = _run_charged(WatchedSource(source), folder, settings)
    except MemoryError:
        pass  # Its message tells the sizes of arrays, which are exact counts of rows.
    if outcome is None:
        raise TabpeError(
            "the machine ran out of memory: pass engine='stream', evolve fewer rows, or use a "
            "larger one."
        )
    return outcome


def _run_charged(
    source: WatchedSource, folder: RunFolder | None, settings: RunSettings
) -> PipelineResult:
    """Run; one that fails before it has read a row leaves no trace of itself."""

    def is_unread() -> bool:
        # A run that goes on was begun by a process that may have read all rows.
        unread = not source.was_read and (folder is None or folder.is_new)
        return unread and (folder is None or folder.discard_run())

    begun = RunInfo.begin_run(settings.seed) if folder is None else folder.run
    try:
        with _reserve_budget(begun, folder, settings, is_unread) as entry:
            is_closed = entry is not None and entry.state == "spent"
            follower = _make_follower(entry, settings)
            journal = MeasurementJournal(Account(), folder, is_closed=is_closed, observer=follower)
            outcome = _run_pipeline(source, begun, folder, journal, settings)
    except BaseException:
        is_unread()
        raise
    if settings.charge is None or entry is None:
        return outcome
    certificate = settings.charge.settle_entry(entry, outcome.certificate)
    return dataclasses.replace(outcome, certificate=certificate)


@contextmanager
def _reserve_budget(
    begun: RunInfo, folder: RunFolder | None, settings: RunSettings, is_unread: Callable[[], bool]
) -> Iterator[RunEntry | None]:
    """Hold what a run may cost in the ledger, if it is charged to one."""
    if settings.charge is None:
        yield None
        return
    request, noise = settings.request, settings.noise
    bill = plan_spends(
        request, settings.classes, settings.query_plan, noise, settings.partial_schema
    )
    start = None if folder is None else folder.record_start()
    with settings.charge.hold_reservation(
        begun.id,
        bill,
        request.neighbours,
        noise.sampling_error,
        is_unread,
        start=start,
        adaptive=is_adaptive(request),
    ) as entry:
        yield entry


def _make_follower(entry: RunEntry | None, settings: RunSettings) -> ChargedStart | None:
    """Return what tells the ledger of each measurement, if there are a ledger and a folder."""
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
    with closing(_open_backend(source, begun, settings)) as keeper:
        if folder is not None:
            folder.check_fingerprint(_compute_fingerprint(keeper, settings))
        ground = resolve_schema(keeper, journal, settings)
        ground = merge_rare(ground, keeper, journal, settings)
        weighed = settings.weigh_categories(ground.schema)
        weight = get_category_weight(weighed.config)
        with closing(keeper.encode_table(settings.make_encoder(ground.schema), weight)) as held:
            made = make_rows(held, ground, journal, weighed, seed=begun.seed)
    certificate = certify(
        settings.request,
        made.facts,
        journal.account,
        schema=ground.schema,
        config=settings.config,
        size=sum(len(part) for part in made.evolved.classes),
        noise=settings.noise,
        unit=settings.unit,
        strict=settings.strict,
        created=begun.started,
        notes=(*ground.notes, *made.notes, *weighed.notes),
        measurements=journal.transcript.sha256,
    )
    return PipelineResult(made.evolved, certificate, ground.schema, begun.seed)


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


def _open_backend(source: TableSource, begun: RunInfo, settings: RunSettings) -> Backend:
    """Return who counts in the table; all of them give the same answers."""
    return open_backend(source, _make_unit(begun, settings), settings.resources, settings.on_ready)


def _make_unit(begun: RunInfo, settings: RunSettings) -> PrivacyUnit | None:
    """Return who is a user, if the promise is to users."""
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
    return compute_fingerprint(names, backend.sum_row_hashes(names, key), key)


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
