"""*Whom it protects*: rows or persons, and how many rows of a person count."""

from __future__ import annotations

import dataclasses
from typing import Any

from starlette.responses import Response

from tabpe.errors import ParameterError
from tabpe.schema.files import DROP
from tabpe.studio import custodian
from tabpe.studio.messages import N_
from tabpe.studio.web import Visit, get_error, make_action, make_page

ROWS, PERSONS = "rows", "persons"
DEFAULT_BOUND, MOST_BOUND = 10, 100_000


def show_protection(visit: Visit, **shown: Any) -> Response:
    """Show the choice, and which columns may hold the keys of persons."""
    state = visit.project.state
    if state.schema is None:
        return visit.redirect("data")
    names = list(state.drafts)
    return visit.render(
        "protect.html.j2",
        error=get_error(visit),
        names=names,
        proposed=state.unit or state.proposed_unit,
        protects=state.protects or (PERSONS if state.proposed_unit else ROWS),
        bound=state.max_rows or DEFAULT_BOUND,
        **{"shares": None, "asked": None, **shown},
    )


def save_protection(visit: Visit) -> Response:
    """Save whom the guarantee is for."""
    visit.project.check_version(visit.version)
    kind = visit.form.get("protects")
    if kind not in (ROWS, PERSONS):
        raise ParameterError(visit.messages.translate(N_("Choose rows or persons.")))
    unit, bound = None, None
    if kind == PERSONS:
        unit, bound = _read_unit(visit), _read_bound(visit)
        _refuse_kept_unit(visit, unit)
    visit.project.change(
        lambda state: dataclasses.replace(state, protects=kind, unit=unit, max_rows=bound),
        visit.version,
    )
    return visit.redirect("budget")


def show_shares(visit: Visit) -> Response:
    """Show which share of the rows some bounds keep. Exact, for the custodian."""
    state = visit.project.state
    if state.data is None or state.schema is None:
        return visit.redirect("data")
    unit = _read_unit(visit)
    shares = custodian.measure_bounds(state.data, state.schema, unit, [_read_bound(visit)])
    return show_protection(visit, shares=shares, asked=unit)


def _read_unit(visit: Visit) -> str:
    unit = visit.form.get("unit", "")
    if unit not in visit.project.state.drafts:
        raise ParameterError(
            visit.messages.translate(N_("Choose the column that says whose row it is."))
        )
    return unit


def _read_bound(visit: Visit) -> int:
    bound: int = visit.read_number("bound", visit.messages.translate(N_("Rows of a person")), int)
    if not 1 <= bound <= MOST_BOUND:
        raise ParameterError(
            visit.messages.translate(N_("Rows of a person: enter a number from 1 to 100000."))
        )
    return bound


def _refuse_kept_unit(visit: Visit, unit: str) -> None:
    """Refuse a column of persons that would be synthesised too."""
    for entry in (visit.project.state.schema or {"columns": []})["columns"]:
        if entry["name"] == unit and DROP not in entry:
            raise ParameterError(
                visit.messages.translate(
                    N_("The column of persons is in the schema: leave it out there first (drop).")
                )
            )


ROUTES = [
    make_page("/protect", show_protection),
    make_action("/protect/save", save_protection, show_protection),
    make_action("/protect/shares", show_shares, show_protection),
]
