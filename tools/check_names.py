"""Print the shares of one-word and participle names, and fail on class names used twice.

    python tools/check_names.py [--list one-word | participles]

A function's name should begin with a verb and say of what: `draw_rows`, not `drawn`. Properties,
overloads and special methods do not count. Two classes of one name confuse readers and searches.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOTS = (Path("src"), Path("lab/src"))
LIMITS = {"one-word": 0.35, "participles": 0.05}
# Past participles without the usual ending.
IRREGULAR = frozenset(
    [
        "begun",
        "bent",
        "estimated",
        "bound",
        "broken",
        "brought",
        "built",
        "chosen",
        "cut",
        "dealt",
        "drawn",
        "fallen",
        "forgotten",
        "found",
        "predicted",
        "fed",
        "given",
        "gone",
        "grown",
        "held",
        "hidden",
        "kept",
        "known",
        "laid",
        "led",
        "left",
        "lent",
        "lost",
        "made",
        "meant",
        "met",
        "mistaken",
        "paid",
        "risen",
        "said",
        "seen",
        "sent",
        "shaken",
        "shown",
        "shut",
        "sold",
        "sorted",
        "spent",
        "split",
        "spread",
        "stolen",
        "taken",
        "taught",
        "thought",
        "thrown",
        "told",
        "torn",
        "understood",
        "woken",
        "worn",
        "woven",
        "written",
    ]
)
# Words that end in "ed" and are no participles.
NO_PARTICIPLES = frozenset(
    ["bed", "embed", "exceed", "feed", "need", "proceed", "red", "seed", "speed", "succeed"]
)
NO_METHODS = frozenset({"property", "cached_property", "overload", "setter"})


class Function(NamedTuple):
    """A function: where it is, and its name."""

    path: Path
    line: int
    name: str

    @property
    def words(self) -> list[str]:
        """The words of its name."""
        return self.name.strip("_").split("_")

    @property
    def is_one_word(self) -> bool:
        """Whether the name is a single word."""
        return len(self.words) == 1

    @property
    def is_participle(self) -> bool:
        """Whether the name begins with a past participle."""
        first = self.words[0]
        regular = first.endswith("ed") and first not in NO_PARTICIPLES
        return regular or first in IRREGULAR


def list_modules() -> Iterator[Path]:
    """Return the modules of product and laboratory."""
    for root in ROOTS:
        yield from sorted(root.rglob("*.py"))


def find_functions(path: Path) -> Iterator[Function]:
    """Return the functions and methods of a module that the rules are about."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = {
            getattr(word, "attr", getattr(word, "id", "")) for word in node.decorator_list
        }
        if not node.name.startswith("__") and not decorators & NO_METHODS:
            yield Function(path, node.lineno, node.name)


def find_duplicated_classes() -> dict[str, list[Path]]:
    """Return the names that more than one class has, with their modules."""
    places: defaultdict[str, list[Path]] = defaultdict(list)
    for path in list_modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def main() -> int:
    """Print the figures; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--list", choices=sorted(LIMITS), dest="listed")
    listed = parser.parse_args().listed
    functions = [one for path in list_modules() for one in find_functions(path)]
    found = {
        "one-word": [one for one in functions if one.is_one_word],
        "participles": [one for one in functions if one.is_participle],
    }
    if listed:
        for name, times in Counter(one.name for one in found[listed]).most_common():
            print(f"{times:4} {name}")
    failed = False
    for kind, those in found.items():
        share = len(those) / len(functions)
        failed |= share > LIMITS[kind]
        print(f"{kind} function names: {share:.1%} of {len(functions)} (limit {LIMITS[kind]:.0%})")
    twice = find_duplicated_classes()
    for name, paths in sorted(twice.items()):
        print(f"class {name} is in {', '.join(map(str, paths))}")
    print(f"class names used twice: {len(twice)} (limit 0)")
    return int(failed or bool(twice))


if __name__ == "__main__":
    sys.exit(main())
