"""Settings of the whole suite."""

import os

from hypothesis import HealthCheck, settings

# A machine that does other work as well is slow, not wrong.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("patient", patient)
settings.register_profile("ci", patient, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "patient")
