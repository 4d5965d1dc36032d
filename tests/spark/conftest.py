"""A session of Spark on this machine, for all tests in this folder."""

import logging
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from standalone import LEAN

SUPPORT = Path(__file__).parents[1] / "support"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": LEAN,
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",  # or else nothing would be found in it
}


def pytest_collection_modifyitems(items):
    """One worker of xdist runs all of these, so that one session is started."""
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def installed():
    """Spark and Java, or else there is nothing to test."""
    there = find_spec("pyspark") is not None and shutil.which("java") is not None
    if not there and not os.environ.get("TABPE_EXPECT_SPARK"):
        pytest.skip("Spark or Java is not installed")


@pytest.fixture(scope="session")
def spark(installed, tmp_path_factory):
    """A session whose workers find what tests ask them, and whose events are written down."""
    folder = tmp_path_factory.mktemp("spark")
    (folder / "events").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SUPPORT))
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_DIRS", str(folder / "local"))
        from pyspark.sql import SparkSession

        logging.getLogger("py4j").setLevel(logging.WARNING)
        builder = SparkSession.builder.master("local[2]")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        builder = builder.config("spark.eventLog.dir", (folder / "events").as_uri())
        session = builder.config("spark.sql.warehouse.dir", str(folder / "tables")).getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        session.folder = folder
        yield session
        session.stop()
