"""One run, from a private table to a population and its certificate.

The private rows are here only on their way into an engine, and the engine lets go of them before
the run returns.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabpe import measure
from tabpe._home import secret_key
from tabpe.budget import (
    Facts,
    Request,
    agree_on_counts,
    agree_on_votes,
    count_name,
    counts_to_buy,
    establish_facts,
    planned_bill,
)
from tabpe.certify import certify
from tabpe.charge import Charge, WatchedSource
from tabpe.encode import Encoder, Records
from tabpe.engines import Engine, LocalEngine, StreamEngine
from tabpe.engines.users import Users, bounded
from tabpe.errors import TabpeError, ThinVotesWarning
from tabpe.evolve import Evolution, Evolved, apportion, evolve
from tabpe.io import Source
from tabpe.journal import Journal
from tabpe.measure.histograms import CLASS_COUNTS, VOTES
from tabpe.privacy import Account, Certificate, NoiseSource
from tabpe.resources import Resources
from tabpe.rows import EncodedRows, fingerprint, user_ids
from tabpe.run_folder import Run, RunFolder, code_digest
from tabpe.schema import Schema

SHARE_EVOLVED = 0.1
THIN_SHARE = 0.2


@dataclass(frozen=True)
class Settings:
    """What a run needs beside the table.

    Args:
        schema: What is public about the table.
        request: What is asked for and declared.
        config: The settings of the evolution.
        noise: The source of noise.
        resources: What the run may use of the machine.
        unit: The column of user ids, if the promise is to users.
        seed: Seed of the search; None for a random one.
        run_dir: The folder that remembers the run, if it shall survive a crash.
        charge: The ledger that it is charged to, if any.
        on_round: Called with the number of rounds done.
    """

    schema: Schema
    request: Request
    config: Evolution
    noise: NoiseSource
    resources: Resources
    unit: str | None
    seed: int | None
    run_dir: Path | None
    charge: Charge | None
    on_round: Callable[[int], None]


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

    Privacy: the rows are read by `tabpe.measure` alone. The outcome keeps the promise of its
    certificate, whose epsilon is at most the one of the request.
    """
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
    """Run with what it may cost in the ledger, from before the first read on."""
    begun = Run.begin(settings.seed) if folder is None else folder.run
    if settings.charge is None:
        return _run(source, begun, folder, settings)

    def give_back() -> bool:
        if not source.was_read and folder is not None:
            folder.forget()
        return not source.was_read

    request, noise, classes = settings.request, settings.noise, len(settings.schema.class_names)
    bill = planned_bill(request, classes, settings.config.rounds, noise)
    with settings.charge.reserved(
        begun.id, bill, request.neighbours, noise.slack, give_back
    ) as entry:
        outcome = _run(source, begun, folder, settings)
    settings.charge.settle(entry, outcome.certificate)
    return outcome


def _run(source: Source, begun: Run, folder: RunFolder | None, settings: Settings) -> Outcome:
    if folder is not None:
        folder.check_fingerprint(fingerprint(source, _columns(settings), secret_key()))
    journal = Journal(Account(), folder)
    users = _users(source, begun, settings)
    encoder = Encoder(settings.schema)
    rows = EncodedRows(source, encoder, None if users is None else users.kept)
    with closing(_engine_for(rows, users, settings)) as engine:
        engine.prepare(rows)
        evolved, facts, size = _evolve(engine, journal, encoder, begun.seed, settings)
    certificate = certify(
        settings.request,
        facts,
        journal.account,
        schema=encoder.schema,
        config=settings.config,
        size=size,
        noise=settings.noise,
        unit=settings.unit,
        created=begun.started,
    )
    return Outcome(evolved, certificate, encoder.schema, begun.seed)


def _evolve(
    engine: Engine,
    journal: Journal,
    encoder: Encoder,
    seed: int,
    settings: Settings,
) -> tuple[Evolved, Facts, int]:
    request, noise, account = settings.request, settings.noise, journal.account
    classes, counted = encoder.class_count, count_name(request)
    counting: dict[str, Callable[[], measure.Measured]] = {
        counted: lambda: measure.row_count(engine, account, noise, counted),
        CLASS_COUNTS: lambda: measure.class_counts(engine, classes, account, noise),
    }
    agree_on_counts(request, classes, account)
    bought = {name: journal.once(name, counting[name]) for name in counts_to_buy(request, classes)}
    facts = establish_facts(request, bought)
    size = _size(request, facts, classes)
    agree_on_votes(request, facts, settings.config.rounds, account, noise)

    def vote(population: Sequence[Records]) -> measure.Measured:
        return journal.once(VOTES, lambda: measure.votes(engine, population, account, noise))

    evolved = evolve(
        encoder.spaces,
        apportion(size, facts.weights),
        settings.config,
        vote,
        seed=seed,
        on_round=settings.on_round,
    )
    return evolved, facts, size


def _users(source: Source, begun: Run, settings: Settings) -> Users | None:
    """Return whose the rows are and which of them count, if the promise is to users."""
    neighbours = settings.request.neighbours
    if settings.unit is None or neighbours.max_rows is None:
        return None
    return bounded(
        user_ids(source, settings.unit),
        column=settings.unit,
        most=neighbours.max_rows,
        seed=begun.seed,
        scale=neighbours.scale,
    )


def _engine_for(rows: EncodedRows, users: Users | None, settings: Settings) -> Engine:
    """Return the engine that suits the size of the table; all of them give the same votes."""
    resources, classes = settings.resources, rows.encoder.class_count
    weight, jobs = settings.config.category_weight, resources.jobs
    if resources.streams(rows.most_bytes):
        return StreamEngine(
            classes=classes, category_weight=weight, jobs=jobs, spill=resources.spill, users=users
        )
    return LocalEngine(classes=classes, category_weight=weight, jobs=jobs, users=users)


@contextmanager
def _run_folder(settings: Settings) -> Iterator[RunFolder | None]:
    if settings.run_dir is None:
        yield None
        return
    identity = {
        "configuration": _configuration(settings),
        "schema": settings.schema.digest,
        "version of tabpe": code_digest(),
    }
    with closing(RunFolder(settings.run_dir, Run.begin(settings.seed), identity)) as folder:
        yield folder


def _configuration(settings: Settings) -> dict[str, Any]:
    request = dataclasses.asdict(settings.request)
    request["neighbours"]["adjacency"] = settings.request.neighbours.adjacency.value
    return {
        "request": request,
        "evolution": dataclasses.asdict(settings.config),
        "noise": settings.noise.name,
        "unit": settings.unit,
        "random_state": settings.seed,
    }


def _columns(settings: Settings) -> list[str]:
    """Return every column that the run reads."""
    return [*settings.schema.names, *([] if settings.unit is None else [settings.unit])]


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
