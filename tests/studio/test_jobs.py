"""Jobs: they outlive whoever started them, and how they ended is known."""

import json
import os
import signal
import threading
import time

import pytest

from studios import serve_folder, stop_jobs
from tabpe.errors import OutputError
from tabpe.studio.jobs import ENDED, LOCK, PROCESS, Job, JobStatus

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of POSIX")
QUICK, WRONG = ["--version"], ["verify", "nothing.json"]
LONG = ["audit", "--quiet"]


@pytest.fixture
def job(tmp_path):
    """A job that is stopped at the end, whatever happened."""
    yield Job(tmp_path / "job")
    stop_jobs(tmp_path)


def test_commands_run_one_after_the_other_until_one_fails(job, tmp_path):
    job.start([QUICK, WRONG, QUICK], tmp_path)
    found = job.wait(300)
    assert (found.state, found.code) == ("failed", 2)
    assert found.words.count("tabpe ") == 1
    job.start([QUICK], tmp_path)
    assert job.wait(300).state == "done"


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


def test_a_killed_job_is_known_and_a_cancelled_one_too(job, tmp_path):
    job.start([LONG], tmp_path)
    os.kill(json.loads((job.folder / PROCESS).read_text())["pid"], signal.SIGKILL)
    assert job.wait(300).state == "killed"
    assert not (job.folder / ENDED).exists()
    job.resume()
    assert job.status().state == "running"
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
