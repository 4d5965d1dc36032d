"""`TabPE`: a table in, a differentially private synthetic table and a certificate out."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np

from tabpe._utils import validation
from tabpe._utils.resources import Resources
from tabpe.accounting import Adjacency, NoiseSource
from tabpe.errors import ArchiveError, ParameterError, did_you_mean
from tabpe.evolution import (
    Evolution,
    Posterior,
    RoundPopulation,
    Strategy,
    parse_strategy,
    resolve_strategy,
    serialize_strategy,
)
from tabpe.evolution.config import check_extensions
from tabpe.evolution.extensions import resolve_callback
from tabpe.io import TableSource, use_source
from tabpe.measurement.reservation import LedgerCharge
from tabpe.schema import PartialSchema, Schema
from tabpe.schema.schema import name_class
from tabpe.schema.table_format import TableReading
from tabpe.synthesizers.base import Fitted, Release
from tabpe.synthesizers.budget import check_noise
from tabpe.synthesizers.options import (
    GUARANTEE,
    LEDGER,
    MACHINE,
    NOISES,
    PUBLIC,
    SEARCH,
    Option,
    RunSettings,
    SynthesisRequest,
    check_optional_count,
    check_options,
    check_seed,
    check_share,
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
    parse_path,
    resolve_noise,
    warn_of_schema,
)
from tabpe.synthesizers.pipeline import check_size, run

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
class TabPE(Fitted):
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

    epsilon: Annotated[
        float,
        Option(
            "The privacy budget; smaller is more private.",
            GUARANTEE,
            flags=("--epsilon", "-e"),
        ),
    ] = 1.0
    delta: Annotated[
        float | None,
        Option(
            "The probability that the guarantee fails. None for 1 / (n ln n), with n as "
            "declared in `public_rows` or else measured with budget; with `dataset`, for the "
            "delta of its budget.",
            GUARANTEE,
            brief="Probability that the guarantee fails; 1/(n ln n) if left out.",
            flags=("--delta",),
        ),
    ] = None
    label: Annotated[
        str | Sequence[str] | None,
        Option(
            "The column whose values are generated per class, or a list of several, whose "
            "combinations are; None for the one of the schema.",
            PUBLIC,
            brief="The column whose values are classes; repeat it for their combinations.",
            flags=("--label", "-l"),
            terminal=list[str] | None,
        ),
    ] = None
    n_samples: Annotated[
        int | None,
        Option(
            "How many rows to make; None for as many as there are private ones, or, with an "
            "`Evolution`, for a tenth of them.",
            SEARCH,
            brief="Rows to generate, if other than --rows.",
            flags=("--evolve",),
            check=check_optional_count,
        ),
    ] = None
    class_floor: Annotated[
        int | None,
        Option(
            "The fewest rows to make of every class that has any; None for as many as its "
            "share says.",
            SEARCH,
            brief="Rows to generate of every class, at least.",
            flags=("--class-floor",),
            check=check_optional_count,
        ),
    ] = None
    preset: Annotated[
        str | Strategy,
        Option(
            "`best`, `paper`, `reference`, or settings of your own: a `Posterior` or an "
            "`Evolution`, or the `module:object` of one. Fields may follow a name, as in "
            "`paper,rounds=20`.",
            SEARCH,
            brief="'best', 'paper', 'reference' or MODULE:NAME; fields may follow: "
            "'paper,rounds=20'.",
            flags=("--preset",),
            terminal=str,
        ),
    ] = "best"
    adjacency: Annotated[
        str | Adjacency,
        Option(
            "`add-remove` or `replace-one`.",
            GUARANTEE,
            brief="'add-remove' or 'replace-one'.",
            flags=("--adjacency",),
            terminal=str,
        ),
    ] = Adjacency.ADD_REMOVE
    schema: Annotated[
        str | Schema | Mapping[str, Any],
        Option(
            "`declared` if `fit` is given a whole schema; `private` to estimate with budget "
            "what it lacks of types, bounds and values, or all of that. Or the schema itself, "
            "for a pipeline of scikit-learn, which gives `fit` nothing but the table.",
            PUBLIC,
        ),
    ] = "declared"
    schema_budget: Annotated[
        float,
        Option(
            "Which part of the budget a privately estimated schema takes.",
            PUBLIC,
            brief="Share of the budget for estimating the schema.",
            flags=("--schema-budget",),
            check=check_share,
        ),
    ] = 0.05
    estimate_columns: Annotated[
        str | Sequence[str],
        Option(
            "With an estimated schema: columns that the schema does not name and that are "
            "estimated all the same, or `all` of them. A column that is named nowhere is left out.",
            PUBLIC,
            brief="A column that the schema does not name, to estimate privately; may be "
            "repeated. Or 'all' of them.",
            flags=("--estimate-columns",),
            terminal=list[str] | None,
        ),
    ] = ()
    drop: Annotated[
        Sequence[str],
        Option(
            "With an estimated schema: columns to leave out, such as names and ids.",
            PUBLIC,
            brief="A column to leave out of a private schema; may be repeated.",
            flags=("--drop",),
            terminal=list[str] | None,
        ),
    ] = ()
    strict: Annotated[
        bool,
        Option(
            "Whether a cell that does not fit the schema ends the run with an error, where "
            "the schema states no rule for it. Whether there is a release is then not covered "
            "by the guarantee. Usually such a cell counts by the rule of its type "
            "(`Column.on_invalid`).",
            PUBLIC,
            brief="Stop at a cell that does not fit, where the schema states no rule for it. "
            "Whether there is a release is then not covered by the guarantee.",
            flags=("--strict",),
            check=validation.check_flag,
        ),
    ] = False
    unit: Annotated[
        str | None,
        Option(
            "The column of user ids, if a user may have several rows: the guarantee is "
            "user-level then. None for a guarantee to rows.",
            GUARANTEE,
            brief="The column of user ids, for user-level privacy.",
            flags=("--unit",),
        ),
    ] = None
    max_rows_per_user: Annotated[
        int | None,
        Option(
            "The most rows of a user that count, chosen at random; None for 10.",
            GUARANTEE,
            brief="Rows of a user that count; 10 if left out.",
            flags=("--max-rows-per-user",),
        ),
    ] = None
    public_shares: Annotated[
        Mapping[Any, float] | None,
        Option(
            "Share of each class, if that is public knowledge; None to measure it with budget.",
            PUBLIC,
            brief="CLASS=SHARE, if publicly known; once for each class.",
            flags=("--class-share",),
            terminal=list[str] | None,
        ),
    ] = None
    public_rows: Annotated[
        int | None,
        Option(
            "Number of private rows, or of users with `unit`, if that is public.",
            PUBLIC,
            brief="Rows, or users with --unit, if publicly known.",
            flags=("--public-rows",),
        ),
    ] = None
    class_budget: Annotated[
        float,
        Option(
            "Which part of the budget counts of classes or rows may take.",
            PUBLIC,
            check=check_share,
        ),
    ] = 0.02
    noise: Annotated[
        str | NoiseSource,
        Option(
            "`opendp`, which is exact, or `table`, which is faster and takes a tiny part of delta.",
            GUARANTEE,
            brief="'opendp' is exact; 'table' is faster, with a tiny sampling error.",
            flags=("--noise",),
            terminal=str,
        ),
    ] = "opendp"
    engine: Annotated[
        str,
        Option(
            "`local` holds the encoded rows in memory, `stream` goes through them in every "
            "round, `auto` is `local` if they fit, and `ray` and `spark` have the workers of "
            "a cluster hold them. All give the same rows.",
            MACHINE,
            brief="'local' in memory, 'stream' from disk, 'ray', 'spark', or 'auto'.",
            flags=("--engine",),
        ),
    ] = "auto"
    address: Annotated[
        str | None,
        Option(
            "Where the cluster is: `auto`, `HOST:PORT` or `ray://HOST:PORT` for Ray, "
            "`spark://HOST:PORT` or another master for Spark. None for the one that "
            "RAY_ADDRESS names or the session that is active, or else for one of this machine "
            "alone, for this run.",
            MACHINE,
            brief="A cluster: 'auto', HOST:PORT, ray://HOST:PORT or spark://HOST:PORT.",
            flags=("--address",),
        ),
    ] = None
    memory_limit: Annotated[
        int | str | None,
        Option(
            "What `auto` lets the encoded rows take: bytes, or text such as `2GB`, and what "
            "`ray` lets them take on each machine. None for half of the memory of this one.",
            MACHINE,
            brief="Stream above this, like 2GB; half the memory if left out.",
            flags=("--memory-limit",),
            terminal=str | None,
        ),
    ] = None
    spill: Annotated[
        str | Path | Literal[False] | None,
        Option(
            "The folder in which `stream` keeps encoded rows, in a file without a name. None "
            "for the folder of the system for temporary files; False to encode them in every "
            "round.",
            MACHINE,
            brief="Folder to stream from; the temporary one if left out.",
            flags=("--spill-dir",),
            terminal=Path | None,
        ),
    ] = None
    n_jobs: Annotated[
        int | None,
        Option(
            "Threads that count votes, or workers of a cluster; None or -1 for one on each core.",
            MACHINE,
            brief="Threads or workers; all cores if left out.",
            flags=("--jobs", "-j"),
        ),
    ] = None
    run_dir: Annotated[
        str | Path | None,
        Option(
            "A folder that keeps noisy measurements: after a crash the same `fit` goes on "
            "from there, and what was measured is not charged again.",
            LEDGER,
            brief="A folder to resume from after a crash.",
            flags=("--run-dir",),
            terminal=Path | None,
        ),
    ] = None
    dataset: Annotated[
        str | None,
        Option(
            "The name of the table in a ledger, which the run is charged to before a row is "
            "read, and which refuses what exceeds the total of the data set. None for no "
            "ledger.",
            LEDGER,
            brief="The data set in a ledger to charge.",
            flags=("--dataset",),
        ),
    ] = None
    ledger: Annotated[
        str | Path | None,
        Option(
            "The file of the ledger; None for the one in the data folder of the user.",
            LEDGER,
            brief="The ledger; one in your data folder if left out.",
            flags=("--ledger",),
            terminal=Path | None,
        ),
    ] = None
    require_budget: Annotated[
        bool,
        Option(
            "Refuse a data set that has no total in the ledger, instead of warning.",
            LEDGER,
            brief="Refuse a data set without a budget in the ledger.",
            flags=("--require-budget",),
        ),
    ] = False
    on_round: Annotated[
        Callable[[RoundPopulation], None] | str | None,
        Option(
            "Called after each round with a `RoundPopulation`: the rows made so far, which are "
            "public. A function, or the text `module:object`.",
            SEARCH,
            brief="A function MODULE:NAME that sees the rows of each round.",
            flags=("--on-round",),
            terminal=str | None,
        ),
    ] = None
    random_state: Annotated[
        int | None,
        Option(
            "Seed of the evolution. It never seeds the noise.",
            SEARCH,
            brief="Seed of the evolution; the noise takes none.",
            flags=("--seed",),
        ),
    ] = None
    verbose: Annotated[
        int,
        Option(
            "0 for silence, 1 for a progress bar in a terminal.",
            MACHINE,
        ),
    ] = 1

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
        with use_source(data, reading=TableReading.from_schema(settings.schema)) as source:
            self.release_ = self._run_pipeline(source, settings)
        return self

    def _fit_estimated(self, data: Any, declared: PartialSchema) -> Self:
        with use_source(data, reading=TableReading(declared.format)) as source:
            settings = self.make_settings(self._resolve_domain(source, declared))
            reading = TableReading.from_schema(settings.schema)
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
        with use_source(data, reading=TableReading(declared.format)) as source:
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
        with show_round_bar(rounds, classes, visible=visible) as bar:
            shown = replace(settings, on_round=bar.rounds, on_ready=bar.shards)
            outcome = run(source, shown)
        return Release.of(outcome, source.library)

    def make_settings(self, schema: Schema | PartialSchema) -> RunSettings:
        """Return what a run needs, all of it checked; no table is needed for that."""
        check_options(self)
        config, noise = resolve_strategy(self.preset), resolve_noise(self.noise)
        check_extensions(config)
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
        check_noise(settings.request, settings.classes, settings.query_plan, noise)
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


@dataclass(frozen=True)
class ProgressCallbacks:
    """Functions that update a progress bar.

    Args:
        rounds: Called with the number of completed rounds.
        shards: Called with the number of shards that have answered, and of all shards.
    """

    rounds: Callable[[int], None] = lambda _: None
    shards: Callable[[int, int], None] = lambda _done, _all: None


@contextmanager
def show_round_bar(
    rounds: int, classes: int | None, *, visible: bool
) -> Iterator[ProgressCallbacks]:
    """Show a bar of rounds in a terminal; yield the functions that update it.

    Privacy: the bar shows only public numbers: rounds, and classes if they are declared.
    """
    if not visible or not sys.stderr.isatty():
        yield ProgressCallbacks()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    over = "" if classes is None else f" over {classes} class{'es' if classes > 1 else ''}"
    with Progress(
        TextColumn("evolving"),
        BarColumn(bar_width=None),
        TextColumn("round {task.completed}/{task.total}" + over + "{task.description}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task("", total=rounds)
        yield ProgressCallbacks(
            lambda done: bar.update(task, completed=done),
            lambda done, of: bar.update(task, description=f", shard {done}/{of}"),
        )
