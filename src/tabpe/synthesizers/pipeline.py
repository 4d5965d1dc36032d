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
from tabpe._utils.files import secret_key
from tabpe.accounting import Account, Certificate
from tabpe.accounting.ledger import Entry
from tabpe.backends import Classed, Engine, Held, Keeper, Tabled, Unit, open_keeper
from tabpe.encoding import Encoder, Records
from tabpe.encoding.cells import JointClasses
from tabpe.encoding.encoded_rows import check_plain_columns, check_unit_column, fingerprint
from tabpe.encoding.marginals import Marginal
from tabpe.errors import ParameterError, TabpeError, ThinVotesWarning
from tabpe.evolution import Evolution, Evolved, Posterior, evolve, fit_posterior
from tabpe.evolution.config import COLUMNS, PAIRS
from tabpe.evolution.constraint_repair import Law
from tabpe.evolution.marginal_prior import Guide, Table, bins_of, guide_of, pairs_of, projected
from tabpe.evolution.posterior import Extent, extent_of, with_floor
from tabpe.evolution.private_evolution import Vote
from tabpe.evolution.proposals import Guided, Level, lawful
from tabpe.io import Source
from tabpe.measurement import Measured
from tabpe.measurement.checkpoint import Journal, Run, RunFolder, code_digest
from tabpe.measurement.histograms import CLASS_COUNTS
from tabpe.measurement.reservation import ChargedStart, WatchedSource
from tabpe.schema import Outline, Schema
from tabpe.schema.partial import ruled
from tabpe.schema.schema import combinations_of
from tabpe.schema_inference import Bought, buy_schema
from tabpe.synthesizers.budget import (
    agree_on_first,
    agree_on_rest,
    count_items,
    is_adaptive,
    planned_bill,
    schema_price,
)
from tabpe.synthesizers.certify import certify, versions
from tabpe.synthesizers.options import Facts, Request, Settings, count_name, establish_facts

