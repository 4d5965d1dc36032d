"""What the searches for leaks share."""

import pytest

from scene import Scene


@pytest.fixture
def scene(request, tmp_path, monkeypatch, capfd):
    """A place to run `tabpe` in, where nothing that it says or leaves behind goes unnoticed."""
    return Scene(tmp_path, monkeypatch, capfd, getattr(request, "param", "best"))
