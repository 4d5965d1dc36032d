"""The experiment on the page about experiments can be run."""

import re
from pathlib import Path

from tabpe_lab.exhibits import read_suite
from tabpe_lab.runner import make_plan

ROOT = Path(__file__).parents[3]


def test_the_file_on_the_page_is_one(tmp_path):
    text = (ROOT / "docs" / "how-to" / "bench.md").read_text()
    shown = "".join(re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL))
    file = tmp_path / "small.yaml"
    file.write_text(shown)
    assert len(make_plan(read_suite(file), tmp_path).todo) == 39
    assert len(make_plan(read_suite(file, "quick"), tmp_path).todo) == 5
