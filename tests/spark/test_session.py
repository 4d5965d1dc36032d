"""Sessions that are not there: what is missing is named, at once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from facade import FAST, SCHEMA, of_people
from tabpe import TabPE
from tabpe.errors import ParameterError, TabpeError


def test_without_spark_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(ParameterError, match=r"pip install 'tabpe\[spark\]'"):
        TabPE(**(FAST | {"engine": "spark"})).fit(of_people(50), SCHEMA)


@pytest.mark.parametrize("address", ["spark://127.0.0.1:9", "spark://nowhere", "spark://x:y"])
def test_an_address_without_a_cluster_is_refused_at_once(installed, monkeypatch, address):
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.setattr("pyspark.SparkContext._gateway", None)
    with pytest.raises(TabpeError, match=f"address='{address}': no session of Spark could be"):
        TabPE(**(FAST | {"engine": "spark", "address": address})).fit(of_people(50), SCHEMA)
    assert "PYSPARK_PYTHON" not in os.environ or os.environ["PYSPARK_PYTHON"] == sys.executable


def test_without_java_it_is_asked_for(installed, monkeypatch):
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(TabpeError, match="Spark needs Java 17"):
        TabPE(**(FAST | {"engine": "spark"})).fit(of_people(50), SCHEMA)


STARTED = """
import json, os
from sockets import is_loopback, listening
from tabpe.backends.spark import join_context
from tabpe._utils.resources import Resources

context, leave = join_context(Resources.from_options(n_jobs=1))
assert context.parallelize(range(5), 2).map(lambda one: one + 1).sum() == 15
found = listening(os.getpid())
settings = dict(context.getConf().getAll())
leave()
print(json.dumps({
    "count": len(found),
    "reachable": [str(one) for one in found if not is_loopback(one[0])],
    "authenticate": settings.get("spark.authenticate"),
    "ui": settings.get("spark.ui.enabled"),
}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sockets are told by Linux")
def test_a_session_that_is_started_here_listens_on_the_loopback_address_alone(installed):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "support")}
    ended = subprocess.run(
        [sys.executable, "-c", STARTED],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["count"] > 0
    assert told["reachable"] == []
    assert (told["authenticate"], told["ui"]) == ("true", "false")
