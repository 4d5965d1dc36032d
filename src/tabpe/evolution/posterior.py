"""The posterior strategy: a weighted pool of rows, fitted to all noisy measurements.

A round draws candidates from the pool by weight and asks for votes. No vote is discarded: the pool
is resampled by weight and mutated a little, and its weights are fitted to the votes of all rounds
and to the marginals (`tabpe.evolution.evidence`). At the end labels are sharpened, and rows are
drawn from the pool, at least `floor` of each class that has any.

*Labels.* They are as fitted, and sharpened; or drawn anew by a calibrated predictor
(`tabpe.evolution.calibrated_labels`).

*Oblivious tables.* Between rounds a table of the cells of an oblivious tree may be measured, and
more of them instead of the last round (`tabpe.evolution.oblivious_tables`). Then labels are not
sharpened.

*Sharpening.* Every class of a pool is fitted to noisy votes of its own, so noise puts some weight
of each class where rows are of others. A row among rows of its class is more likely right than one
among others; so the weight of a row is multiplied by the share that its class has among its nearest
rows, or by a power of that. Then a few sweeps of the fit restore the marginals. It is a guess about
the effect of noise. Where labels are random given the row, a power of 1 makes them more certain
than they are (`python -m benchmarks.sharpness`); classifiers gain nevertheless.

Privacy: nothing here reads a private row. `vote` is the only access, and what it returns is noisy
already; everything else is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe.backends.nearest import build_index, find_first_equals
from tabpe.encoding import Records
from tabpe.encoding.marginals import Marginal
from tabpe.evolution.calibrated_labels import (
    TEACHER_DRAWS,
    TEACHERS,
    CalibrationQuery,
    build_calibration_axis,
    count_right,
    draw_labels,
    fit_calibration,
    train_teacher,
)
from tabpe.evolution.config import Posterior, get_category_weight
from tabpe.evolution.evidence import (
    CellCounts,
    Evidence,
    PoolRows,
    build_table_evidence,
    build_vote_evidence,
    fit_weights,
    sum_by_cell,
)
from tabpe.evolution.extensions import RoundObserver, ignore_round
from tabpe.evolution.marginal_prior import MarginalPrior, NoisyMarginal
from tabpe.evolution.oblivious_tables import TableBudget, TableGate
from tabpe.evolution.private_evolution import (
    EvolutionResult,
    SamplingPool,
    VoteQuery,
    apportion_with_floor,
    draw_systematic,
)
from tabpe.evolution.proposals import MarginalProposal
from tabpe.measurement import NoisyCounts


@dataclass(frozen=True)
class PopulationSizes:
    """The numbers of rows of a run.

    Args:
        candidates: Rows that are voted on in a round.
        pool: Rows that represent the table.
        rows: Synthetic rows of the result.
    """

    candidates: int
    pool: int
    rows: int


# The votes for an average candidate, as a multiple of their noise, by the root of votes per row.
SIGNAL = 0.35
# More candidates than this improved nothing, and cost time in proportion. Many classes, which share
# them, need more.
MOST_CANDIDATES, MOST_BY_CLASS, MOST_EVER = 4000, 600, 16_000
FEWEST_BY_CLASS = 4
# Larger pools are better, with diminishing returns: sixteen rows for a candidate, and half as many
# for each of those that only many classes need.
POOL_BY_CANDIDATE, FEWEST_IN_POOL = 16, 32_000
# The cells of all rows of the pool in all measurements: 4 bytes each.
MOST_CELLS = 12_000_000


def choose_population_sizes(
    config: Posterior, *, rows: float, sigma: float, classes: int, tables: int, size: int
) -> PopulationSizes:
    """Return the numbers of candidates and rows of the pool for a table.

    Args:
        config: The settings.
        rows: The number of rows, declared or noisy.
        sigma: The noise on votes.
        classes: The number of classes.
        tables: The number of marginals.
        size: The number of synthetic rows.

    Example:
        >>> choose_population_sizes(
        ...     Posterior(), rows=7000, sigma=22.0, classes=10, tables=14, size=7000
        ... )
        PopulationSizes(candidates=1818, pool=32000, rows=7000)
    """
    likely = rows * math.sqrt(config.votes) / (SIGNAL * sigma)
    most = min(max(MOST_CANDIDATES, MOST_BY_CLASS * classes), MOST_EVER)
    candidates = int(min(max(likely, FEWEST_BY_CLASS * classes), most))
    candidates = config.candidates or candidates
    usual = min(candidates, MOST_CANDIDATES)
    pool = max(FEWEST_IN_POOL, POOL_BY_CANDIDATE * (usual + candidates) // 2)
    width = tables + config.rounds * config.votes
    return PopulationSizes(candidates, config.pool or min(pool, MOST_CELLS // width), size)


def compute_weight_spread(config: Posterior, classes: int) -> float:
    """Return the prior standard deviation of the logarithm of a weight.

    The more classes there are, the smaller the region of each, and the more weights in it differ
    from those elsewhere. The root of half of their number worked for Artificial Characters and for
    simulated tables of 2 and of 20 classes.

    Example:
        >>> [compute_weight_spread(Posterior(), classes) for classes in (2, 18)]
        [1.0, 3.0]
    """
    return config.spread or max(1.0, math.sqrt(classes / 2))


# Where oblivious tables say what votes say only as a blur, weights that follow the noise on votes
# cost more than they bring: the spread is so much of the usual one.
OPEN_SPREAD = 0.25
# The rows of a class in a pool, for each row of the floor.
POOL_BY_ROW = 8

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


def lift_small_classes(prior: MarginalPrior, pool: int, floor: int) -> MarginalPrior:
    """Return a prior with more rows of small classes in the pool.

    Args:
        prior: The estimated number of rows of each class.
        pool: The number of rows of the pool.
        floor: The fewest synthetic rows of a class; 0 for no floor.

    Example:
        >>> prior = MarginalPrior(np.array([990.0, 10.0]), (), (), ())
        >>> lift_small_classes(prior, pool=1000, floor=5).lift.round(2)
        array([0.97, 4.  ])
    """
    if not floor:
        return prior
    rows = np.array(apportion_with_floor(pool, prior.sizes, POOL_BY_ROW * floor))
    shares = pool * prior.sizes / prior.rows
    lift = np.divide(rows, shares, out=np.ones(len(rows)), where=(rows > 0) & (shares > 0))
    return replace(prior, lifted=lift)


# The nearest rows of a row. More of them made no difference.
AROUND = 7
# The nearest rows are searched among so many draws: two for each candidate.
DRAWS_BY_CANDIDATE, FEWEST_DRAWS = 2, 8000
# The pseudocount of the class of a row.
_BEFORE = 0.5


def compute_draw_count(candidates: int) -> int:
    """Return the number of draws among which nearest rows are searched.

    Example:
        >>> compute_draw_count(1000), compute_draw_count(12_000)
        (8000, 24000)
    """
    return max(FEWEST_DRAWS, DRAWS_BY_CANDIDATE * candidates)


def compute_agreement(
    rows: PoolRows, drawn: Whole, category_weight: float, *, around: int = AROUND, jobs: int = 1
) -> Floats:
    """Return, for each row, the part of the nearest drawn rows that are of its class.

    A row itself does not count, however often it was drawn.

    Args:
        rows: The rows of a pool.
        drawn: The indices of some of them, ascending; a row may be drawn several times.
        category_weight: What one differing category adds to a squared distance.
        around: The number of nearest rows.
        jobs: Threads that search the nearest.

    Example:
        >>> from tabpe.encoding import Records
        >>> numbers = np.array([[0.1], [0.2], [0.3], [0.79], [0.8], [0.9]], dtype=np.float32)
        >>> records = Records(numbers, np.empty((6, 0), dtype=np.uint8))
        >>> rows = PoolRows(records, records, np.array([0, 0, 0, 0, 1, 1]))
        >>> compute_agreement(rows, np.arange(6), category_weight=1 / 3, around=1)
        array([0.75, 0.75, 0.75, 0.25, 0.25, 0.75])
    """
    others, times = np.unique(drawn, return_counts=True)
    found = build_index(rows.in_voting_space.take(others), category_weight, jobs=jobs)
    near = found.find_nearest(rows.in_voting_space, min(around + 1, len(others)))
    counted = times[near] * (others[near] != np.arange(len(rows))[:, None])
    alike = rows.classes[others][near] == rows.classes[:, None]
    share: Floats = (np.sum(counted * alike, axis=1) + _BEFORE) / (counted.sum(axis=1) + 1.0)
    return share


# A normalised residual (mean squared residual in variances of the noise) above this is not noise.
HIGH_RESIDUAL = 3.0
# Votes that a fit to earlier ones predicts have at most this part of the first residual.
RESIDUAL_DROP = 0.8


@dataclass(frozen=True, eq=False)
class WeightedPool:
    """Rows that represent the table, each with a weight.

    Args:
        rows: The rows, class by class.
        weights: The number of private rows that each represents.
        evidence: All measurements, and the cells of the rows in them.
    """

    rows: PoolRows
    weights: Floats
    evidence: Evidence


def fit_posterior(
    proposal: MarginalProposal,
    config: Posterior,
    vote: VoteQuery,
    *,
    extent: PopulationSizes,
    normalised: bool,
    seed: int,
    trial: int = 0,
    floor: int = 0,
    jobs: int = 1,
    on_round: Callable[[int], None] = lambda _: None,
    observe: RoundObserver = ignore_round,
    calibrate: CalibrationQuery | None = None,
    oblivious: TableBudget | None = None,
) -> EvolutionResult:
    """Fit a pool of rows to noisy votes and marginals, and draw rows from it.

    Args:
        proposal: Draws and mutates rows.
        config: The settings.
        vote: Returns the noisy votes for the candidates of each class; called once a round, with
            its number.
        extent: The numbers of candidates, rows of the pool and synthetic rows.
        normalised: Whether votes do not add up to rows, like those of users: then each histogram
            only says how rows are divided.
        seed: Drives the random choices here, and none of the noise.
        trial: The number of rounds after which to end without rows if votes do not help; 0 for
            never.
        floor: The fewest synthetic rows of a class, if it has any; 0 for its share.
        jobs: Threads that search the nearest candidates; rows are the same for any number.
        on_round: Called with the number of rounds done, before each round.
        observe: Called with the pool, after each round.
        calibrate: Returns noisy histograms of how sure labels are; None to keep labels as fitted.
        oblivious: Measures oblivious tables; None for none.
    """
    proposal = replace(proposal, prior=lift_small_classes(proposal.prior, extent.pool, floor))
    pool = _make_first_pool(proposal, config, extent, _make_generator(seed, 0))
    history = []
    spread = compute_weight_spread(config, len(proposal.prior.sizes))
    gate = None if oblivious is None else TableGate(oblivious, config.rounds, proposal.prior.sizes)
    for index in range(config.rounds):
        if gate is not None and index == gate.rounds:
            break
        on_round(index)
        rng = _make_generator(seed, index + 1)
        candidates = _draw_candidates(pool, extent.candidates, config.votes, proposal, rng)
        measured = vote(candidates, index)
        votes = _scale_votes(candidates, measured, proposal.prior, config, normalised=normalised)
        evidence = build_vote_evidence(
            candidates,
            *votes,
            votes_per_row=config.votes,
            category_weight=get_category_weight(config),
            jobs=jobs,
        )
        pool = _resample_pool(pool, proposal, config, index, rng)
        pool = WeightedPool(
            pool.rows, pool.weights, pool.evidence.add_measurement(evidence, pool.rows)
        )
        history.append(_make_record(index, config, candidates, measured, _compute_residual(pool)))
        if index + 1 == trial and not votes_help(history):
            return EvolutionResult([], history, votes_help=False)
        rounds = config.rounds if gate is None else gate.rounds
        pool = _fit_pool(pool, proposal.prior, config, extent, last=index + 1 == rounds)
        found = [] if gate is None else gate.ask(index + 1, pool.rows, pool.weights, rng)
        if gate is not None and found:
            history[-1]["table_residual"] = gate.residual
            if gate.is_open:
                config = replace(config, spread=OPEN_SPREAD * spread)
                found = [_weaken_pull(table, extent) for table in found]
            pool, proposal = _add_tables(pool, proposal, found)
            last = index + 1 == gate.rounds
            pool = _fit_pool(pool, proposal.prior, config, extent, last=last)
        observe(pool.rows.plain, pool.rows.classes, pool.weights, history[-1])
    rng = _make_generator(seed, config.rounds + 1)
    if calibrate is None:
        if gate is not None and gate.is_open:
            # Tables tell more about labels than the rows around a row.
            config = replace(config, sharpness=0.0)
        pool = _sharpen_labels(pool, proposal.prior, config, extent, rng, jobs=jobs)
    else:
        pool = _calibrate_labels(pool, proposal.prior, config, extent, rng, calibrate=calibrate)
    chosen = _draw_output(pool, proposal.prior, extent.rows, floor, rng)
    drawn = pool.rows.take(chosen)
    if config.move_copies:
        drawn = _move_copies(drawn, chosen, proposal, config, rng)
    return EvolutionResult(
        _group_by_class(drawn, len(proposal.prior.sizes)),
        history,
        pool=SamplingPool(pool.rows.plain, pool.rows.classes, pool.weights),
    )


def votes_help(history: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a pool that was fitted to votes predicts later ones clearly better.

    Where it does, the residual falls from round to round, down to the noise. In very many columns
    the nearest candidate is hardly nearer than others, so that votes for some do not predict votes
    for others: the residual stays.

    Example:
        >>> votes_help([{"residual": 5.2}, {"residual": 3.8}])
        True
        >>> votes_help([{"residual": 42.0}, {"residual": 60.0}])
        False
    """
    first, last = history[0]["residual"], history[-1]["residual"]
    return bool(last < RESIDUAL_DROP * first or last < HIGH_RESIDUAL)


