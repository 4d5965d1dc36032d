"""A real PostgreSQL server for the tests: started once, in a folder that goes with it."""

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

USER, DATABASE = "ann", "ward"
_PATIENCE = 600  # seconds, where a machine does other work as well
_PORTS = 20  # tried in turn: another process may take one between its choice and its use
_PLAIN = ("-A", "scram-sha-256", "--no-sync", "-E", "UTF8", "--locale=C")


@dataclass(frozen=True)
class Server:
    """A server that is running.

    Args:
        port: Where it listens, on this machine alone.
        password: The password of its only user, which nothing may ever show.
        folder: Where its log is.
    """

    port: int
    password: str
    folder: Path

    @property
    def address(self):
        """The address with the password in it."""
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{DATABASE}"

    @property
    def open_address(self):
        """The address without the password."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{DATABASE}"

    @contextlib.contextmanager
    def connected(self, database=DATABASE):
        """A connection of ADBC."""
        from adbc_driver_postgresql import dbapi

        address = self.address.removesuffix(DATABASE) + database
        with dbapi.connect(address, autocommit=True) as connection:
            yield connection

    def run(self, *statements):
        """Run statements, each by itself."""
        self.run_in(DATABASE, *statements)

    def run_in(self, database, *statements):
        """Run statements in a database, each by itself."""
        with self.connected(database) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def log(self):
        """What the server wrote down."""
        return (self.folder / "log").read_text()

    def load(self, name, table):
        """Put a table in the place of the one of that name."""
        with self.connected() as connection, connection.cursor() as cursor:
            cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
            cursor.adbc_ingest(name, table, mode="create")


def binaries():
    """The folder with the programs of the newest version, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    here = shutil.which("postgres")
    return found[-1].parent if found else None if here is None else Path(here).resolve().parent


@contextlib.contextmanager
def running(programs):
    """Run a server until the end of the block, or of this process, however that ends."""
    folder = Path(tempfile.mkdtemp(prefix="tabpe-postgres-"))
    password, word = secrets.token_hex(12), folder / "word"
    word.write_text(password)
    as_user = _unprivileged(folder, word)
    try:
        subprocess.run(
            [programs / "initdb", "-D", folder / "data", "-U", USER, f"--pwfile={word}", *_PLAIN],
            check=True,
            capture_output=True,
            **as_user,
        )
        word.unlink()
        with contextlib.ExitStack() as stack:
            for _ in range(_PORTS):
                server = Server(_free_port(), password, folder)
                process = stack.enter_context(_started(programs, server, as_user))
                if _is_ready(server, process):
                    break
            server.run_in("postgres", f"CREATE DATABASE {DATABASE}")
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _started(programs, server, as_user):
    settings = ["listen_addresses=127.0.0.1", f"port={server.port}", "fsync=off"]
    settings += ["unix_socket_directories=", "shared_buffers=32MB", "log_statement=all"]
    options = [word for setting in settings for word in ("-c", setting)]
    with (server.folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*_ends_with_us(), programs / "postgres", "-D", server.folder / "data", *options],
            stdout=log,
            stderr=log,
            **as_user,
        )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(_PATIENCE)


def _is_ready(server, process):
    """Wait until the server is ready. False if it ended, as it does where its port is taken."""
    ends = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < ends:
        if "ready to accept connections" in server.log():
            return True
        time.sleep(0.05)
    return False


def _unprivileged(*paths):
    """Say as whom to run: the server refuses to be run by root."""
    if os.geteuid():
        return {}
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            user = pwd.getpwnam(name)
            break
    for path in paths:
        os.chown(path, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "cwd": "/"}


def _ends_with_us():
    """Have the system stop the server when this process is gone, where it can."""
    return ("setpriv", "--pdeathsig", "INT") if shutil.which("setpriv") else ()


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]
