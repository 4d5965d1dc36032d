"""Holds a run in a round, and hears what is connected to: Python imports a module of this name.

Its folder is on `PYTHONPATH` of a process (`studios.make_hold`), and so of what that starts.

A run that waits for a file to appear is in its middle for certain, on a fast machine and on a slow
one. The round before is on the disk and shown by then: this handler comes before the one that
writes rounds down. Connections are heard whether or not somebody obeys the settings of a proxy.
"""

import logging
import os
import sys
import time
from pathlib import Path

ROUND, JOB = "round %d of %d", "job"  # the folder of a run's job is the first argument
HELD = int(os.environ.get("TABPE_TEST_HELD", "2"))
CALLS = (
    "socket.connect",
    "socket.sendto",
    "socket.sendmsg",
    "socket.gethostbyname",
    "socket.getaddrinfo",
)


class RunHolder(logging.Handler):
    """Waits when the round is logged, until a file is there."""

    def __init__(self, go):
        super().__init__(logging.INFO)
        self._go = Path(go)

    def emit(self, record):
        """Wait for the file. The simulations of a plan have rounds as well, and do not wait."""
        is_run = Path(sys.argv[1]).name == JOB
        if is_run and record.msg == ROUND and record.args[0] == HELD:
            while not self._go.exists():
                time.sleep(0.01)


def note_call(event, arguments):
    """Write down whom a process connects to, or asks for an address."""
    if event in CALLS:
        with Path(os.environ["TABPE_TEST_CALLS"]).open("a", encoding="utf-8") as file:
            file.write(f"{event} {arguments} by {sys.argv[:3]}\n")


if "TABPE_TEST_HOLD" in os.environ:
    logging.getLogger("tabpe").addHandler(RunHolder(os.environ["TABPE_TEST_HOLD"]))
if "TABPE_TEST_CALLS" in os.environ:
    sys.addaudithook(note_call)
