"""`Baseline`: any method behind the interface of `TabPE`.

Discretisation: where the bins of columns of numbers begin, by choice of a name.

- `privtree`: a range is halved where rows lie close together (`tabpe.measurement.privtree`). Bins
  are narrow where there is much to tell apart, down to single values, and wide where there is
  little.
- `quantile`: bins of about equally many rows, by a noisy histogram of the whole range.
- `uniform`: bins of equal width, by the schema alone. They cost nothing.

Privacy: the first two are measured and charged like anything else, one item with an equal part for
each column. A column with few values gets a bin for each of them, whatever the name, and is free.

`Method`: what a way to make synthetic rows is, for `Baseline` to run it.

What a method may spend, and the certificate of what it promised.

`Baseline`: any method, with the face of `TabPE`: fit, sample, certificate.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tabpe import measurement
from tabpe._utils import validation
from tabpe.accounting import ROWS, Account, BillItem, Certificate, NoiseSource, composed_epsilon
from tabpe.accounting.calibration import Part, items_for, scaled
from tabpe.accounting.certificate import round_up
from tabpe.accounting.delta import RowCount
from tabpe.accounting.noise import Chooser
from tabpe.accounting.pld import check_promise
from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN
from tabpe.accounting.zcdp_filter import ZCDP, Filter, epsilon_of_loss, loss_within
from tabpe.backends import HeldTables, Tables
from tabpe.baselines.domain import Domain, Rows
from tabpe.baselines.session import Desk
from tabpe.encoding import Encoder, Marginal
from tabpe.encoding.encoded_rows import EncodedRows, check_plain_columns
from tabpe.encoding.marginals import NumberAxis, axis_of
from tabpe.errors import BudgetError, CapacityError, ParameterError, SchemaError, TabpeError
from tabpe.io import Source, opened_source
from tabpe.measurement import Terms, marginals
from tabpe.measurement.checkpoint import Run
from tabpe.measurement.histograms import ROW_COUNT
from tabpe.measurement.privtree import trees
from tabpe.schema import Schema
from tabpe.synthesizers.base import Fitted, Release
from tabpe.synthesizers.certify import ACCOUNTANT, storage_facts, versions
from tabpe.synthesizers.options import noise_of, schema_of, seed_of, warn_of_schema

BINS = "bins"
PRIVTREE, QUANTILE, UNIFORM = "privtree", "quantile", "uniform"
KINDS = PRIVTREE, QUANTILE, UNIFORM
FEW = 16  # A column with so many values or fewer has a bin for each.
# Cells that bins are made of. In a tree, those that hold next to nothing cost nothing. In a
# histogram each has noise of its own.
TREE_CELLS = 2**17
HISTOGRAM_CELLS = 256

_MECHANISMS = {PRIVTREE: EXPONENTIAL, QUANTILE: GAUSSIAN}


def parts(kind: str, encoder: Encoder) -> tuple[Part, ...]:
    """Return the plan of `buy`: one part, or none if all bins are free.

    Args:
        kind: One of `KINDS`.
        encoder: Encodes the rows.

    Example:
        >>> from tabpe.schema import Float, Integer, Schema
        >>> encoder = Encoder(Schema((Float("size", 0.0, 2.5), Integer("children", 0, 9))))
        >>> parts("quantile", encoder)
        (Part(name='bins', share=1.0, times=1, mechanism='discrete Gaussian'),)
        >>> parts("uniform", encoder)
        ()
    """
    mechanism = _MECHANISMS.get(validation.one_of(BINS, kind, KINDS))
    times = len(_wide(encoder))
    if mechanism is None or not times:
        return ()
    return (Part(BINS, 1.0, times, mechanism),)


def buy(
    kind: str, encoder: Encoder, tables: Tables, terms: Terms, *, most: int, rows: float
) -> dict[str, NumberAxis]:
    """Return the bins of every column of numbers.

    Args:
        kind: One of `KINDS`.
        encoder: Encodes the rows.
        tables: Counts the rows.
        terms: On which terms rows are read; agreed on what `parts` says.
        most: The most bins of a column with more than `FEW` values.
        rows: The number of rows, public or noisy.
    """
    validation.one_of(BINS, kind, KINDS)
    most = validation.whole("most", most, least=1)
    wide = _wide(encoder)
    if kind == PRIVTREE:
        bought = _by_trees(_axes(encoder, wide, TREE_CELLS), tables, terms, most, rows)
    elif kind == QUANTILE:
        cells = _histogram_cells(terms, most, rows)
        bought = _by_histograms(_axes(encoder, wide, cells), tables, terms, most)
    else:
        bought = _axes(encoder, wide, most)
    found = {axis.name: axis for axis in bought}
    names = [column.name for column in encoder.numeric]
    return {axis.name: found.get(axis.name, axis) for axis in _axes(encoder, names, FEW)}


def joined(axis: NumberAxis, starts: Sequence[int]) -> NumberAxis:
    """Return an axis with fewer bins, each made up of cells that follow each other.

    Args:
        axis: The cells.
        starts: The cells in which bins begin, in order; the first is 0.

    Example:
        >>> fine = NumberAxis("age", 0, (0.25, 0.5, 0.75), (0.0, 25.0, 50.0, 75.0, 100.0))
        >>> joined(fine, [0, 3])
        NumberAxis(name='age', place=0, cuts=(0.75,), edges=(0.0, 75.0, 100.0), nullable=False)
    """
    cuts = tuple(axis.cuts[start - 1] for start in starts[1:])
    edges = tuple(axis.edges[start] for start in starts)
    return NumberAxis(axis.name, axis.place, cuts, (*edges, axis.edges[-1]))


def even_starts(counts: NDArray[np.float64], most: int) -> tuple[int, ...]:
    """Return where bins of about equal mass begin, by noisy counts of cells.

    A cell belongs to the bin in which the middle of its mass lies, so a cell that holds more than
    two bins should is alone.

    Example:
        >>> even_starts(np.array([1.0, 1.0, 2.0, 90.0, 3.0, -1.0, 4.0]), most=4)
        (0, 3, 4)
    """
    mass = np.cumsum(counts)
    # Between the least and the largest curve without a fall.
    rising = np.maximum.accumulate(mass) + np.minimum.accumulate(mass[::-1])[::-1]
    rising = np.clip(rising / 2, 0.0, None)
    if not rising[-1]:
        return (0,)
    middles = (rising + np.append(0.0, rising[:-1])) / 2
    places = np.minimum(np.floor(most * middles / rising[-1]), most - 1)
    return (0, *(np.flatnonzero(np.diff(places)) + 1).tolist())


def _wide(encoder: Encoder) -> list[str]:
    """Return the columns of numbers with more than a few values."""
    return [
        column.name
        for column in encoder.numeric
        if column.max > column.min and not 0 < column.steps < FEW
    ]


def _axes(encoder: Encoder, names: Sequence[str], most: int) -> list[NumberAxis]:
    axes = [axis_of(encoder, name, most=most) for name in names]
    return [axis for axis in axes if isinstance(axis, NumberAxis)]


def _by_trees(
    cells: list[NumberAxis], tables: Tables, terms: Terms, most: int, rows: float
) -> list[NumberAxis]:
    """Halve bins that hold more rows than they would if all held equally many."""
    threshold = max(round(rows / most), 0)
    starts = trees(tables, cells, terms, BINS, threshold=threshold, most=most)
    return [joined(axis, begun) for axis, begun in zip(cells, starts, strict=True)]


def _histogram_cells(terms: Terms, most: int, rows: float) -> int:
    """Return so many cells that all their noise is about half of what a bin should hold."""
    sigma = next((item.sigma for item in terms.account.agreed if item.name == BINS), math.inf)
    return int(np.clip((rows / (2 * most * sigma)) ** 2, most, max(HISTOGRAM_CELLS, most)))


def _by_histograms(
    cells: list[NumberAxis], tables: Tables, terms: Terms, most: int
) -> list[NumberAxis]:
    counted = marginals(tables, [Marginal((axis,)) for axis in cells], terms, BINS)
    return [
        joined(axis, even_starts(counts, most)) for axis, counts in zip(cells, counted, strict=True)
    ]


@runtime_checkable
class Method(Protocol):
    """A frozen dataclass of hyperparameters that knows how to make rows.

    Privacy: a method sees nothing of the private rows but what its desk tells, and that is charged.

    Args:
        name: What it is called.
        adaptive: Whether what it asks for, how often or with which noise follows from earlier noisy
            answers. Such a method is accounted for by a filter; others by their plan.
        binned: Whether it needs bins of numbers; if not, none are bought.
    """

    name: ClassVar[str]
    adaptive: ClassVar[bool]
    binned: ClassVar[bool]

    def parts(self, attributes: int) -> tuple[Part, ...]:
        """Return the plan, whose shares add up to 1; nothing if the method is adaptive.

        Args:
            attributes: The number of attributes, the label among them.
        """
        ...

    def synthesise(self, desk: Desk, size: int) -> Rows:
        """Return about `size` synthetic rows.

        Args:
            desk: The way to the private rows.
            size: The number of rows that is asked for.
        """
        ...


ADAPTIVE_ACCOUNTANT = (
    "concentrated differential privacy, a filter with a limit fixed at the beginning, because "
    "noise may follow earlier answers; converted to epsilon at delta"
)
PLANNED_ACCOUNTANT = f"{ACCOUNTANT}; choices by the exponential mechanism as bounded range"
SEED_POLICY = "random_state drives all that is not noise; noise and private choices take no seed"
UNUSED = "not used"
# Which part of the budget the number of rows takes, if it is bought.
_ROWS_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Agreement:
    """On which terms a method reads, all of it checked and agreed on before a row is read.

    Args:
        epsilon: What was asked for.
        delta: The delta of the promise.
        public_rows: The number of rows, if it was declared.
        terms: The account, the noise and the neighbouring relation, for `tabpe.measurement`.
    """

    epsilon: float
    delta: float
    public_rows: int | None
    terms: Terms

    @property
    def adaptive(self) -> bool:
        """Whether noise may follow earlier answers."""
        return isinstance(self.terms.account, Filter)


def agreed_on(
    method: Method,
    *,
    epsilon: float,
    delta: float | None,
    public_rows: int | None,
    attributes: int,
    bins: Sequence[Part],
    bins_budget: float,
    noise: NoiseSource,
) -> Agreement:
    """Return the terms of a run.

    Args:
        method: What is run.
        epsilon: The budget.
        delta: The delta; None for 1 / (n ln n) of the declared number of rows.
        public_rows: The declared number of rows; None to buy it.
        attributes: The number of attributes, the label among them.
        bins: What bins cost, as parts of `bins_budget`.
        bins_budget: Which part of the budget bins take.
        noise: The source of noise.
    """
    rows = validation.optional(validation.whole, "public_rows", public_rows, least=1)
    known = _delta(delta, rows)
    check_promise(epsilon, known)
    if not isinstance(noise, Chooser) or noise.slack:
        raise ParameterError("noise: baselines need exact noise that also chooses: use 'opendp'.")
    share = validation.real("bins_budget", bins_budget, above=0, below=1 - _ROWS_SHARE)
    first: tuple[Part, ...] = () if rows is not None else (Part(ROW_COUNT, _ROWS_SHARE),)
    first += scaled(bins, share)
    account = _account(method, first, attributes, epsilon, known)
    return Agreement(epsilon, known, rows, Terms(account, noise, ROWS))


def _account(
    method: Method, first: tuple[Part, ...], attributes: int, epsilon: float, delta: float
) -> Account:
    if method.adaptive:
        limited = Filter(loss_within(epsilon, delta))
        for part in first:
            limited.agree(part.item(limited.limit))
        return limited
    left = 1 - sum(part.share for part in first)
    account = Account()
    for item in items_for((*first, *scaled(method.parts(attributes), left)), epsilon, delta):
        account.agree(item)
    return account


def _delta(given: float | None, rows: int | None) -> float:
    if given is not None:
        return given
    if rows is None:
        raise ParameterError(
            "delta=None: follows the number of rows, which is private. Give delta, for example "
            "1e-6, or public_rows if the number of rows is public."
        )
    return RowCount.declared(rows).calibration_delta


def certificate_of(
    agreed: Agreement, schema: Schema, configuration: Mapping[str, Any], created: str
) -> Certificate:
    """Return the certificate of a finished run."""
    bill, epsilon = _bill(agreed)
    if epsilon > agreed.epsilon:
        raise BudgetError(f"epsilon={agreed.epsilon:g}: the bill comes to {epsilon:g}.")
    noise = agreed.terms.noise
    return Certificate(
        epsilon=min(agreed.epsilon, round_up(epsilon, 6)),
        delta=agreed.delta,
        delta_slack=0.0,
        requested_epsilon=agreed.epsilon,
        delta_source=f"delta {agreed.delta:.4g}",
        delta_rows=None,
        neighbours=ROWS,
        unit=None,
        bill=bill,
        accountant=ADAPTIVE_ACCOUNTANT if agreed.adaptive else PLANNED_ACCOUNTANT,
        noise=noise.name,
        private=noise.private,
        schema=schema.to_dict(),
        schema_digest=schema.digest,
        fields_from_data=schema.fields_from_data,
        bought=(),
        assumed_public=(*_assumed_public(agreed), *storage_facts(schema)),
        configuration=dict(configuration),
        seed_policy=SEED_POLICY,
        versions=versions(),
        created=created,
        notes=_notes(bill),
        measurements_sha256=agreed.terms.transcript.sha256,
        adaptive=agreed.adaptive,
        filter=ZCDP if agreed.adaptive else None,
    )


def _bill(agreed: Agreement) -> tuple[tuple[BillItem, ...], float]:
    """Return all that was agreed on, and what it promises.

    The promise of a filter is that of its limit, so what is left of it is on the bill too.
    """
    account = agreed.terms.account
    if not isinstance(account, Filter):
        return account.agreed, composed_epsilon(account.agreed, agreed.delta)
    unused = account.left
    bill = account.agreed
    if unused > 1e-9 * account.limit:
        bill += (BillItem(UNUSED, unused**-0.5, 1),)
    return bill, epsilon_of_loss(account.limit, agreed.delta)


def _assumed_public(agreed: Agreement) -> tuple[str, ...]:
    rows = agreed.public_rows
    return ("the schema",) if rows is None else ("the schema", f"the number of rows, {rows:,}")


def _notes(bill: tuple[BillItem, ...]) -> tuple[str, ...]:
    if not any(item.mechanism == EXPONENTIAL for item in bill):
        return ()
    return ("items by the exponential mechanism have sigma = 2 / range of their losses",)


_FEWEST_ROWS = 1.0
MOST_ROWS = 20_000_000


class Baseline(Fitted):
    """A method of others, under the same accountant as `TabPE`.

    Privacy: `fit` reads the private rows only through `tabpe.measurement`, under discrete Gaussian
    noise and by the exponential mechanism, with randomness from the operating system; everything
    is charged before it is measured, is in `certificate`, and composes to at most `epsilon` for
    tables that differ by adding or removing one row. The schema is taken to be public.

    Args:
        method: Which method, with its hyperparameters, such as `AIM(degree=3)`.
        epsilon: The privacy budget.
        delta: The chance that the promise fails; None for 1 / (n ln n) with n = `public_rows`.
        label: The label; None for the one of the schema.
        n_samples: How many rows to make; None for as many as there are private ones.
        bins: How numbers are cut into bins: `privtree`, `quantile` or `uniform`. A method that
            needs no bins buys none.
        bins_budget: Which part of the budget bins take that are bought.
        most_bins: The most bins of a column.
        public_rows: The number of private rows, if that is public; None to buy it.
        noise: `opendp`, or a source of noise for tests.
        random_state: Seed of all that is not noise. It never seeds the noise.

    Attributes:
        release_: What leaves the building: rows, certificate and schema.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Integer, Boolean, Schema
        >>> from tabpe.baselines import Independent
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
        >>> table = pa.table({"age": [20, 70] * 300, "ill": [False, True] * 300})
        >>> model = Baseline(Independent(), epsilon=5, delta=1e-6, bins="uniform", random_state=0)
        >>> model.fit(table, schema=schema).sample(20).num_rows
        20
        >>> model.certificate.epsilon <= 5
        True
    """

    def __init__(
        self,
        method: Method,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        label: str | None = None,
        n_samples: int | None = None,
        bins: str = "privtree",
        bins_budget: float = 0.1,
        most_bins: int = 32,
        public_rows: int | None = None,
        noise: str | NoiseSource = "opendp",
        random_state: int | None = None,
    ) -> None:
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.label = label
        self.n_samples = n_samples
        self.bins = bins
        self.bins_budget = bins_budget
        self.most_bins = most_bins
        self.public_rows = public_rows
        self.noise = noise
        self.random_state = random_state

    def fit(self, data: Any, schema: Schema | str | Path | None = None) -> Self:
        """Make a synthetic table from a private one.

        Args:
            data: A frame, a dataset or the path of files, as for `TabPE`.
            schema: What is public about the table, or the path of a schema file.
        """
        self._check()
        declared = schema_of(schema).with_label(self.label).of_target
        _refuse_holes(declared)
        _refuse_rules(declared)
        warn_of_schema(declared)
        with opened_source(data) as source:
            self.release_ = self._released_from(source, declared)
        return self

    def _released_from(self, source: Source, declared: Schema) -> Release:
        encoder = Encoder(declared)
        encoder.check_names(source.names)
        check_plain_columns(source, encoder.names)
        run, noise = Run.begin(seed_of(self.random_state)), noise_of(self.noise)
        agreed = agreed_on(
            self.method,
            epsilon=self.epsilon,
            delta=self.delta,
            public_rows=self.public_rows,
            attributes=len(declared.columns),
            bins=parts(self._bins, encoder),
            bins_budget=self.bins_budget,
            noise=noise,
        )
        rows = self._made(source, encoder, agreed, run)
        promise = certificate_of(agreed, declared, self._configuration(rows), run.started)
        return Release(
            schema=declared,
            certificate=promise,
            history=(),
            library=source.library,
            seed=run.seed,
            rows=rows.records,
            classes=rows.classes,
        )

    def __repr__(self) -> str:
        return f"Baseline({self.method!r}, epsilon={self.epsilon!r})"

    def _check(self) -> None:
        if isinstance(self.method, type) or not isinstance(self.method, Method):
            raise ParameterError(
                f"method={self.method!r}: expected a method of tabpe.baselines, such as AIM(), or "
                f"one of your own with name, adaptive, binned, parts and synthesise."
            )
        validation.one_of("bins", self.bins, list(KINDS))
        validation.whole("most_bins", self.most_bins, least=2)
        validation.optional(validation.whole, "n_samples", self.n_samples, least=1)

    @property
    def _bins(self) -> str:
        return self.bins if self.method.binned else UNIFORM

    def _made(self, source: Source, encoder: Encoder, agreed: Agreement, run: Run) -> Rows:
        made, lacking = None, None
        # The message of MemoryError tells the sizes of arrays, which may be exact counts of rows.
        with suppress(MemoryError):
            try:
                desk = self._desk(source, encoder, agreed, run)
                made = self.method.synthesise(desk, self._size(desk))
            except ModuleNotFoundError as error:
                lacking = error.name
        if lacking is not None:
            raise TabpeError(f"{self.method.name} needs {lacking}: pip install 'tabpe[baselines]'.")
        if made is None:
            raise CapacityError(
                f"{self.method.name}: the machine ran out of memory. Take a smaller degree, fewer "
                f"bins (most_bins), or a larger machine."
            )
        return made

    def _desk(self, source: Source, encoder: Encoder, agreed: Agreement, run: Run) -> Desk:
        rng = np.random.default_rng([run.seed])
        tables = HeldTables(EncodedRows(source, encoder))
        rows = _rows(tables, agreed)
        bought = buy(self._bins, encoder, tables, agreed.terms, most=self.most_bins, rows=rows)
        names = encoder.names
        axes = tuple(
            bought.get(name) or axis_of(encoder, name, most=self.most_bins) for name in names
        )
        label = encoder.schema.target
        domain = Domain(axes, None if label is None else names.index(label))
        return Desk(tables, encoder, domain, rows, agreed.terms, rng)

    def _size(self, desk: Desk) -> int:
        size = max(round(desk.rows), 1) if self.n_samples is None else self.n_samples
        if size > MOST_ROWS:
            raise CapacityError(f"n_samples={size:,}: expected at most {MOST_ROWS:,} rows.")
        return size

    def _configuration(self, rows: Rows) -> dict[str, Any]:
        return {
            "method": self.method.name,
            "n_samples": len(rows.records),
            "bins": self._bins if self.method.binned else "none",
            "most_bins": self.most_bins,
            **dataclasses.asdict(self.method),  # type: ignore[call-overload]
        }


def _refuse_holes(schema: Schema) -> None:
    """Refuse numbers that may be null: the published methods know bins of numbers and no more."""
    for column in Encoder(schema).numeric:
        if column.nullable:
            raise SchemaError(
                f"column {column.name!r}: nullable: true: baselines know no nulls among numbers; "
                f"fill them, leave the column out, or use TabPE."
            )


def _refuse_rules(schema: Schema) -> None:
    if schema.rules:
        raise ParameterError(
            f"schema: has {len(schema.rules)} rules, which methods of others do not know: leave "
            f"them out (dataclasses.replace(schema, rules=())), or use TabPE."
        )


def _rows(tables: HeldTables, agreed: Agreement) -> float:
    """Return the number of rows, declared or bought."""
    if agreed.public_rows is not None:
        return float(agreed.public_rows)
    (count,) = measurement.marginals(tables, [Marginal(())], agreed.terms, ROW_COUNT)
    return max(float(count), _FEWEST_ROWS)
