"""One run, from encoded private rows to a population and its certificate.

The private rows are here only on their way into an engine, and the engine lets go of them before
the run returns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tabpe import measure
from tabpe.budget import Facts, Request, agree_on_votes, establish_facts
from tabpe.certify import certify
from tabpe.encode import Encoder, Records
from tabpe.engines import Engine, LocalEngine, StreamEngine
from tabpe.errors import TabpeError, ThinVotesWarning
from tabpe.evolve import Evolution, Evolved, apportion, evolve
from tabpe.privacy import Account, Certificate, NoiseSource
from tabpe.resources import Resources
from tabpe.rows import EncodedRows

SHARE_EVOLVED = 0.1
THIN_SHARE = 0.2


@dataclass(frozen=True)
class Settings:
    """What a run needs beside the rows.

    Args:
        encoder: How rows are encoded; its schema is public.
        request: What is asked for and declared.
        config: The settings of the evolution.
        noise: The source of noise.
        resources: What the run may use of the machine.
        seed: Seed of the search.
        on_round: Called with the number of rounds done.
    """

    encoder: Encoder
    request: Request
    config: Evolution
    noise: NoiseSource
    resources: Resources
    seed: int
    on_round: Callable[[int], None]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a run gives; all of it is public.

    Args:
        evolved: The synthetic rows and the history of the rounds.
        certificate: What was promised.
    """

    evolved: Evolved
    certificate: Certificate


def run(rows: EncodedRows, settings: Settings) -> Outcome:
    """Evolve synthetic rows from private ones.

    Privacy: the rows are read by `tabpe.measure` alone. The outcome keeps the promise of its
    certificate, whose epsilon is at most the one of the request.
    """
    engine = _engine_for(rows, settings)
    outcome = None
    try:
        engine.prepare(rows)
        outcome = _run(engine, Account(), settings)
    except MemoryError:
        pass  # Its message tells the sizes of arrays, which are exact counts of rows.
    finally:
        engine.close()
    if outcome is None:
        raise TabpeError(
            "the machine ran out of memory: pass engine='stream', evolve fewer rows, or use a "
            "larger one."
        )
    return outcome


def _engine_for(rows: EncodedRows, settings: Settings) -> Engine:
    """Return the engine that suits the size of the table; all of them give the same votes."""
    resources, classes = settings.resources, settings.encoder.class_count
    weight, jobs = settings.config.category_weight, resources.jobs
    if resources.streams(rows.most_bytes):
        return StreamEngine(
            classes=classes, category_weight=weight, jobs=jobs, spill=resources.spill
        )
    return LocalEngine(classes=classes, category_weight=weight, jobs=jobs)


def _run(engine: Engine, account: Account, settings: Settings) -> Outcome:
    encoder, request, config = settings.encoder, settings.request, settings.config
    facts = establish_facts(request, encoder.class_count, engine, account, settings.noise)
    size = _size(request, facts, encoder.class_count)
    agree_on_votes(request, facts, config.rounds, account, settings.noise)

    def vote(population: Sequence[Records]) -> measure.Measured:
        return measure.votes(engine, population, account, settings.noise)

    evolved = evolve(
        encoder.spaces,
        apportion(size, facts.weights),
        config,
        vote,
        seed=settings.seed,
        on_round=settings.on_round,
    )
    certificate = certify(
        request,
        facts,
        account,
        schema=encoder.schema,
        config=config,
        size=size,
        noise=settings.noise,
    )
    return Outcome(evolved, certificate)


def _size(request: Request, facts: Facts, classes: int) -> int:
    """Return how many rows to evolve, with a warning if they are many."""
    if facts.rows is None:
        return request.evolved_size
    usual = max(classes, round(SHARE_EVOLVED * facts.rows.estimate))
    size = usual if request.size is None else request.size
    if size > max(classes, THIN_SHARE * facts.rows.estimate):
        warnings.warn(
            f"evolving {size:,} rows, more than a fifth of the private ones: votes are thin and "
            f"the noise wins. Evolve about {usual:,} and draw more from those.",
            ThinVotesWarning,
            stacklevel=2,
        )
    return size
