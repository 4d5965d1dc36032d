"""Measure the prose of the pages, and list what the rules of style do not allow.

    python tools/check_prose.py            # words and reading ease of every page
    python tools/check_prose.py --list     # words, lines and phrases that break a rule

The rules are those of `tests/docs/test_prose.py`. Words are counted as `wc -w` counts them: tables,
code and links too. Reading ease is Flesch's, of running text alone.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_WORDS = 1200
MOST_WORDS_README = 900
LONGEST_LINE = 99
SHORT = 3  # letters of a word that has one syllable

# Words that are ours and not the field's, by what to write instead.
BANNED = {
    "guarantee": r"\bpromis(?:e|es|ed|ing)\b",
    "privacy spend": r"\bbill(?:s|ed|ing)?\b",
    "estimate privately, cost": r"\bb(?:uy|uys|uying|ought)\b|\bpurchas\w*\b",
    "sampling error": r"\bslack\b",
    "booleans": r"\btruths\b",
    "predicted, released": r"\btold\b|\bforet(?:ells?|old)\b",
    "residual": r"\bsurprise[sd]?\b",
    "packages, modules": r"\brooms? of the code\b|\bthe (?:house|door)\b|\brooms of\b",
    "backend, session, interface, ...": r"\b(?:keepers?|crews?|desks?|terrains?)\b"
    r"|\bthe (?:face|sight|ground|guide) of\b|\bhave the face\b",
    "generated per class": r"\bevolved? (?:apart|together)\b",
    "candidates, variation": r"\bmade[ -]up\b|\brows (?:that )?are moved\b|\bmoved rows\b",
    "contributes 1": r"\b(?:row|user|person)s? (?:counts|weighs) (?:one|once|for|in|more|as)\b",
    "except with probability": r"\bbut for a chance\b|\bbut for an? \d",
    "1-way marginals, 2-way marginals": r"\btables of (?:single )?(?:columns|pairs)\b",
}
# Where a banned word is the right one: the whole phrase, as it stands there.
ALLOWED = (
    "SmartNoise: tables of columns",  # the YAML of another tool
    "no surprise",  # of a test: what is likely anyway
    "repeated rows are moved",  # copies of a row, by a step of noise
)
FENCE = re.compile(r"^\s*```")


def list_pages() -> list[Path]:
    """Return the pages that people read: the README, and those of `docs` that are not generated."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if "reference" not in page.relative_to(ROOT).parts]


def list_other_texts() -> list[tuple[str, str]]:
    """Return what people read elsewhere, with its place: it has the same words, at any length.

    These are the reference, the files of the root, of the forge and of `deploy`, the descriptions
    of experiments, and the cells of notebooks.
    """
    patterns = (
        "*.md",
        ".github/**/*.md",
        ".github/**/*.yml",
        "deploy/*.md",
        "lab/experiments/**/*.md",
    )
    pages = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    pages += sorted((ROOT / "docs" / "reference").rglob("*.md"))
    texts = [(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in pages]
    for path in sorted((ROOT / "docs").rglob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
        texts.append((str(path.relative_to(ROOT)), text))
    return texts


def count_words(text: str) -> int:
    """Return the number of words, as `wc -w` counts them."""
    return len(text.split())


def iterate_plain_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines outside of fenced code, with their numbers."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield number, line


def find_long_lines(text: str) -> list[int]:
    """Return the numbers of lines above the limit that could have been broken.

    Rows of a table, lines of code and a line that is one single link or image are exempt.
    """
    single = re.compile(r"^\s*(?:[-*] |\d+\. )?!?\[[^\]]*\]\([^)]*\)(?:\{.*\})?[.,:;]?$")
    return [
        number
        for number, line in iterate_plain_lines(text)
        if len(line) > LONGEST_LINE and not line.lstrip().startswith("|") and not single.match(line)
    ]


def find_banned(text: str) -> list[tuple[str, str]]:
    """Return banned phrases with what to write instead."""
    joined = " ".join(text.split())
    for phrase in ALLOWED:
        joined = joined.replace(phrase, "")
    return [
        (found.group(), instead)
        for instead, pattern in BANNED.items()
        for found in re.finditer(pattern, joined, flags=re.IGNORECASE)
    ]


def iterate_strings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module: docstrings, messages, help and texts of certificates."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def list_sentences(text: str) -> list[str]:
    """Return the sentences of running text: no code, tables, headings, links or marks."""
    lines = [
        "" if re.match(r"\s*(?:#|\||<|!\[)", line) else re.sub(r"^\s*(?:[-*>]|\d+\.) ", "", line)
        for _, line in iterate_plain_lines(text)
    ]
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", "\n".join(lines))
    plain = re.sub(r"[`*_]", "", plain)
    paragraphs = re.split(r"\n\s*\n", plain)
    found = [each for one in paragraphs for each in re.split(r"(?<=[.!?:;])\s+", one.strip())]
    return [each for each in found if re.search(r"[A-Za-z]", each)]


def count_syllables(word: str) -> int:
    """Return about how many syllables an English word has."""
    word = re.sub(r"[^a-z]", "", word.lower())
    if len(word) <= SHORT:
        return 1
    word = re.sub(r"(?:[^laeiouy]es|[^laeiouytd]ed|[^laeiouy]e)$", "", word)
    return max(1, len(re.findall(r"[aeiouy]{1,2}", word)))


def compute_reading_ease(text: str) -> float:
    """Return Flesch's reading ease: 60 is plain English, 30 is hard."""
    sentences = list_sentences(text)
    words = [each for one in sentences for each in re.findall(r"[A-Za-z][A-Za-z'-]*", one)]
    if not words:
        return 0.0
    syllables = sum(map(count_syllables, words))
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * syllables / len(words)


def list_broken_rules(page: Path) -> list[str]:
    """Return what a page does that the rules do not allow."""
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT)
    most = MOST_WORDS_README if page.name == "README.md" else MOST_WORDS
    words = count_words(text)
    broken = [f"{name}: {words} words, at most {most}"] if words > most else []
    broken += [
        f"{name}:{number}: above {LONGEST_LINE} characters" for number in find_long_lines(text)
    ]
    broken += [f"{name}: {found!r}: write {instead}" for found, instead in find_banned(text)]
    return broken


def list_broken_sources() -> list[str]:
    """Return banned phrases in the strings and templates of the package."""
    package = ROOT / "src" / "tabpe"
    texts = [
        (f"{path.relative_to(ROOT)}:{line}", text)
        for path in sorted(package.rglob("*.py"))
        for line, text in iterate_strings(path)
    ]
    templates = sorted(package.rglob("*.j2"))
    texts += [(str(path.relative_to(ROOT)), path.read_text("utf-8")) for path in templates]
    return [
        f"{place}: {found!r}: write {instead}"
        for place, text in texts
        for found, instead in find_banned(text)
    ]


def list_broken_elsewhere() -> list[str]:
    """Return banned phrases in what people read outside of the pages."""
    return [
        f"{place}: {found!r}: write {instead}"
        for place, text in list_other_texts()
        for found, instead in find_banned(text)
    ]


def main() -> None:
    """Print words and reading ease, or what breaks a rule."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="list what breaks a rule")
    if parser.parse_args().list:
        broken = [each for page in list_pages() for each in list_broken_rules(page)]
        print("\n".join([*broken, *list_broken_sources(), *list_broken_elsewhere()]))
        return
    for page in list_pages():
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(ROOT)
        print(f"{count_words(text):6} words  {compute_reading_ease(text):5.1f}  {name}")


if __name__ == "__main__":
    main()
