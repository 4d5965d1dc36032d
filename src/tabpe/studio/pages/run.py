"""*Run*: reserve the budget, synthesise, and see how far it is."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from starlette.responses import Response

from tabpe._utils import files
from tabpe.errors import LedgerError, ParameterError, TabpeError
from tabpe.schema import PartialSchema
from tabpe.studio.messages import N_
from tabpe.studio.pages.budget import check_left, find_status
from tabpe.studio.project import Project, ProjectState, StudioRun, get_time
from tabpe.studio.steps import find_schema_gap, get_run_job
from tabpe.studio.web import Visit, get_error, make_action, make_page

TABLE, CERTIFICATE, MODEL, SCHEMA, COMMAND = (
    "synthetic.csv",
    "synthetic.certificate.json",
    "run.tabpe",
    "schema.json",
    "chosen.json",
)
CHECKPOINT = "run"


def show_run(visit: Visit) -> Response:
    """Show what a run would do, or how far the last one is."""
    return visit.render("run.html.j2", error=get_error(visit), **_describe(visit))


def show_progress(visit: Visit) -> Response:
    """Show the part of the page that changes while a run goes on, or else the page as a whole."""
    run = visit.project.state.run
    job = None if run is None else get_run_job(visit.project, run.number).status()
    if run is None or job is None or job.state != "running":
        return visit.reload("run")
    return visit.render(
        "rounds.html.j2", job=job, measured=find_measured(visit.project, run.number)
    )


def start_run(visit: Visit) -> Response:
    """Reserve the budget and start a run, in a process of its own."""
    visit.project.check_version(visit.version)
    problem = find_problem(visit)
    if problem is not None:
        raise ParameterError(visit.messages.translate(problem))
    state = visit.project.state
    budget, data, schema = state.budget, state.data, state.schema
    if budget is None or data is None or schema is None:
        raise ParameterError(visit.messages.translate(N_("Choose the data first.")))
    status = find_status(visit, budget.dataset)
    if status is not None:
        check_left(visit, budget, status)
    number = 1 + max((one.number for one in state.runs), default=0)
    record = StudioRun(
        number, data, budget.dataset, budget.epsilon, budget.delta, state.unit, get_time()
    )
    visit.project.change(
        lambda state: dataclasses.replace(state, runs=(*state.runs, record)), visit.version
    )
    folder = visit.project.get_run_folder(number)
    folder.parent.mkdir(exist_ok=True)
    files.make_private_folder(folder)
    files.write_text(folder / SCHEMA, json.dumps(schema, ensure_ascii=False))
    chosen = list_choices(state)
    files.write_text(folder / COMMAND, json.dumps(chosen, ensure_ascii=False))
    get_run_job(visit.project, number).start([_make_words(visit, state, chosen)], folder)
    return visit.redirect("run")


def resume_run(visit: Visit) -> Response:
    """Let a run that was stopped go on: the same command, in the same folder."""
    run = visit.project.state.run
    if run is None:
        raise ParameterError(visit.messages.translate(N_("No run was started yet.")))
    job = get_run_job(visit.project, run.number)
    if job.status().state in ("killed", "cancelled", "failed"):
        # It is written last. If it is there, a file of this name would be refused.
        (visit.project.get_run_folder(run.number) / MODEL).unlink(missing_ok=True)
        job.resume()
    return visit.redirect("run")


def cancel_run(visit: Visit) -> Response:
    """Stop a run in good order: what was measured stays charged, and it can go on later."""
    run = visit.project.state.run
    if run is not None:
        get_run_job(visit.project, run.number).cancel()
    return visit.redirect("run")


def find_problem(visit: Visit) -> str | None:
    """Return why no run can start, in English; None if it can."""
    state = visit.project.state
    gap = find_schema_gap(visit.project)
    if gap is not None:
        return gap
    if state.protects is None:
        return N_("Decide first whom the guarantee protects.")
    if state.budget is None:
        return N_("Decide first about the budget of this run.")
    run = state.run
    if run is not None and get_run_job(visit.project, run.number).is_alive():
        return N_("A run is going on: wait for it, or stop it first.")
    return None


def list_choices(state: ProjectState) -> dict[str, Any]:
    """Return the options of the run by name, as `tabpe synth` has them."""
    budget = state.budget
    if budget is None:
        return {}
    chosen: dict[str, Any] = {"epsilon": budget.epsilon, "delta": budget.delta}
    if state.unit is not None:
        chosen |= {"unit": state.unit, "max_rows_per_user": state.max_rows}
    if budget.output_rows is not None:
        chosen["rows"] = budget.output_rows
    if PartialSchema.from_schema(state.schema).missing:
        chosen["private_schema"] = True
    return chosen


def find_measured(project: Project, number: int) -> int:
    """Return how many measurements of a run are on the disk."""
    return len(list((project.get_run_folder(number) / CHECKPOINT).glob("*.measured")))


def _make_words(visit: Visit, state: ProjectState, chosen: dict[str, Any]) -> list[str]:
    """Return the words of the command that does the run."""
    if state.data is None or state.budget is None:
        return []
    words = ["synth", *state.data.list_arguments(), "--schema", SCHEMA, "--output", TABLE]
    for name, value in chosen.items():
        flag = f"--{name.replace('_', '-')}"
        words += [flag] if value is True else [flag, str(value)]
    ledger = ["--ledger", str(visit.studio.ledger.path), "--dataset", state.budget.dataset]
    return [*words, *ledger, "--require-budget", "--run-dir", CHECKPOINT, "--save", MODEL]


def _describe(visit: Visit) -> dict[str, Any]:
    state = visit.project.state
    run, budget = state.run, state.budget
    status = None if run is None else get_run_job(visit.project, run.number).status()
    entry = None
    if run is not None:
        found = find_status(visit, run.dataset)
        entry = found.entries[-1] if found is not None and found.entries else None
    ledger = None
    if budget is not None:
        try:
            ledger = find_status(visit, budget.dataset)
        except LedgerError:
            ledger = None
    try:
        missing = () if state.schema is None else PartialSchema.from_schema(state.schema).missing
    except TabpeError:
        missing = ()
    return {
        "job": status,
        "entry": entry,
        "problem": find_problem(visit),
        "ledger": ledger,
        "missing": missing,
        "measured": 0 if run is None else find_measured(visit.project, run.number),
    }


ROUTES = [
    make_page("/run", show_run),
    make_page("/run/progress", show_progress),
    make_action("/run/start", start_run, show_run),
    make_action("/run/resume", resume_run, show_run),
    make_action("/run/cancel", cancel_run, show_run),
]
