"""Measurements of what a test made up, in one call each, by the names of their spends.

A counter is whatever has some of the methods `count_votes`, `count_classes`, `count_rows`,
`count_marginals`, `count_halfspaces`, `count_kinds`, ... and `scale`: an encoded table, what counts
raw columns, or what a test made up. A backend is taken as it is.
"""

from dataclasses import dataclass, field
from typing import Any

from tabpe._utils.resources import Resources
from tabpe.accounting import ROW_LEVEL, Account, NeighboringRelation, Spend
from tabpe.backends import Answer, LocalBackend
from tabpe.backends import queries as asked
from tabpe.io import open_source
from tabpe.measurement import PrivateSession
from tabpe.measurement.checkpoint import Transcript
from tabpe.measurement.histograms import CLASS_COUNTS, ROW_COUNT, VOTES
from tabpe.measurement.marginals import MARGINALS
from tabpe.measurement.raw_columns import BINS, COMMON, KINDS, MAGNITUDES, QUANTILES, VALUES
from tabpe.schema_inference import infer_schema


class CountingBackend:
    """A backend whose answers are those of a counter."""

    def __init__(self, counter):
        self.counter = counter
        self.scale = getattr(counter, "scale", 1)

    def answer(self, query):
        """Ask the counter."""
        return Answer(query.evaluate(self), {0: b""})

    def open_table(self, _reading):
        """Return the counter."""
        return self.counter

    def open_raw_columns(self, _moments=None):
        """Return the counter."""
        return self.counter

    def close(self):
        """Have nothing to let go of."""


@dataclass(frozen=True)
class Terms:
    """Whom is charged, which noise is added, and for which neighbours."""

    account: Account
    noise: Any
    neighbours: NeighboringRelation = ROW_LEVEL
    transcript: Transcript = field(default_factory=Transcript)


def open_session(counter, terms):
    """Return a session that asks a counter, or a backend."""
    backend = counter if hasattr(counter, "answer") else CountingBackend(counter)
    return PrivateSession(
        backend, terms.account, terms.noise, terms.neighbours, _transcript=terms.transcript
    )


def spend_of(account, name):
    """Return what was authorized by that name; or something that was not."""
    return next((one for one in account.authorized if one.name == name), Spend(name, 1.0, 1))


def _ask(method, default=None):
    def measure(counter, query, terms, name=default, **options):
        session = open_session(counter, terms)
        return getattr(session, method)(spend_of(terms.account, name), query, **options)

    return measure


def _compare(method):
    def measure(counter, query, estimates, terms, name, **options):
        session = open_session(counter, terms)
        return getattr(session, method)(spend_of(terms.account, name), query, estimates, **options)

    return measure


measure_marginals = _ask("estimate_marginals", MARGINALS)
measure_marginal_counts = _ask("count_marginals", MARGINALS)
grow_trees = _ask("grow_trees", "trees")
choose_marginal = _compare("choose_marginal")
measure_distances = _compare("measure_distances")
choose_halfspaces = _compare("choose_halfspaces")
measure_halfspaces = _compare("count_halfspaces")


def measure_votes(counter, population, account, noise, *, name=VOTES, relation=None, **options):
    """Return noisy votes."""
    session = open_session(counter, Terms(account, noise, relation or _relation_of(counter)))
    return session.count_votes(spend_of(account, name), population, **options)


def measure_class_counts(counter, classes, account, noise):
    """Return noisy class counts."""
    session = open_session(counter, Terms(account, noise, _relation_of(counter)))
    return session.count_classes(spend_of(account, CLASS_COUNTS), classes)


def measure_row_count(counter, account, noise, name=ROW_COUNT):
    """Return a noisy number of rows."""
    session = open_session(counter, Terms(account, noise, _relation_of(counter)))
    return session.count_rows(spend_of(account, name))


def _relation_of(counter):
    """Return a relation with the scale of a counter."""
    scale = getattr(counter, "scale", 1)
    return ROW_LEVEL if scale == 1 else _Scaled(max_rows=2, fixed=scale)


@dataclass(frozen=True)
class _Scaled(NeighboringRelation):
    """Users whose vectors have any length."""

    fixed: int = 1

    @property
    def scale(self):
        """The length."""
        return self.fixed


def _ask_columns(kind, name):
    def measure(counter, query, terms, name=name):
        return open_session(counter, terms).count_raw_columns(
            spend_of(terms.account, name), kind(query)
        )

    return measure


measure_kinds = _ask_columns(asked.KindQuery, KINDS)
measure_magnitudes = _ask_columns(asked.MagnitudeQuery, MAGNITUDES)
measure_bins = _ask_columns(asked.BinQuery, BINS)
measure_quantile_bins = _ask_columns(asked.BinQuery, QUANTILES)
measure_declared_values = _ask_columns(asked.DeclaredValueQuery, COMMON)


def measure_values(counter, query, terms):
    """Return the values that are told."""
    spend = spend_of(terms.account, VALUES)
    return open_session(counter, terms).release_values(spend, asked.ValueQuery(query))


class KnownUsers(LocalBackend):
    """A table whose users are known already."""

    def __init__(self, data, users=None):
        source = data if hasattr(data, "batches") else open_source(data)
        super().__init__(source, None, Resources.from_options(n_jobs=1))
        vars(self)["users"] = users

    @property
    def scale(self):
        """What a row or a user counts."""
        return 1 if self.users is None else self.users.scale


def estimate_schema(
    outline, data, *, account, noise, users=None, neighbours=ROW_LEVEL, journal=None, **paid
):
    """Return a schema whose gaps are estimated from a table."""
    session = PrivateSession(KnownUsers(data, users), account, noise, neighbours, journal)
    return infer_schema(outline, session, **paid)
