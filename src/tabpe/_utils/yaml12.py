"""YAML of schema files: plain words as in YAML 1.2, no duplicate keys, short lists on one line.

A separate module, imported only for YAML files, since the yaml package is slow to import.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from tabpe.errors import shown

MOST_ENTRIES = 10**6


def load(text: str) -> Any:
    """Return the plain values of a YAML text.

    Raises:
        ValueError: If the text is not valid; the message gives the line.

    Example:
        >>> load("label: no")
        {'label': 'no'}
    """
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 (a SafeLoader, see below)
    except yaml.YAMLError as error:
        raise ValueError(_describe_error(error)) from None


def dump(plain: Any) -> str:
    """Return plain values as YAML.

    Example:
        >>> print(dump({"values": ["a", "no", "04109"]}), end="")
        values: [a, 'no', '04109']
    """
    text: str = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def _describe_error(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return f"line {mark.line + 1}: {getattr(error, 'problem', 'not YAML')}"
    return str(error)


def _make_yaml_error(problem: str, mark: Any) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, problem, mark)


class _Loader(yaml.SafeLoader):
    """A safe loader with the plain words of YAML 1.2, without aliases, tags and duplicate keys.

    Aliases can expand one line to a value of any size; tags name types that a schema does not have.
    """

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._entries = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise _make_yaml_error("an alias: write the value out", event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise _make_yaml_error(
                "a tag: write text in quotes and the rest plainly", event.start_mark
            )
        self._entries += 1
        if self._entries > MOST_ENTRIES:
            problem = f"more than {MOST_ENTRIES:,} entries: write JSON instead"
            raise _make_yaml_error(problem, event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _make_yaml_error("a key that is not a word", key.start_mark)
            if key.value in seen:
                raise _make_yaml_error(f"key {shown(key.value)} is given twice", node.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


class _Dumper(yaml.SafeDumper):
    """A safe dumper that writes a short list on one line."""


def _represent_list(dumper: yaml.SafeDumper, items: list[Any]) -> yaml.SequenceNode:
    flat = all(isinstance(item, (str, int, float)) for item in items)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=flat)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Escape Unicode line breaks, which a reader would turn into spaces, and quote all digits.

    04109 is text to one version of YAML and a number to another.
    """
    digits = "'" if re.fullmatch(r"[-+]?[0-9][0-9_.,]*", text) else None
    style = '"' if re.search("[\\x85\\u2028\\u2029]", text) else digits
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
# The dumper keeps the words of YAML 1.1 as well, to quote what either version would misread.
_Loader.yaml_implicit_resolvers = {}
for _class in (_Loader, _Dumper):
    for _name, (_pattern, _first) in _PLAIN_WORDS.items():
        _class.add_implicit_resolver(
            f"tag:yaml.org,2002:{_name}", re.compile(_pattern), list(_first)
        )
_Dumper.add_representer(list, _represent_list)
_Dumper.add_representer(str, _represent_text)