def compute_mutation_rate(config: Posterior, index: int) -> float:
    """Return the mutation rate of a round: from the first to the last by equal factors.

    Example:
        >>> config = Posterior(rounds=3, mutation_init=0.16, mutation_final=0.04)
        >>> [round(compute_mutation_rate(config, index), 2) for index in range(3)]
        [0.16, 0.08, 0.04]
    """
    progress = index / max(config.rounds - 1, 1)
    return float(config.mutation_init * (config.mutation_final / config.mutation_init) ** progress)


def _make_first_pool(
    proposal: MarginalProposal, config: Posterior, extent: PopulationSizes, rng: np.random.Generator
) -> WeightedPool:
    prior = proposal.prior
    classes = draw_systematic(prior.sizes * prior.lift, extent.pool, rng)
    rows = _make_pool_rows(proposal, proposal.draw_rows(classes, rng), classes)
    evidence = Evidence.from_rows(rows, [build_table_evidence(table) for table in prior.tables])
    pool = WeightedPool(rows, _compute_even_weights(rows, prior), evidence)
    return _fit_pool(pool, prior, config, extent, last=not config.rounds)


def _compute_even_weights(rows: PoolRows, prior: MarginalPrior) -> Floats:
    """Return equal weights within each class, which add up to its estimated size."""
    by_class: Floats = prior.rows / len(rows) * (prior.mean_lift / prior.lift)
    return by_class[rows.classes]


