"""Run a reader in a process that may take two gigabytes beyond what its imports take."""

import os
import subprocess
import sys
from dataclasses import dataclass

# Far more than a refusal takes, on a machine that is busy with something else.
PATIENCE = 300

_READER = """
import os, resource, sys
import pyarrow as pa, pyarrow.compute, pyarrow.csv, pyarrow.dataset, pyarrow.parquet
from tabpe.errors import TabpeError
from tabpe.io import open_source

# Threads and their stacks are there before the limit is, and as many on every machine.
pa.set_cpu_count(2)
pa.set_io_thread_count(2)
pa.array(range(10)).cast(pa.string())
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + {most}
resource.setrlimit(resource.RLIMIT_AS, (most, most))

def opened(path):
    {opening}

rows = largest = 0
try:
    for batch in open_source(opened(sys.argv[1])).batches():
        rows += batch.table.num_rows
        largest = max(largest, batch.table.nbytes)
except TabpeError as error:
    print("refused", error, flush=True)
else:
    print("read", rows, largest, flush=True)
# A thread of Arrow that still reads ahead may find no memory while the process ends, and abort it.
os._exit(0)
"""


@dataclass(frozen=True)
class Outcome:
    """How a reader ended: `code` is of the process, `said` what it printed, `failed` its errors."""

    code: int
    said: str
    failed: str

    @property
    def is_refused(self):
        """Whether the table was refused in our own words."""
        return self.code == 0 and self.said.startswith("refused ")

    @property
    def rows(self):
        """How many rows were read, if all were."""
        assert self.code == 0, self
        word, *counts = self.said.split()
        assert word == "read", self
        return int(counts[0])


def read_bounded(path, opening="return path", gigabytes=2):
    """Read a table batch by batch under the limit; say how that ended."""
    script = _READER.format(opening=opening, most=int(gigabytes * 2**30))
    # Other pools reserve gigabytes of addresses that they do not use.
    environment = {
        **os.environ,
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
    }
    ended = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env=environment,
        check=False,
    )
    return Outcome(ended.returncode, ended.stdout, ended.stderr)
