"""*Report*: the quality of the synthetic table against the private one, for the custodian."""

from __future__ import annotations

import dataclasses
from typing import Any

from starlette.responses import Response

from tabpe.errors import ParameterError
from tabpe.studio.messages import N_
from tabpe.studio.pages.run import CERTIFICATE, MODEL, TABLE
from tabpe.studio.steps import get_report_job, is_run_done
from tabpe.studio.web import Visit, frame_document, get_error, make_action, make_page

PAGE = "report.html"


def show_report(visit: Visit) -> Response:
    """Show the report of the last run, or how far it is."""
    return visit.render("report.html.j2", error=get_error(visit), **_describe(visit))


def show_report_progress(visit: Visit) -> Response:
    """Show the part of the page that changes while the report is made."""
    return visit.render("report-progress.html.j2", **_describe(visit))


def start_report(visit: Visit) -> Response:
    """Measure the synthetic table, in a process of its own."""
    state = visit.project.state
    run = state.run
    if run is None or not is_run_done(visit.project):
        raise ParameterError(visit.messages.translate(N_("There is no finished run yet.")))
    address, *options = run.data.list_arguments()
    words = ["evaluate", address, TABLE, *options, "--output", PAGE]
    words += ["--certificate", CERTIFICATE, "--run", MODEL, "--force"]
    folder = visit.project.get_run_folder(run.number)
    get_report_job(visit.project, run.number).start([words], folder)
    return visit.redirect("report")


def show_page(visit: Visit) -> Response:
    """Send the report itself, for the frame."""
    run = visit.project.state.run
    path = None if run is None else visit.project.get_run_folder(run.number) / PAGE
    if run is None or path is None or not path.is_file():
        return visit.redirect("report")
    if run.number not in visit.project.state.report_seen:
        visit.project.change(
            lambda state: dataclasses.replace(state, report_seen=(*state.report_seen, run.number))
        )
    return frame_document(path.read_text(encoding="utf-8"))


def _describe(visit: Visit) -> dict[str, Any]:
    run = visit.project.state.run
    status = None if run is None else get_report_job(visit.project, run.number).status()
    path = None if run is None else visit.project.get_run_folder(run.number) / PAGE
    return {
        "job": status,
        "run_done": is_run_done(visit.project),
        "ready": path is not None
        and path.is_file()
        and status is not None
        and status.state == "done",
    }


ROUTES = [
    make_page("/report", show_report),
    make_page("/report/progress", show_report_progress),
    make_page("/report/page", show_page),
    make_action("/report/start", start_report, show_report),
]