def _draw_output(
    pool: WeightedPool, prior: MarginalPrior, size: int, floor: int, rng: np.random.Generator
) -> Whole:
    """Return the indices of the synthetic rows, by weight; class by class if with a floor."""
    if not floor:
        return draw_systematic(pool.weights, size, rng)
    ends = np.searchsorted(pool.rows.classes, np.arange(len(prior.sizes) + 1))
    sizes = apportion_with_floor(size, np.where(np.diff(ends) > 0, prior.sizes, 0.0), floor)
    parts = [(*span, rows) for span, rows in zip(pairwise(ends), sizes, strict=True) if rows]
    return np.concatenate(
        [a + draw_systematic(pool.weights[a:b], rows, rng) for a, b, rows in parts]
    )


def _move_copies(
    rows: PoolRows,
    chosen: Whole,
    proposal: MarginalProposal,
    config: Posterior,
    rng: np.random.Generator,
) -> PoolRows:
    """Return drawn rows; of those that were drawn several times, all but one are moved a little."""
    copies = np.flatnonzero(np.append(False, chosen[1:] == chosen[:-1]))
    moved = proposal.move_numbers(
        rows.plain.take(copies), rows.classes[copies], config.mutation_final, rng
    )
    return PoolRows(_replace_rows(rows.plain, copies, moved), rows.in_voting_space, rows.classes)