# A combination with fewer rows than so many times the noise on its count is rare. One without rows
# is then taken for a class of its own once in 30,000 times. Noise on votes is about as large, so
# these would not show in them either.
NOISES = 4.0

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rare:
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
    def of(
        cls,
        schema: Schema,
        facts: Facts,
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
        least = NOISES * sigma
        joint = JointClasses(schema.joint_labels, rare_places(counts, least, most=most))
        return cls(joint, projected(counts, total), least)

    def schema_of(self, schema: Schema) -> Schema:
        """Return a schema with these combinations in one class."""
        every = combinations_of(self.joint.columns)
        return dataclasses.replace(
            schema, label_rare=tuple(every[place] for place in self.joint.rare)
        )

    def merged(self, facts: Facts) -> Facts:
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


def rare_places(counts: Floats, least: float, *, most: int | None) -> tuple[int, ...]:
    """Return the places of counts below `least`, or of more where too many would be left.

    One alone is not rare: there is nothing to merge it with.

    Example:
        >>> rare_places(np.array([90.0, 3.0, 70.0, -8.0]), 20.0, most=None)
        (1, 3)
        >>> rare_places(np.array([90.0, 30.0, 70.0, 50.0]), 20.0, most=3)
        (1, 3)
    """
    falling = np.argsort(-counts, kind="stable")
    kept = int((counts >= least).sum())
    if most is not None and kept + (kept < len(counts)) > most:
        kept = most - 1
    rare = np.sort(falling[kept:])
    return tuple(rare.tolist()) if len(rare) > 1 else ()


@dataclass(frozen=True, eq=False)
class Ground:
    """What is known before rows are encoded; all of it is public.

    Args:
        schema: The schema, without gaps.
        counts: The counts that were bought so far.
        notes: What a reader of the certificate should know.
        rare: Which of the combinations of several labels share a class.
    """

    schema: Schema
    counts: Mapping[str, Measured]
    notes: tuple[str, ...]
    rare: Rare | None = None

    def facts(self, request: Request, counts: Mapping[str, Measured]) -> Facts:
        """Return the facts, from what was declared and the counts that were bought."""
        facts = establish_facts(request, counts)
        return facts if self.rare is None else self.rare.merged(facts)


def lay_ground(keeper: Keeper, journal: Journal, settings: Settings) -> Ground:
    """Return the schema of a table, with its gaps bought.

    Privacy: rows are read by `tabpe.measurement` alone, and what it measures is charged to the
    account of the journal. The part of delta that telling values takes must be known before, so a
    noisy number of rows is bought first if delta follows it.
    """
    counts: dict[str, Measured] = {}
    if isinstance(settings.schema, Schema):
        bought = Bought(settings.schema)
    else:
        counts = _count_first(keeper, journal, settings)
        bought = _buy(settings.schema, keeper, journal, settings=settings, counts=counts)
    check_size(settings.request, bought.schema)
    return Ground(bought.schema, counts, bought.notes)


def merge_rare(ground: Ground, keeper: Keeper, journal: Journal, settings: Settings) -> Ground:
    """Return the ground with rare combinations of several labels in one class.

    Privacy: the combinations are counted as the classes of one label are, by `tabpe.measurement`
    and as the same item of the bill. Which of them are rare follows from the noisy counts, or from
    shares that are declared.
    """
    request, schema = settings.request, ground.schema
    if not schema.joint_labels:
        return ground
    # The labels are all that is read.
    labels = settings.encoder_of(Schema(schema.joint_labels, label=schema.label))
    counts = buy_counts(keeper.tables(labels), ground, settings.classes, journal, settings)
    # What counts cost, or would have cost.
    priced = count_items(dataclasses.replace(request, shares=None), 2)[CLASS_COUNTS]
    rare = Rare.of(
        schema,
        establish_facts(request, counts),
        _sigma(journal.account, CLASS_COUNTS, priced.sigma),
        counted=CLASS_COUNTS in counts,
        of_users=request.neighbours.of_users,
        most=None if request.size is None else request.size // request.least_size(1),
    )
    return Ground(rare.schema_of(schema), counts, (*ground.notes, *rare.notes), rare)


def buy_counts(
    engine: Classed, ground: Ground, classes: int, journal: Journal, settings: Settings
) -> dict[str, Measured]:
    """Return all counts that were neither declared nor needless, buying those that are missing."""
    account, noise, counted = journal.account, settings.noise, count_name(settings.request)
    cells = len(ground.schema.class_names)
    ask: dict[str, Callable[[], Measured]] = {
        counted: lambda: measurement.row_count(engine, account, noise, counted),
        CLASS_COUNTS: lambda: measurement.class_counts(engine, cells, account, noise),
    }
    bought = dict(ground.counts)
    for name, item in count_items(settings.request, classes).items():
        if name not in bought:
            account.agree(item)
            bought[name] = journal.once(name, ask[name])
    return bought


def buy_guide(
    tables: Tabled,
    encoder: Encoder,
    facts: Facts,
    journal: Journal,
    settings: Settings,
    *,
    name: str,
) -> Guide:
    """Return what tables of columns say, buying them as an item of the bill, and pairs as another.

    Privacy: they are read by `tabpe.measurement` alone, and charged to the account of the journal.
    The number of cells of each follows from public and noisy facts.
    """
    account = journal.account
    bins = bins_of(
        encoder, facts.row_estimate, _sigma(account, name), by_class=settings.classes > 1
    )
    asked = [*bins.overall, *bins.by_class]
    found = _buy_tables(tables, asked, facts, journal, settings, name=name)
    sigma = _sigma(account, CLASS_COUNTS, 0.0)
    guide = guide_of(encoder, bins, found, facts.class_sizes, sigma, rare=facts.rare)
    if all(item.name != PAIRS for item in account.agreed):
        return guide
    pairs = pairs_of(bins, facts.row_estimate, _sigma(account, PAIRS))
    more = _buy_tables(tables, pairs, facts, journal, settings, name=PAIRS)
    return dataclasses.replace(guide, tables=(*guide.tables, *more))


def _buy_tables(
    tables: Tabled,
    asked: Sequence[Marginal],
    facts: Facts,
    journal: Journal,
    settings: Settings,
    *,
    name: str,
) -> list[Table]:
    if not asked:  # A label alone has no table beside the counts of classes.
        return []
    terms = measurement.Terms(journal.account, settings.noise, settings.request.neighbours)
    bought = journal.once(
        name,
        lambda: measurement.measured_marginals(tables, asked, terms, name),
        times=len(asked),
    )
    sigma = _sigma(journal.account, name)
    return [
        _table(marginal, values / bought.scale, sigma, facts, settings)
        for marginal, values in zip(asked, bought.values, strict=True)
    ]


def _table(
    marginal: Marginal, counts: NDArray[np.float64], sigma: float, facts: Facts, settings: Settings
) -> Table:
    """Return a table in rows. What users add to it says only how rows are divided."""
    unit = 1.0
    if settings.request.neighbours.of_users:
        unit = facts.row_estimate / max(float(counts.sum()), 1.0)
    return Table(marginal, unit * counts.reshape(marginal.shape), unit * sigma)


def _sigma(account: Account, name: str, otherwise: float = math.inf) -> float:
    """Return the noise on each count of an item of the bill."""
    return next((item.sigma for item in account.agreed if item.name == name), otherwise)


def check_size(request: Request, schema: Schema) -> None:
    """Refuse to evolve fewer rows than there are classes; of joint ones more are merged instead."""
    classes = 1 if schema.joint_labels else len(schema.class_names)
    if request.size is not None and request.size < request.least_size(classes):
        each = "one row" if request.floor < 2 else f"class_floor={request.floor} rows"  # noqa: PLR2004
        raise ParameterError(
            f"n_samples={request.size}: expected at least {each} for each of the {classes} "
            f"classes of {schema.label!r}: {request.least_size(classes):,} or more."
        )


def _count_first(keeper: Keeper, journal: Journal, settings: Settings) -> dict[str, Measured]:
    """Return the noisy number of rows or users, if it is needed and not declared."""
    name, account = count_name(settings.request), journal.account
    item = count_items(settings.request, settings.classes).get(name)
    if item is None:
        return {}
    account.agree(item)
    survey = keeper.survey()
    return {
        name: journal.once(
            name, lambda: measurement.row_count(survey, account, settings.noise, name)
        )
    }


def _buy(
    outline: Outline,
    keeper: Keeper,
    journal: Journal,
    *,
    settings: Settings,
    counts: Mapping[str, Measured],
) -> Bought:
    request = settings.request
    return buy_schema(
        outline,
        keeper,
        **schema_price(request, establish_facts(request, counts).calibration_delta),
        account=journal.account,
        noise=settings.noise,
        neighbours=request.neighbours,
        once=journal.answered,
    )


SHARE_EVOLVED = 0.1
THIN_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class Made:
    """What was made; all of it is public.

    Args:
        evolved: The synthetic rows and the history of the rounds.
        facts: What is known of the table.
        notes: What a reader of the certificate should know.
    """

    evolved: Evolved
    facts: Facts
    notes: tuple[str, ...] = ()


def make_rows(
    held: Held, ground: Ground, journal: Journal, settings: Settings, *, seed: int
) -> Made:
    """Make synthetic rows by the strategy of the settings.

    Privacy: rows are read by `tabpe.measurement` alone, and what it measures is charged to the
    account of the journal.
    """
    config = settings.config
    if isinstance(config, Posterior):
        return _fit(held, ground, journal, settings, config=config, seed=seed)
    return _evolve(held, ground, journal, settings, config=config, seed=seed)


def _evolve(
    held: Held,
    ground: Ground,
    journal: Journal,
    settings: Settings,
    *,
    config: Evolution,
    seed: int,
) -> Made:
    request = settings.request
    terrain: Level | Guided
    if config.tables:
        facts, terrain = _guided(held, ground, journal, settings)
    else:
        facts, terrain = _level(held, ground, journal, settings)
    weights = Law.of(held.encoder).without_excluded(facts.weights)
    sizes = with_floor(_size(request, facts), weights, request.floor)
    _agree_on_votes(facts, journal, settings)
    vote = _vote(held, journal, settings)
    evolved = evolve(terrain, sizes, config, vote, seed=seed, on_round=settings.on_round)
    return Made(evolved, facts)


def _fit(
    held: Held,
    ground: Ground,
    journal: Journal,
    settings: Settings,
    *,
    config: Posterior,
    seed: int,
) -> Made:
    facts, terrain = _guided(held, ground, journal, settings)
    if config.rounds:
        _agree_on_votes(facts, journal, settings)

    def fit(on: Guided, config: Posterior) -> Evolved:
        return fit_posterior(
            on,
            config,
            _vote(held, journal, settings),
            extent=_extent(on, config, facts, journal, settings),
            normalised=settings.request.neighbours.of_users,
            seed=seed,
            trial=settings.asked.trial,
            floor=settings.request.floor,
            jobs=settings.resources.jobs,
            on_round=settings.on_round,
        )

    evolved = fit(terrain, config)
    if evolved.votes_help:
        return Made(evolved, facts)
    better = _tables_instead(held, terrain, facts, journal, settings)
    instead = fit(better, dataclasses.replace(config, rounds=0))
    whole = dataclasses.replace(instead, history=evolved.history)
    return Made(whole, facts, (_unhelpful(evolved),))


def _level(held: Held, ground: Ground, journal: Journal, settings: Settings) -> tuple[Facts, Level]:
    """Take in the rows and buy the counts that are missing."""
    encoder = held.encoder
    terrain = lawful(Level(encoder.spaces), Law.of(encoder))
    held.prepare(terrain.sight)
    counts = buy_counts(held, ground, _counted(held, settings), journal, settings)
    return ground.facts(settings.request, counts), terrain


def _guided(
    held: Held, ground: Ground, journal: Journal, settings: Settings
) -> tuple[Facts, Guided]:
    """Buy counts and tables of columns, and take in the rows as the tables spread them."""
    request, config, encoder = settings.request, settings.config, held.encoder
    tables = held.tables()
    counts = buy_counts(tables, ground, _counted(held, settings), journal, settings)
    facts = ground.facts(request, counts)
    agree_on_first(request, settings.asked.first, journal.account)
    if not config.rounds:
        _agree_on_votes(facts, journal, settings)
    guide = buy_guide(tables, encoder, facts, journal, settings, name=COLUMNS)
    terrain = lawful(Guided(guide, guide.warp(config.by_rank)), Law.of(encoder))
    held.prepare(terrain.sight)
    return facts, terrain


def _tables_instead(
    held: Held, known: Guided, facts: Facts, journal: Journal, settings: Settings
) -> Guided:
    """Buy tables with what later rounds of votes would have cost.

    Privacy: each of the histograms that were agreed on has the same noise and is paid for, whatever
    it is about. So what they are about may follow from earlier answers. Those that are left over
    are paid for as well.
    """
    name, encoder = settings.asked.votes_of(0), held.encoder
    guide = buy_guide(held.tables(), encoder, facts, journal, settings, name=name)
    journal.forgo(name)
    both = dataclasses.replace(guide, tables=(*known.guide.tables, *guide.tables))
    return lawful(Guided(both, guide.warp(settings.config.by_rank)), Law.of(encoder))


def _unhelpful(evolved: Evolved) -> str:
    first, last = (evolved.history[place]["surprise"] for place in (0, -1))
    return (
        f"votes did not help: after {len(evolved.history)} rounds their squared distance from what "
        f"was foretold was {last:.3g} times that of noise, and {first:.3g} times at first; what "
        f"later rounds would have cost went to {COLUMNS}, and the rows follow from these alone"
    )


def _agree_on_votes(facts: Facts, journal: Journal, settings: Settings) -> None:
    agree_on_rest(
        settings.request,
        facts,
        journal.account,
        settings.noise,
        settings.asked.rest,
        outline=settings.outline,
    )


def _vote(engine: Engine, journal: Journal, settings: Settings) -> Vote:
    """Return what asks for the votes of a round."""
    account, noise, asked = journal.account, settings.noise, settings.asked
    each, repeats = settings.config.votes, settings.asked.repeats

    def vote(population: Sequence[Records], index: int) -> measurement.Measured:
        name = asked.votes_of(index)
        return journal.once(
            name,
            lambda: measurement.votes(
                engine, population, account, noise, each=each, repeats=repeats, name=name
            ),
            times=each * repeats,
        )

    return vote


def _extent(
    terrain: Guided, config: Posterior, facts: Facts, journal: Journal, settings: Settings
) -> Extent:
    guide, size = terrain.guide, settings.request.size
    least = settings.request.least_size(len(guide.sizes))
    repeats, name = settings.asked.repeats, settings.asked.votes_of(0)
    sigma = next(item.sigma for item in journal.account.agreed if item.name == name)
    return extent_of(
        config,
        rows=guide.rows,
        sigma=sigma / math.sqrt(repeats),
        classes=len(guide.sizes),
        tables=len(guide.tables),
        size=max(least, round(facts.row_estimate)) if size is None else size,
    )


def _counted(held: Held, settings: Settings) -> int:
    """Return how many classes are counted, as far as that was known before a row was read."""
    return held.encoder.class_count if settings.outline is None else settings.classes


def _size(request: Request, facts: Facts) -> int:
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
class Outcome:
    """What a run gives; all of it is public.

    Args:
        evolved: The synthetic rows and the history of the rounds.
        certificate: What was promised.
        schema: The schema of the rows.
        seed: Seed of the search.
    """

    evolved: Evolved
    certificate: Certificate
    schema: Schema
    seed: int


def run(source: Source, settings: Settings) -> Outcome:
    """Evolve synthetic rows from private ones.

    Privacy: the rows are read by `tabpe.measurement` alone. The outcome keeps the promise of its
    certificate, whose epsilon is at most the one of the request.
    """
    _check_columns(source, settings)
    _check_rules(settings)
    outcome = None
    try:
        with _run_folder(settings) as folder:
            outcome = _charged_run(WatchedSource(source), folder, settings)
    except MemoryError:
        pass  # Its message tells the sizes of arrays, which are exact counts of rows.
    if outcome is None:
        raise TabpeError(
            "the machine ran out of memory: pass engine='stream', evolve fewer rows, or use a "
            "larger one."
        )
    return outcome


def _charged_run(source: WatchedSource, folder: RunFolder | None, settings: Settings) -> Outcome:
    """Run; one that fails before it has read a row leaves no trace of itself."""

    def is_unread() -> bool:
        # A run that goes on was begun by a process that may have read all rows.
        unread = not source.was_read and (folder is None or folder.is_new)
        return unread and (folder is None or folder.forget())

    begun = Run.begin(settings.seed) if folder is None else folder.run
    try:
        with _reserved(begun, folder, settings, is_unread) as entry:
            is_closed = entry is not None and entry.state == "spent"
            follower = _follower(entry, settings)
            journal = Journal(Account(), folder, is_closed=is_closed, follower=follower)
            outcome = _run(source, begun, folder, journal, settings)
    except BaseException:
        is_unread()
        raise
    if settings.charge is None or entry is None:
        return outcome
    certificate = settings.charge.settled(entry, outcome.certificate)
    return dataclasses.replace(outcome, certificate=certificate)


@contextmanager
def _reserved(
    begun: Run, folder: RunFolder | None, settings: Settings, is_unread: Callable[[], bool]
) -> Iterator[Entry | None]:
    """Hold what a run may cost in the ledger, if it is charged to one."""
    if settings.charge is None:
        yield None
        return
    request, noise = settings.request, settings.noise
    bill = planned_bill(request, settings.classes, settings.asked, noise, settings.outline)
    start = None if folder is None else folder.start()
    with settings.charge.reserved(
        begun.id,
        bill,
        request.neighbours,
        noise.slack,
        is_unread,
        start=start,
        adaptive=is_adaptive(request),
    ) as entry:
        yield entry


def _follower(entry: Entry | None, settings: Settings) -> ChargedStart | None:
    """Return what tells the ledger of each measurement, if there are a ledger and a folder."""
    if settings.charge is None or entry is None or entry.progress is None:
        return None
    return ChargedStart(settings.charge.ledger, entry.id, entry.progress.token)


def _run(
    source: Source, begun: Run, folder: RunFolder | None, journal: Journal, settings: Settings
) -> Outcome:
    with closing(_keeper(source, begun, settings)) as keeper:
        if folder is not None:
            folder.check_fingerprint(_fingerprint(keeper, settings))
        ground = lay_ground(keeper, journal, settings)
        ground = merge_rare(ground, keeper, journal, settings)
        weight = settings.config.category_weight
        with closing(keeper.hold(settings.encoder_of(ground.schema), weight)) as held:
            made = make_rows(held, ground, journal, settings, seed=begun.seed)
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
        notes=(*ground.notes, *made.notes),
        measurements=journal.transcript.sha256,
    )
    return Outcome(made.evolved, certificate, ground.schema, begun.seed)


