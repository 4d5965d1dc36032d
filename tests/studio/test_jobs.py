"""Jobs: they outlive whoever started them, and how they ended is known."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pyarrow.csv
import pytest

from studios import make_hold, serve_folder, stop_jobs
from tabpe.errors import OutputError
from tabpe.io.example import hospital_schema, hospital_table
from tabpe.studio import project
from tabpe.studio.jobs import ENDED, LOCK, PROCESS, Job, JobStatus

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")
QUICK, WRONG = ["--version"], ["verify", "nothing.json"]
LONG = ["synth", "x.csv", "--schema", "x.yaml", "--epsilon", "1", "--delta", "1e-6"]
LONG += ["--quiet", "--output", "y.csv"]
PATIENCE = 600


@pytest.fixture
def job(tmp_path, monkeypatch):
    """A job that is stopped at the end, whatever happened. Runs stay in their second round."""
    for name, value in make_hold(tmp_path / "go").items():
        monkeypatch.setenv(name, value)
    pyarrow.csv.write_csv(hospital_table(60), tmp_path / "x.csv")
    hospital_schema().save(tmp_path / "x.yaml")
    yield Job(tmp_path / "job")
    stop_jobs(tmp_path)


def wait_for_round(job):
    """Wait until its run is in its middle."""
    until = time.monotonic() + PATIENCE
    while job.status().round < 1 and time.monotonic() < until:
        assert job.is_alive(), job.status().words
        time.sleep(0.01)


@pytest.fixture
def lookers(job):
    """Pages that ask, all at once and without a break, whether the job is alive."""
    answers, enough = [], threading.Event()

    def look():
        while not enough.is_set():
            answers.append(job.is_alive())
            time.sleep(0)

    threads = [threading.Thread(target=look) for _ in range(8)]
    for one in threads:
        one.start()
    yield answers
    enough.set()
    for one in threads:
        one.join()


def test_commands_run_one_after_the_other_until_one_fails(job, tmp_path):
    job.start([QUICK, WRONG, QUICK], tmp_path)
    found = job.wait(PATIENCE)
    assert (found.state, found.code) == ("failed", 2)
    assert found.words.count("tabpe ") == 1
    job.start([QUICK], tmp_path)
    assert job.wait(PATIENCE).state == "done"


def test_one_job_runs_once_however_often_it_is_started(job, tmp_path):
    job.start([LONG], tmp_path)
    first = json.loads((job.folder / PROCESS).read_text())
    threads = [threading.Thread(target=job.start, args=([QUICK], tmp_path)) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert job.is_alive()
    assert json.loads((job.folder / PROCESS).read_text()) == first
    job.remove()
    assert job.folder.exists()  # something runs in it


def test_a_job_starts_whoever_looks_at_it(job, tmp_path, lookers):
    job.folder.mkdir()
    (job.folder / LOCK).touch()
    for _ in range(4):
        job.start([QUICK], tmp_path)
        found = job.wait(PATIENCE)
        assert (found.state, found.words.count("tabpe ")) == ("done", 1)


def test_those_who_look_do_not_see_each_other(job):
    import fcntl

    job.folder.mkdir()
    with (job.folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # in the middle of a look
        assert not job.is_alive()
        fcntl.flock(file, fcntl.LOCK_EX)
        assert job.is_alive()


def test_where_locks_are_not_inherited_the_process_takes_its_own(job, tmp_path, monkeypatch):
    """As on Windows: whoever starts it lets go, and the process waits for that."""
    monkeypatch.setattr(project, "fcntl", None)
    for _ in range(2):
        job.start([QUICK], tmp_path)
        assert job.wait(PATIENCE).state == "done"
    job.start([LONG], tmp_path)
    first = (job.folder / PROCESS).read_text()
    job.start([QUICK], tmp_path)
    assert (job.folder / PROCESS).read_text() == first
    assert job.is_alive()
    wait_for_round(job)
    job.cancel()
    assert job.status().state == "cancelled"


def test_a_process_that_comes_late_does_nothing_again(job, tmp_path):
    job.start([QUICK], tmp_path)
    job.wait(PATIENCE)
    before = (job.folder / ENDED).read_text()
    words = [sys.executable, "-m", "tabpe.studio.worker", str(job.folder)]
    subprocess.run(words, check=True, timeout=PATIENCE)
    assert (job.folder / ENDED).read_text() == before


def test_a_job_is_alive_from_its_start_to_its_end(job, tmp_path):
    """Another tab that looks while the process starts does not call it interrupted."""
    seen, enough = [], threading.Event()

    def look():
        while not enough.is_set():
            seen.append(job.status().state)

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(4):
        job.start([QUICK], tmp_path)
        job.wait(PATIENCE)
    enough.set()
    thread.join()
    assert set(seen) <= {"new", "running", "done"}


def test_a_job_that_only_starts_is_cancelled_too(job, tmp_path):
    starter = threading.Thread(target=job.start, args=([LONG], tmp_path))
    starter.start()
    while not job.is_alive():
        time.sleep(0.001)
    job.cancel()
    starter.join()
    assert job.status().state == "cancelled"


def test_no_process_is_left_behind(tmp_path):
    """Neither a zombie while the server goes on, nor a warning when it ends."""
    program = f"""if True:
        import os, time
        from pathlib import Path
        from tabpe.studio.jobs import PROCESS, Job
        import json
        job = Job(Path({str(tmp_path / "job")!r}))
        job.start([["--version"]], Path({str(tmp_path)!r}))
        process = json.loads((job.folder / PROCESS).read_text())["pid"]
        assert job.wait({PATIENCE}).state == "done"
        until = time.monotonic() + {PATIENCE}
        while time.monotonic() < until:
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                break
            time.sleep(0.01)
        else:
            raise SystemExit("a zombie")
        job.start([["--version"]], Path({str(tmp_path)!r}))
        """
    words = [sys.executable, "-W", "error", "-X", "dev", "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_killed_job_is_known_and_a_cancelled_one_too(job, tmp_path):
    job.start([LONG], tmp_path)
    wait_for_round(job)
    os.kill(json.loads((job.folder / PROCESS).read_text())["pid"], signal.SIGKILL)
    assert job.wait(PATIENCE).state == "killed"
    assert not (job.folder / ENDED).exists()
    job.resume()
    assert job.status().state == "running"
    wait_for_round(job)
    job.cancel()
    assert job.status().state == "cancelled"


def test_the_number_of_a_process_that_is_gone_is_not_killed(job, tmp_path):
    job.folder.mkdir()
    (job.folder / LOCK).touch()
    (job.folder / PROCESS).write_text(json.dumps({"pid": os.getpid()}))
    job.cancel()  # nothing holds the lock: so nobody is interrupted
    assert job.status() == JobStatus("new")


def test_nothing_can_go_on_that_was_not_started(job):
    with pytest.raises(OutputError, match="no job"):
        job.resume()


def test_time_left_follows_from_rounds():
    assert JobStatus("running", 2, 8, 10.0).seconds_left == 30
    assert JobStatus("running", 0, 0, 10.0).seconds_left is None


def test_a_server_that_is_stopped_says_nothing_of_a_request_that_goes_on(tmp_path):
    """The text of an error in a traceback may quote a cell. `serve_folder` looks at the log."""
    import socket
    from urllib.parse import urlsplit

    with serve_folder(tmp_path / "ward", home=tmp_path / "home") as server:
        host, port = urlsplit(server.address).netloc.split(":")
        with socket.create_connection((host, int(port))) as asking:
            path = server.address.partition(server.address.split("/")[2])[2]
            asking.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            head = asking.recv(10_000).decode()
            cookie = re.search(r"set-cookie: ([^;]+)", head)[1]
            lines = [
                f"POST {path.partition('?')[0]}data/upload HTTP/1.1",
                f"Host: {host}:{port}",
                f"Origin: http://{host}:{port}",
                f"Cookie: {cookie}",
                "Content-Type: multipart/form-data; boundary=x",
                "Content-Length: 1000000",
            ]
            asking.sendall(("\r\n".join(lines) + "\r\n\r\n--x\r\n").encode())
            time.sleep(0.5)
            server.process.send_signal(signal.SIGINT)
            assert server.process.wait(PATIENCE) == 0


def test_the_server_listens_on_loopback_alone_and_asks_for_nothing(tmp_path, monkeypatch):
    import socket

    from sockets import is_loopback, listening

    with socket.create_server(("127.0.0.1", 0)) as proxy:
        proxy.settimeout(0.2)
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        with serve_folder(tmp_path / "ward", home=tmp_path / "home") as server:
            addresses = listening(server.process.pid)
            assert addresses
            assert all(is_loopback(one[0]) for one in addresses)
            time.sleep(0.5)
        with pytest.raises(TimeoutError):
            proxy.accept()
