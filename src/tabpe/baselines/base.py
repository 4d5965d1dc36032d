"""`Baseline`: a published method behind the interface of `TabPE`: fit, sample, certificate.

Numbers are cut into bins, by choice of a name:

- `privtree`: a range is halved where rows lie close together (`tabpe.measurement.privtree`). Bins
  are narrow where there is much to tell apart, down to single values, and wide where there is
  little.
- `quantile`: bins of about equally many rows, by a noisy histogram of the whole range.
- `uniform`: bins of equal width, by the schema alone. They cost nothing.

Privacy: the first two are measured and charged like anything else, one spend with an equal part for
each column. A column with few values gets a bin for each of them, whatever the name, and is free.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe._utils.resources import Resources
from tabpe.accounting import ROW_LEVEL, Account, Certificate, NoiseSource, Spend, compose_epsilon
from tabpe.accounting.calibration import BudgetShare, calibrate_spends, scale_shares
from tabpe.accounting.delta import RowCount
from tabpe.accounting.noise import SelectionSource
from tabpe.accounting.pld import check_guarantee
from tabpe.accounting.spend import EXPONENTIAL, GAUSSIAN
from tabpe.accounting.zcdp_filter import (
    ZCDP,
    PrivacyFilter,
    compute_epsilon_from_loss,
    find_largest_loss,
)
from tabpe.backends import EncodedReading, LocalBackend
from tabpe.baselines.domain import Domain, SyntheticRows, join_cells
from tabpe.baselines.session import BaselineSession
from tabpe.encoding import Encoder, Marginal
from tabpe.encoding.marginals import ListAxis, MarginalAxis, NumberAxis, build_axis
from tabpe.errors import BudgetError, CapacityError, ParameterError, SchemaError, TabpeError
from tabpe.io import TableSource, use_source
from tabpe.io.source import check_plain_columns
from tabpe.measurement import PrivateSession
from tabpe.measurement.checkpoint import RunInfo
from tabpe.measurement.histograms import ROW_COUNT
from tabpe.measurement.reservation import run_shielded
from tabpe.schema import Schema
from tabpe.schema.table_format import TableReading
from tabpe.synthesizers.base import Fitted, Release
from tabpe.synthesizers.certify import ACCOUNTANT, certify, list_storage_facts
from tabpe.synthesizers.options import check_seed, load_schema, resolve_noise, warn_of_schema

BINS = "bins"
RARE = "rare categories"
PRIVTREE, QUANTILE, UNIFORM = "privtree", "quantile", "uniform"
KINDS = PRIVTREE, QUANTILE, UNIFORM
FEW = 16  # A column with so many values or fewer has a bin for each.
# Cells that bins are made of. In a tree, those that hold next to nothing cost nothing. In a
# histogram each has noise of its own.
TREE_CELLS = 2**17
HISTOGRAM_CELLS = 256

_MECHANISMS = {PRIVTREE: EXPONENTIAL, QUANTILE: GAUSSIAN}


def plan_bins(kind: str, encoder: Encoder) -> tuple[BudgetShare, ...]:
    """Return what bins cost: one part, or none if all bins are free.

    Args:
        kind: One of `KINDS`.
        encoder: Encodes the rows.

    Example:
        >>> from tabpe.schema import Float, Integer, Schema
        >>> encoder = Encoder(Schema((Float("size", 0.0, 2.5), Integer("children", 0, 9))))
        >>> plan_bins("quantile", encoder)
        (BudgetShare(name='bins', share=1.0, times=1, mechanism='discrete Gaussian'),)
        >>> plan_bins("uniform", encoder)
        ()
    """
    mechanism = _MECHANISMS.get(validation.check_one_of(BINS, kind, KINDS))
    times = len(_list_wide_columns(encoder))
    if mechanism is None or not times:
        return ()
    return (BudgetShare(BINS, 1.0, times, mechanism),)


def measure_bins(
    kind: str,
    encoder: Encoder,
    session: PrivateSession,
    spend: Spend | None,
    *,
    most: int,
    rows: float,
) -> dict[str, NumberAxis]:
    """Return the bins of every column of numbers.

    Args:
        kind: One of `KINDS`.
        encoder: Encodes the rows.
        session: The way to the private rows.
        spend: What `plan_bins` became; None if all bins are free.
        most: The most bins of a column with more than `FEW` values.
        rows: The number of rows, public or noisy.
    """
    validation.check_one_of(BINS, kind, KINDS)
    most = validation.check_integer("most", most, least=1)
    wide, measured = _list_wide_columns(encoder), []
    if kind == UNIFORM:
        measured = _make_axes(encoder, wide, most)
    elif wide and spend is None:
        raise BudgetError(f"{BINS}: not authorized; nothing is read without a spend.")
    elif spend is not None and kind == PRIVTREE:
        cells = _make_axes(encoder, wide, TREE_CELLS)
        measured = _make_tree_bins(cells, session, spend, most, rows)
    elif spend is not None:
        cells = _make_axes(encoder, wide, _count_histogram_cells(spend.sigma, most, rows))
        measured = _make_histogram_bins(cells, session, spend, most)
    found = {axis.name: axis for axis in measured}
    names = [column.name for column in encoder.numeric]
    return {axis.name: found.get(axis.name, axis) for axis in _make_axes(encoder, names, FEW)}


def plan_rare(rare: float, encoder: Encoder) -> tuple[BudgetShare, ...]:
    """Return what it costs to find rare categories: one part, or none if none are merged.

    Example:
        >>> from tabpe.schema import Categorical, Schema
        >>> encoder = Encoder(Schema((Categorical("ward", ("eye", "heart", "skin")),)))
        >>> plan_rare(0.01, encoder)
        (BudgetShare(name='rare categories', share=1.0, times=1, mechanism='discrete Gaussian'),)
        >>> plan_rare(0.0, encoder)
        ()
    """
    validation.check_real("rare", rare, above=0, below=1, least=True)
    times = len(_list_long_columns(encoder))
    return (BudgetShare(RARE, 1.0, times, GAUSSIAN),) if rare and times else ()


def merge_rare(
    rare: float, encoder: Encoder, session: PrivateSession, spend: Spend | None, rows: float
) -> dict[str, ListAxis]:
    """Return the cells of columns with rare categories, which share one cell.

    A row of that cell gets any of its categories, each as likely as the other.

    Args:
        rare: A category is rare if its noisy share is below.
        encoder: Encodes the rows.
        session: The way to the private rows.
        spend: What `plan_rare` became; None if nothing is merged.
        rows: The number of rows, public or noisy.
    """
    if spend is None:
        return {}
    names = _list_long_columns(encoder)
    marginals = [Marginal((build_axis(encoder, name),)) for name in names]
    found: dict[str, ListAxis] = {}
    for name, counts in zip(names, session.estimate_marginals(spend, marginals), strict=True):
        kept = counts >= rare * rows
        if np.count_nonzero(~kept) > 1:
            groups = np.where(kept, np.cumsum(kept) - 1, np.count_nonzero(kept))
            axis = build_axis(encoder, name, groups=tuple(groups.tolist()))
            found |= {name: axis} if isinstance(axis, ListAxis) else {}
    return found


def _list_long_columns(encoder: Encoder) -> list[str]:
    """Return the columns of three categories or more; the label is none of them."""
    return [column.name for column in encoder.categorical if column.states > 2]  # noqa: PLR2004


def _share_evenly(parts: Sequence[BudgetShare]) -> tuple[BudgetShare, ...]:
    return scale_shares(parts, 1 / len(parts)) if parts else ()


def find_even_starts(counts: NDArray[np.float64], most: int) -> tuple[int, ...]:
    """Return where bins of about equal mass begin, by noisy counts of cells.

    A cell belongs to the bin in which the middle of its mass lies, so a cell that holds more than
    two bins should is alone.

    Example:
        >>> find_even_starts(np.array([1.0, 1.0, 2.0, 90.0, 3.0, -1.0, 4.0]), most=4)
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


