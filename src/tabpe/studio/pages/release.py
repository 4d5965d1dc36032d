"""*Release*: a checklist, a second person who approves, a signature, and the bundle.

What is approved is one certificate, by its digest, with its purpose and contact: if anything of it
changes, the approval is void. Names are what people state. The signature shows who holds the key.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from tabpe._utils.files import make_private_folder
from tabpe.accounting import Certificate, ReleaseStatement
from tabpe.cli.release import (
    ReleaseContents,
    certificate_path,
    make_command,
    write_bundle,
)
from tabpe.cli.synth import add_statement
from tabpe.encoding.cells import format_temporal_columns
from tabpe.errors import ParameterError, TabpeError
from tabpe.studio.messages import N_
from tabpe.studio.pages.run import COMMAND, MODEL, SCHEMA, TABLE
from tabpe.studio.project import ReleaseRequest, StudioRun, get_time
from tabpe.studio.scripts import write_script
from tabpe.studio.steps import is_run_done
from tabpe.studio.web import Visit, frame_document, get_error, make_action, make_page
from tabpe.synthesizers.options import list_options
from tabpe.synthesizers.parameters import TabPEParameters
from tabpe.verification import verify

if TYPE_CHECKING:
    from tabpe.synthesizers.tabpe import TabPE

BUNDLES, KEY, SCRIPT, APPROVAL = "releases", "studio.key", "make_release.py", "APPROVAL.txt"
CHECKLIST = {
    "purpose_fits": N_("The purpose needs this table, and no more columns than it has."),
    "schema_public": N_("What the schema declares public is known without the data."),
    "report_read": N_("I read the report: the table is good enough for the purpose."),
    "budget_right": N_("The budget fits the data set, and what is left of it is enough."),
}


def show_release(visit: Visit) -> Response:
    """Show the checklist, the request or the bundle, whichever is next."""
    state = visit.project.state
    run = state.run
    if run is None or not is_run_done(visit.project):
        return visit.render("release.html.j2", error=get_error(visit), run_done=False)
    certificate = load_certificate(visit, run)
    request = find_request(visit, run, certificate)
    written = None if request is None or request.folder is None else _get_bundle(visit, request)
    checked = None
    if written is not None and written.is_dir():
        table = written / TABLE
        checked = verify(certificate_path(table), table, visit.studio.ledger.path)
    return visit.render(
        "release.html.j2",
        error=get_error(visit),
        run_done=True,
        run=run,
        certificate=certificate,
        checks=check_certificate(visit, run).checks,
        request=request,
        checklist=CHECKLIST,
        bundle=written if checked is not None else None,
        verification=checked,
        contents=[] if written is None or checked is None else sorted(written.iterdir()),
        key=_find_key(visit),
        seen=run.number in state.report_seen,
    )


def ask_release(visit: Visit) -> Response:
    """Ask for a release: purpose, contact, and the checklist."""
    visit.project.check_version(visit.version)
    run = _get_finished_run(visit)
    translate = visit.messages.translate
    if run.number not in visit.project.state.report_seen:
        raise ParameterError(translate(N_("Open the report first: nobody has looked at it yet.")))
    _check_list(visit)
    if not check_certificate(visit, run).holds:
        raise ParameterError(translate(N_("The certificate does not hold: release nothing of it.")))
    request = ReleaseRequest(
        run=run.number,
        digest=load_certificate(visit, run).digest,
        requested_by=visit.read_text("requested_by", translate(N_("Your name"))),
        purpose=visit.read_text("purpose", translate(N_("Purpose")), 500),
        contact=visit.read_text("contact", translate(N_("Contact")), 200),
        requested_at=get_time(),
    )
    ReleaseStatement(request.purpose, request.contact)  # refuses what a sheet can not show
    visit.project.change(lambda state: dataclasses.replace(state, release=request), visit.version)
    return visit.redirect("release")


def withdraw_request(visit: Visit) -> Response:
    """Take the request back, unless the bundle is written."""
    release = visit.project.state.release
    if release is not None and release.folder is None:
        visit.project.change(lambda state: dataclasses.replace(state, release=None), visit.version)
    return visit.redirect("release")


def approve_release(visit: Visit) -> Response:
    """Approve the release as a second person, and write the bundle."""
    visit.project.check_version(visit.version)
    run = _get_finished_run(visit)
    certificate = load_certificate(visit, run)
    request = find_request(visit, run, certificate)
    translate = visit.messages.translate
    if request is None:
        raise ParameterError(translate(N_("Nobody has asked for this release: ask for it first.")))
    if request.folder is not None:
        raise ParameterError(translate(N_("The bundle was written before.")))
    name = visit.read_text("approved_by", translate(N_("Your name")))
    if is_same_person(name, request.requested_by):
        text = N_(
            "{name} asked for this release. A second person must approve it: four eyes see more "
            "than two."
        )
        raise ParameterError(translate(text).format(name=request.requested_by))
    _check_list(visit)
    approved = dataclasses.replace(request, approved_by=name, approved_at=get_time())
    visit.project.change(
        lambda state: dataclasses.replace(
            state, release=write_release_bundle(visit, run, approved)
        ),
        visit.version,
    )
    return visit.redirect("release")


def is_same_person(one: str, other: str) -> bool:
    """Whether two names are the same, however they are written.

    Example:
        >>> is_same_person("Ann  Lee", "ann lee "), is_same_person("Ann Lee", "Lee, Ann")
        (True, True)
        >>> is_same_person("Ann Lee", "Ben Lee")
        False
    """
    return _fold_name(one) == _fold_name(other)


def write_release_bundle(visit: Visit, run: StudioRun, request: ReleaseRequest) -> ReleaseRequest:
    """Write the bundle of an approved request; return the request with its folder."""
    from tabpe.synthesizers.tabpe import TabPE

    folder = visit.project.get_run_folder(run.number)
    model = TabPE.load(folder / MODEL)
    if model.certificate.digest != request.digest:
        raise ParameterError(visit.messages.translate(N_("The run is not the one approved.")))
    signer = _load_signer(visit)
    chosen = json.loads((folder / COMMAND).read_bytes())
    schema = json.loads((folder / SCHEMA).read_bytes())
    statement = ReleaseStatement(request.purpose, request.contact)
    rows = chosen.pop("rows", None)
    private_schema = chosen.pop("private_schema", False)
    command = make_command(
        list_options(TabPEParameters),
        chosen,
        schema="schema.yaml",
        private_schema=private_schema,
        rows=rows,
        escape_formulas=True,
        purpose=request.purpose,
        contact=request.contact,
        bundle="DIR",
    )
    contents = ReleaseContents(
        _read_rows(model, rows),
        add_statement(model.certificate, statement, visit.studio.ledger.path),
        model.schema_,
        model.history_,
        signer,
        escape_formulas=True,
    )
    parent = visit.project.folder / BUNDLES
    make_private_folder(parent)
    name = _find_free_name(parent, f"release-{run.number}")
    write_bundle(
        contents,
        parent / name,
        Path(TABLE),
        command,
        more={
            SCRIPT: (
                "the same in Python",
                write_script(schema, chosen, rows, private_schema=private_schema),
            ),
            APPROVAL: ("who asked for the release, and who approved it", _describe(request)),
        },
    )
    fingerprint = None if signer is None else signer.public.fingerprint
    return dataclasses.replace(request, folder=name, signed_by=fingerprint)


def make_key(visit: Visit) -> Response:
    """Make a key pair to sign with, in the folder of the project."""
    from tabpe.verification.signing import make_key_pair

    visit.project.check_version(visit.version)
    passphrase = visit.form.get("passphrase", "")
    if passphrase != visit.form.get("again", ""):
        raise ParameterError(visit.messages.translate(N_("The two passphrases differ.")))
    make_key_pair(visit.project.folder / KEY, passphrase or None)
    return visit.redirect("release")


def show_document(visit: Visit) -> Response:
    """Send the sheet or the public report of the bundle, for a frame."""
    name = visit.request.path_params["name"]
    files = {"sheet": f"{Path(TABLE).stem}.certificate.html", "public": "report.html"}
    release = visit.project.state.release
    path = None
    if release is not None and release.folder is not None and name in files:
        path = _get_bundle(visit, release) / files[name]
    if path is None or not path.is_file():
        return visit.redirect("release")
    return frame_document(path.read_text(encoding="utf-8"))


def load_certificate(visit: Visit, run: StudioRun) -> Certificate:
    """Return the certificate of a run that is done."""
    path = certificate_path(visit.project.get_run_folder(run.number) / TABLE)
    return Certificate.from_dict(json.loads(path.read_bytes()))


def check_certificate(visit: Visit, run: StudioRun) -> Any:
    """Verify the certificate of a run, its table and its entry in the ledger."""
    table = visit.project.get_run_folder(run.number) / TABLE
    return verify(certificate_path(table), table, visit.studio.ledger.path)


def find_request(visit: Visit, run: StudioRun, certificate: Certificate) -> ReleaseRequest | None:
    """Return the request for this very certificate; one for another is void."""
    found = visit.project.state.release
    if found is None or found.run != run.number or found.digest != certificate.digest:
        return None
    return found


def _get_finished_run(visit: Visit) -> StudioRun:
    run = visit.project.state.run
    if run is None or not is_run_done(visit.project):
        raise ParameterError(visit.messages.translate(N_("There is no finished run yet.")))
    return run


def _check_list(visit: Visit) -> None:
    open_points = [name for name in CHECKLIST if not visit.form.get(name)]
    if open_points:
        raise ParameterError(
            visit.messages.translate(N_("Confirm every point of the checklist, or do not release."))
        )


def _fold_name(name: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKD", name).casefold()
    letters = "".join(
        one if one.isalnum() else " " for one in plain if not unicodedata.combining(one)
    )
    return tuple(sorted(letters.split()))


def _read_rows(model: TabPE, rows: int | None) -> Any:
    return format_temporal_columns(model.sample(rows), model.schema_.columns)


def _get_bundle(visit: Visit, request: ReleaseRequest) -> Path:
    return visit.project.folder / BUNDLES / str(request.folder)


def _find_free_name(parent: Path, name: str) -> str:
    """Return a name that no bundle has: one may be left from before a crash."""
    names = (name if at == 1 else f"{name}-{at}" for at in itertools.count(1))
    return next(one for one in names if not (parent / one).exists())


def _find_key(visit: Visit) -> str | None:
    """Return the fingerprint of the key of the project; None if there is none."""
    from tabpe.verification.signing import PUBLIC_SUFFIX, PublicKey

    try:
        return PublicKey.load((visit.project.folder / KEY).with_suffix(PUBLIC_SUFFIX)).fingerprint
    except TabpeError:
        return None


def _load_signer(visit: Visit) -> Any:
    """Return the key to sign with: that of the project, another one, or none."""
    from tabpe.verification.signing import SigningKey

    how = visit.form.get("sign", "no")
    if how == "no":
        return None
    path = visit.project.folder / KEY
    if how == "other":
        path = visit.studio.folders.resolve_file(
            visit.read_text("key", visit.messages.translate(N_("Key file")), 1000)
        )
    return SigningKey.load(path, visit.form.get("passphrase") or None)


def _describe(request: ReleaseRequest) -> str:
    lines: Mapping[str, str] = {
        "Certificate": request.digest,
        "Purpose": request.purpose,
        "Contact": request.contact,
        "Asked for by": f"{request.requested_by}, {request.requested_at}",
        "Approved by": f"{request.approved_by}, {request.approved_at}",
    }
    listed = "\n".join(f"{name + ':':<14} {text}" for name, text in lines.items())
    points = "\n".join(f"- {text}" for text in CHECKLIST.values())
    return (
        f"{listed}\n\nBoth confirmed:\n{points}\n\n"
        "Names are as these persons stated them. Only a signature shows who holds a key.\n"
    )


ROUTES = [
    make_page("/release", show_release),
    make_page("/release/document/{name}", show_document),
    make_action("/release/ask", ask_release, show_release),
    make_action("/release/withdraw", withdraw_request, show_release),
    make_action("/release/approve", approve_release, show_release),
    make_action("/release/key", make_key, show_release),
]
