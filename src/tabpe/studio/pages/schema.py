"""*Schema*: what is public about each column, what is estimated, and what is left out."""

from __future__ import annotations

import dataclasses
import functools
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.responses import Response

from tabpe.cli.schema import ESTIMATE, PUBLIC
from tabpe.errors import DataError, ParameterError, SchemaError, TabpeError
from tabpe.schema import PartialSchema
from tabpe.schema.dictionaries import DICTIONARIES
from tabpe.schema.files import DROP
from tabpe.schema.importers import imported
from tabpe.studio import custodian
from tabpe.studio.entries import (
    CHOICES,
    TYPES,
    decide_all,
    list_forms,
    list_undecided,
    make_form,
    read_entry,
    read_yaml,
    replace_entry,
)
from tabpe.studio.messages import N_
from tabpe.studio.notes import translate_note
from tabpe.studio.rules import RuleExample, illustrate_rules
from tabpe.studio.web import Visit, get_error, make_action, make_page

_LARGEST_FILE = 4 * 2**20
_FIELDS = ("choice", "type", "min", "max", "values", "nullable", "yaml")


def show_schema(visit: Visit) -> Response:
    """Show one row for each column."""
    state = visit.project.state
    if state.schema is None:
        return visit.redirect("data")
    problem: str | None = None
    examples: tuple[RuleExample, ...] = ()
    try:
        examples = illustrate_rules(state.schema)
    except TabpeError as error:
        problem = str(error)
    return visit.render(
        "schema.html.j2",
        error=get_error(visit),
        forms=list_forms(state.schema, state.notes),
        translate_note=functools.partial(translate_note, messages=visit.messages),
        undecided=list_undecided(state.schema),
        choices=CHOICES,
        types=TYPES,
        dictionaries=tuple(DICTIONARIES),
        rules=examples,
        problem=problem,
        proposed=[one for one in state.proposed_rules if one not in state.schema.get("rules", ())],
        label=state.schema.get("label"),
    )


def save_schema(visit: Visit) -> Response:
    """Save all rows of the form."""
    changed = _read_form(visit)
    visit.project.change(lambda state: state.with_schema(changed), visit.version)
    return visit.redirect("schema")


def check_schema(visit: Visit) -> Response:
    """Show how the table fits the schema as the form has it, saved or not."""
    state = visit.project.state
    if state.data is None or state.schema is None:
        return visit.redirect("data")
    try:
        fit = custodian.measure_table_fit(state.data, _read_form(visit))
    except TabpeError as error:
        return visit.render("fit.html.j2", fit=None, problem=str(error))
    return visit.render("fit.html.j2", fit=fit, problem=None)


def decide_rest(visit: Visit) -> Response:
    """Decide about all undecided columns alike."""
    schema = _get_schema(visit)
    choice = visit.form.get("choice")
    if choice == PUBLIC and not visit.form.get("checked"):
        raise ParameterError(
            visit.messages.translate(
                N_("Confirm first that what is listed is known without the data.")
            )
        )
    if choice not in (PUBLIC, ESTIMATE):
        raise ParameterError(visit.messages.translate(N_("Choose public or estimate.")))
    changed = decide_all(schema, choice)
    visit.project.change(lambda state: state.with_schema(changed), visit.version)
    return visit.redirect("schema")


def choose_label(visit: Visit) -> Response:
    """Choose the column whose values are generated class by class."""
    state = visit.project.state
    schema = dict(_get_schema(visit))
    label = visit.form.get("label") or None
    names = [entry["name"] for entry in schema["columns"] if DROP not in entry]
    if label is not None and label not in names:
        raise SchemaError(visit.messages.translate(N_("The label must be a column that is kept.")))
    for key in ("label", "label_cuts", "label_classes"):
        schema.pop(key, None)
    if label is not None and state.data is not None:
        schema["label"] = label
        place = [entry["name"] for entry in schema["columns"]].index(label)
        if schema["columns"][place].get("type") in ("integer", "float"):
            schema["label_classes"] = 4
    PartialSchema.from_schema(schema)
    visit.project.change(lambda state: state.with_schema(schema), visit.version)
    return visit.redirect("schema")