def _draw_candidates(
    pool: WeightedPool, size: int, votes: int, proposal: MarginalProposal, rng: np.random.Generator
) -> list[Records]:
    """Draw distinct candidates by weight; each class gets as many as a row has votes, or more."""
    chosen = np.unique(draw_systematic(pool.weights, size, rng))
    candidates = []
    for label in range(len(proposal.prior.sizes)):
        mine = np.flatnonzero(pool.rows.classes == label)
        drawn = chosen[pool.rows.classes[chosen] == label]
        if len(drawn) < votes:
            drawn = np.union1d(drawn, rng.permutation(mine)[:votes])
        seen = pool.rows.in_voting_space.take(drawn)
        first = find_first_equals(seen)
        candidates.append(seen.take(np.flatnonzero(first == np.arange(len(seen)))))
    return candidates


def _scale_votes(
    candidates: Sequence[Records],
    measured: NoisyCounts,
    prior: MarginalPrior,
    config: Posterior,
    *,
    normalised: bool,
) -> tuple[Floats, float]:
    """Return noisy votes and their sigma, in rows."""
    votes = np.concatenate(measured.values) / measured.scale
    if not normalised:
        return votes, measured.sigma
    most = [min(config.votes, len(part)) for part in candidates]
    unit = float(prior.sizes @ most) / max(float(votes.sum()), 1.0)
    return unit * votes, unit * measured.sigma


