"""Notebooks of `docs/notebooks`: as pages of the site, and executed anew.

python tools/site/notebook_pages.py   # runs all of them, and keeps what they print and draw
"""

from __future__ import annotations

import base64
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
MOST_SECONDS = 600


def render_notebook(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return a notebook as Markdown, and its pictures by their file names."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    parts, pictures = [], {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            text, picture = _render_output(output, f"{path.stem}-{len(pictures) + 1}.png")
            parts.append(text)
            pictures.update(picture)
    parts.append(
        f"---\n\nThis page is [a notebook]({path.name}): run it with Jupyter, "
        "or in an editor that opens notebooks."
    )
    return "\n\n".join(parts) + "\n", pictures


def _render_output(output: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    data = output.get("data", {})
    if "image/png" in data:
        picture = base64.b64decode("".join(data["image/png"]))
        return f"![Plot of the cell above]({name})", {name: picture}
    if "text/html" in data:
        table = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        table = re.sub(r"<(table|tr)[^>]*>", r"<\1>", table)  # the theme styles plain tables
        lines = [line.strip() for line in table.splitlines() if line.strip()]
        return "\n".join(lines), {}
    text = "".join(data.get("text/plain", output.get("text", ""))).rstrip()
    return f"```{{ .text .output }}\n{text}\n```", {}


def execute_notebook(path: Path, folder: Path) -> Any:
    """Return a notebook as it is after all of its cells have run in a folder.

    Raises:
        nbclient.exceptions.CellExecutionError: If a cell fails.
    """
    import nbclient
    import nbformat
    from traitlets.config import Config

    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as sockets:  # and no port that another process may take
        manager = {"transport": "ipc", "ip": f"{sockets}/kernel"}
        client = nbclient.NotebookClient(
            notebook,
            timeout=MOST_SECONDS,
            startup_timeout=MOST_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": str(folder)}},
            record_timing=False,
            config=Config({"KernelManager": manager}),
        )
        return client.execute()


def save_notebook(notebook: Any, path: Path) -> None:
    """Write a notebook without what differs from machine to machine."""
    import nbformat

    notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
    for cell in notebook.cells:
        cell.metadata = {}
    nbformat.write(notebook, path)


def main() -> None:
    """Run all notebooks, or those that are named."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            save_notebook(execute_notebook(path, Path(folder)), path)


if __name__ == "__main__":
    main()
