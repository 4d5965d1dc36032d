"""Holds a run in a round until a file appears: Python imports a module of this name.

Its folder is on `PYTHONPATH` of a process (`studios.make_hold`), and so of what that starts. So a
run is in its middle for certain, on a fast machine and on a slow one. The round before is on the
disk and shown by then: this handler comes before the one that writes rounds down.
"""

import logging
import os
import time
from pathlib import Path

ROUND = "round %d of %d"
GO, HELD = Path(os.environ["TABPE_TEST_HOLD"]), int(os.environ["TABPE_TEST_HELD"])


class RunHolder(logging.Handler):
    """Waits when the round is logged."""

    def emit(self, record):
        """Wait for the file."""
        if record.msg == ROUND and record.args[0] == HELD:
            while not GO.exists():
                time.sleep(0.01)


logging.getLogger("tabpe").addHandler(RunHolder(logging.INFO))
