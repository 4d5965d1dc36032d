"""The posterior strategy: one weighted pool of rows, fitted to all noisy measurements so far.

A round draws candidates from the pool by weight and asks for votes. What the votes say is never
forgotten: the pool is drawn anew by weight and moved a little, and its weights are fitted to the
votes of all rounds and to the tables of columns (`tabpe.evolve.fit`). At the end labels are
sharpened (`tabpe.evolve.sharpen`), and rows are drawn from it.

Nothing here sees a private row. `vote` is the only door, and what comes through it is noisy
already; everything else is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.encode import Records
from tabpe.evolve.config import Posterior
from tabpe.evolve.evidence import Evidence, Rows, of_table, of_votes
from tabpe.evolve.fit import Counted, fitted, scatter
from tabpe.evolve.floors import lifted, with_floor
from tabpe.evolve.guide import Guide
from tabpe.evolve.loop import Evolved, Vote
from tabpe.evolve.select import systematic
from tabpe.evolve.sharpen import agreement, draws_of
from tabpe.evolve.sizes import Extent, spread_of
from tabpe.evolve.terrain import Guided
from tabpe.measure import Measured
from tabpe.search import first_equals

# Votes whose squared distance from what was foretold is more than this many variances of their
# noise do not lie there by chance.
SURPRISING = 3.0
# Votes that a fit to earlier ones foretells have at most this part of the first surprise.
LESS_SURPRISING = 0.8

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows that stand for the table, each with a weight.

    Args:
        rows: The rows, class by class.
        weights: How many private rows each stands for.
        evidence: What was measured, and where the rows fall in it.
    """

    rows: Rows
    weights: Floats
    evidence: Evidence


def fit_posterior(
    terrain: Guided,
    config: Posterior,
    vote: Vote,
    *,
    extent: Extent,
    normalised: bool,
    seed: int,
    trial: int = 0,
    floor: int = 0,
    jobs: int = 1,
    on_round: Callable[[int], None] = lambda _: None,
) -> Evolved:
    """Fit a pool of rows to noisy votes and tables, and draw rows from it.

    Args:
        terrain: Where rows are made up.
        config: The settings.
        vote: Returns the noisy votes for the candidates of each class; called once a round, with
            its number.
        extent: How many candidates, rows of the pool and rows that come out.
        normalised: Whether votes do not add up to rows, like those of users: then each histogram
            says only how rows are divided.
        seed: Drives the random choices here, and none of the noise.
        trial: After how many rounds to end without a row if votes do not help; 0 for never.
        floor: The fewest rows of a class that come out, if it has any; 0 for its share.
        jobs: Threads that look for the nearest candidates; rows are the same for any number.
        on_round: Called with the number of rounds done, before each round.
    """
    terrain = replace(terrain, guide=lifted(terrain.guide, extent.pool, floor))
    pool = _first_pool(terrain, config, extent, _generator(seed, 0))
    history = []
    for index in range(config.rounds):
        on_round(index)
        rng = _generator(seed, index + 1)
        candidates = _candidates(pool, extent.candidates, config.votes, terrain, rng)
        measured = vote(candidates, index)
        votes = _votes(candidates, measured, terrain.guide, config, normalised=normalised)
        found = of_votes(
            candidates,
            *votes,
            each=config.votes,
            category_weight=config.category_weight,
            jobs=jobs,
        )
        pool = _resampled(pool, terrain, config, index, rng)
        pool = Pool(pool.rows, pool.weights, pool.evidence.with_more(found, pool.rows))
        history.append(_record(index, config, candidates, measured, _surprise(pool)))
        if index + 1 == trial and not votes_help(history):
            return Evolved([], history, votes_help=False)
        pool = _fitted(pool, terrain.guide, config, extent, last=index + 1 == config.rounds)
    rng = _generator(seed, config.rounds + 1)
    pool = _sharpened(pool, terrain.guide, config, extent, rng, jobs=jobs)
    chosen = _drawn(pool, terrain.guide, extent.rows, floor, rng)
    return Evolved(_by_class(pool.rows.take(chosen), len(terrain.guide.sizes)), history)


