"""The vote channel, seen from inside: what a histogram tells about a row that sits on a candidate.

The candidates of a class stand apart on a line, and there are many classes. On half of all
candidates, by chance, sits one private row; on the others none. So every histogram that
`tabpe.measure` returns holds thousands of answers to the question whether a row is there, each
under noise of its own. The score of a candidate is the sum of its noisy votes over all rounds,
which no other score beats if the noise is Gaussian and independent.

Where a row has several votes, as many candidates stand close together, and a row sits on the first
of them, or none does. The score is the sum over these, and over all times that they are voted on.

For a promise to users, a user has rows on several candidates, in several classes, or none at
all. The score is the sum over all of these, and a user is one sample.

What that sum can not see is noise that repeats: between rounds, where it would cancel out of a
difference, or between runs. So the noise of a cell, which is its votes less their mean over cells
alike, must be uncorrelated between rounds, and with that of a second run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabpe import measure
from tabpe.audit.report import Claim, Finding, Repetition
from tabpe.audit.scores import likeness, shown
from tabpe.audit.system import System
from tabpe.encode import Records
from tabpe.engines import LocalEngine, Users
from tabpe.evolve import Evolution
from tabpe.measure.histograms import VOTES
from tabpe.privacy import Account, BillItem, Neighbours, calibrate

# Candidates of a class: few, so that votes are quick in numpy too, and a power of two, so that
# float32 holds their places.
LINE = 2**9

Votes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Channel:
    """Lines of candidates, and how often they are voted on.

    Args:
        cells: How many candidates: a power of two.
        rounds: How many histograms the promise is over.
        rows_a_user: How many rows a user has, a power of two; None for a promise to rows.
        each: For how many candidates a row votes, a power of two.
        repeats: How often each histogram is asked for.
    """

    cells: int = 2**18
    rounds: int = Evolution().rounds
    rows_a_user: int | None = None
    each: int = 1
    repeats: int = 1

    @property
    def samples(self) -> int:
        """How many rows or users are there or not."""
        return self.cells // ((self.rows_a_user or 1) * self.each)

    @property
    def histograms(self) -> int:
        """How many histograms the promise is over, in each of which a row counts once."""
        return self.rounds * self.each * self.repeats

    def audit(self, system: System, claim: Claim, label: str) -> list[Finding]:
        """Return what the votes of a system show.

        Args:
            system: What is audited.
            claim: What it promises over all rounds.
            label: How findings call the channel.
        """
        occupied = half_of(self.samples)
        paid = self.rounds * system.paid(self.each * self.repeats)
        sigma = calibrate(claim.epsilon, claim.delta, paid, self._neighbours)
        noisy = self._votes(system, sigma, occupied, self.rounds)
        again = self._votes(system, sigma, occupied, 1)
        return [
            *shown_by_sums(label, noisy, occupied, claim),
            *repetitions(label, f"{label}: noise over rounds", noisy, again, occupied),
        ]

    @property
    def _neighbours(self) -> Neighbours:
        return Neighbours(max_rows=self.rows_a_user)

    def _votes(self, system: System, sigma: float, occupied: NDArray[Any], calls: int) -> Votes:
        """Return the noisy votes of the first rounds of a run for each sample, one row a round."""
        copies = self.rows_a_user or 1
        taken = np.tile(occupied, copies)
        population = [self._line] * (self.cells // len(self._line))
        account, noise = Account(), system.noise()
        account.agree(BillItem(VOTES, sigma=sigma, times=self.histograms))
        engine = system.engine(
            LocalEngine(
                classes=len(population), category_weight=1.0, users=self._users(system, taken)
            )
        )
        engine.prepare([_rows_on(population, taken, self.each)])
        each, repeats = self.each, self.repeats
        measured = (
            measure.votes(engine, population, account, noise, each=each, repeats=repeats)
            for _ in range(calls)
        )
        votes = np.stack([np.concatenate(one.values) for one in measured])
        added: Votes = votes.reshape(calls, copies, self.samples, self.each).sum(axis=(1, 3))
        return added

    @property
    def _line(self) -> Records:
        """The candidates of a class: as many side by side as a row has votes, then a wider gap."""
        length = min(self.cells, LINE)
        ends = np.arange(length)
        places = ends + self.each * (ends // self.each)
        line = places[:, None] / (2 * length)
        return Records(line, np.empty((length, 0), dtype=np.uint8))

    def _users(self, system: System, taken: NDArray[Any]) -> Users | None:
        """Return whose the rows are: one on the same place of each part of all candidates."""
        if self.rows_a_user is None:
            return None
        owners = np.tile(np.arange(self.samples), self.rows_a_user)[taken]
        scale = self._neighbours.scale
        return system.users(Users(taken, owners, len(np.unique(owners)), scale))


def half_of(samples: int) -> NDArray[np.bool_]:
    """Return a half of all samples, by the randomness of the operating system."""
    return np.random.default_rng().permutation(samples) < samples // 2


def shown_by_sums(label: str, noisy: Votes, occupied: NDArray[Any], claim: Claim) -> list[Finding]:
    """Return what sums over all histograms show: one row of `noisy` each, a sample a column."""
    scores = noisy.sum(axis=0)
    return [*shown(label, scores[occupied], scores[~occupied], claim)]


def repetitions(
    label: str, within: str, noisy: Votes, again: Votes, occupied: NDArray[Any]
) -> list[Finding]:
    """Return whether noise repeats between histograms, which is called `within`, or runs."""
    noise, other_noise = _centred(noisy, occupied), _centred(again, occupied)
    over_runs = likeness(np.stack([noise[0], other_noise[0]]))
    return [
        Repetition(within, likeness(noise), len(occupied)),
        Repetition(f"{label}: noise over runs", over_runs, len(occupied)),
    ]


def _rows_on(population: list[Records], occupied: NDArray[Any], each: int) -> tuple[Records, Votes]:
    """Return one private row on the first candidate of each occupied place, and its class."""
    labels = np.repeat(np.arange(len(population)), len(population[0]))[::each]
    firsts = np.arange(len(occupied)) * each
    present = Records.concat(population).take(firsts[occupied])
    return Records(present.numbers.astype(np.float32), present.codes), labels[occupied]


def _centred(noisy: Votes, occupied: NDArray[Any]) -> Floats:
    """Return votes less the mean of the occupied or of the empty cells of the same round."""
    centred = noisy.astype(np.float64)
    for cells in (occupied, ~occupied):
        centred[:, cells] -= centred[:, cells].mean(axis=1, keepdims=True)
    return centred
