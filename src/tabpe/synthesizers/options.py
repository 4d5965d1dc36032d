"""What a run needs beside the table, checked before a row is read.

- `Option`: what is said once about an option of `TabPE`; the constructor, the command line and the
  reference page follow from it
- `SynthesisRequest`: what is asked for and declared, and which counts must be measured besides
- `PublicFacts`: what is known before the first round. Two facts are needed: the share of each
  class, and the number of rows, or of users for a user-level guarantee. Each is declared public or
  measured with budget; nothing is taken for free.
- `RunSettings`: all that a run needs beside the table, checked
"""

from __future__ import annotations

import dataclasses
import enum
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe._utils.extras import require_report_extra
from tabpe._utils.files import check_local_path
from tabpe._utils.resources import Resources
from tabpe.accounting import (
    Adjacency,
    ExactNoise,
    NeighboringRelation,
    NoiseSource,
    OpenDPNoise,
)
from tabpe.accounting.delta import FEWEST_ROWS, RowCount
from tabpe.accounting.ledger import Ledger
from tabpe.accounting.pld import check_guarantee
from tabpe.encoding import Encoder
from tabpe.errors import (
    BudgetError,
    NoBudgetWarning,
    NotPrivateWarning,
    OutputError,
    ParameterError,
    SchemaError,
)
from tabpe.evolution import QueryPlan, RoundPopulation, Strategy, serialize_strategy
from tabpe.evolution.config import (
    CALIBRATED,
    Posterior,
    apply_weight_rule,
    get_category_weight,
    list_extensions,
)
from tabpe.evolution.extensions import compute_source_digest
from tabpe.io import TableSource
from tabpe.io.source import check_unit_column
from tabpe.measurement import NoisyCounts
from tabpe.measurement.histograms import CLASS_COUNTS, ROW_COUNT, USER_COUNT
from tabpe.measurement.reservation import LedgerCharge
from tabpe.schema import Boolean, Categorical, Column, Id, PartialColumn, PartialSchema, Schema
from tabpe.schema.constraints.parser import iterate_columns, parse_constraint
from tabpe.schema.partial import ALL_COLUMNS
from tabpe.schema.schema import name_class

T = TypeVar("T")
S = TypeVar("S")

PROVISIONAL_DELTA = 1e-6
_SET_IN_PYTHON = "Set one with Ledger(path).set_budget(dataset, epsilon=..., delta=...)."
_SET_IN_TERMINAL = "Set one with 'tabpe ledger set-budget NAME --epsilon E --delta D'."
# The groups of options.
GUARANTEE, PUBLIC, LEDGER = "Privacy guarantee", "What is public", "Ledger and resuming"
SEARCH, MACHINE = "Evolution", "Engine and resources"


@dataclass(frozen=True)
class Option:
    """What is said once about an option of a synthesizer: in Python, in a terminal and on a page.

    The field that it annotates says its name, type and default.

    Args:
        help: What it means.
        group: The group that it is shown in.
        brief: The same in one line, for a terminal; None for `help`.
        flags: Its flags on the command line; none if the command has options of its own for it.
        terminal: Its type on the command line, if that is another one.
        check: Checks a value by its name, before a table is opened.
    """

    help: str
    group: str
    brief: str | None = None
    flags: tuple[str, ...] = ()
    terminal: Any = None
    check: Callable[[str, Any], Any] | None = None


