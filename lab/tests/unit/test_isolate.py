"""A process within limits: how it ends is told, and nothing of it is left."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from tabpe_lab.experiment import RunLimits
from tabpe_lab.runner import Interrupted, run_process

PROC = Path("/proc")
needs_proc = pytest.mark.skipif(not PROC.is_dir(), reason="the system does not tell")
ENOUGH = RunLimits(seconds=3600, gigabytes=64)
TELL = """
import json, os, sys, time
def tell(event, **content):
    print(json.dumps({"event": event, **content}), flush=True)
given = json.loads(sys.stdin.readline())
"""


def ran(code, limits=ENOUGH, **options):
    return run_process({"a": 1}, limits, command=[sys.executable, "-c", TELL + code], **options)


def test_what_a_process_tells_comes_back():
    ending = ran(
        'tell("loaded", rows=5); tell("made", got=given); tell("done", metrics={"auc": 1})'
    )
    assert (ending.status, ending.reason) == ("done", "")
    assert ending.reported == {"rows": 5, "got": {"a": 1}, "metrics": {"auc": 1}}


def test_what_takes_too_long_did_not_fit():
    ending = ran('tell("loaded", rows=5); time.sleep(3600)', RunLimits(seconds=0.2, gigabytes=64))
    assert (ending.status, ending.reason) == ("did not fit", "time: over 0.2 s")
    assert ending.reported == {"rows": 5}


def test_loading_and_measuring_do_not_count_as_time_of_the_method():
    code = """
time.sleep(1.5)
print('{"event": "loaded"}\\n{"event": "made"}', flush=True)
time.sleep(1.5)
tell("done")
"""
    assert ran(code, RunLimits(seconds=1, gigabytes=64)).status == "done"


HOLD = "import time; held = bytes([1]) * 400_000_000; time.sleep(3600)"
IN_A_CHILD = f"import subprocess; subprocess.run([sys.executable, '-c', {HOLD!r}])"


@needs_proc
@pytest.mark.parametrize("hold", [HOLD, IN_A_CHILD])
def test_what_takes_too_much_memory_did_not_fit_be_it_in_a_child(hold):
    ending = ran(f'tell("loaded"); {hold}', RunLimits(seconds=3600, gigabytes=0.25))
    assert (ending.status, ending.reason) == ("did not fit", "memory: over 0.25 GB")
    assert ending.peak_megabytes > 250


def test_the_most_memory_that_a_process_tells_counts_if_it_is_more_than_was_seen():
    ending = ran('tell("loaded"); tell("made", peak_megabytes=12345.6); tell("done")')
    assert (ending.peak_megabytes, ending.reported) == (12345.6, {})


@pytest.mark.parametrize(("fits", "status"), [(True, "failed"), (False, "did not fit")])
def test_what_says_itself_that_it_ends_is_believed(fits, status):
    ending = ran(f'tell("loaded"); tell("ended", fits={fits}, reason="too many cells")')
    assert (ending.status, ending.reason) == (status, "too many cells")


def test_what_ends_without_a_word_failed_with_its_last_line_of_errors():
    ending = ran("raise SystemExit('no luck')")
    assert (ending.status, ending.reason) == ("failed", "ended with exit code 1: no luck")


def test_what_the_system_ends_failed_with_the_signal():
    ending = ran("os.abort()")
    assert ending.status == "failed"
    assert "SIGABRT" in ending.reason


def is_there(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = (PROC / str(process) / "stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def gone(process):
    """Wait for the end of a process that was killed: the system takes a moment."""
    while is_there(process):
        time.sleep(0.01)
    return True


@needs_proc
def test_children_end_with_the_process():
    start = "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])"
    code = f"import subprocess; {start}; tell('loaded', child=child.pid); tell('done')"
    assert gone(ran(code).reported["child"])


@needs_proc
def test_a_process_is_ended_when_nobody_wants_it_any_more(tmp_path):
    stop, note = threading.Event(), tmp_path / "process"

    def stop_when_it_runs():
        while not (note.exists() and note.read_text()):
            time.sleep(0.01)
        stop.set()

    waiting = threading.Thread(target=stop_when_it_runs)
    waiting.start()
    with pytest.raises(Interrupted):
        ran(f"open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(3600)", stop=stop)
    waiting.join()
    assert gone(int(note.read_text()))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system has no such thing")
def test_a_process_uses_the_cores_that_it_is_given():
    core = min(os.sched_getaffinity(0))
    code = (
        'tell("done", cores=list(os.sched_getaffinity(0)), threads=os.environ["OMP_NUM_THREADS"])'
    )
    told = ran(code, cores=[core]).reported
    assert told == {"cores": [core], "threads": "1"}
