"""The YAML of schema files: plain words as in YAML 1.2, no key twice, short lists on one line.

Apart from `files`, which imports it where a file is YAML: the package costs time to import.
"""

from __future__ import annotations

import re
from typing import Any

import yaml


def load(text: str) -> Any:
    """Return the plain values of a YAML text.

    Raises:
        ValueError: If it is no such text; the message says where.

    Example:
        >>> load("label: no")
        {'label': 'no'}
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader, see below)
    except yaml.YAMLError as error:
        raise ValueError(_reason(error)) from None


def dump(plain: Any) -> str:
    """Return plain values as YAML.

    Example:
        >>> print(dump({"values": ["a", "no"]}), end="")
        values: [a, 'no']
    """
    text: str = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def _reason(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f"line {mark.line + 1}: {getattr(error, 'problem', 'not YAML')}"
    return str(error)


class _Loader(yaml.SafeLoader):
    """A safe loader with the plain words of YAML 1.2 and no duplicate keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"key {key!r} is given twice", node.start_mark
                )
        return super().construct_mapping(node, deep=deep)


class _Dumper(yaml.SafeDumper):
    """A safe dumper that writes a short list on one line."""


def _represent_list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.SequenceNode:
    flat = all(isinstance(item, (str, int, float)) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=flat)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Escape the line breaks of Unicode: a YAML reader would take them for spaces."""
    style = '"' if re.search("[\\x85\\u2028\\u2029]", text) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PLAIN_WORDS = {
    "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    "int": (r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    "float": (
        r"^[-+]?(?:(?:0|[1-9][0-9]*)?\.[0-9]+|(?:0|[1-9][0-9]*)\.?)(?:[eE][-+]?[0-9]+)?$",
        "-+0123456789.",
    ),
    "null": (r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
}
# The dumper keeps the words of YAML 1.1 too, so that it quotes what either would misread.
_Loader.yaml_implicit_resolvers = {}
for _class in (_Loader, _Dumper):
    for _name, (_pattern, _first) in _PLAIN_WORDS.items():
        _class.add_implicit_resolver(
            f"tag:yaml.org,2002:{_name}", re.compile(_pattern), list(_first)
        )
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(str, _represent_text)
