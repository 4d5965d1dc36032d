"""The reference page of options is what the declarations say."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_up_to_date():
    tool = runpy.run_path(str(ROOT / "tools" / "write_options.py"))
    assert tool["PAGE"].read_text() == tool["render_page"](), "run python tools/write_options.py"
