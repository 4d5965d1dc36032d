"""A session of Spark to count in: one that is there already, or one that is started for a run.

What is started here ends with the run, and says nothing in the terminal: Spark and the JVM would
greet the user on its standard error, and Spark would write the words of errors there. On this
machine alone it listens on the loopback address, and answers nobody without its secret.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from tabpe.errors import ParameterError, TabpeError
from tabpe.io.spark_tables import hushed, imported
from tabpe.resources import Resources

_PATIENCE = 10.0  # seconds
PYTHON = "PYSPARK_PYTHON"
# Set by spark-submit, which has started Java and knows the cluster.
SUBMITTED = "PYSPARK_GATEWAY_PORT"
# No pages and logs that count rows, and nothing on disks that can be read without the run.
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.eventLog.enabled": "false",
    "spark.io.encryption.enabled": "true",
}


# On this machine alone, nobody else is answered.
_LOCAL_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.authenticate": "true",
}


def joined_context(resources: Resources) -> tuple[Any, Callable[[], None]]:
    """Return the context of a session to count in, and what undoes that.

    A process has one context, which all its sessions share.

    Args:
        resources: Where the cluster is, and how many cores to use.
    """
    kind = imported("pyspark").SparkContext
    found = kind._active_spark_context  # noqa: SLF001
    if found is None and SUBMITTED in os.environ:
        found = kind.getOrCreate()
        return found, found.stop
    if found is None:
        return _started(kind, resources)
    if resources.address not in (None, found.master):
        raise ParameterError(
            f"address={resources.address!r}: a session of Spark is active already, at "
            f"{found.master!r}: leave the address out, or stop the session."
        )
    return found, lambda: None


def _started(kind: Any, resources: Resources) -> tuple[Any, Callable[[], None]]:
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        raise TabpeError("engine='spark': Spark needs Java 17 or newer: install it.")
    given = os.environ.get(PYTHON)
    os.environ[PYTHON] = given or sys.executable
    problem = None
    try:
        context = _connected(kind, resources)
    except Exception as error:
        problem = type(error).__name__
    finally:
        _restore(given)
    if problem is not None:
        _end_of_java(kind)
        raise TabpeError(
            f"address={resources.address!r}: no session of Spark could be started there "
            f"({problem}): expected 'local[2]', 'spark://HOST:PORT' or another master that runs "
            f"the same version of Spark."
        )

    def leave() -> None:
        context.stop()
        _end_of_java(kind)

    return context, leave


def _connected(kind: Any, resources: Resources) -> Any:
    _knock(resources.address or "")
    settings = imported("pyspark").SparkConf().setAppName("tabpe").setAll(_SETTINGS.items())
    master = resources.address or f"local[{resources.jobs}]"
    settings.setMaster(master)
    if master.startswith("local"):
        # Each run has a secret of its own, which Spark makes up.
        settings.setAll(_LOCAL_SETTINGS.items())
    if resources.workers is not None:
        settings.set("spark.cores.max", str(resources.workers))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    gateway = imported("pyspark.java_gateway").launch_gateway(settings, quiet)
    with hushed():
        return kind(conf=settings, gateway=gateway)


def _knock(address: str) -> None:
    """Fail if nobody listens at a standalone master: Spark would try for a minute."""
    host, _, port = address.removeprefix("spark://").rpartition(":")
    if address.startswith("spark://") and "," not in host:  # which would name several
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _end_of_java(kind: Any) -> None:
    """End the JVM as well: a session that the user starts later is to have one that speaks."""
    gateway = kind._gateway  # noqa: SLF001
    if gateway is None:
        return
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    kind._gateway = kind._jvm = None  # noqa: SLF001


def _restore(python: str | None) -> None:
    if python is None:
        del os.environ[PYTHON]
    else:
        os.environ[PYTHON] = python
