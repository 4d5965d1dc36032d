"""Settings of the whole suite."""

import os

import pytest
from hypothesis import HealthCheck, settings

# A machine that does other work as well is slow, not wrong.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("patient", patient)
settings.register_profile("ci", patient, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "patient")

# Files whose tests share nothing: they are spread over the processes one by one.
SPREAD = ("browser", "cli", "crash", "docs", "invariants", "properties", "statistical")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep the tests of a file in one process: what they share is then made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0]
            return nodeid if file.startswith(tuple(f"tests/{name}/" for name in SPREAD)) else file

    return ByFile(config, log)