def _list_wide_columns(encoder: Encoder) -> list[str]:
    """Return the columns of numbers with more than a few values."""
    return [
        column.name
        for column in encoder.numeric
        if column.max > column.min and not 0 < column.steps < FEW
    ]


def _make_axes(encoder: Encoder, names: Sequence[str], most: int) -> list[NumberAxis]:
    axes = [build_axis(encoder, name, max_bins=most) for name in names]
    return [axis for axis in axes if isinstance(axis, NumberAxis)]


def _make_tree_bins(
    cells: list[NumberAxis], session: PrivateSession, spend: Spend, most: int, rows: float
) -> list[NumberAxis]:
    """Halve bins that hold more rows than they would if all held equally many."""
    threshold = max(round(rows / most), 0)
    starts = session.grow_trees(spend, cells, threshold=threshold, most=most)
    return [join_cells(axis, begun) for axis, begun in zip(cells, starts, strict=True)]


def _count_histogram_cells(sigma: float, most: int, rows: float) -> int:
    """Return so many cells that all their noise is about half of what a bin should hold."""
    return int(np.clip((rows / (2 * most * sigma)) ** 2, most, max(HISTOGRAM_CELLS, most)))


def _make_histogram_bins(
    cells: list[NumberAxis], session: PrivateSession, spend: Spend, most: int
) -> list[NumberAxis]:
    counted = session.estimate_marginals(spend, [Marginal((axis,)) for axis in cells])
    return [
        join_cells(axis, find_even_starts(counts, most))
        for axis, counts in zip(cells, counted, strict=True)
    ]


