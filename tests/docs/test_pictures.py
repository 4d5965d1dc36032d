"""The pictures of the pages show what the report looks like now."""

import importlib.util
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("screenshots", ROOT / "docs" / "screenshots.py")


def load_screenshots():
    module = importlib.util.module_from_spec(SPEC)
    SPEC.loader.exec_module(module)
    return module


def test_pictures_are_as_new_as_the_templates():
    screenshots = load_screenshots()
    taken = json.loads(screenshots.SOURCES.read_text())
    assert screenshots.digest_sources() == taken, "take them anew: make pictures"


def test_every_picture_of_the_readme_is_there():
    named = re.findall(r"docs/pictures/[\w/-]+\.(?:png|svg)", (ROOT / "README.md").read_text())
    assert named
    assert all((ROOT / name).is_file() for name in named)
