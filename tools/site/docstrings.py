"""Docstrings as the site needs them: mkdocstrings names this module as an extension of griffe."""

from __future__ import annotations

import inspect
import re
from typing import Any

import griffe

from tabpe import TabPE

EXAMPLE = re.compile(r"^( *)Example:$", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Show examples as code, and the options of `TabPE`, which are declared beside its fields."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Name the section of examples as griffe knows it."""
        if obj.docstring:
            obj.docstring.value = EXAMPLE.sub(r"\1Examples:", obj.docstring.value)

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        """Take the docstring of `TabPE` from the class itself, which completes it at import."""
        if cls.path == "tabpe.synthesizers.tabpe.TabPE" and cls.docstring:
            cls.docstring.value = EXAMPLE.sub(r"\1Examples:", inspect.getdoc(TabPE) or "")