@runtime_checkable
class SynthesisMethod(Protocol):
    """A frozen dataclass of hyperparameters that knows how to make rows.

    Privacy: a method sees nothing of the private rows but answers of its session: all are charged.

    Attributes:
        name: What it is called.
        adaptive: Whether what it asks for, how often or with which noise follows from earlier noisy
            answers. Such a method is accounted for by a filter; others by their plan.
        binned: Whether it needs bins of numbers; if not, none are estimated.
    """

    name: ClassVar[str]
    adaptive: ClassVar[bool]

    @property
    def binned(self) -> bool:
        """Whether bins of numbers are to be estimated."""
        ...

    def parts(self, attributes: int) -> tuple[BudgetShare, ...]:
        """Return the plan, whose shares add up to 1; nothing if the method is adaptive.

        Args:
            attributes: The number of attributes, the label among them.
        """
        ...

    def synthesise(self, session: BaselineSession, size: int) -> SyntheticRows:
        """Return about `size` synthetic rows.

        Args:
            session: The way to the private rows.
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
# Which part of the budget the number of rows takes, if it is measured.
_ROWS_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class BaselineTerms:
    """What a method may spend, all of it checked and authorized before a row is read.

    Args:
        epsilon: What was asked for.
        delta: The delta of the guarantee.
        public_rows: The number of rows, if it was declared.
        account: Allows what is in the plan, or what stays within the limit of a filter.
        spends: What was authorized, by the names of the parts of the plan.
        noise: The source of noise.
    """

    epsilon: float
    delta: float
    public_rows: int | None
    account: Account
    spends: Mapping[str, Spend]
    noise: NoiseSource

    @property
    def adaptive(self) -> bool:
        """Whether noise may follow earlier answers."""
        return isinstance(self.account, PrivacyFilter)


def agree_on_terms(
    method: SynthesisMethod,
    *,
    epsilon: float,
    delta: float | None,
    public_rows: int | None,
    attributes: int,
    bins: Sequence[BudgetShare],
    bins_budget: float,
    noise: NoiseSource,
) -> BaselineTerms:
    """Return what a method may spend.

    Args:
        method: What is run.
        epsilon: The budget.
        delta: The delta; None for 1 / (n ln n) of the declared number of rows.
        public_rows: The declared number of rows; None to measure it.
        attributes: The number of attributes, the label among them.
        bins: What bins cost, as parts of `bins_budget`.
        bins_budget: Which part of the budget bins take.
        noise: The source of noise.
    """
    rows = validation.check_optional(validation.check_integer, "public_rows", public_rows, least=1)
    known = _choose_delta(delta, rows)
    check_guarantee(epsilon, known)
    if not isinstance(noise, SelectionSource):
        raise ParameterError("noise: baselines need noise that also chooses: use 'exact'.")
    share = validation.check_real("bins_budget", bins_budget, above=0, below=1 - _ROWS_SHARE)
    first: tuple[BudgetShare, ...] = (
        () if rows is not None else (BudgetShare(ROW_COUNT, _ROWS_SHARE),)
    )
    first += scale_shares(bins, share)
    if method.adaptive:
        account: Account = PrivacyFilter(find_largest_loss(epsilon, known))
        planned = [part.make_spend(account.limit) for part in first]  # type: ignore[attr-defined]
    else:
        account, left = Account(), 1 - sum(part.share for part in first)
        parts = (*first, *scale_shares(method.parts(attributes), left))
        planned = [*calibrate_spends(parts, epsilon, known)]
    spends = {spend.name: account.authorize(spend) for spend in planned}
    return BaselineTerms(epsilon, known, rows, account, spends, noise)


def _choose_delta(given: float | None, rows: int | None) -> float:
    if given is not None:
        return given
    if rows is None:
        raise ParameterError(
            "delta=None: follows the number of rows, which is private. Give delta, for example "
            "1e-6, or public_rows if the number of rows is public."
        )
    return RowCount.from_declared(rows).calibration_delta


def certify_baseline(
    agreed: BaselineTerms,
    schema: Schema,
    configuration: Mapping[str, Any],
    *,
    created: str,
    measurements: str,
) -> Certificate:
    """Return the certificate of a finished run of a baseline."""
    spends, epsilon = _compose_spends(agreed)
    if epsilon > agreed.epsilon:
        raise BudgetError(f"epsilon={agreed.epsilon:g}: the spends compose to {epsilon:g}.")
    return certify(
        epsilon=epsilon,
        requested_epsilon=agreed.epsilon,
        delta=agreed.delta,
        delta_source=f"delta {agreed.delta:.4g}",
        neighbours=ROW_LEVEL,
        spends=spends,
        accountant=ADAPTIVE_ACCOUNTANT if agreed.adaptive else PLANNED_ACCOUNTANT,
        noise=agreed.noise,
        schema=schema,
        assumed_public=(*_list_assumptions(agreed), *list_storage_facts(schema)),
        configuration=configuration,
        seed_policy=SEED_POLICY,
        created=created,
        notes=_list_notes(spends),
        privacy_filter=ZCDP if agreed.adaptive else None,
        measurements=measurements,
    )


def _compose_spends(agreed: BaselineTerms) -> tuple[tuple[Spend, ...], float]:
    """Return all that was agreed on, and what it guarantees.

    The guarantee of a filter is that of its limit, so what is left of it is among the spends too.
    """
    account = agreed.account
    if not isinstance(account, PrivacyFilter):
        return account.authorized, compose_epsilon(account.authorized, agreed.delta)
    unused = account.left
    spends = account.authorized
    if unused > 1e-9 * account.limit:
        spends += (Spend(UNUSED, unused**-0.5, 1),)
    return spends, compute_epsilon_from_loss(account.limit, agreed.delta)


def _list_assumptions(agreed: BaselineTerms) -> tuple[str, ...]:
    rows = agreed.public_rows
    return ("the schema",) if rows is None else ("the schema", f"the number of rows, {rows:,}")


def _list_notes(spends: tuple[Spend, ...]) -> tuple[str, ...]:
    if not any(item.mechanism == EXPONENTIAL for item in spends):
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
        delta: The delta of the guarantee; None for 1 / (n ln n) with n = `public_rows`.
        label: The label; None for the one of the schema.
        n_samples: How many rows to make; None for as many as there are private ones.
        bins: How numbers are cut into bins: `privtree`, `quantile` or `uniform`. A method that
            needs no bins estimates none.
        bins_budget: Which part of the budget bins take that are estimated, with rare categories.
        most_bins: The most bins of a column.
        rare: Categories with a smaller noisy share of the rows are merged into one cell; 0 for
            none.
        public_rows: The number of private rows, if that is public; None to measure it.
        noise: `exact` or `opendp`, as for `TabPE`.
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
        method: SynthesisMethod,
        *,
        epsilon: float = 1.0,
        delta: float | None = None,
        label: str | None = None,
        n_samples: int | None = None,
        bins: str = "privtree",
        bins_budget: float = 0.1,
        most_bins: int = 32,
        rare: float = 0.0,
        public_rows: int | None = None,
        noise: str | NoiseSource = "exact",
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
        self.rare = rare
        self.public_rows = public_rows
        self.noise = noise
        self.random_state = random_state

    def fit(self, data: Any, schema: Schema | str | Path | None = None) -> Self:
        """Make a synthetic table from a private one.

        Args:
            data: A frame, a dataset or the path of files, as for `TabPE`.
            schema: What is public about the table, or the path of a schema file.
        """
        self._check_parameters()
        declared = load_schema(schema).with_label(self.label).of_target
        _refuse_holes(declared)
        _refuse_rules(declared)
        warn_of_schema(declared)
        with use_source(data, reading=TableReading.from_schema(declared)) as source:
            self.release_ = self._make_release(source, declared)
        return self

    def _make_release(self, source: TableSource, declared: Schema) -> Release:
        encoder = Encoder(declared)
        encoder.check_names(source.names)
        check_plain_columns(source, encoder.names)
        run, noise = RunInfo.begin_run(check_seed(self.random_state)), resolve_noise(self.noise)
        agreed = agree_on_terms(
            self.method,
            epsilon=self.epsilon,
            delta=self.delta,
            public_rows=self.public_rows,
            attributes=len(declared.columns),
            bins=_share_evenly((*plan_bins(self._bins, encoder), *plan_rare(self.rare, encoder))),
            bins_budget=self.bins_budget,
            noise=noise,
        )
        backend = LocalBackend(source, None, Resources.from_options(n_jobs=1))
        reading = EncodedReading(encoder, keep="marginals")
        session = PrivateSession(backend, agreed.account, agreed.noise, reading=reading)
        with closing(backend):
            rows = self._synthesise_rows(session, encoder, agreed, run)
        certificate = certify_baseline(
            agreed,
            declared,
            self._make_configuration(rows),
            created=run.started,
            measurements=session.transcript.sha256,
        )
        return Release(
            schema=declared,
            certificate=certificate,
            history=(),
            library=source.library,
            seed=run.seed,
            rows=rows.records,
            classes=rows.classes,
        )

    def __repr__(self) -> str:
        return f"Baseline({self.method!r}, epsilon={self.epsilon!r})"

    def _check_parameters(self) -> None:
        is_value = dataclasses.is_dataclass(self.method) and not isinstance(self.method, type)
        if not is_value or not isinstance(self.method, SynthesisMethod):
            raise ParameterError(
                f"method={self.method!r}: expected a method of tabpe.baselines, such as AIM(), or "
                f"a dataclass of your own with name, adaptive, binned, parts and synthesise."
            )
        validation.check_one_of("bins", self.bins, list(KINDS))
        validation.check_integer("most_bins", self.most_bins, least=2)
        validation.check_optional(validation.check_integer, "n_samples", self.n_samples, least=1)

    @property
    def _bins(self) -> str:
        return self.bins if self.method.binned else UNIFORM

    def _synthesise_rows(
        self, session: PrivateSession, encoder: Encoder, agreed: BaselineTerms, run: RunInfo
    ) -> SyntheticRows:
        def synthesise() -> SyntheticRows | str:
            try:
                asking = self._open_session(session, encoder, agreed, run)
                return self.method.synthesise(asking, self._choose_size(asking))
            except ModuleNotFoundError as error:
                return str(error.name)

        made = run_shielded(
            synthesise,
            CapacityError(
                f"{self.method.name}: the machine ran out of memory. Take a smaller degree, fewer "
                f"bins (most_bins), or a larger machine."
            ),
        )
        if isinstance(made, str):
            raise TabpeError(f"{self.method.name} needs {made}: pip install 'tabpe[baselines]'.")
        return made

    def _open_session(
        self, session: PrivateSession, encoder: Encoder, agreed: BaselineTerms, run: RunInfo
    ) -> BaselineSession:
        rng, spends = np.random.default_rng([run.seed]), agreed.spends
        rows = _measure_row_count(session, agreed)
        measured = measure_bins(
            self._bins, encoder, session, spends.get(BINS), most=self.most_bins, rows=rows
        )
        merged = merge_rare(self.rare, encoder, session, spends.get(RARE), rows)
        measured_axes: dict[str, MarginalAxis] = {**measured, **merged}
        names = encoder.names
        axes = tuple(
            measured_axes.get(name) or build_axis(encoder, name, max_bins=self.most_bins)
            for name in names
        )
        label = encoder.schema.target
        domain = Domain(axes, None if label is None else names.index(label))
        return BaselineSession(session, encoder, domain, rows, spends, rng)

    def _choose_size(self, session: BaselineSession) -> int:
        size = max(round(session.rows), 1) if self.n_samples is None else self.n_samples
        if size > MOST_ROWS:
            raise CapacityError(f"n_samples={size:,}: expected at most {MOST_ROWS:,} rows.")
        return size

    def _make_configuration(self, rows: SyntheticRows) -> dict[str, Any]:
        kind = type(self.method)
        is_ours = kind.__module__.startswith("tabpe.baselines.")
        stated = {
            "method": self.method.name if is_ours else f"{kind.__module__}:{kind.__qualname__}",
            "n_samples": len(rows.records),
            "bins": self._bins if self.method.binned else "none",
            "most_bins": self.most_bins,
        } | ({"rare": self.rare} if self.rare else {})
        hyperparameters: dict[str, Any] = dataclasses.asdict(self.method)  # type: ignore[call-overload]
        # One of the same name does not replace what is stated here.
        return stated | hyperparameters | stated


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


def _measure_row_count(session: PrivateSession, agreed: BaselineTerms) -> float:
    """Return the number of rows, declared or measured."""
    if agreed.public_rows is not None:
        return float(agreed.public_rows)
    (count,) = session.estimate_marginals(agreed.spends[ROW_COUNT], [Marginal(())])
    return max(float(count), _FEWEST_ROWS)
