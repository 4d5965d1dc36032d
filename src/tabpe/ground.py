"""What a run stands on before its first round: the schema and the counts, declared or bought."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabpe import measure
from tabpe.budget import count_items, schema_price
from tabpe.buying import Bought, buy_schema
from tabpe.encode import Encoder
from tabpe.encode.axes import Marginal
from tabpe.engines import Classed, Keeper, Tabled
from tabpe.errors import ParameterError
from tabpe.evolve.bins import bins_of, pairs_of
from tabpe.evolve.config import PAIRS
from tabpe.evolve.guide import Guide, Table, guide_of
from tabpe.journal import Journal
from tabpe.measure import Measured
from tabpe.measure.histograms import CLASS_COUNTS
from tabpe.privacy import Account
from tabpe.rarity import Rare
from tabpe.request import Facts, Request, count_name, establish_facts
from tabpe.schema import Outline, Schema
from tabpe.settings import Settings


@dataclass(frozen=True, eq=False)
class Ground:
    """What is known before rows are encoded; all of it is public.

    Args:
        schema: The schema, without gaps.
        counts: The counts that were bought so far.
        notes: What a reader of the certificate should know.
        rare: Which of the combinations of several labels share a class.
    """

    schema: Schema
    counts: Mapping[str, Measured]
    notes: tuple[str, ...]
    rare: Rare | None = None

    def facts(self, request: Request, counts: Mapping[str, Measured]) -> Facts:
        """Return the facts, from what was declared and the counts that were bought."""
        facts = establish_facts(request, counts)
        return facts if self.rare is None else self.rare.merged(facts)


def lay_ground(keeper: Keeper, journal: Journal, settings: Settings) -> Ground:
    """Return the schema of a table, with its gaps bought.

    Privacy: rows are read by `tabpe.measure` alone, and what it measures is charged to the account
    of the journal. The part of delta that telling values takes must be known before, so a noisy
    number of rows is bought first if delta follows it.
    """
    counts: dict[str, Measured] = {}
    if isinstance(settings.schema, Schema):
        bought = Bought(settings.schema)
    else:
        counts = _count_first(keeper, journal, settings)
        bought = _buy(settings.schema, keeper, journal, settings=settings, counts=counts)
    check_size(settings.request, bought.schema)
    return Ground(bought.schema, counts, bought.notes)


def merge_rare(ground: Ground, keeper: Keeper, journal: Journal, settings: Settings) -> Ground:
    """Return the ground with rare combinations of several labels in one class.

    Privacy: the combinations are counted as the classes of one label are, by `tabpe.measure` and as
    the same item of the bill. Which of them are rare follows from the noisy counts, or from shares
    that are declared.
    """
    request, schema = settings.request, ground.schema
    if not schema.joint_labels:
        return ground
    # The labels are all that is read.
    labels = settings.encoder_of(Schema(schema.joint_labels, label=schema.label))
    counts = buy_counts(keeper.tables(labels), ground, settings.classes, journal, settings)
    # What counts cost, or would have cost.
    priced = count_items(dataclasses.replace(request, shares=None), 2)[CLASS_COUNTS]
    rare = Rare.of(
        schema,
        establish_facts(request, counts),
        _sigma(journal.account, CLASS_COUNTS, priced.sigma),
        counted=CLASS_COUNTS in counts,
        of_users=request.neighbours.of_users,
        most=None if request.size is None else request.size // request.least_size(1),
    )
    return Ground(rare.schema_of(schema), counts, (*ground.notes, *rare.notes), rare)


def buy_counts(
    engine: Classed, ground: Ground, classes: int, journal: Journal, settings: Settings
) -> dict[str, Measured]:
    """Return all counts that were neither declared nor needless, buying those that are missing."""
    account, noise, counted = journal.account, settings.noise, count_name(settings.request)
    cells = len(ground.schema.class_names)
    ask: dict[str, Callable[[], Measured]] = {
        counted: lambda: measure.row_count(engine, account, noise, counted),
        CLASS_COUNTS: lambda: measure.class_counts(engine, cells, account, noise),
    }
    bought = dict(ground.counts)
    for name, item in count_items(settings.request, classes).items():
        if name not in bought:
            account.agree(item)
            bought[name] = journal.once(name, ask[name])
    return bought


def buy_guide(
    tables: Tabled,
    encoder: Encoder,
    facts: Facts,
    journal: Journal,
    settings: Settings,
    *,
    name: str,
) -> Guide:
    """Return what tables of columns say, buying them as an item of the bill, and pairs as another.

    Privacy: they are read by `tabpe.measure` alone, and charged to the account of the journal. The
    number of cells of each follows from public and noisy facts.
    """
    account = journal.account
    bins = bins_of(
        encoder, facts.row_estimate, _sigma(account, name), by_class=settings.classes > 1
    )
    asked = [*bins.overall, *bins.by_class]
    found = _buy_tables(tables, asked, facts, journal, settings, name=name)
    sigma = _sigma(account, CLASS_COUNTS, 0.0)
    guide = guide_of(encoder, bins, found, facts.class_sizes, sigma, rare=facts.rare)
    if all(item.name != PAIRS for item in account.agreed):
        return guide
    pairs = pairs_of(bins, facts.row_estimate, _sigma(account, PAIRS))
    more = _buy_tables(tables, pairs, facts, journal, settings, name=PAIRS)
    return dataclasses.replace(guide, tables=(*guide.tables, *more))


def _buy_tables(
    tables: Tabled,
    asked: Sequence[Marginal],
    facts: Facts,
    journal: Journal,
    settings: Settings,
    *,
    name: str,
) -> list[Table]:
    if not asked:  # A label alone has no table beside the counts of classes.
        return []
    terms = measure.Terms(journal.account, settings.noise, settings.request.neighbours)
    bought = journal.once(
        name,
        lambda: measure.measured_marginals(tables, asked, terms, name),
        times=len(asked),
    )
    sigma = _sigma(journal.account, name)
    return [
        _table(marginal, values / bought.scale, sigma, facts, settings)
        for marginal, values in zip(asked, bought.values, strict=True)
    ]


def _table(
    marginal: Marginal, counts: NDArray[np.float64], sigma: float, facts: Facts, settings: Settings
) -> Table:
    """Return a table in rows. What users add to it says only how rows are divided."""
    unit = 1.0
    if settings.request.neighbours.of_users:
        unit = facts.row_estimate / max(float(counts.sum()), 1.0)
    return Table(marginal, unit * counts.reshape(marginal.shape), unit * sigma)


def _sigma(account: Account, name: str, otherwise: float = math.inf) -> float:
    """Return the noise on each count of an item of the bill."""
    return next((item.sigma for item in account.agreed if item.name == name), otherwise)


def check_size(request: Request, schema: Schema) -> None:
    """Refuse to evolve fewer rows than there are classes; of joint ones more are merged instead."""
    classes = 1 if schema.joint_labels else len(schema.class_names)
    if request.size is not None and request.size < request.least_size(classes):
        each = "one row" if request.floor < 2 else f"class_floor={request.floor} rows"  # noqa: PLR2004
        raise ParameterError(
            f"n_samples={request.size}: expected at least {each} for each of the {classes} "
            f"classes of {schema.label!r}: {request.least_size(classes):,} or more."
        )


def _count_first(keeper: Keeper, journal: Journal, settings: Settings) -> dict[str, Measured]:
    """Return the noisy number of rows or users, if it is needed and not declared."""
    name, account = count_name(settings.request), journal.account
    item = count_items(settings.request, settings.classes).get(name)
    if item is None:
        return {}
    account.agree(item)
    survey = keeper.survey()
    return {
        name: journal.once(name, lambda: measure.row_count(survey, account, settings.noise, name))
    }


def _buy(
    outline: Outline,
    keeper: Keeper,
    journal: Journal,
    *,
    settings: Settings,
    counts: Mapping[str, Measured],
) -> Bought:
    request = settings.request
    return buy_schema(
        outline,
        keeper,
        **schema_price(request, establish_facts(request, counts).calibration_delta),
        account=journal.account,
        noise=settings.noise,
        neighbours=request.neighbours,
        once=journal.answered,
    )
