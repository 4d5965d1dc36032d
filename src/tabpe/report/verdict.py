"""What the numbers mean, in words: the cards at the head of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tabpe.report.contents import Contents

Grade = Literal["good", "fair", "poor", "unknown"]


@dataclass(frozen=True)
class Card:
    """One finding at a glance.

    Args:
        title: What it is about, in two or three words.
        figure: The number, as text.
        grade: How good it is.
        words: What it means, in one sentence, with the rule that gave the grade.
        section: The id of the section of the page that shows more.
    """

    title: str
    figure: str
    grade: Grade
    words: str
    section: str


def cards(contents: Contents) -> tuple[Card, ...]:
    """Return the findings, the promise first."""
    raise NotImplementedError


def verdict(contents: Contents) -> str:
    """Return all of it in one or two sentences."""
    raise NotImplementedError