def _resample_pool(
    pool: WeightedPool,
    proposal: MarginalProposal,
    config: Posterior,
    index: int,
    rng: np.random.Generator,
) -> WeightedPool:
    """Draw a pool of even weights from the pool; mutate copies and a part of the others."""
    lift = proposal.prior.lift[pool.rows.classes]
    origins = draw_systematic(pool.weights * lift, len(pool.rows), rng)
    moves = rng.random(len(origins)) >= config.kept
    moves[1:] |= origins[1:] == origins[:-1]
    rows = _mutate_rows(
        pool.rows.take(origins), moves, compute_mutation_rate(config, index), proposal, rng
    )
    return WeightedPool(
        rows,
        _compute_even_weights(rows, proposal.prior),
        pool.evidence.update_cells(rows, origins, moves),
    )


def _fit_pool(
    pool: WeightedPool,
    prior: MarginalPrior,
    config: Posterior,
    extent: PopulationSizes,
    *,
    last: bool,
) -> WeightedPool:
    return _reweigh_pool(
        pool,
        _compute_even_weights(pool.rows, prior),
        pool.evidence.counted,
        prior,
        pull=_compute_pull(prior, config, extent),
        sweeps=config.last_sweeps if last else config.sweeps,
    )


def _weaken_pull(table: NoisyMarginal, extent: PopulationSizes) -> NoisyMarginal:
    """Return a table with the precision at which the pull is that of one of its own cells.

    Weights are pulled back as strongly as suits a cell of votes. The weights of all rows in a cell
    of a table would be held back by as much as they are more. More precision has the effect of a
    weaker pull; the table is far more certain about its cells than votes are anyway.
    """
    part = min(1.0, table.counts.size / extent.candidates)
    return replace(table, sigma=table.sigma * math.sqrt(part))