def votes_help(history: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a pool that was fitted to votes foretells later ones clearly better.

    Where it does, the surprise falls from round to round, down to the noise. In very many columns
    the nearest candidate is hardly nearer than others, so that votes for some say nothing about
    votes for others: the surprise stays.

    Example:
        >>> votes_help([{"surprise": 5.2}, {"surprise": 3.8}])
        True
        >>> votes_help([{"surprise": 42.0}, {"surprise": 60.0}])
        False
    """
    first, last = history[0]["surprise"], history[-1]["surprise"]
    return bool(last < LESS_SURPRISING * first or last < SURPRISING)


def mutation_rate(config: Posterior, index: int) -> float:
    """Return how far rows move in a round: from the first rate to the last by equal factors.

    Example:
        >>> config = Posterior(rounds=3, mutation_init=0.16, mutation_final=0.04)
        >>> [round(mutation_rate(config, index), 2) for index in range(3)]
        [0.16, 0.08, 0.04]
    """
    progress = index / max(config.rounds - 1, 1)
    return float(config.mutation_init * (config.mutation_final / config.mutation_init) ** progress)


def _first_pool(
    terrain: Guided, config: Posterior, extent: Extent, rng: np.random.Generator
) -> Pool:
    guide = terrain.guide
    classes = systematic(guide.sizes * guide.lift, extent.pool, rng)
    rows = _rows(terrain, terrain.drawn(classes, rng), classes)
    evidence = Evidence.about(rows, [of_table(table) for table in guide.tables])
    pool = Pool(rows, _even(rows, guide), evidence)
    return _fitted(pool, guide, config, extent, last=not config.rounds)


def _even(rows: Rows, guide: Guide) -> Floats:
    """Return the weights of an even pool: the more rows a class has in it, the less each weighs."""
    by_class: Floats = guide.rows / len(rows) * (guide.mean_lift / guide.lift)
    return by_class[rows.classes]


def _drawn(pool: Pool, guide: Guide, size: int, floor: int, rng: np.random.Generator) -> Whole:
    """Return the places of the rows that come out, by weight; class by class if with a floor."""
    if not floor:
        return systematic(pool.weights, size, rng)
    ends = np.searchsorted(pool.rows.classes, np.arange(len(guide.sizes) + 1))
    sizes = with_floor(size, np.where(np.diff(ends) > 0, guide.sizes, 0.0), floor)
    parts = [(*span, rows) for span, rows in zip(pairwise(ends), sizes, strict=True) if rows]
    return np.concatenate([a + systematic(pool.weights[a:b], rows, rng) for a, b, rows in parts])


def _candidates(
    pool: Pool, size: int, votes: int, terrain: Guided, rng: np.random.Generator
) -> list[Records]:
    """Draw different candidates by weight; small classes get more, for a row has several votes."""
    chosen = np.unique(systematic(pool.weights, size, rng))
    candidates = []
    for label in range(len(terrain.guide.sizes)):
        mine = np.flatnonzero(pool.rows.classes == label)
        drawn = chosen[pool.rows.classes[chosen] == label]
        if len(drawn) < votes:
            drawn = np.union1d(drawn, rng.permutation(mine)[:votes])
        seen = pool.rows.seen.take(drawn)
        first = first_equals(seen)
        candidates.append(seen.take(np.flatnonzero(first == np.arange(len(seen)))))
    return candidates


def _votes(
    candidates: Sequence[Records],
    measured: Measured,
    guide: Guide,
    config: Posterior,
    *,
    normalised: bool,
) -> tuple[Floats, float]:
    """Return noisy votes and the noise on them, in rows."""
    votes = np.concatenate(measured.values) / measured.scale
    if not normalised:
        return votes, measured.sigma
    most = [min(config.votes, len(part)) for part in candidates]
    unit = float(guide.sizes @ most) / max(float(votes.sum()), 1.0)
    return unit * votes, unit * measured.sigma


def _resampled(
    pool: Pool, terrain: Guided, config: Posterior, index: int, rng: np.random.Generator
) -> Pool:
    """Draw a pool of even weights from the pool, and move copies and a part of the others."""
    lift = terrain.guide.lift[pool.rows.classes]
    origins = systematic(pool.weights * lift, len(pool.rows), rng)
    moves = rng.random(len(origins)) >= config.kept
    moves[1:] |= origins[1:] == origins[:-1]
    rows = _moved(pool.rows.take(origins), moves, mutation_rate(config, index), terrain, rng)
    return Pool(rows, _even(rows, terrain.guide), pool.evidence.moved(rows, origins, moves))


def _fitted(pool: Pool, guide: Guide, config: Posterior, extent: Extent, *, last: bool) -> Pool:
    return _reweighed(
        pool,
        _even(pool.rows, guide),
        pool.evidence.counted,
        guide,
        pull=_pull(guide, config, extent),
        sweeps=config.last_sweeps if last else config.sweeps,
    )


def _sharpened(
    pool: Pool,
    guide: Guide,
    config: Posterior,
    extent: Extent,
    rng: np.random.Generator,
    *,
    jobs: int,
) -> Pool:
    """Give less weight to rows among those of other classes, as far as the tables allow it."""
    if not (config.sharpness and config.rounds and len(guide.sizes) > 1):
        return pool
    drawn = systematic(pool.weights, draws_of(extent.candidates), rng)
    share = agreement(pool.rows, drawn, config.category_weight, jobs=jobs)
    sharper = _of_size(pool.weights * share**config.sharpness, pool.rows.classes, guide.sizes)
    tables = pool.evidence.counted[: len(guide.tables)]
    pull = _pull(guide, config, extent)
    return _reweighed(pool, sharper, tables, guide, pull=pull, sweeps=config.sweeps)


def _reweighed(
    pool: Pool,
    weights: Floats,
    measured: Sequence[Counted],
    guide: Guide,
    *,
    pull: float,
    sweeps: int,
) -> Pool:
    """Return the pool with weights that are fitted to measurements, and near to those given."""
    even = np.log(np.maximum(weights, np.finfo(np.float64).tiny))
    found = fitted(measured, len(pool.rows), even=even, pull=pull, sweeps=sweeps)
    return Pool(pool.rows, _of_size(found, pool.rows.classes, guide.sizes), pool.evidence)


def _pull(guide: Guide, config: Posterior, extent: Extent) -> float:
    """Return how strongly weights are held to what they were.

    The weight of a row may well differ from that by a factor of e^spread. It is held to it as if by
    one cell of a histogram of votes, which is where it is least certain.
    """
    return extent.candidates / (guide.rows * spread_of(config, len(guide.sizes)) ** 2)


def _of_size(weights: Floats, classes: Whole, sizes: Floats) -> Floats:
    """Return weights of which each class adds up to its declared or estimated size."""
    totals = np.bincount(classes, weights, minlength=len(sizes))
    grown: Floats = weights * (sizes / np.where(totals > 0, totals, 1.0))[classes]
    return grown


def _surprise(pool: Pool) -> float:
    """Return how far the last votes are from what the pool predicted, in variances of the noise.

    About 1 if the pool is right. It is free: both are known already.
    """
    last = pool.evidence.counted[-1]
    predicted = scatter(last.cells, pool.weights, len(last.targets))
    return float(((last.targets - predicted) ** 2 * last.precisions)[:-1].mean())


def _record(
    index: int,
    config: Posterior,
    candidates: Sequence[Records],
    measured: Measured,
    surprise: float,
) -> dict[str, Any]:
    noisy = np.concatenate(measured.values)
    return {
        "round": index + 1,
        "selection": "posterior",
        "mutation_rate": mutation_rate(config, index),
        "sigma": measured.sigma,
        "population": sum(map(len, candidates)),
        "noisy_votes_total": round(int(noisy.sum()) / measured.scale),
        "noisy_votes_largest": round(int(noisy.max(initial=0)) / measured.scale),
        "surprise": surprise,
    }


def _rows(terrain: Guided, plain: Records, classes: Whole) -> Rows:
    return Rows(plain, terrain.seen(plain), classes)


def _moved(
    rows: Rows,
    moves: NDArray[np.bool_],
    rate: float,
    terrain: Guided,
    rng: np.random.Generator,
) -> Rows:
    where = np.flatnonzero(moves)
    classes = rows.classes[where]
    fresh = terrain.stepped(rows.plain.take(where), classes, rate, rng)
    seen = _replaced(rows.seen, where, terrain.seen(fresh))
    return Rows(_replaced(rows.plain, where, fresh), seen, rows.classes)


def _replaced(rows: Records, where: Whole, others: Records) -> Records:
    numbers, codes = rows.numbers.copy(), rows.codes.copy()
    numbers[where], codes[where] = others.numbers, others.codes
    return Records(numbers, codes)


def _by_class(rows: Rows, classes: int) -> list[Records]:
    return [rows.plain.take(rows.classes == label) for label in range(classes)]


def _generator(seed: int, step: int) -> np.random.Generator:
    """Return the random numbers of one round, whatever else was drawn before."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(step,)))
