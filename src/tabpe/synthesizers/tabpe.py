"""`TabPE`: a table in, a differentially private synthetic table and a certificate out."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tabpe._utils.progress import show_round_bar
from tabpe._utils.resources import Resources
from tabpe.accounting import Adjacency
from tabpe.errors import ArchiveError, ParameterError, did_you_mean
from tabpe.evolution import (
    Evolution,
    Posterior,
    parse_strategy,
    resolve_strategy,
    serialize_strategy,
)
from tabpe.evolution.config import check_extensions
from tabpe.evolution.extensions import resolve_callback
from tabpe.io import TableSource, use_source
from tabpe.measurement.reservation import LedgerCharge
from tabpe.schema import PartialSchema, Schema
from tabpe.schema.partial import ALL_COLUMNS
from tabpe.schema.schema import name_class
from tabpe.schema.table_format import TableReading
from tabpe.synthesizers.base import Fitted, Release
from tabpe.synthesizers.budget import check_noise
from tabpe.synthesizers.options import (
    NOISES,
    RunSettings,
    SynthesisRequest,
    check_labels,
    check_oblivious,
    check_options,
    check_seed,
    check_unit,
    choose_schema,
    declare_classes,
    document_options,
    is_schema_estimated,
    is_visible,
    load_schema,
    make_neighboring_relation,
    make_partial_schema,
    normalise_shares,
    open_charge,
    parse_estimated_columns,
    parse_path,
    resolve_noise,
    warn_of_schema,
)
from tabpe.synthesizers.parameters import TabPEParameters
from tabpe.synthesizers.pipeline import check_size, run

if TYPE_CHECKING:

    class BaseEstimator:
        """An estimator of scikit-learn."""

        def __sklearn_tags__(self) -> Any: ...

else:
    # scikit-learn is in the extra `tabpe[report]`. Without it there is nothing that it would add.
    try:
        from sklearn.base import BaseEstimator
    except ImportError:

        class BaseEstimator:
            """Stands in for that of scikit-learn."""


_LOGGER = logging.getLogger(__name__)
RESOURCE_PARAMETERS = ("engine", "address", "memory_limit", "spill", "n_jobs")
# What stays here when a model is saved: folders and sizes are nobody else's business.
UNSAVED_PARAMETERS = (
    *RESOURCE_PARAMETERS,
    "run_dir",
    "ledger",
    "dataset",
    "require_budget",
    "on_round",
)


@document_options
@dataclass(kw_only=True, eq=False, repr=False)
class TabPE(TabPEParameters, Fitted, BaseEstimator):
    """Tabular Private Evolution.

    Random candidates, nearest-neighbour votes of the private rows under noise, and better
    candidates by what the votes say, round by round. The rows that come out are differentially
    private: what anyone can learn from them about one row of the table is bounded by `epsilon` and
    `delta`.

    Privacy: `fit` reads the private rows only through `tabpe.measurement`, under discrete Gaussian
    noise from the operating system; `random_state` does not touch the noise. Everything that
    was measured is in `certificate`, and composes to at most `epsilon`. The schema is taken to
    be public, except for the fields that are estimated.

    Attributes:
        release_: What leaves the building: rows, certificate and schema, all of it public.

    Example:
        >>> import pyarrow as pa
        >>> from tabpe import Integer, Boolean, Schema
        >>> schema = Schema((Integer("age", 0, 100), Boolean("ill")), label="ill")
        >>> table = pa.table({"age": [20, 70] * 300, "ill": [False, True] * 300})
        >>> model = TabPE(epsilon=5, delta=1e-6, n_samples=20, random_state=0)
        >>> model.fit(table, schema=schema).sample().num_rows
        20
        >>> model.certificate.epsilon <= 5
        True
    """

    def fit(self, data: Any, schema: Schema | Mapping[str, Any] | str | Path | None = None) -> Self:
        """Evolve a synthetic table from a private one.

        Args:
            data: A pandas, polars, pyarrow or Spark frame, a dataset of pyarrow or Ray, a relation
                of DuckDB, a `SqlTable`, or the path or address of CSV, Parquet or Arrow files: one,
                a folder of them, or a pattern. Columns that the schema does not name are left
                out, unless `estimate_columns` names them.
            schema: What is public about the table, or the path of a schema file, which may have
                gaps if they are estimated.

        Returns:
            The fitted model.
        """
        given, estimated = choose_schema(self.schema, schema), is_schema_estimated(self.schema)
        # Errors come before a table is opened, except where its columns say what to estimate.
        if estimated:
            return self._fit_estimated(data, PartialSchema.from_schema(given))
        settings = self.make_settings(self._resolve_domain(None, given))
        reading = TableReading.from_schema(settings.schema, self.unit)
        with use_source(data, reading=reading) as source:
            self.release_ = self._run_pipeline(source, settings)
        return self

    def _fit_estimated(self, data: Any, declared: PartialSchema) -> Self:
        with use_source(data, reading=self._make_outline_reading(declared)) as source:
            settings = self.make_settings(self._resolve_domain(source, declared))
            reading = TableReading.from_schema(settings.schema, self.unit)
            if not reading.rules:
                self.release_ = self._run_pipeline(source, settings)
                return self
        # Which columns have rules is known by now.
        with use_source(data, reading=reading) as source:
            self.release_ = self._run_pipeline(source, settings)
        return self

    def outline_schema(
        self, data: Any, schema: Schema | Mapping[str, Any] | str | Path | None = None
    ) -> Schema | PartialSchema:
        """Return the schema with the columns to estimate, by the names of a table alone.

        No row is read, and nothing is charged. `missing` of a `PartialSchema` lists what `fit`
        estimates privately.

        Args:
            data: The table, as for `fit`.
            schema: What is declared of it, as for `fit`.

        Example:
            >>> import pyarrow as pa
            >>> model = TabPE(schema="private", estimate_columns=["age"])
            >>> model.outline_schema(pa.table({"age": [31, 58], "notes": ["a", "b"]})).missing
            ('age.type',)
        """
        check_options(self)
        declared = PartialSchema.from_schema(schema)
        with use_source(data, reading=self._make_outline_reading(declared)) as source:
            return self._resolve_domain(source, declared)

    @property
    def history_(self) -> list[dict[str, Any]]:
        """What each round did; public and noisy quantities only."""
        return [dict(entry) for entry in self._get_release().history]

    @property
    def n_evolved_(self) -> int:
        """The number of rows evolved."""
        return len(self._get_release().rows)

    def save(self, path: str | Path) -> None:
        """Write the synthetic rows and the certificate to a file. No private row is in it."""
        self._get_release().save(Path(path), parameters=self._serialize_parameters())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Open a saved model, to sample from it."""
        release, parameters = Release.load(Path(path))
        try:
            if isinstance(parameters.get("preset"), dict):
                parameters["preset"] = parse_strategy(parameters["preset"])
            if isinstance(parameters.get("schema"), dict):
                parameters["schema"] = Schema.from_dict(parameters["schema"])
            parameters["drop"] = tuple(parameters.get("drop", ()))
            if isinstance(parameters.get("estimate_columns"), list):
                parameters["estimate_columns"] = tuple(parameters["estimate_columns"])
            model = cls()
            model.set_params(**parameters)
            model._serialize_parameters()  # What can not be saved again was not saved by us.
        except (AttributeError, ArithmeticError, TypeError, ValueError):
            raise ArchiveError(f"{path}: its parameters are not those of a TabPE.") from None
        model.release_ = release
        return model

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """Return the parameters, as scikit-learn asks for them."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name."""
        known = list(inspect.signature(type(self)).parameters)
        for name, value in parameters.items():
            if name not in known:
                raise ParameterError(f"{name}: not a parameter: {did_you_mean(name, known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        signature = inspect.signature(type(self)).parameters
        changed = (
            f"{name}={getattr(self, name)!r}"
            for name, parameter in signature.items()
            if getattr(self, name) != parameter.default
        )
        return f"TabPE({', '.join(changed)})"

    def _make_outline_reading(self, declared: PartialSchema) -> TableReading:
        """Return how a table is read for the names of its columns alone."""
        labels = PartialSchema.from_schema(declared).with_label(self.label).labels
        estimated = parse_estimated_columns(self.estimate_columns)
        more = [name for name in estimated if name != ALL_COLUMNS]
        # What is no name is refused later.
        drop = self.drop if isinstance(self.drop, Sequence) else ()
        others = (name for name in (*drop, self.unit) if isinstance(name, str))
        return replace(TableReading.from_schema(declared, labels, more, others), rules={})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = tags.non_deterministic = True
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags

    def _describe_as_html(self) -> str:
        try:
            from sklearn.utils import estimator_html_repr
        except ImportError:
            return super()._describe_as_html()
        return str(estimator_html_repr(self))

    def _resolve_domain(self, source: TableSource | None, schema: Any) -> Schema | PartialSchema:
        """Return what is declared: a schema, or one with gaps to be estimated in a table."""
        if source is not None:
            outline = make_partial_schema(
                schema,
                self.label,
                source,
                drop=self.drop,
                unit=self.unit,
                estimate=self.estimate_columns,
            )
            return declare_classes(outline, self.public_shares)
        if self.drop:
            raise ParameterError("drop: for schema='private'; leave columns out of the schema.")
        if self.estimate_columns:
            raise ParameterError(
                "estimate_columns: needs schema='private' (--private-schema), which estimates "
                "what is not declared."
            )
        # Which combinations are rare is what another run found out of its own counts.
        declared = replace(load_schema(schema), label_rare=()).with_label(self.label)
        check_unit(self.unit, declared)
        return declared

    def _run_pipeline(self, source: TableSource, settings: RunSettings) -> Release:
        warn_of_schema(settings.schema)
        rounds, visible = settings.config.rounds, is_visible(self.verbose)
        classes = settings.classes if settings.partial_schema is None else None
        request = settings.request
        _LOGGER.info("fit: %d columns, epsilon %g", len(settings.schema.columns), request.epsilon)
        with show_round_bar(rounds, classes, visible=visible) as bar:

            def follow(done: int) -> None:
                _LOGGER.info("round %d of %d", done + 1, rounds)
                bar.rounds(done)

            outcome = run(source, replace(settings, on_round=follow, on_ready=bar.shards))
        release = Release.of(outcome, source.library)
        certificate = release.certificate
        _LOGGER.info("made %d rows at epsilon %.4g", len(release.rows), certificate.epsilon)
        return release

    def make_settings(self, schema: Schema | PartialSchema) -> RunSettings:
        """Return what a run needs, all of it checked; no table is needed for that."""
        check_options(self)
        config, noise = resolve_strategy(self.preset), resolve_noise(self.noise)
        check_extensions(config)
        check_labels(config, schema)
        check_oblivious(config)
        charge = open_charge(
            self.ledger, self.dataset, self.unit, require_budget=self.require_budget
        )
        settings = RunSettings(
            schema=schema,
            request=self._make_request(schema, charge, counts_rows=config.needs_rows),
            config=config,
            noise=noise,
            resources=Resources.from_options(
                **{name: getattr(self, name) for name in RESOURCE_PARAMETERS}
            ),
            unit=self.unit,
            strict=self.strict,
            seed=check_seed(self.random_state),
            run_dir=parse_path("run_dir", self.run_dir),
            charge=charge,
            on_round=lambda _: None,
            on_population=resolve_callback(self.on_round),
        )
        check_noise(settings.request, settings.classes, settings.query_plan)
        return settings

    def _make_request(
        self, schema: Schema | PartialSchema, charge: LedgerCharge | None, *, counts_rows: bool
    ) -> SynthesisRequest:
        request = SynthesisRequest(
            epsilon=self.epsilon,
            delta=self._choose_delta(charge),
            neighbours=make_neighboring_relation(self.adjacency, self.unit, self.max_rows_per_user),
            class_budget=self.class_budget,
            schema_budget=0.0 if isinstance(schema, Schema) else self.schema_budget,
            rows=self.public_rows,
            shares=normalise_shares(self.public_shares, schema.class_names or ()),
            size=self.n_samples,
            floor=self.class_floor or 0,
            counts_rows=counts_rows or len(schema.labels) > 1,
            counts_apart=len(schema.labels) > 1,
        )
        if isinstance(schema, Schema):
            check_size(request, schema)
        return request

    def _choose_delta(self, charge: LedgerCharge | None) -> float | None:
        """Return delta: with a ledger it must be known before a row is counted."""
        if charge is None or self.delta is not None or self.public_rows is not None:
            return self.delta
        return charge.delta

    def _serialize_parameters(self) -> dict[str, Any]:
        """Return the parameters as a file holds them."""
        changed: dict[str, Any] = {"adjacency": Adjacency.from_name(self.adjacency).value}
        changed["drop"] = [str(name) for name in self.drop]
        if isinstance(self.preset, (Evolution, Posterior)):
            changed["preset"] = serialize_strategy(self.preset)
        if not isinstance(self.noise, str):
            known = [name for name, kind in NOISES.items() if isinstance(self.noise, kind)]
            changed["noise"] = known[0] if known else self.noise.name
        if self.public_shares is not None:
            shares = self.public_shares.items()
            changed["public_shares"] = {name_class(name): float(share) for name, share in shares}
        if self.label is not None and not isinstance(self.label, str):
            changed["label"] = list(self.label)
        if not isinstance(self.schema, str):
            changed["schema"] = load_schema(self.schema).to_dict()
        return {
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in (self.get_params() | changed).items()
            if name not in UNSAVED_PARAMETERS
        }