def _add_tables(
    pool: WeightedPool,
    proposal: MarginalProposal,
    tables: Sequence[NoisyMarginal],
) -> tuple[WeightedPool, MarginalProposal]:
    """Return a pool with more tables as evidence, beside the marginals of the prior."""
    known = proposal.prior.tables
    more = Evidence.from_rows(pool.rows, [build_table_evidence(table) for table in tables])
    place, before = len(known), pool.evidence
    evidence = Evidence(
        (*before.measurements[:place], *more.measurements, *before.measurements[place:]),
        (*before.cells[:place], *more.cells, *before.cells[place:]),
    )
    prior = replace(proposal.prior, tables=(*known, *tables))
    return WeightedPool(pool.rows, pool.weights, evidence), replace(proposal, prior=prior)


def _sharpen_labels(
    pool: WeightedPool,
    prior: MarginalPrior,
    config: Posterior,
    extent: PopulationSizes,
    rng: np.random.Generator,
    *,
    jobs: int,
) -> WeightedPool:
    """Give less weight to rows among those of other classes, as far as the marginals allow it."""
    if not (config.sharpness and config.rounds and len(prior.sizes) > 1):
        return pool
    drawn = draw_systematic(pool.weights, compute_draw_count(extent.candidates), rng)
    share = compute_agreement(pool.rows, drawn, get_category_weight(config), jobs=jobs)
    sharper = _scale_to_sizes(
        pool.weights * share**config.sharpness, pool.rows.classes, prior.sizes
    )
    tables = pool.evidence.counted[: len(prior.tables)]
    pull = _compute_pull(prior, config, extent)
    return _reweigh_pool(pool, sharper, tables, prior, pull=pull, sweeps=config.sweeps)


def _calibrate_labels(
    pool: WeightedPool,
    prior: MarginalPrior,
    config: Posterior,
    extent: PopulationSizes,
    rng: np.random.Generator,
    *,
    calibrate: CalibrationQuery,
) -> WeightedPool:
    """Draw the label of each row by a calibrated predictor, and fit weights to the marginals."""
    classes = len(prior.sizes)
    drawn = draw_systematic(pool.weights, TEACHER_DRAWS, rng)
    sample, seed = pool.rows.plain.take(drawn), int(rng.integers(2**31))
    teachers = [train_teacher(pool.rows, drawn, classes, seed=seed, kind=kind) for kind in TEACHERS]
    axes = [build_calibration_axis(teacher, sample, classes) for teacher in teachers]
    found = calibrate([Marginal((axis,)) for axis in axes])
    axis, measured = max(zip(axes, found, strict=True), key=lambda pair: count_right(*pair))
    calibration = fit_calibration(axis, measured, axis.teacher(sample), prior.sizes)
    labels = draw_labels(calibration.apply(axis.teacher(pool.rows.plain)), rng)
    order = np.argsort(labels, kind="stable")
    rows = PoolRows(
        pool.rows.plain.take(order), pool.rows.in_voting_space.take(order), labels[order]
    )
    tables = Evidence.from_rows(rows, [build_table_evidence(table) for table in prior.tables])
    weights = _scale_to_sizes(pool.weights[order], rows.classes, prior.sizes)
    pull = _compute_pull(prior, config, extent)
    relabelled = WeightedPool(rows, weights, tables)
    return _reweigh_pool(
        relabelled, weights, tables.counted, prior, pull=pull, sweeps=config.sweeps
    )


