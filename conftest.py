"""Settings of the whole suite, and the browser and the server that several parts of it share."""

import os
import shutil
from importlib.util import find_spec

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
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


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
def browser():
    """A real Chromium without a network; one, because a process drives only one at a time."""
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if found is None:
        _not_tested(f"none of {', '.join(CHROMIUM)} is installed")
    if find_spec("playwright") is None:
        _not_tested("playwright is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Patient: a machine that does other work as well is slow, not wrong.
        started = driver.chromium.launch(
            executable_path=found, args=list(ARGUMENTS), timeout=600_000
        )
        yield started
        started.close()


def _not_tested(why):
    say = pytest.fail if os.environ.get("TABPE_EXPECT_BROWSER") == "1" else pytest.skip
    say(f"NOT TESTED in a browser: {why}")


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
