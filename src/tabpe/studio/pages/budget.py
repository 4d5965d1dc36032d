"""*Budget*: the ledger of the data set, and what each epsilon would give."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.responses import Response

from tabpe._utils import files
from tabpe.accounting import NeighboringRelation
from tabpe.accounting.ledger import DatasetStatus
from tabpe.errors import LedgerError, ParameterError, TabpeError
from tabpe.evaluation.planning.page import draw_curves
from tabpe.evaluation.planning.plan import Plan
from tabpe.evaluation.planning.plan import plan as make_plan
from tabpe.evaluation.report import charts
from tabpe.evaluation.report.guarantee import AttackerBound
from tabpe.studio.messages import N_
from tabpe.studio.pages.data import EXAMPLE_DATASET, EXAMPLE_ROWS
from tabpe.studio.project import BudgetChoice
from tabpe.studio.steps import get_plan_job
from tabpe.studio.web import Visit, get_error, make_action, make_page

EPSILONS = (0.3, 1.0, 3.0, 10.0)
EXAMPLE_EPSILON = 3.0
DEFAULT_DELTA = 1e-6
LARGEST_EPSILON = 20.0
PLAN_SCHEMA, PLAN_FILE = "schema.json", "plan.json"
SIMULATIONS = 1


def show_budget(visit: Visit) -> Response:
    """Show the budget of the data set, and what it means."""
    state = visit.project.state
    if state.schema is None:
        return visit.redirect("data")
    proposed = _propose(visit)
    status = find_status(visit, visit.form.get("dataset") or proposed.dataset)
    return visit.render(
        "budget.html.j2",
        error=get_error(visit),
        choice=proposed,
        status=status,
        datasets=_list_datasets(visit),
        ledger=visit.studio.ledger.path,
        meanings=[_explain(visit, epsilon, proposed.delta) for epsilon in EPSILONS],
        odds=charts.odds(_bound(visit, proposed.epsilon, proposed.delta)).svg,
        **_get_plan(visit),
    )


def show_curves(visit: Visit) -> Response:
    """Show the part of the page with the plan, again and again while it is made."""
    return visit.render("plan.html.j2", **_get_plan(visit))


def set_total(visit: Visit) -> Response:
    """Set the total budget of a data set in the ledger."""
    visit.project.check_version(visit.version)
    translate = visit.messages.translate
    dataset = visit.read_text("dataset", translate(N_("Name of the data set")))
    epsilon = _check_epsilon(visit, "total", translate(N_("Total epsilon")), 1000.0)
    delta = _check_delta(visit, "total_delta")
    unit = visit.project.state.unit
    visit.studio.ledger.set_budget(dataset, epsilon=epsilon, delta=delta, unit=unit)
    proposed = dataclasses.replace(_propose(visit), dataset=dataset, delta=delta)
    if visit.project.state.budget is not None:
        visit.project.change(lambda state: dataclasses.replace(state, budget=proposed))
    return visit.redirect("budget")


def save_budget(visit: Visit) -> Response:
    """Save what the next run may spend."""
    visit.project.check_version(visit.version)
    choice = _read_choice(visit)
    status = find_status(visit, choice.dataset)
    if status is None or status.budget is None:
        raise LedgerError(
            visit.messages.translate(
                N_("This data set has no total budget yet: set one first, below.")
            )
        )
    check_left(visit, choice, status)
    visit.project.change(lambda state: dataclasses.replace(state, budget=choice), visit.version)
    return visit.redirect("run")


def start_plan(visit: Visit) -> Response:
    """Simulate what runs would give, in a process of its own."""
    state = visit.project.state
    choice = _read_choice(visit)
    job = get_plan_job(visit.project)
    if job.is_alive():
        return visit.redirect("budget")
    job.remove()
    files.make_private_folder(job.folder)
    _read_noise_plan(visit, choice)  # refuses a schema with gaps before a process is started
    files.write_text(job.folder / PLAN_SCHEMA, json.dumps(state.schema))
    words = ["plan", PLAN_SCHEMA, "--rows", str(choice.rows), "--delta", repr(choice.delta)]
    words += [word for epsilon in _list_epsilons(choice) for word in ("--epsilon", repr(epsilon))]
    words += ["--simulations", str(SIMULATIONS), "--output", PLAN_FILE, "--force"]
    if state.unit is not None:
        words += ["--unit", state.unit, "--max-rows-per-user", str(state.max_rows)]
    job.start([words], job.folder)
    return visit.redirect("budget")


def find_status(visit: Visit, dataset: str) -> DatasetStatus | None:
    """Return what the ledger knows about a data set; None if nothing."""
    ledger = visit.studio.ledger
    if not ledger.exists():
        return None
    try:
        return ledger.status(dataset)
    except LedgerError:
        return None


def check_left(visit: Visit, choice: BudgetChoice, status: DatasetStatus) -> None:
    """Refuse what the ledger would refuse, before a run is started."""
    left = status.left
    if left is not None and choice.epsilon > left:
        text = visit.messages.translate(
            N_(
                "Epsilon {epsilon} is more than what is left of the budget of this data set "
                "({left}). Enter at most {left}, or ask whoever sets the budget."
            )
        )
        shown = visit.messages.format_number
        raise ParameterError(text.format(epsilon=shown(choice.epsilon), left=shown(left)))


def read_plan(path: Path) -> Plan | None:
    """Return a plan that was made; None if there is none."""
    try:
        return Plan.from_dict(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _get_plan(visit: Visit) -> dict[str, Any]:
    job = get_plan_job(visit.project)
    status = job.status()
    made = read_plan(job.folder / PLAN_FILE) if status.state == "done" else None
    choice = _propose(visit)
    noise: Plan | None = None
    problem = None
    try:
        noise = _read_noise_plan(visit, choice)
    except TabpeError as error:
        problem = str(error)
    return {
        "plan_job": status,
        "plan": made,
        "curves": draw_curves(made) if made else (),
        "noise": noise,
        "plan_problem": problem,
    }


def _read_noise_plan(visit: Visit, choice: BudgetChoice) -> Plan:
    """Return what calibration says about each epsilon; nothing is simulated."""
    state = visit.project.state
    settings: dict[str, Any] = {"delta": choice.delta, "verbose": 0}
    if state.unit is not None:
        settings |= {"unit": state.unit, "max_rows_per_user": state.max_rows}
    schema = {} if state.schema is None else state.schema
    return make_plan(schema, choice.rows, _list_epsilons(choice), simulations=0, **settings)


def _list_epsilons(choice: BudgetChoice) -> Sequence[float]:
    return sorted({*EPSILONS, choice.epsilon})


def _propose(visit: Visit) -> BudgetChoice:
    """Return what was chosen, or what to begin with."""
    state = visit.project.state
    if state.budget is not None:
        return state.budget
    if state.data is not None and state.data.is_example:
        return BudgetChoice(EXAMPLE_DATASET, EXAMPLE_EPSILON, DEFAULT_DELTA, EXAMPLE_ROWS)
    name = "table" if state.data is None else Path(state.data.title).stem
    status = find_status(visit, name)
    delta = DEFAULT_DELTA if status is None or status.budget is None else status.budget.delta
    return BudgetChoice(name or "table", 1.0, delta, 1_000)


def _list_datasets(visit: Visit) -> tuple[str, ...]:
    ledger = visit.studio.ledger
    if not ledger.exists():
        return ()
    return tuple(one.dataset for one in ledger.statuses())


def _read_choice(visit: Visit) -> BudgetChoice:
    translate = visit.messages.translate
    rows: int = visit.read_number("rows", translate(N_("Number of rows, about")), int)
    if not 10 <= rows <= 10**10:  # noqa: PLR2004 (a range of an input)
        raise ParameterError(translate(N_("Number of rows: enter a number from 10.")))
    output = None
    if visit.form.get("output_rows", "").strip():
        output = visit.read_number("output_rows", translate(N_("Rows to make")), int)
        if not 1 <= output <= 10**8:
            raise ParameterError(translate(N_("Rows to make: enter a number from 1.")))
    return BudgetChoice(
        visit.read_text("dataset", translate(N_("Name of the data set"))),
        _check_epsilon(visit, "epsilon", translate(N_("Epsilon of this run")), LARGEST_EPSILON),
        _check_delta(visit, "delta"),
        rows,
        output,
    )


def _check_epsilon(visit: Visit, name: str, label: str, most: float) -> float:
    epsilon: float = visit.read_number(name, label)
    if not 0 < epsilon <= most or not math.isfinite(epsilon):
        text = visit.messages.translate(N_("{label}: enter a number above 0, at most {most}."))
        raise ParameterError(text.format(label=label, most=visit.messages.format_number(most)))
    return epsilon


def _check_delta(visit: Visit, name: str) -> float:
    delta: float = visit.read_number(name, "delta")
    if not 0 < delta < 1e-3:  # noqa: PLR2004 (a range of an input)
        text = N_("Delta: enter a number above 0 and below 0.001, such as 1e-6.")
        raise ParameterError(visit.messages.translate(text))
    return delta


def _bound(visit: Visit, epsilon: float, delta: float) -> AttackerBound:
    state = visit.project.state
    relation = NeighboringRelation(max_rows=state.max_rows)
    return AttackerBound(epsilon, delta, relation, state.unit)


def _explain(visit: Visit, epsilon: float, delta: float) -> dict[str, float]:
    """Return what an attacker can be at most, for one epsilon."""
    bound = _bound(visit, epsilon, delta)
    sure = math.ceil(bound.bound_belief(0.5).most * 1000) / 1000
    rare = math.ceil(bound.bound_belief(0.01).most * 1000) / 1000
    return {"epsilon": epsilon, "even": sure, "rare": rare}


ROUTES = [
    make_page("/budget", show_budget),
    make_page("/budget/curves", show_curves),
    make_action("/budget/total", set_total, show_budget),
    make_action("/budget/save", save_budget, show_budget),
    make_action("/budget/plan", start_plan, show_budget),
]
