"""`Baseline`: any method, with the face of `TabPE`: fit, sample, certificate."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np

from tabpe import _validate, measure
from tabpe.baselines import bins
from tabpe.baselines.bill import Agreement, agreed_on, certificate_of
from tabpe.baselines.desk import Desk
from tabpe.baselines.domain import Domain, Rows
from tabpe.baselines.method import Method
from tabpe.encode import Encoder, Marginal
from tabpe.encode.axes import axis_of
from tabpe.engines import HeldTables
from tabpe.errors import CapacityError, ParameterError, SchemaError, TabpeError
from tabpe.io import Source, opened_source
from tabpe.measure.histograms import ROW_COUNT
from tabpe.parameters import noise_of, schema_of, seed_of, warn_of_schema
from tabpe.privacy import NoiseSource
from tabpe.release import Fitted, Release
from tabpe.rows import EncodedRows, check_plain_columns
from tabpe.run_folder import Run
from tabpe.schema import Schema

_FEWEST_ROWS = 1.0
MOST_ROWS = 20_000_000


class Baseline(Fitted):
    """A method of others, under the same accountant as `TabPE`.

    Privacy: `fit` reads the private rows only through `tabpe.measure`, under discrete Gaussian
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
            bins=bins.parts(self._bins, encoder),
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
        _validate.one_of("bins", self.bins, list(bins.KINDS))
        _validate.whole("most_bins", self.most_bins, least=2)
        _validate.optional(_validate.whole, "n_samples", self.n_samples, least=1)

    @property
    def _bins(self) -> str:
        return self.bins if self.method.binned else bins.UNIFORM

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
            raise TabpeError(f"{self.method.name} needs {lacking}: pip install 'tabpe[bench]'.")
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
        bought = bins.buy(self._bins, encoder, tables, agreed.terms, most=self.most_bins, rows=rows)
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
    (count,) = measure.marginals(tables, [Marginal(())], agreed.terms, ROW_COUNT)
    return max(float(count), _FEWEST_ROWS)
