"""Holds a run in its second round until a file appears: Python imports a module of this name.

Its folder is on `PYTHONPATH` of a process (`studios.make_hold`), and so of what that starts. So a
run is in its middle for certain, on a fast machine and on a slow one. The first round is on the
disk and shown by then: this handler comes before the one that writes rounds down.
"""

import logging
import os
import time
from pathlib import Path

ROUND, HELD = "round %d of %d", 2
GO = Path(os.environ["TABPE_TEST_HOLD"])


class RunHolder(logging.Handler):
    """Waits when the second round is logged."""

    def emit(self, record):
        """Wait for the file."""
        if record.msg == ROUND and record.args[0] == HELD:
            while not GO.exists():
                time.sleep(0.01)


logging.getLogger("tabpe").addHandler(RunHolder(logging.INFO))
