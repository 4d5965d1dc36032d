"""One purchase: how its price is shared, and the schema that it gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tabpe import _validate
from tabpe.buying import moments
from tabpe.buying.desk import KIND_WEIGHT, Desk, Once, priced
from tabpe.buying.wanted import Wanted, declared
from tabpe.engines import Keeper
from tabpe.measure import Terms
from tabpe.measure import domain as measure
from tabpe.privacy import ROWS, Account, BillItem, Neighbours, NoiseSource
from tabpe.schema import Boolean, Categorical, Column, Outline, Schema, Sketch

SCHEMA = "schema"
# The names of all items that answers about a schema may have on the bill.
QUESTIONS = frozenset(
    (
        SCHEMA,
        measure.KINDS,
        measure.MAGNITUDES,
        measure.BINS,
        measure.CUTS,
        measure.EVEN_CUTS,
        measure.VALUES,
        measure.COMMON,
        measure.QUANTILES,
    )
)
ASSUMED_PUBLIC = "the names of the columns"


@dataclass(frozen=True)
class Bought:
    """A schema without gaps.

    Args:
        schema: The schema; what was bought is marked.
        notes: What a reader of the certificate should know about it.
    """

    schema: Schema
    notes: tuple[str, ...] = ()


def most_histograms(outline: Outline) -> int:
    """Return how many histograms a purchase may take, before a row is read.

    Example:
        >>> most_histograms(Outline.of(None).completed(["age"]))
        3
    """
    unknown = sum(sketch.kind is None for sketch in outline.columns)
    bent = sum("quantiles" in sketch.missing for sketch in outline.columns)
    return unknown + 2 * (_questions(outline) - bent) + bent + 2 * outline.lacks_cuts


def planned_item(
    outline: Outline, *, loss: float, chance: float, neighbours: Neighbours = ROWS
) -> BillItem | None:
    """Return one item in the place of all that a purchase will agree on; None if it buys nothing.

    It takes the same loss in all, as many histograms as any answers lead to, and as much of delta.
    So it can stand in a ledger until the items are known.

    Example:
        >>> outline = Outline.of(None).completed(["age"])
        >>> item = planned_item(outline, loss=0.02, chance=1e-8)
        >>> item.times, round(item.sigma)
        (3, 12)
    """
    times = most_histograms(outline)
    taken = chance if any(map(_may_list, outline.columns)) else 0.0
    return priced(SCHEMA, times, loss, taken, neighbours) if times else None


def buy_schema(
    outline: Outline,
    keeper: Keeper,
    *,
    loss: float,
    chance: float,
    account: Account,
    noise: NoiseSource,
    neighbours: Neighbours = ROWS,
    once: Once = lambda _, ask: ask(),
) -> Bought:
    """Return the schema of a table, with what `outline` lacks bought.

    Privacy: rows are read by `tabpe.measure` alone. The items that are agreed on and charged here
    have `squared_distance * times / sigma^2` of at most `loss` in all, and take at most `chance` of
    delta in all, whatever the rows are. What is decided from noisy counts costs nothing more.

    Args:
        outline: What is declared, completed by the columns of the table.
        keeper: The table, and who counts in it; for users, if neighbours differ by one.
        loss: The squared Gaussian-DP parameter that the schema may take.
        chance: The part of delta that the schema may take.
        account: Agrees and is charged.
        noise: The source of noise.
        neighbours: The neighbouring relation.
        once: Called with the name of an item of the bill and what asks for it; returns the answer.
            It may remember answers, which are noisy and plain values, if it charges for them.

    Raises:
        SchemaError: If something can not be bought; it says what to declare.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe.engines import LoneKeeper
        >>> from tabpe.io import open_source
        >>> from tabpe.privacy import OpenDPNoise
        >>> from tabpe.resources import Resources
        >>> rows = pa.table({"age": [18, 35, 70, 85] * 900, "ill": [True, False] * 1800})
        >>> table = open_source(rows)
        >>> keeper = LoneKeeper(table, None, Resources.of())
        >>> outline = Outline.of(None).completed(table.names)
        >>> outline.missing
        ('age.type', 'ill.type')
        >>> account, noise = Account(), OpenDPNoise()
        >>> bought = buy_schema(
        ...     outline, keeper, loss=0.1, chance=1e-8, account=account, noise=noise)
        >>> bought.schema.fields_bought
        ('age.type', 'age.min', 'age.max', 'ill.type')
        >>> [item.name for item in account.spent]
        ['kinds of columns', 'bounds, powers of two', 'bounds, bins']
    """
    _validate.real("loss", loss, above=0)
    _validate.real("chance", chance, above=0, below=1)
    terms = Terms(account, noise, neighbours)
    desk = Desk(keeper.survey(), terms, outline.listed_labels, once)
    gaps = _gaps(outline)
    unknown = [sketch for sketch in gaps if sketch.kind is None]
    weight = KIND_WEIGHT * len(unknown)
    each = loss / max(weight + _questions(outline) + outline.lacks_cuts, 1)
    desk.check_noise(each)
    wanted = {sketch.name: declared(sketch) for sketch in gaps if sketch.kind is not None}
    rows = None
    if unknown:
        read, rows = desk.kinds(unknown, each * weight)
        wanted |= read
    # How cells of dates and times are read is known once their types are.
    probes = moments.probes(one.typed for one in wanted.values())
    desk = dataclasses.replace(desk, survey=keeper.survey(probes))
    asked, for_cuts = _Asked.of(wanted.values()), each * outline.lacks_cuts
    left = (loss - each * weight - for_cuts) / max(asked.count, 1)
    columns = {name: one.filled() for name, one in wanted.items() if one.kind is Boolean}
    if asked.lists:
        columns |= desk.categories(asked.lists, left * len(asked.lists), chance, rows)
    if asked.tops:
        columns |= desk.common(asked.tops, left * len(asked.tops))
    columns |= _numbers(desk, asked, left)
    cuts = None
    if outline.lacks_cuts:
        cuts = desk.cuts(outline.label_column(columns), outline.label_classes or 1, for_cuts)
    return Bought(outline.filled(columns, cuts), tuple(desk.notes))


@dataclass(frozen=True)
class _Asked:
    """What is asked of columns, once their types are known."""

    lists: list[Wanted]
    tops: list[Wanted]
    unbounded: list[Wanted]
    bent: list[Wanted]

    @classmethod
    def of(cls, wanted: Iterable[Wanted]) -> _Asked:
        columns = list(wanted)
        listed = [one for one in columns if one.kind is Categorical]
        return cls(
            lists=[one for one in listed if not one.is_top],
            tops=[one for one in listed if one.is_top],
            unbounded=[one for one in columns if one.lacks_bounds],
            bent=[one for one in columns if one.lacks_quantiles],
        )

    @property
    def count(self) -> int:
        return len(self.lists) + len(self.tops) + len(self.unbounded) + len(self.bent)


def _numbers(desk: Desk, asked: _Asked, each: float) -> dict[str, Column]:
    """Buy bounds first, and quantiles between them."""
    wanted = {one.sketch.name: one for one in (*asked.unbounded, *asked.bent)}
    bought: dict[str, dict[str, Any]] = {name: {} for name in wanted}
    if asked.unbounded:
        bought |= desk.bounds(asked.unbounded, each * len(asked.unbounded))
    if asked.bent:
        even = {one.sketch.name: one.even(bought[one.sketch.name]) for one in asked.bent}
        for name, found in desk.quantiles(even, each * len(even)).items():
            bought[name]["quantiles"] = found
    return {name: one.filled(**bought[name]) for name, one in wanted.items()}


def _questions(outline: Outline) -> int:
    """Return how often a column is asked for its bounds or values, or for its quantiles."""
    gaps = [sketch.missing for sketch in outline.columns]
    return sum(bool(set(gap) - {"quantiles"}) + ("quantiles" in gap) for gap in gaps)


def _may_list(sketch: Sketch) -> bool:
    """Whether a column may be asked for the values that occur in it."""
    if sketch.kind is None or not sketch.missing:
        return sketch.kind is None
    return sketch.kind is Categorical and not (sketch.top and "values" in sketch.fields)


def _gaps(outline: Outline) -> list[Sketch]:
    return [sketch for sketch in outline.columns if sketch.missing]
