"""A small Ray cluster on this machine, for all tests in this folder."""

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"


def pytest_collection_modifyitems(items):
    """One worker of xdist runs all of these, so that one cluster is started."""
    for item in items:
        if Path(__file__).parent in Path(item.fspath).parents:
            item.add_marker(pytest.mark.xdist_group("ray"))


@pytest.fixture(scope="session")
def ray():
    """Ray, connected to a cluster of eight cores that need not be there, without a dashboard."""
    if find_spec("ray") is None and not os.environ.get("TABPE_EXPECT_RAY"):
        pytest.skip("Ray is not installed")
    # Workers find what tests ask them. A socket has a short path, or none.
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SUPPORT))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_AUTH_MODE", "disabled")
        import ray

        ray.init(
            address="local",
            num_cpus=8,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
            object_store_memory=100 * 2**20,
            _temp_dir=folder,
        )
        ray.session_folder = Path(ray._private.worker._global_node.get_session_dir_path())
        yield ray
        ray.shutdown()
    shutil.rmtree(folder, ignore_errors=True)
