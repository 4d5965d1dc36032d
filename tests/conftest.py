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
