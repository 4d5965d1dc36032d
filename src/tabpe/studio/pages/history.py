"""*History*: all runs of the project, and what is left of each budget."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from tabpe.accounting.ledger import DatasetStatus
from tabpe.errors import TabpeError
from tabpe.studio.jobs import JobStatus
from tabpe.studio.project import StudioRun
from tabpe.studio.steps import get_run_job
from tabpe.studio.web import Visit, make_page


@dataclass(frozen=True)
class PastRun:
    """A run and how it ended.

    Args:
        record: The run.
        status: Its process.
    """

    record: StudioRun
    status: JobStatus


def show_history(visit: Visit) -> Response:
    """Show runs and budgets."""
    project = visit.project
    runs = [
        PastRun(record, get_run_job(project, record.number).status())
        for record in reversed(project.state.runs)
    ]
    problem, statuses = None, tuple[DatasetStatus, ...]()
    ledger = visit.studio.ledger
    try:
        if ledger.exists():
            statuses = ledger.statuses()
    except TabpeError as error:
        problem = str(error)
    return visit.render(
        "history.html.j2", error=problem, runs=runs, statuses=statuses, ledger=ledger.path
    )


ROUTES = [make_page("/history", show_history)]
