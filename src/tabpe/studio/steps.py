"""The steps from a file to a release, and which of them are done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tabpe.schema import PartialSchema
from tabpe.studio.entries import list_undecided
from tabpe.studio.jobs import Job
from tabpe.studio.messages import N_
from tabpe.studio.project import Project

TITLES = {
    "data": N_("Data"),
    "schema": N_("Schema"),
    "protect": N_("Whom it protects"),
    "budget": N_("Budget"),
    "run": N_("Run"),
    "report": N_("Report"),
    "release": N_("Release"),
}
RUN_JOB, REPORT_JOB, PLAN_JOB = "job", "report-job", "plan"

StepState = Literal["done", "open", "waits"]


@dataclass(frozen=True)
class Step:
    """A step.

    Args:
        name: The last part of its address.
        title: Its title, in English.
        state: `open` is what can be done now; `waits` is for what needs an earlier step.
    """

    name: str
    title: str
    state: StepState


def get_run_job(project: Project, number: int) -> Job:
    """Return the job of a run."""
    return Job(project.get_run_folder(number) / RUN_JOB)


def get_report_job(project: Project, number: int) -> Job:
    """Return the job of the report of a run."""
    return Job(project.get_run_folder(number) / REPORT_JOB)


def get_plan_job(project: Project) -> Job:
    """Return the job of the plan."""
    return Job(project.folder / PLAN_JOB)


def is_run_done(project: Project) -> bool:
    """Whether the last run has ended well."""
    run = project.state.run
    return run is not None and get_run_job(project, run.number).status().state == "done"


def find_schema_gap(project: Project) -> str | None:
    """Return what a schema still needs before a run, in English; None if nothing.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with Project(Path(tempfile.mkdtemp())) as project:
        ...     find_schema_gap(project)
        'Choose the data first.'
    """
    schema = project.state.schema
    if schema is None:
        return N_("Choose the data first.")
    if list_undecided(schema):
        return N_(
            "Some columns are undecided. Decide about each of them: public, estimate or drop."
        )
    if not PartialSchema.from_schema(schema).columns:
        return N_("Every column is left out. Keep at least one.")
    return None


def list_steps(project: Project) -> list[Step]:
    """Return all steps and their states."""
    state = project.state
    run_done = is_run_done(project)
    release = state.release
    done = {
        "data": state.data is not None and state.schema is not None,
        "schema": find_schema_gap(project) is None,
        "protect": state.protects is not None,
        "budget": state.budget is not None,
        "run": run_done,
        "report": run_done and state.run is not None and state.run.number in state.report_seen,
        "release": release is not None
        and release.folder is not None
        and state.run is not None
        and release.run == state.run.number,
    }
    needs = {
        "schema": done["data"],
        "protect": done["data"],
        "budget": done["data"],
        "run": all(done[name] for name in ("data", "schema", "protect", "budget"))
        or state.run is not None,
        "report": run_done,
        "release": run_done,
    }
    return [
        Step(
            name,
            title,
            "done" if done[name] else "open" if needs.get(name, True) else "waits",
        )
        for name, title in TITLES.items()
    ]


def find_next_step(project: Project) -> str:
    """Return the first step that is not done; the last one if all are."""
    return next((one.name for one in list_steps(project) if one.state != "done"), "release")
