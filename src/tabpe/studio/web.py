"""What all pages share: a request with its project, language and form, and how it is answered."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tabpe import __version__
from tabpe.accounting.ledger import Ledger
from tabpe.errors import ParameterError, TabpeError
from tabpe.studio.access import (
    CSRF_FIELD,
    CSRF_HEADER,
    FRAME_POLICY,
    UPLOAD_BYTES,
    Session,
    TooLargeError,
)
from tabpe.studio.messages import N_, Messages, choose_language, list_languages
from tabpe.studio.paths import AllowedFolders
from tabpe.studio.project import Project, StaleStateError
from tabpe.studio.steps import TITLES, list_steps

VERSION = "version"
MOST_FIELDS = 50_000
LANGUAGE_NAMES = {"en": "English", "de": "Deutsch"}


@dataclass(eq=False)
class Studio:
    """A project that is open in a server.

    Args:
        project: The project.
        folders: The folders that files may be opened in.
        session: The secrets of this start.
        ledger_path: The ledger; None for that of the user, or one of its own for the example.
        upload_bytes: The largest upload.
    """

    project: Project
    folders: AllowedFolders
    session: Session
    ledger_path: Path | None = None
    upload_bytes: int = UPLOAD_BYTES

    @property
    def ledger(self) -> Ledger:
        """The ledger of the present table. The example has one of its own, in the project."""
        data = self.project.state.data
        if self.ledger_path is None and data is not None and data.is_example:
            return Ledger(self.project.folder / "ledger.db")
        return Ledger(self.ledger_path)


@dataclass(eq=False)
class Visit:
    """A request, and how it is answered.

    Args:
        studio: The open project.
        request: The request.
        form: The fields of its form.
        upload: The file that it brings.
    """

    studio: Studio
    request: Request
    form: Mapping[str, str] = field(default_factory=dict)
    upload: UploadFile | None = None

    @property
    def project(self) -> Project:
        """The project."""
        return self.studio.project

    @functools.cached_property
    def messages(self) -> Messages:
        """The texts in the language of the user."""
        accepted = self.request.headers.get("accept-language", "")
        return Messages(choose_language(self.project.state.language, accepted))

    @property
    def version(self) -> int | None:
        """The version of the state that the form was made from."""
        given = self.form.get(VERSION, "")
        return int(given) if given.isdecimal() and len(given) < 12 else -1  # noqa: PLR2004 (an int)

    def link(self, path: str) -> str:
        """Return the address of a page."""
        return f"{self.studio.session.base}/{path}"

    def redirect(self, path: str) -> Response:
        """Send the browser to a page."""
        return RedirectResponse(self.link(path), 303)

    def reload(self, path: str) -> Response:
        """Send the browser to a page, also if it is a part of one that htmx asked for."""
        if "hx-request" in self.request.headers:
            return Response(headers={"HX-Redirect": self.link(path)})
        return self.redirect(path)

    def render(
        self, template: str, code: int = 200, error: str | None = None, **context: Any
    ) -> Response:
        """Return a page or a part of one."""
        state = self.project.state
        text = (
            _build_environment(self.messages.language)
            .get_template(template)
            .render(
                {
                    "state": state,
                    "steps": list_steps(self.project),
                    "titles": TITLES,
                    "link": self.link,
                    "csrf": self.studio.session.csrf,
                    "hidden": self._make_hidden_fields,
                    "form": self.form,
                    "error": error,
                    "language": self.messages.language,
                    "languages": {name: LANGUAGE_NAMES[name] for name in list_languages()},
                    "release_name": __version__,
                    "here": self.request.url.path.rpartition("/")[2],
                    **context,
                }
            )
        )
        return HTMLResponse(text, code)

    def _make_hidden_fields(self) -> Markup:
        """Return what every form sends: the token of the session, and the state it is made from."""
        fields = {CSRF_FIELD: self.studio.session.csrf, VERSION: self.project.state.version}
        return Markup("").join(
            Markup('<input type="hidden" name="{}" value="{}">').format(name, value)
            for name, value in fields.items()
        )

    def read_text(self, name: str, label: str, most: int = 200) -> str:
        """Return a field of the form that must be filled in.

        Raises:
            ParameterError: If it is empty or too long; names the field.
        """
        text = self.form.get(name, "").strip()
        if not text or len(text) > most or not text.isprintable():
            raise ParameterError(
                self.messages.translate(
                    N_("{label}: enter 1 to {most} printable characters.")
                ).format(label=label, most=most)
            )
        return text

    def read_number(self, name: str, label: str, kind: type = float) -> Any:
        """Return a number of the form, which may have a comma for its decimals.

        Raises:
            ParameterError: If it is none; names the field.
        """
        text = self.form.get(name, "").strip().replace(" ", "")
        if kind is float and text.count(",") == 1 and "." not in text:
            text = text.replace(",", ".")
        elif kind is int:
            text = text.replace(",", "").replace(".", "")
        try:
            return kind(text)
        except (ValueError, OverflowError):
            raise ParameterError(
                self.messages.translate(N_("{label}: enter a number.")).format(label=label)
            ) from None


Handler = Callable[[Visit], Response]


def make_page(path: str, handler: Handler) -> Route:
    """Return the route of a page that changes nothing."""

    async def answer(request: Request) -> Response:
        visit = Visit(request.app.state.studio, request)
        return await run_in_threadpool(_answer_safely, visit, handler, handler)

    return Route(path, answer, methods=["GET"], name=f"page {path}")


def make_action(path: str, handler: Handler, page: Handler) -> Route:
    """Return the route of a form.

    Args:
        path: Its address.
        handler: Does what the form says.
        page: Shows the page that the form is on, with an error if the handler raises one.
    """

    async def answer(request: Request) -> Response:
        studio: Studio = request.app.state.studio
        try:
            async with request.form(max_fields=MOST_FIELDS, max_files=1) as form:
                fields = {name: one for name, one in form.items() if isinstance(one, str)}
                given = fields.get(CSRF_FIELD) or request.headers.get(CSRF_HEADER)
                if not studio.session.accepts_csrf(given):
                    return Response("The form was not made by this studio.\n", 403)
                uploads = [one for one in form.values() if isinstance(one, UploadFile)]
                visit = Visit(studio, request, fields, uploads[0] if uploads else None)
                return await run_in_threadpool(_answer_safely, visit, handler, page)
        except TooLargeError:
            return Response("The request is too large.\n", 413)
        except HTTPException as error:  # a body that is no form
            return Response("The form can not be read.\n", error.status_code)

    return Route(path, answer, methods=["POST"], name=f"action {path}")


def _answer_safely(visit: Visit, handler: Handler, page: Handler) -> Response:
    """Answer; show an error on the page that it belongs to.

    Privacy: the text of an unexpected error may quote a cell, so only its type and place is shown.
    """
    try:
        return handler(visit)
    except StaleStateError as error:
        # The page as it is now. With what was typed it could be sent again, and undo what is new.
        fresh = Visit(visit.studio, visit.request)
        return _show_error(fresh, page, visit.messages.translate(str(error)), 409)
    except TabpeError as error:
        return _show_error(visit, page, str(error), 422)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}, {Path(frame.filename).name}:{frame.lineno}"
        text = visit.messages.translate(N_("Unexpected error ({what}). Nothing was changed."))
        return _show_error(visit, None, text.format(what=what), 500)


def _show_error(visit: Visit, page: Handler | None, text: str, status: int) -> Response:
    if page is not None and visit.request.method == "POST":
        visit.request.state.error = text
        try:
            response = page(visit)
        except Exception:  # noqa: S110 (the error itself is still to be shown)
            pass
        else:
            response.status_code = status
            return response
    return visit.render("error.html.j2", status, text)


def get_error(visit: Visit) -> str | None:
    """Return the error that a page has to show, if any."""
    return getattr(visit.request.state, "error", None)


def frame_document(text: str) -> Response:
    """Return a page that tabpe wrote, for a frame without an origin."""
    return HTMLResponse(text, headers={"Content-Security-Policy": FRAME_POLICY})


@functools.cache
def _build_environment(language: str) -> Environment:
    """Return what renders the templates in a language; every value is escaped."""
    messages = Messages(language)
    environment = Environment(
        loader=PackageLoader("tabpe.studio", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    environment.install_gettext_callables(  # type: ignore[attr-defined]
        messages.translate, messages.translate_plural, newstyle=True
    )
    environment.filters |= {
        "number": messages.format_number,
        "small": messages.format_small,
        "share": messages.format_share,
        "time": messages.format_time,
        "duration": messages.format_duration,
    }
    return environment
