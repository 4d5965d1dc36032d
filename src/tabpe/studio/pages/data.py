"""*Data*: choose the table, and see how it is laid out."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from tabpe._utils import files
from tabpe.errors import DataError, ParameterError
from tabpe.io import make_table_writer
from tabpe.io.example import hospital_schema, hospital_table
from tabpe.schema.table_format import TableFormat
from tabpe.studio import custodian
from tabpe.studio.messages import N_
from tabpe.studio.notes import write_note
from tabpe.studio.project import DataChoice, ProjectState
from tabpe.studio.web import Visit, get_error, make_action, make_page

EXAMPLE_ROWS = 5_000
EXAMPLE_DATASET = "example"
_CHUNK = 2**20
ENDINGS = (
    ".csv",
    ".tsv",
    ".txt",
    ".gz",
    ".bz2",
    ".xz",
    ".zst",
    ".zip",
    ".parquet",
    ".arrow",
    ".feather",
    ".xlsx",
    ".xls",
    ".xlsb",
    ".ods",
    ".jsonl",
    ".ndjson",
    ".json",
    ".dta",
    ".sav",
    ".sas7bdat",
    ".xpt",
    ".db",
    ".sqlite",
    ".duckdb",
)


def show_data(visit: Visit, **shown: Any) -> Response:
    """Show what can be chosen, and what was."""
    folder, folders, found = visit.studio.folders.list_folder("")
    given = visit.request.query_params.get("in", "")
    if given:
        folder, folders, found = visit.studio.folders.list_folder(given)
    tables = [one for one in found if one.suffix.lower() in ENDINGS]
    schema = visit.project.state.schema
    return visit.render(
        "data.html.j2",
        error=get_error(visit),
        folder=folder,
        roots=visit.studio.folders.roots,
        folders=folders,
        tables=tables,
        layout={} if schema is None else schema.get("format") or {},
        most_megabytes=visit.studio.upload_bytes // 2**20,
        **{"preview": None, **shown},
    )


def show_preview(visit: Visit) -> Response:
    """Show the first rows of the table, for the custodian."""
    state = visit.project.state
    if state.data is None or state.schema is None:
        return visit.redirect("data")
    plain = state.schema.get("format")
    layout = TableFormat.from_dict(plain) if plain else custodian.find_layout(state.data)
    return show_data(visit, preview=custodian.preview_table(state.data, layout))


def choose_example(visit: Visit) -> Response:
    """Choose the embedded example, with its schema and the tour."""
    visit.project.check_version(visit.version)
    path = visit.project.folder / "example" / "hospital.csv"
    if not path.exists():
        files.make_private_folder(path.parent)
        files.write_file(path, make_table_writer(hospital_table(EXAMPLE_ROWS), path))
    choice = DataChoice(str(path), is_example=True)
    _save_draft(visit, choice, tour=True)
    return visit.redirect("schema")


def choose_file(visit: Visit) -> Response:
    """Choose a file of this machine, or a table of a database."""
    visit.project.check_version(visit.version)
    given = visit.read_text("address", visit.messages.translate(N_("File or database")), 2000)
    named = {name: visit.form.get(name, "").strip() or None for name in ("table", "query")}
    choice = DataChoice(
        visit.studio.folders.resolve_address(given),
        named["table"],
        named["query"],
        visit.form.get("password_env", "").strip() or None,
    )
    choice.open_table()  # refuses a password, and a database without a table
    _save_draft(visit, choice)
    return visit.redirect("schema")


def upload_file(visit: Visit) -> Response:
    """Take a file that the user sends, into the folder of the project."""
    visit.project.check_version(visit.version)
    if visit.upload is None or not visit.upload.filename:
        raise ParameterError(visit.messages.translate(N_("Choose a file first.")))
    path = visit.project.make_upload_path(visit.upload.filename)
    source = visit.upload.file

    def fill(file: Any) -> None:
        shutil.copyfileobj(source, file, _CHUNK)

    files.create_file(path, fill)
    try:
        _save_draft(visit, DataChoice(str(path)))
    except BaseException:
        shutil.rmtree(path.parent, ignore_errors=True)
        raise
    return visit.redirect("schema")


def change_layout(visit: Visit) -> Response:
    """Read the file with another layout, which the custodian states."""
    state = visit.project.state
    if state.data is None or state.schema is None:
        return visit.redirect("data")
    given = {name: visit.form.get(name) or None for name in ("delimiter", "decimal", "encoding")}
    found = custodian.find_layout(state.data)
    if found is None:
        raise DataError(
            visit.messages.translate(N_("This table is no text file: it has no layout."))
        )
    _save_draft(visit, state.data, layout=found.override(**given))
    return visit.redirect("data")


def _save_draft(
    visit: Visit, choice: DataChoice, *, layout: TableFormat | None = None, tour: bool = False
) -> None:
    layout = layout or custodian.find_layout(choice)
    draft = custodian.draft_columns(choice, None, layout)
    plain: dict[str, Any] = draft.to_dict()
    if "format" in plain:
        # The custodian sees how the file is written, and states it.
        plain["format"] = {**plain["format"], "source": "public"}
    drafts = {one.name: dict(one.entry) for one in draft.columns}
    notes = {one.name: write_note(one, is_unit=one.name == draft.unit) for one in draft.columns}
    if choice.is_example:
        plain = hospital_schema().to_dict()

    def decide(state: ProjectState) -> ProjectState:
        return ProjectState(
            version=state.version,
            language=state.language,
            tour=tour,
            data=choice,
            schema=_make_plain(plain),
            drafts=_make_plain(drafts),
            notes=notes,
            proposed_rules=draft.rules,
            proposed_unit=draft.unit,
            runs=state.runs,
            report_seen=state.report_seen,
            release=state.release,
        )

    visit.project.change(decide, visit.version)


def _make_plain(value: Any) -> Any:
    """Return values as JSON has them, so that what is read back is the same."""
    if isinstance(value, Mapping):
        return {str(name): _make_plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_make_plain(one) for one in value]
    return value if isinstance(value, (int, float, bool)) or value is None else str(value)


ROUTES = [
    make_page("/data", show_data),
    make_page("/data/preview", show_preview),
    make_action("/data/example", choose_example, show_data),
    make_action("/data/file", choose_file, show_data),
    make_action("/data/upload", upload_file, show_data),
    make_action("/data/layout", change_layout, show_data),
]
