"""The application: every page of the studio under one random folder, behind the guard."""

from __future__ import annotations

from importlib import resources

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from tabpe.evaluation.report.html import read_asset
from tabpe.studio.access import AccessGuard
from tabpe.studio.pages import budget, data, history, protect, release, report, run, schema
from tabpe.studio.steps import find_next_step
from tabpe.studio.web import Studio, Visit, make_action, make_page

_STATIC = {
    "htmx.min.js": "text/javascript",
    "studio.js": "text/javascript",
    "studio.css": "text/css",
}
_REPORT_STYLE = "report.css"


def create_app(studio: Studio) -> AccessGuard:
    """Return the application of an open project.

    Args:
        studio: The project and the secrets of this start.
    """
    pages = [
        module.ROUTES for module in (data, schema, protect, budget, run, report, release, history)
    ]
    routes = [
        make_page("/", _open_next_step),
        make_action("/language", _choose_language, _open_next_step),
        Route("/static/{name}", _send_static, methods=["GET"]),
        *(route for routes in pages for route in routes),
    ]
    app = Starlette(routes=[Mount(studio.session.base, routes=routes)])
    app.state.studio = studio
    return AccessGuard(app, studio.session, studio.upload_bytes)


def _open_next_step(visit: Visit) -> Response:
    return visit.redirect(find_next_step(visit.project))


def _choose_language(visit: Visit) -> Response:
    import dataclasses

    from tabpe.studio.messages import list_languages

    chosen = visit.form.get("language")
    known = chosen if chosen in list_languages() else None
    visit.project.change(lambda state: dataclasses.replace(state, language=known))
    here = visit.form.get("here", "")
    return visit.redirect(here if here.isalpha() else "")


def _send_static(request: Request) -> Response:
    name = request.path_params["name"]
    if name == _REPORT_STYLE:
        return Response(read_asset("style.css"), media_type="text/css")
    if name not in _STATIC:
        return PlainTextResponse("There is no such file.\n", 404)
    content = resources.files("tabpe.studio").joinpath("static", name).read_bytes()
    return Response(content, media_type=_STATIC[name])