def save_rules(visit: Visit) -> Response:
    """Save what holds in every row, one rule a line."""
    schema = dict(_get_schema(visit))
    rules = [line.strip() for line in visit.form.get("rules", "").splitlines() if line.strip()]
    schema.pop("rules", None)
    if rules:
        schema["rules"] = rules
    illustrate_rules(schema)
    visit.project.change(lambda state: state.with_schema(schema), visit.version)
    return visit.redirect("schema")


def undo_change(visit: Visit) -> Response:
    """Take the last change of the schema back."""
    state = visit.project.state
    if not state.undo:
        raise ParameterError(visit.messages.translate(N_("There is nothing to undo.")))
    visit.project.change(
        lambda state: dataclasses.replace(state, schema=state.undo[-1], undo=state.undo[:-1]),
        visit.version,
    )
    return visit.redirect("schema")


def import_schema(visit: Visit) -> Response:
    """Take a schema file that the user sends: of tabpe or of another tool."""
    _get_schema(visit)
    upload = visit.upload
    if upload is None or not upload.filename:
        raise ParameterError(visit.messages.translate(N_("Choose a file first.")))
    suffix = Path(upload.filename).suffix.lower()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"schema{suffix if suffix in ('.yaml', '.yml', '.json') else '.yaml'}"
        with path.open("wb") as file:
            shutil.copyfileobj(upload.file, file)
        if path.stat().st_size > _LARGEST_FILE:
            raise SchemaError(visit.messages.translate(N_("The schema file is too large.")))
        plain = _read_schema_file(path)
    state = visit.project.state
    kept = {entry["name"] for entry in plain["columns"]}
    left_out = [
        {"name": name, DROP: "not in the schema"} for name in state.drafts if name not in kept
    ]
    if kept.isdisjoint(state.drafts):
        raise DataError(
            visit.messages.translate(
                N_("The schema names no column of this table: choose another.")
            )
        )
    known = (state.schema or {}).get("format")
    changed = {**({"format": known} if known else {}), **plain}
    changed["columns"] = [*plain["columns"], *left_out]
    visit.project.change(lambda state: state.with_schema(changed), visit.version)
    return visit.redirect("schema")


def _read_schema_file(path: Path) -> dict[str, Any]:
    from tabpe.schema.files import read_schema_file

    try:
        plain = dict(read_schema_file(path))
        PartialSchema.from_schema(plain)
    except SchemaError as error:
        try:
            plain = dict(imported(path).plain)
        except TabpeError:
            raise SchemaError(str(error).replace(str(path), "schema")) from None
    plain["columns"] = [dict(entry) for entry in plain["columns"]]
    return plain


def _get_schema(visit: Visit) -> Mapping[str, Any]:
    schema = visit.project.state.schema
    if schema is None:
        raise ParameterError(visit.messages.translate(N_("Choose the data first.")))
    return schema


def _read_form(visit: Visit) -> dict[str, Any]:
    """Return the schema as the form has it; a row that is as it was stays as it is."""
    state = visit.project.state
    schema = dict(_get_schema(visit))
    for place, old in enumerate(schema["columns"]):
        form = {
            name: visit.form[f"{name}-{place}"]
            for name in _FIELDS
            if f"{name}-{place}" in visit.form
        }
        if not form:
            continue
        shown = make_form(place, old, "")
        written = form.get("yaml", "").replace("\r\n", "\n").strip()
        if written and written != shown.yaml.strip():
            schema = replace_entry(schema, place, read_yaml(old["name"], written))
        elif not _is_unchanged(form, shown):
            entry = read_entry(old, state.drafts.get(old["name"]), form)
            schema = replace_entry(schema, place, entry)
    return schema


def _is_unchanged(form: Mapping[str, str], shown: Any) -> bool:
    same = all(
        form.get(name, getattr(shown, name)).replace("\r\n", "\n") == getattr(shown, name)
        for name in ("choice", "type", "min", "max", "values")
    )
    return same and bool(form.get("nullable")) == shown.nullable


ROUTES = [
    make_page("/schema", show_schema),
    make_action("/schema/save", save_schema, show_schema),
    make_action("/schema/check", check_schema, show_schema),
    make_action("/schema/rest", decide_rest, show_schema),
    make_action("/schema/label", choose_label, show_schema),
    make_action("/schema/rules", save_rules, show_schema),
    make_action("/schema/undo", undo_change, show_schema),
    make_action("/schema/import", import_schema, show_schema),
]
