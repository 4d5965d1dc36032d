"""A studio in this process, and its server in a process of its own."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from starlette.testclient import TestClient

from tabpe.studio.access import Session
from tabpe.studio.app import create_app
from tabpe.studio.jobs import COMMANDS, ENDED, LOCK, Job
from tabpe.studio.paths import AllowedFolders
from tabpe.studio.project import Project
from tabpe.studio.steps import get_report_job, get_run_job
from tabpe.studio.web import Studio

PORT = 8000
HOST = f"127.0.0.1:{PORT}"
ORIGIN = {"Origin": f"http://{HOST}"}
CHECKLIST = dict.fromkeys(("purpose_fits", "schema_public", "report_read", "budget_right"), "1")
PATIENCE = 600
HOLDING = Path(__file__).parent / "holding"


@dataclass
class Desk:
    """A custodian at the pages of a studio, without a browser."""

    folder: Path
    upload_bytes: int = 2**20
    studio: Studio = field(init=False)
    client: TestClient = field(init=False)
    heard: list = field(default_factory=list)

    def __post_init__(self):
        project = Project(self.folder / "project")
        folders = AllowedFolders.from_paths([self.folder, project.folder])
        self.studio = Studio(project, folders, Session(PORT), None, self.upload_bytes)
        self.client = self.open_client()

    @property
    def state(self):
        """What is decided so far."""
        return self.studio.project.state

    @property
    def session(self):
        """The secrets of the server."""
        return self.studio.session

    def open_client(self):
        """A browser that has not been let in."""
        app = create_app(self.studio)
        return TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)

    def enter(self):
        """Open the address that the server prints."""
        answer = self.client.get(self.session.address)
        assert answer.status_code == 303
        return self

    def get(self, path, **headers):
        """Open a page."""
        return self._hear(self.client.get(f"{self.session.base}/{path}", headers=headers))

    def post(self, path, files=None, headers=ORIGIN, **fields):
        """Send a form, with the token and the version of the present page."""
        usual = {"csrf": self.session.csrf, "version": str(self.state.version)}
        address = f"{self.session.base}/{path}"
        sent = self.client.post(address, data=usual | fields, files=files, headers=headers)
        return self._hear(sent)

    def _hear(self, answer):
        self.heard.append(answer)
        return answer

    def wait_for_run(self):
        """Wait until the last run has ended."""
        return get_run_job(self.studio.project, self.state.run.number).wait(PATIENCE)


def read_alert(answer):
    """What a page says went wrong."""
    found = re.search(r'<div class="alert" role="alert">(.*?)</div>', answer.text, re.DOTALL)
    return "" if found is None else re.sub(r"\s+", " ", re.sub("<[^>]+>", "", found[1])).strip()


def fake_report(desk):
    """Put a report in its place: what is in one is tested elsewhere, and it takes its time."""
    folder = desk.studio.project.get_run_folder(1)
    (folder / "report.html").write_text("<!doctype html><title>Report</title><p>fine</p>")
    job = get_report_job(desk.studio.project, 1)
    job.folder.mkdir()
    (job.folder / COMMANDS).write_text('{"commands": [], "folder": "."}')
    (job.folder / ENDED).write_text('{"code": 0, "seconds": 1}')
    (job.folder / LOCK).touch()
    frame = desk.get("report/page")
    assert "sandbox" in frame.headers["content-security-policy"]
    assert "iframe" in desk.get("report").text


@dataclass
class Server:
    """`tabpe studio` in a process of its own."""

    process: subprocess.Popen
    address: str

    def kill(self):
        """Kill it without a chance to tidy up."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)


def make_hold(go):
    """Return the environment in which runs stay in their second round until the file is there."""
    path = os.pathsep.join([str(HOLDING), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path, "TABPE_TEST_HOLD": str(go), "TABPE_TEST_HELD": "2"}


# Chromium asks it about the forms of any page, whatever the page says: not the studio's request.
AUTOFILL = "CONNECT content-autofill.googleapis.com:443 HTTP/1.1"


class Proxy:
    """A proxy for everything that is not on loopback, and a file with all connections.

    Args:
        calls: The file.
    """

    def __init__(self, calls):
        self.calls, self._lines = calls, []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self):
        with contextlib.suppress(OSError):
            while True:
                caller, _ = self._socket.accept()
                with caller:
                    self._lines.append(caller.recv(1000).partition(b"\r\n")[0].decode())

    def make_environment(self):
        """Return the environment of processes that it hears."""
        names = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        path = os.pathsep.join([str(HOLDING), *filter(None, [os.environ.get("PYTHONPATH")])])
        settings = {"PYTHONPATH": path, "TABPE_TEST_CALLS": str(self.calls), "no_proxy": ""}
        return dict.fromkeys(names, self.address) | settings

    def list_requests(self):
        """Return what it was asked for, but for what the browser asks of itself."""
        return [line for line in self._lines if line != AUTOFILL]

    def list_calls(self):
        """Return the connections of processes, a line each."""
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def close(self):
        """Hear no more."""
        self._socket.close()


@contextlib.contextmanager
def serve_folder(folder, *words, home, hold=None, proxy=None):
    """Serve a project folder.

    Args:
        folder: The folder of the project.
        words: More words of the command.
        home: The folder of the user's data.
        hold: The file that runs wait for in their second round; None if they do not wait.
        proxy: A proxy that hears whatever leaves the machine; None for none.
    """
    command = [sys.executable, "-m", "tabpe", "studio", folder, "--no-browser", *words]
    environment = os.environ | {"XDG_DATA_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    if hold is not None:
        environment |= make_hold(hold)
    if proxy is not None:
        environment |= proxy.make_environment()
    log = Path(folder).with_suffix(".log")
    with log.open("ab") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            stdout=subprocess.PIPE,
            stderr=output,
            env=environment,
            cwd=Path(folder).parent,
            text=True,
        )
    try:
        address = ""
        for line in process.stdout:
            found = re.search(r"http://\S+", line)
            if found:
                address = found[0]
                break
        assert address, log.read_text()
        yield Server(process, address)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(60)
        if process.poll() is None:
            process.kill()
        process.stdout.close()
        process.wait(60)
    assert log.read_text() == ""  # it has nothing to say, not even at its end


def stop_jobs(folder):
    """Stop whatever still runs in a project folder."""
    for lock in Path(folder).rglob(LOCK):
        job = Job(lock.parent)
        if job.is_alive():
            job.cancel()
    until = time.monotonic() + 60
    while time.monotonic() < until and any(
        Job(lock.parent).is_alive() for lock in Path(folder).rglob(LOCK)
    ):
        time.sleep(0.05)