@dataclass(frozen=True)
class DeclaredOption:
    """An option with its name, type and default."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def plain_default(self) -> Any:
        """The default as it is written on a command line: the value of a member of an enum."""
        return self.default.value if isinstance(self.default, enum.Enum) else self.default


def list_options(synthesizer: type) -> list[DeclaredOption]:
    """Return the options that a synthesizer declares, in their order."""
    hints = get_type_hints(synthesizer, include_extras=True)
    declared = []
    for field in dataclasses.fields(synthesizer):
        kind, *marks = get_args(hints[field.name]) or (hints[field.name],)
        found = [mark for mark in marks if isinstance(mark, Option)]
        if found:
            declared.append(DeclaredOption(field.name, kind, field.default, found[0]))
    return declared


def check_options(synthesizer: Any) -> None:
    """Refuse options that are wrong by themselves.

    Raises:
        ParameterError: It names the option, what was given and what is allowed.
    """
    for one in list_options(type(synthesizer)):
        if one.option.check is not None:
            one.option.check(one.name, getattr(synthesizer, one.name))


def document_options(synthesizer: type[S]) -> type[S]:
    """Put the options of a synthesizer into its docstring, before its attributes."""
    lines = ["    Args:"]
    for one in list_options(synthesizer):
        lines += textwrap.wrap(
            f"{one.name}: {one.option.help}",
            100,
            initial_indent=" " * 8,
            subsequent_indent=" " * 12,
            break_on_hyphens=False,
        )
    before, mark, after = (synthesizer.__doc__ or "").partition("    Attributes:")
    synthesizer.__doc__ = before + "\n".join(lines) + "\n\n" + mark + after
    return synthesizer


def check_share(name: str, value: Any) -> float:
    """Return a part of the budget: above 0 and below 1."""
    return validation.check_real(name, value, above=0, below=1)


def check_optional_count(name: str, value: Any) -> int | None:
    """Return a number of rows, at least 1, or None."""
    return validation.check_optional(validation.check_integer, name, value, least=1)


@dataclass(frozen=True)
class SynthesisRequest:
    """What a user asks for and declares.

    Args:
        epsilon: The budget.
        delta: The delta, or None for 1 / (n ln n).
        neighbours: The neighbouring relation.
        class_budget: Part of the budget for counts of classes or rows, if they are measured.
        schema_budget: Part of the budget for what the schema lacks; 0 if it is complete.
        rows: The declared number of rows or users, or None.
        shares: The declared share of each class, or None.
        size: The number of rows to evolve, or None for a part of the private rows.
        floor: The fewest rows to evolve of a class that has any; 0 for as many as its share says.
        counts_rows: Whether the number of rows is needed whatever else is declared.
        counts_apart: Whether it is measured by itself, and not as the sum of the counts of classes,
            in which the noise of very many classes would add up.
    """

    epsilon: float
    delta: float | None
    neighbours: NeighboringRelation
    class_budget: float
    schema_budget: float
    rows: int | None
    shares: tuple[float, ...] | None
    size: int | None
    counts_rows: bool = False
    counts_apart: bool = False
    floor: int = 0

    def __post_init__(self) -> None:
        check_guarantee(self.epsilon, PROVISIONAL_DELTA if self.delta is None else self.delta)
        whole, optional = validation.check_integer, validation.check_optional
        accepted = {
            "epsilon": float(self.epsilon),
            "delta": None if self.delta is None else float(self.delta),
            "class_budget": validation.check_real(
                "class_budget", self.class_budget, above=0, below=1
            ),
            "schema_budget": validation.check_real(
                "schema_budget", self.schema_budget, above=0, below=1, least=True
            ),
            "rows": optional(whole, "public_rows", self.rows, least=FEWEST_ROWS),
            "size": optional(whole, "n_samples", self.size, least=1),
            "floor": whole("class_floor", self.floor, least=0),
        }
        for name, value in accepted.items():
            object.__setattr__(self, name, value)

    @classmethod
    def for_measures(
        cls, epsilon: float, delta: float, neighbours: NeighboringRelation
    ) -> SynthesisRequest:
        """Return a request for measures of a table, of which nothing is evolved."""
        return cls(
            epsilon,
            delta,
            neighbours,
            class_budget=0.5,  # of counts that are not measured
            schema_budget=0.0,
            rows=None,
            shares=None,
            size=None,
        )

    @property
    def evolved_size(self) -> int:
        """The number of rows to evolve, where the number of private rows is not known."""
        return _require_known(self.size)

    def least_size(self, classes: int) -> int:
        """Return the fewest rows that so many classes can be evolved in."""
        return classes * max(self.floor, 1)

    @property
    def needs_rows(self) -> bool:
        """Whether the number of rows is needed and not declared."""
        return self.rows is None and (self.counts_rows or self.delta is None or self.size is None)

    @property
    def known_delta(self) -> float | None:
        """Delta, if it is known before a row is counted."""
        if self.delta is None and self.rows is not None:
            return RowCount.from_declared(self.rows).calibration_delta
        return self.delta

    @property
    def planning_delta(self) -> float:
        """The delta that sizes fixed parts of the budget.

        Where delta still depends on a count this is a provisional one. The spends are composed at
        the delta that is guaranteed in the end, so this moves a split and no guarantee.
        """
        return self.known_delta or PROVISIONAL_DELTA


@dataclass(frozen=True)
class PublicFacts:
    """What is public about the table before the first round.

    Args:
        rows: The declared or noisy number of rows, if it is known.
        weights: Declared shares or noisy counts of the classes.
        delta: The delta that is guaranteed.
        calibration_delta: The delta that noise is calibrated at: at most the guaranteed one.
        rare: The weights of classes that share the last one, if any do.
    """

    rows: RowCount | None
    weights: tuple[float, ...]
    delta: float
    calibration_delta: float
    rare: tuple[float, ...] = ()

    @property
    def row_estimate(self) -> float:
        """The declared or noisy number of rows or users, for strategies that need it."""
        return max(float(_require_known(self.rows).estimate), 1.0)

    @property
    def class_sizes(self) -> NDArray[np.float64]:
        """The declared or noisy number of rows of each class."""
        weights = np.maximum(np.array(self.weights, dtype=np.float64), 0.0)
        weights = weights if weights.any() else np.ones(len(weights))
        sizes: NDArray[np.float64] = weights * (self.row_estimate / weights.sum())
        return sizes


def list_needed_counts(request: SynthesisRequest, classes: int) -> tuple[str, ...]:
    """Return which counts are neither declared nor needless, in the order of measuring.

    The counts of classes add up to the number of rows. They say nothing of the number of users, who
    may have rows in several classes.

    Example:
        >>> request = SynthesisRequest.for_measures(1.0, 1e-6, NeighboringRelation())
        >>> list_needed_counts(request, classes=1), list_needed_counts(request, classes=2)
        (('row count',), ('class counts',))
    """
    shares = request.shares is None and classes > 1
    apart = request.counts_apart or request.neighbours.is_user_level or request.schema_budget
    added_up = shares and not apart
    rows = request.needs_rows and not added_up
    return (get_count_name(request),) * rows + (CLASS_COUNTS,) * shares


def get_count_name(request: SynthesisRequest) -> str:
    """Return what the number of rows, or of users, is called in a spend."""
    return USER_COUNT if request.neighbours.is_user_level else ROW_COUNT


def establish_facts(request: SynthesisRequest, measured: Mapping[str, NoisyCounts]) -> PublicFacts:
    """Return the facts, from what was declared and the counts that were measured."""
    classes = measured.get(CLASS_COUNTS)
    weights = request.shares or (1.0,)
    if classes is not None:
        weights = tuple(float(count) / classes.scale for count in classes.values[0])
    added_up = None if request.neighbours.is_user_level else classes
    rows = _get_row_count(request, measured.get(get_count_name(request), added_up))
    if request.delta is not None:
        return PublicFacts(rows, weights, request.delta, request.delta)
    known = _require_known(rows)
    return PublicFacts(known, weights, known.guaranteed_delta, known.calibration_delta)


def normalise_shares(
    given: Mapping[Any, float] | None, class_names: tuple[str, ...]
) -> tuple[float, ...] | None:
    """Return the declared share of each class, in the order of the schema.

    Example:
        >>> normalise_shares({"no": 9, "yes": 1}, ("no", "yes"))
        (0.9, 0.1)
        >>> normalise_shares({("eye", True): 3, ("eye", False): 1}, ("eye / False", "eye / True"))
        (0.25, 0.75)
    """
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(map(name_class, given)) != set(class_names):
        raise ParameterError(
            f"public_shares={given!r}: expected a share for each class of {list(class_names)}."
        )
    named = {name_class(name): share for name, share in given.items()}
    shares = [
        validation.check_real(f"public_shares[{name!r}]", named[name], above=0, least=True)
        for name in class_names
    ]
    if sum(shares) == 0:
        raise ParameterError("public_shares: expected at least one share above 0.")
    return tuple(share / sum(shares) for share in shares)


def _get_row_count(request: SynthesisRequest, measured: NoisyCounts | None) -> RowCount | None:
    if request.rows is not None:
        return RowCount.from_declared(request.rows)
    if measured is None:
        return None
    counts, sigma = measured.values[0], measured.item.sigma
    return RowCount.from_noisy_counts(
        float(counts.sum()) / measured.scale, sigma=sigma, cells=len(counts)
    )


def _require_known(value: T | None) -> T:
    """Return what `SynthesisRequest.needs_rows` makes sure of."""
    if value is None:
        raise AssertionError("needs_rows")
    return value


@dataclass(frozen=True)
class RunSettings:
    """What a run needs beside the table.

    Args:
        schema: What is public about the table: all of it, or an outline whose gaps are estimated.
        request: What is asked for and declared.
        config: The strategy and its settings.
        noise: The source of noise.
        resources: What the run may use of the machine.
        unit: The column of user ids, for a user-level guarantee.
        strict: Whether a cell that does not fit the schema ends the run.
        seed: Seed of the search; None for a random one.
        run_dir: The folder that remembers the run, if it shall survive a crash.
        charge: The ledger that it is charged to, if any.
        on_round: Called with the number of rounds done.
        on_ready: Called with how many shards of a cluster have answered, and how many there are.
        on_population: Called with what each round has made, if anyone wants to see it.
        notes: What a reader of the certificate should know.
    """

    schema: Schema | PartialSchema
    request: SynthesisRequest
    config: Strategy
    noise: NoiseSource
    resources: Resources
    unit: str | None
    strict: bool
    seed: int | None
    run_dir: Path | None
    charge: LedgerCharge | None
    on_round: Callable[[int], None]
    on_ready: Callable[[int, int], None] = lambda _done, _all: None
    on_population: Callable[[RoundPopulation], None] | None = None
    notes: tuple[str, ...] = ()

    @property
    def partial_schema(self) -> PartialSchema | None:
        """The schema, if it has gaps that are estimated."""
        return self.schema if isinstance(self.schema, PartialSchema) else None

    @property
    def classes(self) -> int:
        """How many classes are counted, as far as that is known before a row is read."""
        return count_classes(self.schema)

    @property
    def query_plan(self) -> QueryPlan:
        """What the strategy asks of the private rows: known before one of them is read."""
        schema = self.schema
        return self.config.plan_queries(
            count_columns(schema), self.classes, count_listed_columns(schema)
        )

    def weigh_categories(self, schema: Schema) -> RunSettings:
        """Return settings with the weight that a rule from outside gives to categories, if any."""
        config, rule = apply_weight_rule(self.config, schema), self.config.category_weight
        if config is self.config:
            return self
        note = f"category_weight is {get_category_weight(config):g}, by {rule}"
        return dataclasses.replace(self, config=config, notes=(*self.notes, note))

    def make_encoder(self, schema: Schema) -> Encoder:
        """Return how the private rows are encoded."""
        return Encoder(schema, self.strict)

    @property
    def columns(self) -> list[str]:
        """Every column that the run reads."""
        columns = [column.name for column in _list_read_columns(self.schema)]
        return columns if self.unit is None else [*columns, self.unit]

    @property
    def identity(self) -> dict[str, Any]:
        """What must be the same for an interrupted run to go on; none of it is private."""
        request = dataclasses.asdict(self.request)
        request["neighbours"]["adjacency"] = self.request.neighbours.adjacency.value
        configuration = {
            "request": request,
            "strategy": serialize_strategy(self.config),
            "noise": self.noise.name,
            "unit": self.unit,
            "strict": self.strict,
            "random_state": self.seed,
            "dataset": None if self.charge is None else self.charge.dataset,
        }
        names = list_extensions(self.config).values()
        outside = {name: compute_source_digest(name) for name in names}
        codes = {"code from outside": outside} if outside else {}
        return {"configuration": configuration, "schema": self.schema.digest, **codes}


def count_classes(schema: Schema | PartialSchema) -> int:
    """Return the number of classes; two stand for those of a label whose values are estimated."""
    if isinstance(schema, PartialSchema):
        return 1 if schema.label is None else 2
    return len(schema.class_names)


def count_columns(schema: Schema | PartialSchema) -> int:
    """Return the number of columns of a record.

    Ids are none of them, nor is a categorical label. A numeric one is, and has `label_cuts`; an
    outline must declare these. So to estimate what an outline lacks does not change the number.

    Example:
        >>> from tabpe.schema import Boolean, Integer
        >>> age, ill = Integer("age", 0, 100), Boolean("ill")
        >>> count_columns(Schema((age, ill), label="ill"))
        1
        >>> count_columns(Schema((age, ill), label="age", label_cuts=(18, 65)))
        2
    """
    numeric = schema.label_cuts is not None or schema.label_classes is not None
    return len(_list_read_columns(schema)) - (0 if numeric else len(schema.labels))


def count_listed_columns(schema: Schema | PartialSchema) -> int:
    """Return how many columns of a record are declared to have listed values.

    A column whose type is estimated counts as none: what is asked is fixed before. Nor does an
    ordered list, whose values are near to each other or far, as numbers are.

    Example:
        >>> from tabpe.schema import Boolean, Integer
        >>> age, ill, old = Integer("age", 0, 100), Boolean("ill"), Boolean("old")
        >>> count_listed_columns(Schema((age, ill, old), label="ill"))
        1
    """
    return sum(_is_listed(column) for column in schema.columns if column.name not in schema.labels)


def _list_read_columns(schema: Schema | PartialSchema) -> list[Column | PartialColumn]:
    """Return the columns that are read: all but ids."""
    return [column for column in schema.columns if _get_kind(column) is not Id]


def _is_listed(column: Column | PartialColumn) -> bool:
    fields = column.fields if isinstance(column, PartialColumn) else vars(column)
    return _get_kind(column) in (Boolean, Categorical) and not fields.get("ordered")


def _get_kind(column: Column | PartialColumn) -> type[Column] | None:
    return column.kind if isinstance(column, PartialColumn) else type(column)


NOISES: dict[str, type[NoiseSource]] = {
    "exact": ExactNoise,
    "opendp": OpenDPNoise,
}
ROWS_PER_USER = 10


def check_oblivious(config: Strategy) -> None:
    """Refuse to search oblivious tables without the forest that chooses columns."""
    if isinstance(config, Posterior) and config.oblivious:
        require_report_extra("oblivious")


def check_labels(config: Strategy, schema: Schema | PartialSchema) -> None:
    """Refuse to calibrate labels that can not be drawn by a predictor, before a row is read."""
    if not isinstance(config, Posterior) or config.labels != CALIBRATED:
        return
    require_report_extra("labels='calibrated'")
    label = schema.label
    if label is None:
        return
    if not isinstance(label, str) or schema.label_cuts or schema.label_classes:
        raise ParameterError(
            "labels='calibrated': expected one label with a list of values. Use labels='fitted', "
            "or another label."
        )
    named = {name for rule in schema.rules for name in iterate_columns(parse_constraint(rule))}
    if label in named:
        raise ParameterError(
            f"labels='calibrated': rules name the label {label!r}, and labels are drawn without "
            f"them. Use labels='fitted'."
        )


def make_neighboring_relation(
    adjacency: str | Adjacency, unit: str | None, max_rows: int | None
) -> NeighboringRelation:
    """Return the neighboring relation."""
    relation = Adjacency.from_name(adjacency)
    if unit is None:
        if max_rows is not None:
            raise ParameterError(
                f"max_rows_per_user={max_rows!r}: needs unit, the column that identifies users."
            )
        return NeighboringRelation(relation)
    return NeighboringRelation(relation, ROWS_PER_USER if max_rows is None else max_rows)


def check_unit(unit: str | None, schema: Schema | PartialSchema) -> None:
    """Refuse a column of user ids that would be synthesised."""
    if unit is None:
        return
    if not isinstance(unit, str) or not unit:
        raise ParameterError(f"unit={unit!r}: expected the name of the column of user ids.")
    if unit in [*schema.labels, *(column.name for column in schema.columns)]:
        raise ParameterError(
            f"unit={unit!r}: is a column of the schema too. Ids are not synthesised: take it out "
            f"of the schema."
        )


def parse_path(name: str, given: str | Path | None) -> Path | None:
    """Return a path on this machine, if one is given."""
    if given is None:
        return None
    if not isinstance(given, (str, Path)) or not str(given):
        raise ParameterError(f"{name}={given!r}: expected a path.")
    check_local_path(given, OutputError)
    return Path(given)


def open_charge(
    ledger: str | Path | None,
    dataset: str | None,
    unit: str | None,
    *,
    require_budget: bool = False,
) -> LedgerCharge | None:
    """Return the data set of a ledger that a run is charged to, if one is named.

    Raises:
        BudgetError: If it must have a budget there, and has none.
    """
    if not isinstance(require_budget, bool):
        raise ParameterError(f"require_budget={require_budget!r}: expected True or False.")
    if dataset is None:
        if ledger is not None:
            raise ParameterError(
                f"ledger={str(ledger)!r}: needs dataset, the name of the table in the ledger."
            )
        if require_budget:
            raise ParameterError(
                "require_budget=True: needs dataset, the name of the table in the ledger."
            )
        return None
    charge = LedgerCharge(Ledger(parse_path("ledger", ledger)), dataset, unit)
    if charge.delta is None:
        if require_budget:
            raise BudgetError(
                f"data set {dataset!r}: has no budget in {charge.ledger.path}, and one is required."
            ).with_advice(_SET_IN_PYTHON, _SET_IN_TERMINAL)
        text = (
            f"data set {dataset!r}: has no budget in {charge.ledger.path}: the run is recorded and "
            f"not limited."
        )
        warning = NoBudgetWarning(f"{text} {_SET_IN_PYTHON}")
        warning.in_terminal = f"{text} {_SET_IN_TERMINAL}"
        warnings.warn(warning, stacklevel=4)
    return charge


def is_schema_estimated(own: Any) -> bool:
    """Return whether what the schema lacks is estimated, by the parameter of a model."""
    if isinstance(own, (Schema, Mapping)):
        return False
    if not isinstance(own, str):
        raise ParameterError(
            f"schema: {type(own).__name__}: expected 'declared' or 'private', or a Schema."
        )
    return validation.check_one_of("schema", own, ["declared", "private"]) == "private"


def choose_schema(own: Any, given: Any) -> Any:
    """Return the schema that `fit` was given, or else the one that the model has."""
    if not isinstance(own, (Schema, Mapping)):
        return given
    if given is not None:
        raise ParameterError("schema: given to the model and to fit: give it to one of them.")
    return own


def make_partial_schema(
    given: PartialSchema | Schema | Mapping[str, Any] | str | Path | None,
    label: str | Sequence[str] | None,
    source: TableSource,
    *,
    drop: Sequence[str],
    unit: str | None,
    estimate: str | Sequence[str] = (),
) -> PartialSchema:
    """Return what is declared of a table, with the columns of it that are to be estimated."""
    listed = isinstance(drop, Sequence) and not isinstance(drop, str)
    if not listed or not all(isinstance(name, str) for name in drop):
        raise ParameterError(f"drop={drop!r}: expected a list of names of columns.")
    outline = PartialSchema.from_schema(given).with_label(label)
    check_unit(unit, outline)
    left_out = list(drop)
    if unit is not None:
        named = [*(column.name for column in outline.columns), *outline.labels, *drop]
        check_unit_column(source, unit, named)
        left_out.append(unit)
    estimated = parse_estimated_columns(estimate)
    if ALL_COLUMNS in estimated and getattr(source, "names_are_data", False):
        raise ParameterError(
            "estimate_columns='all': the rows of JSON lines name their columns, so that a single "
            "row could add one: list the columns instead."
        )
    return outline.complete_columns(source.names, drop=left_out, estimate=estimated)


def parse_estimated_columns(given: Any) -> tuple[str, ...]:
    """Return the names of columns to estimate; `all` among them stands for all."""
    names = (given,) if isinstance(given, str) else given
    listed = isinstance(names, Sequence) and all(isinstance(name, str) for name in names)
    if not listed:
        raise ParameterError(
            f"estimate_columns={given!r}: expected 'all', or a list of names of columns."
        )
    return tuple(names)


def declare_classes(
    partial_schema: PartialSchema, shares: Mapping[Any, float] | None
) -> Schema | PartialSchema:
    """Return an outline whose classes are declared if their shares are; whole if it has no gap."""
    if isinstance(shares, Mapping) and shares and isinstance(partial_schema.label, str):
        partial_schema = partial_schema.with_values(partial_schema.label, tuple(shares))
    return partial_schema if partial_schema.missing else partial_schema.fill_gaps({})


def load_schema(given: Schema | Mapping[str, Any] | str | Path | None) -> Schema:
    """Return the schema, from its file if a path is given, or from plain values."""
    if given is None:
        raise SchemaError(
            "schema=None: a schema declares what is public. Draft one with "
            "tabpe.draft_schema(data), check it, and pass it to fit."
        )
    if isinstance(given, (str, Path)):
        return Schema.load(given)
    if isinstance(given, Mapping):
        return Schema.from_dict(given)
    if not isinstance(given, Schema):
        raise SchemaError(f"schema: {type(given).__name__}: expected a Schema or a path to one.")
    return given


def resolve_noise(given: str | NoiseSource) -> NoiseSource:
    """Return the source of noise, with a warning if it is a fake one."""
    if isinstance(given, str):
        return NOISES[validation.check_one_of("noise", given, list(NOISES))]()
    if isinstance(given, type) or not isinstance(given, NoiseSource):
        raise ParameterError(f"noise={given!r}: expected one of {list(NOISES)}.")
    if not given.private:
        warnings.warn(
            "noise: a fake source: what it makes is NOT PRIVATE.", NotPrivateWarning, stacklevel=4
        )
    return given


def check_seed(random_state: int | None) -> int | None:
    """Return the seed of the search; None for a random one."""
    return validation.check_optional(
        validation.check_integer, "random_state", random_state, least=0
    )


def is_visible(verbose: int) -> bool:
    """Return whether progress is to be shown."""
    return (
        verbose
        if isinstance(verbose, bool)
        else validation.check_integer("verbose", verbose, least=0) > 0
    )


def warn_of_schema(schema: Schema | PartialSchema) -> None:
    """Warn if fields of the schema were read off the data."""
    if schema.fields_from_data:
        warnings.warn(
            f"{len(schema.fields_from_data)} fields of the schema were read off the data and are "
            f"not covered by the guarantee: put in what is publicly known, then mark the columns "
            f"source: public.",
            NotPrivateWarning,
            stacklevel=3,
        )
