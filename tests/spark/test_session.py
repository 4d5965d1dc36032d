"""Sessions that are not there: what is missing is named, at once."""

import os
import sys

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
