"""Settings of the whole suite, and the server that several parts of it share."""

import os

import pytest
from hypothesis import HealthCheck, settings

import postgres as postgres_server
import repeatable

# A machine that does other work as well is slow, not wrong. And examples are the same in every run,
# so that none fails by chance; with TABPE_FUZZ they are others.
patient = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="TABPE_FUZZ" not in os.environ,
    print_blob=True,
)
settings.register_profile("patient", patient)
settings.load_profile("patient")
repeatable.install()

# Folders whose tests share nothing: they are spread over the processes one by one. And those whose
# files share a cluster, which takes longer to start than they take.
SPREAD = ("browser", "cli", "crash", "docs", "goldens", "invariants", "properties", "statistical")
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Let a test have the same noise and seeds in every run."""
    with repeatable.noise_of(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Let a fixture have noise of its own, whichever test is the first to need it."""
    place = getattr(request, "param_index", 0)
    with repeatable.noise_of(f"{fixturedef.baseid}/::{fixturedef.argname}[{place}]"):
        return (yield)


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
