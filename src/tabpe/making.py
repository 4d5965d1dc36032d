"""How the rows of a run are made: what its strategy asks, and what it makes of noisy answers.

The private rows are here only on their way into what counts them for `tabpe.measure`.
"""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from tabpe import measure
from tabpe.budget import agree_on_first, agree_on_rest
from tabpe.encode import Records
from tabpe.engines import Engine, Held
from tabpe.errors import ThinVotesWarning
from tabpe.evolve import Evolution, Evolved, Posterior, evolve, fit_posterior
from tabpe.evolve.config import COLUMNS
from tabpe.evolve.floors import with_floor
from tabpe.evolve.law import Law
from tabpe.evolve.lawful import lawful
from tabpe.evolve.loop import Vote
from tabpe.evolve.sizes import Extent, extent_of
from tabpe.evolve.terrain import Guided, Level
from tabpe.ground import Ground, buy_counts, buy_guide
from tabpe.journal import Journal
from tabpe.request import Facts, Request
from tabpe.settings import Settings

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

    Privacy: rows are read by `tabpe.measure` alone, and what it measures is charged to the account
    of the journal.
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

    def vote(population: Sequence[Records], index: int) -> measure.Measured:
        name = asked.votes_of(index)
        return journal.once(
            name,
            lambda: measure.votes(
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
