"""`serve_project`: the server on loopback, and the browser that is opened."""

from __future__ import annotations

import contextlib
import socket
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tabpe.errors import ParameterError

if TYPE_CHECKING:
    from tabpe.studio.access import AccessGuard

LOOPBACK = "127.0.0.1"


def serve_project(
    folder: Path,
    *,
    data: Sequence[Path] = (),
    ledger: Path | None = None,
    port: int = 0,
    upload_megabytes: int = 512,
    open_browser: bool = True,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve a project until the process is interrupted.

    Args:
        folder: The folder of the project.
        data: Folders that tables may be opened in, beside that of the project.
        ledger: The ledger; None for that of the user.
        port: The port; 0 for a free one.
        upload_megabytes: The largest upload.
        open_browser: Whether to open the address in the browser.
        announce: Prints the address with its token.
    """
    import uvicorn

    from tabpe.studio.access import Session
    from tabpe.studio.app import create_app
    from tabpe.studio.paths import AllowedFolders
    from tabpe.studio.project import Project
    from tabpe.studio.web import Studio

    with Project(folder) as project, _listen(port) as listener:
        folders = AllowedFolders.from_paths([*data, project.folder])
        session = Session(listener.getsockname()[1])
        studio = Studio(project, folders, session, ledger, upload_megabytes * 2**20)
        app: AccessGuard = create_app(studio)
        announce(session.address)
        if open_browser:
            webbrowser.open(session.address)
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="critical",  # the text of an error may quote a cell; the page says its type
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=2,
            ws="none",
        )
        with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C is how a studio ends
            uvicorn.Server(config).run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    """Return a socket that listens on loopback, and nowhere else."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen(64)
    except OSError as error:
        listener.close()
        raise ParameterError(
            f"--port {port}: can not be used ({error.strerror}): leave it out for a free one."
        ) from None
    return listener
