"""`AccessGuard`: who may use the studio, and what a browser may do with its pages.

The attackers are pages of the web that are open in the same browser, other users of this machine,
and other programs that listen on loopback:

- The server listens on loopback, and answers only to its own address in the header `Host`. So a
  name on the web that is made to point here (DNS rebinding) reaches nothing.
- Every address begins with a random folder. The first request brings a token that works once, and
  gets a cookie instead, `HttpOnly` and `SameSite=Strict`. Browsers send cookies to every port of a
  host, so the cookie has that folder as its path: a server of another user on another port is
  never sent it.
- A request that changes something needs the header `Origin` of this server and a token of the
  session in the form (CSRF).
- The content security policy allows no script and no style but the files of the studio, and no
  address but this server. Nothing is cached, and no other page learns an address.
- Requests are limited in size.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

FORM_BYTES = 4 * 2**20
UPLOAD_BYTES = 512 * 2**20
CSRF_FIELD, CSRF_HEADER, TOKEN = "csrf", "X-CSRF-Token", "token"
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ]
)
# A page that tabpe wrote, in a frame without an origin: its own policy, by hashes, applies too.
FRAME_POLICY = "; ".join(
    [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "script-src 'unsafe-inline'",
        "img-src data:",
        "frame-ancestors 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "sandbox allow-scripts",
    ]
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    # Not no-referrer: with that, a browser hides the origin of a form.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_SAFE = ("GET", "HEAD")


@dataclass(eq=False)
class Session:
    """The secrets of one start of the server. None of them is on the disk.

    Args:
        port: The port that it listens on.
        base: The random folder that every address begins with.
        token: What the first request brings; it works once.
        cookie: The value of the cookie.
        csrf: What forms send back.
        token_used: Whether the token has been used.
    """

    port: int
    base: str = field(default_factory=lambda: "/" + secrets.token_urlsafe(16))
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    token_used: bool = False

    @property
    def hosts(self) -> tuple[str, ...]:
        """What the header `Host` may be."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    @property
    def cookie_name(self) -> str:
        """The name of the cookie: another port has another one."""
        return f"tabpe_studio_{self.port}"

    @property
    def address(self) -> str:
        """The address to open first."""
        return f"http://127.0.0.1:{self.port}{self.base}/?{TOKEN}={self.token}"

    def accepts_csrf(self, given: object) -> bool:
        """Whether a form was made by a page of this session."""
        return isinstance(given, str) and hmac.compare_digest(given.encode(), self.csrf.encode())

    def accepts_cookie(self, given: str | None) -> bool:
        """Whether a cookie is that of this session."""
        return given is not None and hmac.compare_digest(given.encode(), self.cookie.encode())

    def use_token(self, given: str) -> bool:
        """Whether a token is right and has not been used; from then on it is."""
        right = hmac.compare_digest(given.encode(), self.token.encode())
        if not right or self.token_used:
            return False
        self.token_used = True
        return True


class TooLargeError(Exception):
    """The body of a request is larger than what is allowed."""


class AccessGuard:
    """Refuses requests that are not of the user, and sets the headers of all responses.

    Args:
        app: The application behind it.
        session: The secrets.
        upload_bytes: The largest upload.
    """

    def __init__(
        self, app: Application, session: Session, upload_bytes: int = UPLOAD_BYTES
    ) -> None:
        self._app = app
        self._session = session
        self._upload_bytes = upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        request = Request(scope)
        response = self._check_request(request)
        guarded = _add_headers(send)
        if response is not None:
            await response(scope, receive, guarded)
            return
        most = self._upload_bytes if request.url.path.endswith("/data/upload") else FORM_BYTES
        declared = request.headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > most:
            await _refuse(413, f"The request is larger than {most:,} bytes.")(
                scope, receive, guarded
            )
            return
        await self._app(scope, _limit_body(receive, most), guarded)

    def _check_request(self, request: Request) -> Response | None:
        """Return why a request is refused, or where it is sent; None if it may pass."""
        refused = self._check_origin(request)
        if refused is not None:
            return refused
        session = self._session
        known = session.accepts_cookie(request.cookies.get(session.cookie_name))
        given = request.query_params.get(TOKEN)
        if given is None:
            return None if known else _refuse(403, "This browser has not been let in. " + _ASK)
        if known:
            return RedirectResponse(session.base + "/", 303)
        if request.method == "GET" and session.use_token(given):
            return self._let_in()
        return _refuse(403, "This address was used before. " + _ASK)

    def _check_origin(self, request: Request) -> Response | None:
        """Return why a request is refused, by where it goes and where it comes from."""
        session, host = self._session, request.headers.get("host")
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        path = request.url.path
        if host not in session.hosts:
            return _refuse(400, "This server answers to its own address only.")
        if path != session.base and not path.startswith(session.base + "/"):
            return _refuse(404, "There is nothing here. " + _ASK)
        if origin not in (None, f"http://{host}") or site not in (None, "none", "same-origin"):
            return _refuse(403, "The request comes from another page.")
        if request.method not in _SAFE and (origin is None or request.method != "POST"):
            return _refuse(403, "The request does not say which page it comes from.")
        return None

    def _let_in(self) -> Response:
        response = RedirectResponse(self._session.base + "/", 303)
        response.set_cookie(
            self._session.cookie_name,
            self._session.cookie,
            path=self._session.base,
            httponly=True,
            samesite="strict",
        )
        return response


_ASK = "Open the address that 'tabpe studio' printed; start it again for a new one."


def _refuse(code: int, why: str) -> Response:
    return PlainTextResponse(why + "\n", code)


def _limit_body(receive: Receive, most: int) -> Receive:
    """Return a function that receives at most so many bytes."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLargeError
        return message

    return limited


def _add_headers(send: Send) -> Send:
    """Return a function that sends a response with the headers of all responses."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            given = {name.lower() for name, _ in message.get("headers", [])}
            added = [
                (name.encode(), value.encode())
                for name, value in HEADERS.items()
                if name.lower().encode() not in given
            ]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return guarded