def _reweigh_pool(
    pool: WeightedPool,
    weights: Floats,
    measured: Sequence[CellCounts],
    prior: MarginalPrior,
    *,
    pull: float,
    sweeps: int,
) -> WeightedPool:
    """Return the pool with weights fitted to measurements, pulled to those given."""
    even = np.log(np.maximum(weights, np.finfo(np.float64).tiny))
    found = fit_weights(measured, len(pool.rows), even=even, pull=pull, sweeps=sweeps)
    return WeightedPool(
        pool.rows, _scale_to_sizes(found, pool.rows.classes, prior.sizes), pool.evidence
    )


def _compute_pull(prior: MarginalPrior, config: Posterior, extent: PopulationSizes) -> float:
    """Return how strongly weights are pulled to their prior values.

    A weight may differ from that by a factor of about e^spread. The pull is that of one cell of a
    histogram of votes, which is where a weight is least certain.
    """
    return extent.candidates / (prior.rows * compute_weight_spread(config, len(prior.sizes)) ** 2)


def _scale_to_sizes(weights: Floats, classes: Whole, sizes: Floats) -> Floats:
    """Return weights scaled such that each class adds up to its declared or estimated size."""
    totals = np.bincount(classes, weights, minlength=len(sizes))
    grown: Floats = weights * (sizes / np.where(totals > 0, totals, 1.0))[classes]
    return grown


def _compute_residual(pool: WeightedPool) -> float:
    """Return the normalised residual of the last votes: about 1 if the pool predicts them.

    It is post-processing: both are known already.
    """
    last = pool.evidence.counted[-1]
    predicted = sum_by_cell(last.cells, pool.weights, len(last.targets))
    return float(((last.targets - predicted) ** 2 * last.precisions)[:-1].mean())


def _make_record(
    index: int,
    config: Posterior,
    candidates: Sequence[Records],
    measured: NoisyCounts,
    residual: float,
) -> dict[str, Any]:
    noisy = np.concatenate(measured.values)
    return {
        "round": index + 1,
        "selection": "posterior",
        "mutation_rate": compute_mutation_rate(config, index),
        "sigma": measured.sigma,
        "population": sum(map(len, candidates)),
        "noisy_votes_total": round(int(noisy.sum()) / measured.scale),
        "noisy_votes_largest": round(int(noisy.max(initial=0)) / measured.scale),
        "residual": residual,
    }


def _make_pool_rows(proposal: MarginalProposal, plain: Records, classes: Whole) -> PoolRows:
    return PoolRows(plain, proposal.to_voting_space(plain), classes)


def _mutate_rows(
    rows: PoolRows,
    moves: NDArray[np.bool_],
    rate: float,
    proposal: MarginalProposal,
    rng: np.random.Generator,
) -> PoolRows:
    where = np.flatnonzero(moves)
    classes = rows.classes[where]
    fresh = proposal.mutate_rows(rows.plain.take(where), classes, rate, rng)
    seen = _replace_rows(rows.in_voting_space, where, proposal.to_voting_space(fresh))
    return PoolRows(_replace_rows(rows.plain, where, fresh), seen, rows.classes)


def _replace_rows(rows: Records, where: Whole, others: Records) -> Records:
    numbers, codes = rows.numbers.copy(), rows.codes.copy()
    numbers[where], codes[where] = others.numbers, others.codes
    return Records(numbers, codes)


def _group_by_class(rows: PoolRows, classes: int) -> list[Records]:
    return [rows.plain.take(rows.classes == label) for label in range(classes)]


def _make_generator(seed: int, step: int) -> np.random.Generator:
    """Return the generator of one round, whatever else was drawn before."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(step,)))
