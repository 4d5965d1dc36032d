"""Settings of the whole suite, and the server that several parts of it share."""

import os

import pytest
from hypothesis import HealthCheck, settings

import postgres as postgres_server

# A machine that does other work as well is slow, not wrong.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("patient", patient)
settings.register_profile("ci", patient, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "patient")

# Folders whose tests share nothing: they are spread over the processes one by one. And those whose
# files share a cluster, which takes longer to start than they take.
SPREAD = ("browser", "cli", "crash", "docs", "invariants", "properties", "statistical")
TOGETHER = ("cluster", "spark")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep the tests of a file in one process: what they share is then made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            folder = file.partition("/")[2].partition("/")[0] if file.startswith("tests/") else ""
            if folder in TOGETHER:
                return folder
            return nodeid if folder in SPREAD else file

    return ByFile(config, log)


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server; tests of it belong to the xdist group of that name."""
    programs = postgres_server.binaries()
    if programs is None:
        if os.environ.get("TABPE_EXPECT_POSTGRES"):
            pytest.fail("no PostgreSQL: apt-get install postgresql")
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    with postgres_server.running(programs) as server:
        yield server
