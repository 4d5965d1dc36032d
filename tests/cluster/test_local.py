"""A cluster of Ray that is started for a run: nobody else reaches it, and nothing of it stays."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
PATIENCE = 300

STARTED = """
import json, os, sys
from sockets import is_loopback, listening
from tabpe.backends import ray as ray_cluster
from tabpe._utils.resources import Resources

before = dict(os.environ)
if "imported" in sys.argv:
    import ray
ray = ray_cluster._import_ray()
end = ray_cluster._connect_cluster(ray, Resources.from_options(n_jobs=1))
assert ray.get(ray.remote(lambda: 5).remote()) == 5
found = listening(os.getpid())
mode = os.environ.get("RAY_AUTH_MODE")
end()
after = {name: value for name, value in os.environ.items() if "AUTH" in name or "OSX" in name}
print(json.dumps({
    "count": len(found),
    "reachable": [str(one) for one in found if not is_loopback(one[0])],
    "mode": mode,
    "after": after,
}))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sockets are told by Linux")
@pytest.mark.parametrize("when", ["imported", "not yet"])
def test_it_listens_on_the_loopback_address_alone_and_asks_for_a_token(tmp_path, when):
    if find_spec("ray") is None and not os.environ.get("TABPE_EXPECT_RAY"):
        pytest.skip("Ray is not installed")
    environment = {
        name: value for name, value in os.environ.items() if not re.search("RAY|SPARK", name)
    }
    environment |= {"PYTHONPATH": str(SUPPORT), "HOME": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-c", STARTED, when],
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["count"] > 0
    assert told["reachable"] == []
    assert told["after"] == {}
    assert not (tmp_path / ".ray").exists()
    import ray

    if hasattr(ray._raylet, "AuthenticationTokenLoader"):
        assert told["mode"] == "token"
