"""What the documentation site adds to the pages of `docs`: generated pages, and links to the code.

- The reference of the command line, of schema files and of certificates is generated from the code.
- `CHANGELOG.md` and `CONTRIBUTING.md` appear under Project, notebooks under Tutorials.
- A link from a page to a file that is not on the site becomes the path of that file. The build
  fails if there is no such file.

mkdocs calls the functions `on_*`; `mkdocs.yml` names this module.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Callable
from pathlib import Path

import notebook_pages
import reference_pages
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
# Pages that are files elsewhere in the project: where they appear on the site.
ROOT_PAGES = {"CHANGELOG.md": "project/changelog.md", "CONTRIBUTING.md": "project/contributing.md"}
GENERATED: dict[str, Callable[[], str]] = {
    "reference/cli.md": reference_pages.render_commands,
    "reference/schema.md": reference_pages.render_schema_fields,
    "reference/certificate.md": reference_pages.render_certificate,
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
BLOCK = re.compile(r"(^ *```.*?^ *```$)", re.DOTALL | re.MULTILINE)
logger = get_plugin_logger("tabpe")


@event_priority(100)
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that do not lie in `docs`."""
    for source, uri in ROOT_PAGES.items():
        content = relocate_links((ROOT / source).read_text(encoding="utf-8"), uri)
        files.append(File.generated(config, uri, content=content))
    for uri, render in GENERATED.items():
        files.append(File.generated(config, uri, content=render()))
    for path in sorted(Path(config.docs_dir).glob("notebooks/*.ipynb")):
        uri = path.relative_to(config.docs_dir).as_posix()
        page, pictures = notebook_pages.render_notebook(path)
        files.append(File.generated(config, str(Path(uri).with_suffix(".md")), content=page))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"notebooks/{name}", content=picture))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace links to files that are not on the site."""
    folder = posixpath.dirname(page.file.src_uri)

    def replace(found: re.Match[str]) -> str:
        mark, text, link = found.groups()
        path = link.partition("#")[0]
        if not path or "://" in link or link.startswith("mailto:"):
            return found[0]
        uri = posixpath.normpath(posixpath.join(folder, path))
        if files.get_file_from_path(uri) is not None:
            return found[0]
        target = Path(os.path.normpath(Path(config.docs_dir) / uri))
        if not target.is_relative_to(ROOT) or not target.exists():
            return found[0]  # mkdocs tells where it is
        if mark:
            logger.warning("%s: the picture %s is not in docs", page.file.src_uri, link)
        return describe_file(text, target.relative_to(ROOT).as_posix())

    return replace_links(markdown, replace)


def relocate_links(text: str, uri: str) -> str:
    """Return a page of the root of the project with links as they are at its place on the site.

    Example:
        >>> relocate_links("[map](docs/architecture.md), [us](CONTRIBUTING.md)", "project/a.md")
        '[map](../architecture.md), [us](contributing.md)'
    """
    folder = posixpath.dirname(uri)

    def replace(found: re.Match[str]) -> str:
        mark, words, link = found.groups()
        if "://" in link or link.startswith(("#", "mailto:")):
            return found[0]
        path, _, anchor = link.partition("#")
        place = ROOT_PAGES.get(path) or posixpath.relpath(path, "docs")
        moved = posixpath.relpath(place, folder) + (f"#{anchor}" if anchor else "")
        return f"{mark}[{words}]({moved})"

    return replace_links(text, replace)


def describe_file(text: str, path: str) -> str:
    """Return the words of a link with the path of a file of the project.

    Example:
        >>> describe_file("the code", "src/a.py"), describe_file("`a.py`", "src/a.py")
        ('the code (`src/a.py`)', '`src/a.py`')
    """
    plain = text.strip("`/")
    return f"`{path}`" if path.rstrip("/").endswith(plain) else f"{text} (`{path}`)"


def replace_links(text: str, replace: Callable[[re.Match[str]], str]) -> str:
    r"""Return Markdown with each link replaced, except in blocks of code.

    Example:
        >>> replace_links("[a](b)\n```\n[a](b)\n```", lambda found: found[2])
        'a\n```\n[a](b)\n```'
    """
    parts = BLOCK.split(text)
    return "".join(part if BLOCK.fullmatch(part) else LINK.sub(replace, part) for part in parts)
