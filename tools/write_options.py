"""Write docs/reference/options.md: the options of `TabPE` and their flags, as they are declared.

python tools/write_options.py
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tabpe import TabPE
from tabpe.synthesizers.options import DeclaredOption, list_options

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "options.md"
INTRO = """\
# Options of `TabPE` and `tabpe synth`

`python tools/write_options.py` writes this page from the declarations in
`src/tabpe/synthesizers/tabpe.py`, which the constructor and the command line follow too.
`tabpe synth --help` has the options that only the command has, such as `--output`.
Settings of a strategy, for `preset`, are on [their page](../how-to/strategies.md).

```python
from tabpe import TabPE

model = TabPE(epsilon=1.0, label="readmitted", random_state=0)
```
"""


def render_page() -> str:
    """Return the page: a section for each group, in the order of its first option."""
    declared = list_options(TabPE)
    groups = list(dict.fromkeys(one.option.group for one in declared))
    ordered = sorted(declared, key=lambda one: groups.index(one.option.group))
    parts = [INTRO]
    for group, options in groupby(ordered, key=lambda one: one.option.group):
        parts += [f"## {group}\n", *(line for one in options for line in _render_option(one))]
    return "\n".join(parts)


def _render_option(one: DeclaredOption) -> Iterator[str]:
    kind = re.sub(r"[a-z_]+\.", "", inspect.formatannotation(one.type))
    flags = ", ".join(f"`{flag}`" for flag in one.option.flags)
    yield f"### `{one.name}`\n"
    yield f"{f'{flags}; ' if flags else ''}`{kind}`, default `{one.plain_default!r}`\n"
    yield f"{textwrap.fill(one.option.help, 99, break_on_hyphens=False)}\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(render_page())
