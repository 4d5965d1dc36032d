"""A standalone cluster of Spark on this machine, and programs that run on it."""

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

SUPPORT = Path(__file__).parent
DEPLOY = SUPPORT.parents[1] / "deploy"
PATIENCE = 600  # seconds, where a machine does other work as well
PORTS = 20  # tried in turn: another process may take one between its choice and its use
# Few threads and a quick start: the tables of tests are small.
LEAN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
DEFAULTS = f"""
spark.executor.memory 512m
spark.executor.extraJavaOptions {LEAN}
spark.driver.extraJavaOptions {LEAN}
spark.driver.host 127.0.0.1
"""


@contextlib.contextmanager
def standalone(folder):
    """Yield the address of a cluster of two workers, whose files are in a folder."""
    (folder / "conf").mkdir(parents=True)
    (folder / "conf" / "spark-defaults.conf").write_text(DEFAULTS)
    for number in range(PORTS):
        port, logs = _free_port(), folder / f"cluster-{number}"
        command = [DEPLOY / "spark-standalone.sh", "2", str(port), logs]
        with subprocess.Popen(
            command, env=environment(folder), stdout=subprocess.DEVNULL
        ) as cluster:
            try:
                if _has_workers(logs, cluster):
                    yield f"spark://127.0.0.1:{port}"
                    return
            finally:
                cluster.terminate()


def environment(folder):
    """What programs on the cluster, and those who start them, find in their environment."""
    theirs = {name: value for name, value in os.environ.items() if "SPARK" not in name}
    return theirs | {
        "PYTHON": sys.executable,
        "PYTHONPATH": str(SUPPORT),
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_DAEMON_JAVA_OPTS": LEAN,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TMPDIR": str(folder),
        "MEMORY": "512m",
    }


def _free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def _has_workers(folder, cluster):
    """Wait until both workers are there. False if the port of the master was taken."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and cluster.poll() is None:
        logs = {path.stem: path.read_text() for path in folder.glob("*.log")}
        if sum("Successfully registered with master" in log for log in logs.values()) == 2:
            return True
        if "'sparkMaster' could not bind" in logs.get("master", ""):
            return False
        time.sleep(0.1)
    raise AssertionError("the cluster did not start")
