"""Attacks that guess whether a row was in the table.

Canaries: rows that are in the table by the toss of a coin, and an attack that guesses the coins.

One run answers for all canaries at once, so this is the cheapest look at a whole release.

- `Places`: canaries are scattered over a box; those near to synthetic rows are guessed to be in.
- `BoundaryCanaries`: each canary is the only row at one end of one column, so that it shows in
  bounds that were read off the data: a canary that the released schema reaches is guessed to be in.

A guarantee with delta may give away everything with probability delta, which one run can not tell
from a violated guarantee. So these runs guarantee a delta far below the probability of a false
alarm.

From scores to findings: which rows look present, and which noise looks alike.

The vote channel, seen from inside: what a histogram tells about a row that sits on a candidate.

The candidates of a class stand apart on a line, and there are many classes. On half of all
candidates, by chance, sits one private row; on the others none. So every histogram that
`tabpe.measurement` returns holds thousands of answers to the question whether a row is there, each
under noise of its own. The score of a candidate is the sum of its noisy votes over all rounds,
which no other score beats if the noise is Gaussian and independent.

Where a row has several votes, as many candidates stand close together, and a row sits on the first
of them, or none does. The score is the sum over these, and over all times that they are voted on.

For a user-level guarantee, a user has rows on several candidates, in several classes, or none at
all. The score is the sum over all of these, and a user is one sample.

What that sum can not see is noise that repeats: between rounds, where it would cancel out of a
difference, or between runs. So the noise of a cell, which is its votes less their mean over cells
alike, must be uncorrelated between rounds, and with that of a second run.

1-way marginals, seen from inside: what many tables tell about a row.

Every row falls into a cell of its own, the same in each table, and half of all cells have a row, by
chance. So the tables hold thousands of answers to the question whether a row is there, as
histograms of votes do (`tabpe.audit.attacks`). The score of a cell is the sum over all tables.

The whole pipeline from outside: many small runs, on a table with and without one row.

The table is tiny, so that hundreds of runs take seconds. There are no more candidates than a row
has votes, so that the totals in `history_` hold all that votes tell about the presence of a row:
an attack on the release that is as strong as one on the votes. All runs have the same settings,
seed of the search included: noise that hangs on these shows as runs that are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe.accounting import Account, NeighboringRelation, Spend, calibrate_sigma
from tabpe.accounting.pld import SMALLEST_DELTA
from tabpe.audit.bounds import (
    ALARM,
    SCORES_ALARM,
    AttackErrors,
    Scores,
    compute_bound_by_errors,
    compute_bound_by_gaussian_errors,
    compute_bound_by_guesses,
    compute_guess_probability,
    count_guesses_needed,
)
from tabpe.audit.report import EpsilonLowerBound, Finding, NoiseRepetition, PrivacyClaim
from tabpe.audit.systems import AuditedSystem
from tabpe.backends import BoundedUsers, RecordsBackend, StoredTable
from tabpe.encoding import Marginal, Records
from tabpe.encoding.marginals import ListAxis
from tabpe.evolution import Evolution, Posterior, Strategy
from tabpe.evolution.config import COLUMNS
from tabpe.measurement import PrivateSession
from tabpe.measurement.histograms import VOTES
from tabpe.schema import Float, Integer, Schema

DELTA = 1.01 * SMALLEST_DELTA  # a table of noise takes next to nothing of it, but something
Coins = NDArray[np.bool_]


@dataclass(frozen=True)
class ScatteredCanaries:
    """Canaries scattered over a box.

    Args:
        canaries: How many.
        columns: Of how many numbers each.
    """

    canaries: int = 1000
    columns: int = 4

    def audit(self, system: AuditedSystem, claim: PrivacyClaim) -> list[EpsilonLowerBound]:
        """Return what one release shows about who is in it."""
        places = np.random.default_rng().random((self.canaries, self.columns))
        coins = _toss_coins(self.canaries)
        guaranteed = PrivacyClaim(claim.epsilon, DELTA)
        # More candidates than rows, and many small steps: without noise all but a few rows in a
        # thousand are distinguished.
        config, size = Evolution(rounds=30, mutation_final=0.005), 3 * self.canaries // 5
        model = system.release(
            self._build_table(places[coins]), self._schema, guaranteed, config, size
        )
        made = np.column_stack(model.sample().columns)
        distances = np.linalg.norm(places[:, None] - made, axis=2).min(axis=1)
        order, sure = np.argsort(distances), self.canaries // 3
        right = int(coins[order[:sure]].sum() + (~coins[order[-sure:]]).sum())
        visible, shown = (
            compute_bound_by_guesses(number, 2 * sure, self.canaries, DELTA)
            for number in (2 * sure, right)
        )
        return [EpsilonLowerBound("canaries: places", guaranteed, shown, visible, 2 * sure)]

    @property
    def _names(self) -> list[str]:
        return [f"x{column}" for column in range(self.columns)]

    @property
    def _schema(self) -> Schema:
        return Schema(tuple(Float(name, 0.0, 1.0) for name in self._names))

    def _build_table(self, rows: NDArray[np.float64]) -> pa.Table:
        return pa.table(dict(zip(self._names, rows.T, strict=True)))


@dataclass(frozen=True)
class BoundaryCanaries:
    """Canaries that are each the only row at an end of a column.

    How many guesses it takes to refute a guarantee grows with e^epsilon, and so does the number of
    runs; but it ends as soon as too many guesses are wrong for that, which is at once if the schema
    does not depend on the rows. Ending early can spare a system, never accuse it.

    Args:
        columns: At most how many columns a table has; each is the place of two canaries.
        guesses: At most how many guesses are made in all.
    """

    columns: int = 500
    guesses: int = 500_000

    def audit(self, system: AuditedSystem, claim: PrivacyClaim) -> list[EpsilonLowerBound]:
        """Return what released schemas show about who is in the table."""
        guaranteed = PrivacyClaim(claim.epsilon, DELTA)
        needed = min(self.guesses, count_guesses_needed(claim.epsilon))
        columns = min(self.columns, -(-needed // 2))
        runs = -(-needed // (2 * columns))
        right = done = 0
        while done < runs:
            right += _count_right_guesses(system, guaranteed, columns)
            done += 1
            if not _may_refute(right, 2 * columns * done, 2 * columns * runs, guaranteed):
                break
        made, planned = 2 * columns * done, 2 * columns * runs
        visible = compute_bound_by_guesses(planned, planned, planned, DELTA)
        shown = compute_bound_by_guesses(right, made, made, DELTA)
        return [EpsilonLowerBound("canaries: bounds", guaranteed, shown, visible, made)]


def _count_right_guesses(system: AuditedSystem, claim: PrivacyClaim, columns: int) -> int:
    """Return how many guesses are right, of two a column."""
    coins = _toss_coins(2 * columns)
    names = [f"x{column}" for column in range(columns)]
    declared = Schema(tuple(Integer(name, 0, 2) for name in names))
    model = system.release(_build_edge_table(coins, names), declared, claim, Evolution(rounds=1), 1)
    released = [column for column in model.schema_.columns if isinstance(column, Integer)]
    reached = np.array([(column.min <= 0, column.max >= 2) for column in released])  # noqa: PLR2004
    return int((reached.ravel() == coins).sum())


def _build_edge_table(coins: Coins, names: list[str]) -> pa.Table:
    """Return ones, with one 0 or 2 in a place of its own in each row that is a canary."""
    present = np.flatnonzero(coins)
    cells = np.ones((len(names), len(present) + 1), dtype=np.int8)
    cells[present // 2, np.arange(len(present))] = 2 * (present % 2)
    return pa.table(dict(zip(names, cells, strict=True)))


def _may_refute(right: int, made: int, of: int, claim: PrivacyClaim) -> bool:
    """Whether the guarantee is refuted if all guesses that are still to come are right."""
    most = right + of - made
    return compute_guess_probability(most, of, of, claim.epsilon, claim.delta) <= ALARM


def _toss_coins(size: int) -> Coins:
    """Return fair coins, from the randomness of the operating system."""
    return np.random.default_rng().random(size) < 0.5  # noqa: PLR2004


Bound = Callable[[AttackErrors, float, float], float]
BOUNDS: dict[str, Bound] = {
    "Clopper-Pearson": compute_bound_by_errors,
    "Gaussian DP": compute_bound_by_gaussian_errors,
}
_THRESHOLDS = 64
# One score in so many goes into the choice of a threshold, and is not used again.
_CHOOSING = 4
_LEAST_SPREAD = 1e-9


def compute_epsilon_bounds(
    label: str, ins: Scores, outs: Scores, claim: PrivacyClaim
) -> list[EpsilonLowerBound]:
    """Return what scores show about epsilon, by each bound.

    Args:
        label: What was attacked.
        ins: Scores of rows that were in the table, larger if they look so.
        outs: Scores of rows that were not. Each kind is in random order.
        claim: What is guaranteed.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> outs, ins = rng.normal(size=4000), 3 + rng.normal(size=4000)
        >>> [
        ...     round(finding.epsilon, 1)
        ...     for finding in compute_epsilon_bounds("a line", ins, outs, PrivacyClaim(1, 1e-5))
        ... ]
        [3.8, 13.7]
    """
    return [
        EpsilonLowerBound(
            f"{label}: {name}",
            claim,
            epsilon=_compute_best_bound(ins, outs, bound, claim.delta),
            visible=_compute_largest_bound(len(ins), len(outs), bound, claim.delta),
            samples=len(ins) + len(outs),
        )
        for name, bound in BOUNDS.items()
    ]


def compute_correlation_p_value(noises: NDArray[Any]) -> float:
    """Return the chance of so much correlation, or more, between any two of several noises.

    Args:
        noises: Numbers that should be independent, each kind of noise in a row.

    Example:
        >>> noises = np.random.default_rng(0).normal(size=(3, 1000))
        >>> compute_correlation_p_value(noises) > 0.01
        True
        >>> noises[2] += noises[0]
        >>> compute_correlation_p_value(noises) < 1e-50
        True
    """
    from scipy.special import stdtr

    centred = noises - noises.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    if not lengths.all():
        return 0.0  # Noise that is always the same is as bad as the same noise twice.
    centred = centred / lengths
    pairs = np.triu_indices(len(noises), k=1)
    strongest = float(np.abs((centred @ centred.T)[pairs]).max())
    freedom = noises.shape[1] - 2
    left = max(1 - strongest**2, float(np.finfo(np.float64).eps))
    chance = 2 * float(stdtr(freedom, -strongest * math.sqrt(freedom / left)))
    return min(1.0, len(pairs[0]) * chance)


def _compute_best_bound(ins: Scores, outs: Scores, bound: Bound, delta: float) -> float:
    """Return the bound at a threshold that was chosen on other scores than it is tried on."""
    first, second = (len(scores) // _CHOOSING for scores in (ins, outs))
    seen = np.concatenate([ins[:first], outs[:second]])
    tried = np.unique(np.quantile(seen, np.linspace(0, 1, _THRESHOLDS)))
    # What to expect of the others, which are so many times as many.
    expected = [
        bound(
            _expect_errors(threshold, ins[:first], outs[:second], _CHOOSING - 1),
            delta,
            SCORES_ALARM,
        )
        for threshold in tried
    ]
    chosen = tried[int(np.argmax(expected))]
    return bound(
        AttackErrors.from_threshold(chosen, ins[first:], outs[second:]), delta, SCORES_ALARM
    )


def _expect_errors(threshold: float, ins: Scores, outs: Scores, factor: int) -> AttackErrors:
    """Return the errors to expect of so many times as many scores.

    The mean of the errors seen and of those of normal distributions: what is seen alone makes a
    threshold look best that was only lucky, and scores without noise are not normal.
    """
    from scipy.special import ndtr

    def mix(seen: int, scores: Scores, sign: float) -> int:
        spread = max(float(scores.std()), _LEAST_SPREAD)
        normal = float(ndtr(sign * (threshold - scores.mean()) / spread))
        return round(factor * (seen + normal * len(scores)) / 2)

    errors = AttackErrors.from_threshold(threshold, ins, outs)
    alarms, misses = mix(errors.false_alarms, outs, -1.0), mix(errors.misses, ins, 1.0)
    return AttackErrors(alarms, factor * len(outs), misses, factor * len(ins))


def _compute_largest_bound(ins: int, outs: int, bound: Bound, delta: float) -> float:
    """Return what scores that never err would show."""
    kept_ins, kept_outs = (size - size // _CHOOSING for size in (ins, outs))
    return bound(AttackErrors(0, kept_outs, 0, kept_ins), delta, SCORES_ALARM)


# Candidates of a class: few, so that votes are quick in numpy too, and a power of two, so that
# float32 holds their places.
LINE_LENGTH = 2**9

Votes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class VoteChannel:
    """Lines of candidates, and how often they are voted on.

    Args:
        cells: How many candidates: a power of two.
        rounds: How many histograms the guarantee is over.
        rows_a_user: How many rows a user has, a power of two; None for a row-level guarantee.
        votes_per_row: For how many candidates a row votes, a power of two.
        repeats: How often each histogram is asked for.
    """

    cells: int = 2**18
    rounds: int = Evolution().rounds
    rows_a_user: int | None = None
    votes_per_row: int = 1
    repeats: int = 1

    @property
    def samples(self) -> int:
        """How many rows or users are there or not."""
        return self.cells // ((self.rows_a_user or 1) * self.votes_per_row)

    @property
    def histograms(self) -> int:
        """The number of histograms that are charged, each of sensitivity 1."""
        return self.rounds * self.votes_per_row * self.repeats

    def audit(self, system: AuditedSystem, claim: PrivacyClaim, label: str) -> list[Finding]:
        """Return what the votes of a system show.

        Args:
            system: What is audited.
            claim: What it guarantees over all rounds.
            label: How findings call the channel.
        """
        occupied = choose_half(self.samples)
        paid = self.rounds * system.charged(self.votes_per_row * self.repeats)
        sigma = calibrate_sigma(claim.epsilon, claim.delta, paid, self._neighbours)
        noisy = self._measure_votes(system, sigma, occupied, self.rounds)
        again = self._measure_votes(system, sigma, occupied, 1)
        return [
            *compute_bounds_by_sums(label, noisy, occupied, claim),
            *find_repetitions(label, f"{label}: noise over rounds", noisy, again, occupied),
        ]

    @property
    def _neighbours(self) -> NeighboringRelation:
        return NeighboringRelation(max_rows=self.rows_a_user)

    def _measure_votes(
        self, system: AuditedSystem, sigma: float, occupied: NDArray[Any], calls: int
    ) -> Votes:
        """Return the noisy votes of the first rounds of a run for each sample, one row a round."""
        copies = self.rows_a_user or 1
        taken = np.tile(occupied, copies)
        population = [self._line] * (self.cells // len(self._line))
        account = Account()
        spend = account.authorize(Spend(VOTES, sigma=sigma, times=self.histograms))
        rows = StoredTable(
            [_place_rows(population, taken, self.votes_per_row)],
            self._assign_users(system, taken),
            classes=len(population),
            category_weight=1.0,
        )
        backend = system.backend(RecordsBackend(rows))
        session = PrivateSession(backend, account, system.noise(), self._neighbours)
        measured = (
            session.count_votes(
                spend, population, votes_per_row=self.votes_per_row, repeats=self.repeats
            )
            for _ in range(calls)
        )
        votes = np.stack([np.concatenate(one.values) for one in measured])
        added: Votes = votes.reshape(calls, copies, self.samples, self.votes_per_row).sum(
            axis=(1, 3)
        )
        return added

    @property
    def _line(self) -> Records:
        """The candidates of a class: as many side by side as a row has votes, then a wider gap."""
        length = min(self.cells, LINE_LENGTH)
        ends = np.arange(length)
        places = ends + self.votes_per_row * (ends // self.votes_per_row)
        line = places[:, None] / (2 * length)
        return Records(line, np.empty((length, 0), dtype=np.uint8))

    def _assign_users(self, system: AuditedSystem, taken: NDArray[Any]) -> BoundedUsers | None:
        """Return whose the rows are: one on the same place of each part of all candidates."""
        if self.rows_a_user is None:
            return None
        owners = np.tile(np.arange(self.samples), self.rows_a_user)[taken]
        scale = self._neighbours.scale
        return system.users(BoundedUsers(taken, owners, len(np.unique(owners)), scale))


def choose_half(samples: int) -> NDArray[np.bool_]:
    """Return a half of all samples, by the randomness of the operating system."""
    return np.random.default_rng().permutation(samples) < samples // 2


def compute_bounds_by_sums(
    label: str, noisy: Votes, occupied: NDArray[Any], claim: PrivacyClaim
) -> list[Finding]:
    """Return what sums over all histograms show: one row of `noisy` each, a sample a column."""
    scores = noisy.sum(axis=0)
    return [*compute_epsilon_bounds(label, scores[occupied], scores[~occupied], claim)]


def find_repetitions(
    label: str, within: str, noisy: Votes, again: Votes, occupied: NDArray[Any]
) -> list[Finding]:
    """Return whether noise repeats between histograms, which is called `within`, or runs."""
    noise, other_noise = _center_votes(noisy, occupied), _center_votes(again, occupied)
    over_runs = compute_correlation_p_value(np.stack([noise[0], other_noise[0]]))
    return [
        NoiseRepetition(within, compute_correlation_p_value(noise), len(occupied)),
        NoiseRepetition(f"{label}: noise over runs", over_runs, len(occupied)),
    ]


def _place_rows(
    population: list[Records], occupied: NDArray[Any], votes_per_row: int
) -> tuple[Records, Votes]:
    """Return one private row on the first candidate of each occupied place, and its class."""
    labels = np.repeat(np.arange(len(population)), len(population[0]))[::votes_per_row]
    firsts = np.arange(len(occupied)) * votes_per_row
    present = Records.concat(population).take(firsts[occupied])
    return Records(present.numbers.astype(np.float32), present.codes), labels[occupied]


def _center_votes(noisy: Votes, occupied: NDArray[Any]) -> Floats:
    """Return votes less the mean of the occupied or of the empty cells of the same round."""
    centred = noisy.astype(np.float64)
    for cells in (occupied, ~occupied):
        centred[:, cells] -= centred[:, cells].mean(axis=1, keepdims=True)
    return centred


@dataclass(frozen=True)
class MarginalChannel:
    """Tables, and how many cells each has.

    Args:
        cells: How many cells, each of which has a row or not.
        tables: How many tables.
    """

    cells: int = 2**18
    tables: int = 16

    @property
    def samples(self) -> int:
        """How many rows are there or not."""
        return self.cells

    def audit(self, system: AuditedSystem, claim: PrivacyClaim, label: str) -> list[Finding]:
        """Return what the tables of a system show.

        Args:
            system: What is audited.
            claim: What it guarantees over all tables.
            label: How findings call them.
        """
        occupied = choose_half(self.cells)
        sigma = calibrate_sigma(claim.epsilon, claim.delta, system.charged(self.tables))
        noisy, again = (self._measure_counts(system, sigma, occupied) for _ in range(2))
        return [
            *compute_bounds_by_sums(label, noisy, occupied, claim),
            *find_repetitions(label, f"{label}: noise over tables", noisy, again, occupied),
        ]

    def _measure_counts(self, system: AuditedSystem, sigma: float, occupied: NDArray[Any]) -> Votes:
        """Return the noisy counts of a run, one row a table."""
        codes = np.flatnonzero(occupied)[:, None].astype(np.uint32)
        rows = Records(np.empty((len(codes), 0), dtype=np.float32), codes)
        batch = rows, np.zeros(len(codes), dtype=np.int64)
        account = Account()
        spend = account.authorize(Spend(COLUMNS, sigma=sigma, times=self.tables))
        backend = system.backend(RecordsBackend(StoredTable([batch])))
        session = PrivateSession(backend, account, system.noise())
        asked = [Marginal((ListAxis("cell", 0, tuple(range(self.cells))),))] * self.tables
        measured = session.count_marginals(spend, asked)
        return np.stack(measured.values)


SCHEMA = Schema((Float("x", 0.0, 1.0),))
WITHOUT = [0.5] * 20
WITH = [*WITHOUT, 1.0]
# Both strategies, as small as they get.
EVOLVED = Evolution(rounds=4, sampling_rounds=4)
FITTED = Posterior(rounds=4, candidates=4, pool=16, sweeps=1, last_sweeps=1)


@dataclass(frozen=True)
class MembershipGame:
    """Runs of the whole pipeline, on two neighbouring tables.

    Args:
        runs: How many on each of the two tables.
        config: The strategy, with as many candidates as votes of a row.
        label: How findings call them.
    """

    runs: int = 200
    config: Strategy = EVOLVED
    label: str = "many runs"

    def audit(self, system: AuditedSystem, claim: PrivacyClaim) -> list[Finding]:
        """Return what the releases of a system show."""
        outs, ins = (
            self._collect_totals(system, claim, pa.table({"x": x})) for x in (WITHOUT, WITH)
        )
        over_runs = compute_correlation_p_value(np.reshape(outs, (2, -1)))
        return [
            *compute_epsilon_bounds(self.label, ins.sum(axis=1), outs.sum(axis=1), claim),
            NoiseRepetition(
                f"{self.label}: noise over rounds", compute_correlation_p_value(outs.T), self.runs
            ),
            NoiseRepetition(f"{self.label}: noise over runs", over_runs, self.runs),
        ]

    def _collect_totals(
        self, system: AuditedSystem, claim: PrivacyClaim, table: pa.Table
    ) -> NDArray[np.float64]:
        """Return the noisy number of votes in each round of each run."""
        runs = (system.release(table, SCHEMA, claim, self.config, 1) for _ in range(self.runs))
        return np.array(
            [[entry["noisy_votes_total"] for entry in run.history_] for run in runs], np.float64
        )