def _check_columns(source: Source, settings: Settings) -> None:
    """Refuse a table that lacks a column, before it costs anything."""
    if isinstance(settings.schema, Schema):
        Encoder(settings.schema).check_names(source.names)
    if settings.unit is not None:
        declared = [column.name for column in settings.schema.columns]
        check_unit_column(source, settings.unit, declared)
    check_plain_columns(source, settings.columns)


def _check_rules(settings: Settings) -> None:
    """Refuse rules that no row obeys, before they cost anything."""
    schema = settings.schema if settings.outline is None else ruled(settings.outline)
    if isinstance(schema, Schema):
        Law.of(Encoder(schema))


def _keeper(source: Source, begun: Run, settings: Settings) -> Keeper:
    """Return who counts in the table; all of them give the same answers."""
    return open_keeper(source, _unit(begun, settings), settings.resources, settings.on_ready)


def _unit(begun: Run, settings: Settings) -> Unit | None:
    """Return who is a user, if the promise is to users."""
    neighbours = settings.request.neighbours
    if settings.unit is None or neighbours.max_rows is None:
        return None
    return Unit(
        settings.unit,
        neighbours.max_rows,
        begun.seed,
        neighbours.scale,
        tuple(settings.columns),
        settings.strict,
    )


def _fingerprint(keeper: Keeper, settings: Settings) -> str:
    key, names = secret_key(), settings.columns
    return fingerprint(names, keeper.contents(names, key), key)


@contextmanager
def _run_folder(settings: Settings) -> Iterator[RunFolder | None]:
    if settings.run_dir is None:
        yield None
        return
    identity = settings.identity | {
        "version of tabpe": code_digest(),
        "version of a package": versions(),
    }
    with closing(RunFolder(settings.run_dir, Run.begin(settings.seed), identity)) as folder:
        yield folder
