"""What stands below a table: what its numbers are of, and what was chosen or left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tabpe.bench.exhibits import TableEntry
from tabpe.bench.fields import METHODS, REAL, is_real, labels_of
from tabpe.bench.measures import measure
from tabpe.bench.records import Record
from tabpe.bench.summary import DID_NOT_FIT, DONE, FAILED, Key, Summary

QUICK = "quick"
BOUND = f"{METHODS[REAL]}: trained on the real rows, not private, not ranked."
CUT = "Variant quick: few rows and cheap settings, not to be compared with others."
PRINTED = "The paper's numbers are as printed there, of three splits."


def notes_of(
    entry: TableEntry,
    found: Mapping[Key, Summary],
    records: Sequence[Record],
    *,
    beside_paper: bool = False,
) -> tuple[str, ...]:
    """Return the notes of a table.

    Args:
        entry: What the table holds.
        found: What is shown, by the values of its rows.
        records: The runs that it is of.
        beside_paper: Whether the numbers of the paper stand beside ours.
    """
    return (
        _seeds(entry, found, records),
        *([BOUND] if any(is_real(key, entry.rows) for key in found) else []),
        *_choices(entry, found),
        *_endings(entry, found),
        *([CUT] if any(run.variant == QUICK for run in records) else []),
        *([PRINTED] if beside_paper else []),
    )


def _seeds(entry: TableEntry, found: Mapping[Key, Summary], records: Sequence[Record]) -> str:
    done = {key: summary.seeds for key, summary in found.items() if summary.outcome == DONE}
    if not done:
        return "No run is done yet."
    usual = max(done.values())
    epsilons = sorted({run.epsilon for run in records if run.epsilon is not None})
    budget = f" at epsilon {epsilons[0]:g}" if len(epsilons) == 1 else ""
    many = f"Means of {usual} seeds with the standard deviation of a sample"
    if entry.over_data:
        many = f"Means over data sets, of {usual} seeds each{',' if budget else ''}"
    fewer = [f"{_named(key, entry)}: {count}" for key, count in done.items() if count < usual]
    note = f"{many if usual > 1 else 'Of one seed'}{budget}."
    return note + (f" Fewer seeds: {'; '.join(fewer)}." if fewer else "")


def _choices(entry: TableEntry, found: Mapping[Key, Summary]) -> list[str]:
    """Say which settings were taken, by what."""
    chosen: dict[str, list[str]] = {}
    for key, summary in found.items():
        if summary.chosen_by and summary.chosen:
            place = f"{_named(key, entry)}: {summary.chosen}"
            chosen.setdefault(summary.chosen_by, []).append(place)
    return [
        f"Best setting of each method by {_low(measure(rule).title)}: {'; '.join(places)}."
        for rule, places in chosen.items()
    ]


def _endings(entry: TableEntry, found: Mapping[Key, Summary]) -> list[str]:
    """Say why runs did not fit or failed, where no other run stands in their place."""
    ended: dict[str, list[str]] = {}
    for key, summary in found.items():
        for reason in summary.reasons if summary.outcome in {DID_NOT_FIT, FAILED} else ():
            ended.setdefault(f"{summary.outcome}: {reason}", []).append(_named(key, entry))
    return [f"{'; '.join(places)}: {how.rstrip('.')}." for how, places in ended.items()]


def _named(key: Key, entry: TableEntry) -> str:
    return ", ".join(labels_of(key, entry.rows))


def _low(title: str) -> str:
    return title if title.isupper() else title[0].lower() + title[1:]
