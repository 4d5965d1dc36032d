"""One run, from a private table to a population and its certificate.

The private rows are here only on their way into an engine, and the engine lets go of them before
the run returns.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from tabpe._home import secret_key
from tabpe.budget import is_adaptive, planned_bill
from tabpe.certify import certify, versions
from tabpe.charge import ChargedStart, WatchedSource
from tabpe.encode import Encoder
from tabpe.engines import Keeper, Unit, open_keeper
from tabpe.errors import TabpeError
from tabpe.evolve import Evolved
from tabpe.evolve.law import Law
from tabpe.ground import lay_ground, merge_rare
from tabpe.io import Source
from tabpe.journal import Journal
from tabpe.making import make_rows
from tabpe.privacy import Account, Certificate
from tabpe.privacy.ledger import Entry
from tabpe.rows import check_plain_columns, check_unit_column, fingerprint
from tabpe.run_folder import Run, RunFolder, code_digest
from tabpe.schema import Schema
from tabpe.schema.ruled import ruled
from tabpe.settings import Settings


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
        check_unit_column(source, settings.unit)
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
