"""What the page on public reports shows works as it stands there."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "public-report.md"


def test_the_python_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    known = {}
    exec(code, known)
    measures = known["measures"]
    assert 1.0 < measures.total_epsilon < 1.25
    assert measures.certificate.private
    assert len(known["worst"].names) == 1
    assert "tabpe certificate" in capsys.readouterr().out
