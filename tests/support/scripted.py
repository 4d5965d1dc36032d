"""Noise that hides a table altogether: whatever is counted, what is told stands in a script.

A run on one table and a run on another then have the same noisy answers. Whatever else differs
between them came from private rows by another way than noise.
"""

import functools
import queue
from dataclasses import dataclass

import numpy as np

from tabpe.accounting import Account
from tabpe.backends import LocalBackend
from tabpe.backends.base import EncodedQuery
from tabpe.backends.queries import MarginalQuery, VoteQuery


@dataclass
class Answer:
    """What became of an exact answer.

    Args:
        votes: How often a row counts in it, each time in another cell.
        paid: How many charges there were before a row was read for it, or for others with it.
        cells: How many numbers it has.
        repeats: How often it was given, each time under other noise.
        sigma: The noise.
    """

    votes: int
    paid: int
    cells: int
    repeats: int = 0
    sigma: float = 0.0

    @property
    def histograms(self):
        """How many histograms it is, in each of which a row counts once."""
        return self.votes * self.repeats


class Script:
    """A source of noise that turns each answer into one that was chosen before.

    Args:
        patch: Lets it hear exact answers and charges.
        scale: What a row or a user counts.
        rows: About how many rows there seem to be.
        growth: By which factor votes are more than those of the round before.
    """

    name, private = "scripted", False

    def __init__(self, patch, *, scale=1, rows=700, growth=1.0):
        self._scale, self._rows, self._growth, self._factor = scale, rows, growth, 1.0
        self._heard = queue.SimpleQueue()
        self._rng = np.random.default_rng(7)
        self.paid, self.answers = 0, []
        patch.setattr(LocalBackend, "answer", self._hearing(LocalBackend.answer))
        self._count_charges(patch)

    def draw(self, size, sigma):
        """Return what is between the exact answer, which may be given meanwhile, and the script.

        Of repeated answers the first makes up for all.
        """
        answer, factor, exact = self._heard.get(timeout=600)
        answer.repeats, left = divmod(size, answer.cells)
        answer.sigma = sigma / self._scale
        assert not left
        likely = factor * self._rows / answer.cells
        told = self._rng.poisson(likely, answer.cells) * self._scale * answer.repeats
        more = np.zeros(size - answer.cells, dtype=np.int64)
        return np.concatenate([told - answer.repeats * exact, more])

    def _count_charges(self, patch):
        charge = Account.charge

        def counted(account, name):
            self.paid += 1
            return charge(account, name)

        patch.setattr(Account, "charge", counted)

    def _hearing(self, ask):
        @functools.wraps(ask)
        def heard(backend, query):
            paid, answer = self.paid, ask(backend, query)
            if isinstance(query, EncodedQuery):
                self._hear(query, answer.value, paid)
            return answer

        return heard

    def _hear(self, query, found, paid):
        votes, factor = 1, 1.0
        if isinstance(query, VoteQuery):
            votes, found = query.votes_per_row, np.concatenate(found)
            self._factor = factor = self._factor * self._growth
        for exact in found if isinstance(query, MarginalQuery) else [found]:
            self.answers.append(Answer(votes, paid, len(exact)))
            self._heard.put((self.answers[-1], factor, exact.copy()))
