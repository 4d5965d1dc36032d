"""`Evolution` and `Posterior`: the settings of the two strategies, and the presets."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tabpe._utils import validation
from tabpe.accounting.calibration import BudgetShare, scale_shares
from tabpe.errors import ParameterError, did_you_mean
from tabpe.evolution.extensions import (
    SelectionRule,
    VariationOperator,
    WeightRule,
    check_extension,
    compute_category_weight,
    is_extension_name,
    load_callable,
    load_object,
)
from tabpe.measurement.histograms import VOTES
from tabpe.schema import Schema

SELECTIONS = ("two-stage", "sampling", "ranking")
OPERATORS = ("random-walk", "genetic")
SCHEDULES = ("polynomial", "linear")
STEPS = ("gaussian", "uniform")
MOST_VOTES = 16
MOST_TILTED = 200
COLUMNS = "1-way marginals"
PAIRS = "2-way marginals"
# The setting that is the share of the budget of each.
CERTAINTY, SEARCH, PROBE = "how sure labels are", "search for piles", "oblivious table"
SHARE_FIELDS = {
    COLUMNS: "tables",
    PAIRS: "pairs",
    CERTAINTY: "calibration",
    SEARCH: "search",
    PROBE: "oblivious",
}
TEACHER_COUNT, LOOKS = 2, 3
FITTED, CALIBRATED = LABELS = "fitted", "calibrated"
VOTES_OR_TABLES = "votes, or 1-way marginals"
# In so many columns all rows are about equally far from each other, and votes may carry no
# information: after a trial of some rounds the rest of the budget can go to 1-way marginals.
WIDE, TRIAL = 40, 2
VOTES_OR_OBLIVIOUS = "votes, or oblivious tables"
# Each vote of a row is asked for in so many parts, so that tables can take the place of a round.
TABLE_PARTS, FEWEST_GATED = 8, 2


@dataclass(frozen=True)
class QueryPlan:
    """The queries of a strategy, besides the row count and the class counts.

    A histogram in which a row casts several votes counts as that many.

    Args:
        first: Shares of the whole budget.
        rest: Shares of what is left then; they add up to 1.
        repeats: How often each votes query is asked: many cheap answers instead of one expensive
            one, so that the budget of those not yet asked can be reallocated.
        trial: The number of rounds after which that is decided; 0 for never.
    """

    first: tuple[BudgetShare, ...]
    rest: tuple[BudgetShare, ...]
    repeats: int = 1
    trial: int = 0

    @property
    def histograms(self) -> int:
        """The number of histograms, each of sensitivity 1."""
        return sum(part.times for part in (*self.first, *self.rest))

    def get_votes_name(self, index: int) -> str:
        """Return the name of the spend of the votes of a round."""
        return self.rest[min(index, len(self.rest) - 1)].name


@dataclass(frozen=True)
class Evolution:
    """How a population evolves. The defaults are those of the paper.

    Args:
        rounds: Number of histograms, T.
        sampling_rounds: Rounds after which the population grows and parents are kept.
        variations: Variations of each parent from then on, m.
        mutation_init: Mutation rate of the first round.
        mutation_final: Mutation rate that the schedule falls to.
        gamma: Power of the polynomial schedule; smaller falls earlier.
        schedule: `polynomial`, or `linear`, which is a gamma of 1.
        horizon: The round at which the final rate would be reached; None for `rounds`.
        category_weight: What one differing category adds to a squared distance, lambda; or a
            `WeightRule` from outside.
        step: Numbers move by a `gaussian` step, or by a `uniform` one up to the rate.
        operator: `random-walk`; `genetic`: crossover of one attribute and mutation of all; or a
            `VariationOperator` from outside.
        selection: `two-stage`: sampling, then ranking; one of the two in every round; or a
            `SelectionRule` from outside.
        sample_while_growing: Whether the round that first keeps parents still samples, as in
            the paper, or already ranks.
        votes: The number of nearest candidates that a row votes for.
        tilt: The last round gets e^tilt times the budget of the first.
        tables: The share of the budget of 1-way marginals. Initial candidates are drawn from them,
            and categories in every round; 0 for uniform draws.
        by_rank: How far numbers are moved towards their ranks, which the marginals show, for
            distances and steps: from 0 to 1.

    What comes from outside is a function or a class of a module, or the text `module:object`, which
    is what is kept of it (`tabpe.evolution.extensions`).

    Example:
        >>> import dataclasses
        >>> dataclasses.replace(PRESETS["paper"], rounds=20).mutation_final
        0.02
    """

    rounds: int = 15
    sampling_rounds: int = 5
    variations: int = 3
    mutation_init: float = 0.5
    mutation_final: float = 0.02
    gamma: float = 0.2
    schedule: str = "polynomial"
    horizon: int | None = None
    category_weight: float | str | WeightRule = 1 / 3
    step: str = "gaussian"
    operator: str | VariationOperator = "random-walk"
    selection: str | SelectionRule = "two-stage"
    sample_while_growing: bool = True
    votes: int = 1
    tilt: float = 0.0
    tables: float = 0.0
    by_rank: float = 0.0

    def __post_init__(self) -> None:
        validation.check_integer("rounds", self.rounds, least=1)
        validation.check_integer("sampling_rounds", self.sampling_rounds, least=0)
        validation.check_integer("variations", self.variations, least=1)
        validation.check_fraction("mutation_init", self.mutation_init)
        validation.check_fraction("mutation_final", self.mutation_final)
        validation.check_real("gamma", self.gamma, above=0)
        validation.check_one_of("schedule", self.schedule, SCHEDULES)
        if self.horizon is not None:
            validation.check_integer("horizon", self.horizon, least=self.rounds)
        _accept_weight(self)
        validation.check_one_of("step", self.step, STEPS)
        _accept_extension(self, "operator", OPERATORS)
        _accept_extension(self, "selection", SELECTIONS)
        _check_votes(self.votes)
        validation.check_real("tilt", self.tilt, above=-10, below=10)
        if self.tilt and self.rounds > MOST_TILTED:
            raise ParameterError(
                f"rounds={self.rounds}: expected at most {MOST_TILTED} with a tilt, which gives "
                f"each its own noise. Leave out tilt, or use fewer rounds."
            )
        _check_tables(self.tables, self.by_rank)
        if self.tables and self.operator != "random-walk":
            raise ParameterError(
                f"tables={self.tables:g}: for operator='random-walk' only; {self.operator!r} knows "
                f"no marginals. Set tables=0, or use the other operator."
            )

    def plan_queries(self, columns: int, classes: int, listed: int = 0) -> QueryPlan:  # noqa: ARG002
        """Return the queries about a table with so many columns besides the label.

        Args:
            columns: The number of columns.
            classes: The number of classes.
            listed: How many of the columns have listed values; not used.
        """
        tables = plan_one_way_marginals(self.tables, columns, classes)
        if not self.tilt:
            return QueryPlan(tables, (BudgetShare(VOTES, 1.0, self.rounds * self.votes),))
        last = max(1, self.rounds - 1)
        weights = [math.exp(self.tilt * index / last) for index in range(self.rounds)]
        shares = [weight / sum(weights) for weight in weights]
        votes = (
            BudgetShare(f"{VOTES}, round {index + 1}", share, self.votes)
            for index, share in enumerate(shares)
        )
        return QueryPlan(tables, tuple(votes))

    @property
    def needs_rows(self) -> bool:
        """Whether the number of rows must be known."""
        return self.tables > 0


@dataclass(frozen=True)
class Posterior:
    """How weighted rows are fitted to all noisy measurements so far, round by round.

    One pool of rows represents the table. Each round draws candidates from it, asks for votes, and
    fits the weights of the pool to the votes of all rounds and to marginals. Rows are then drawn by
    weight and mutated a little, so that the pool follows its weights.

    Args:
        rounds: Number of histograms of votes; 0 for marginals alone.
        votes: The number of nearest candidates that a row votes for.
        tables: The share of the budget of 1-way marginals.
        pairs: The share of all 2-way marginals, where at least half of the columns have listed
            values: these either agree or differ, and votes carry little information about them.
        by_rank: How far numbers are moved towards their ranks for distances and steps.
        candidates: The number of candidates of a round; None for as many as noise allows.
        pool: The number of rows of the pool; None for a multiple of the candidates.
        mutation_init: The mutation rate of the first round.
        mutation_final: The mutation rate of the last round.
        kept: The part of the rows that is not mutated.
        category_weight: What one differing category adds to a squared distance; or a `WeightRule`
            from outside, as in `Evolution`.
        spread: The prior standard deviation of the logarithm of a weight; None for one that grows
            with the number of classes.
        sweeps: Sweeps of the fit in each round.
        last_sweeps: Sweeps of the last fit.
        spikes: Whether values at which numbers pile up are searched for among public points: the
            bounds of a column, zero and round values. Declared special values need no search.
        search: The share of a search for piles at other values, with `spikes` alone; 0 for none.
        adaptive_bins: Whether columns are counted by class in bins of about equal mass, by what the
            counts of all rows say.
        sharpness: The power of the share of a row's class among its nearest rows that multiplies
            its weight at the end, against the blur that noise puts on labels; 0 for none.
        move_copies: Whether the numbers of rows that repeat another are moved a little at the end,
            within the cells of the 1-way marginals.
        labels: `fitted`: rows have the labels that their weights were fitted with. `calibrated`:
            labels are drawn by a predictor that a noisy histogram calibrates, so that they are as
            certain as real ones; then none are sharpened.
        calibration: The share of such histograms, of two predictors of which the better is kept.
        oblivious: The share of an oblivious table: counts by class of the cells that one cut on
            each of some columns makes. If the rounds so far do not predict it, more such tables are
            measured instead of the last round; 0 for none.

    Example:
        >>> PRESETS["best"].plan_queries(columns=3, classes=2).histograms
        38
    """

    rounds: int = 8
    votes: int = 4
    tables: float = 0.1
    pairs: float = 0.4
    by_rank: float = 0.5
    candidates: int | None = None
    pool: int | None = None
    mutation_init: float = 0.15
    mutation_final: float = 0.04
    kept: float = 0.5
    category_weight: float | str | WeightRule = 1 / 3
    spread: float | None = None
    sweeps: int = 10
    last_sweeps: int = 30
    sharpness: float = 1.0
    spikes: bool = False
    adaptive_bins: bool = False
    search: float = 0.0
    move_copies: bool = False
    labels: str = FITTED
    calibration: float = 0.03
    oblivious: float = 0.0

    def __post_init__(self) -> None:
        validation.check_integer("rounds", self.rounds, least=0)
        _check_votes(self.votes)
        validation.check_real("tables", self.tables, above=0, below=1)
        validation.check_real("pairs", self.pairs, above=0, below=1, least=True)
        labels = self.calibration if self.labels == CALIBRATED else 0.0
        if self.rounds and self.tables + self.pairs + labels + self.search + self.oblivious >= 1:
            more = f", calibration={labels:g}" if labels else ""
            more += f", search={self.search:g}" if self.search else ""
            more += f", oblivious={self.oblivious:g}" if self.oblivious else ""
            raise ParameterError(
                f"tables={self.tables:g}, pairs={self.pairs:g}{more}: all of the budget: nothing "
                f"is left for the votes. Make one of them smaller, or set rounds=0 for no votes."
            )
        _check_tables(self.tables, self.by_rank)
        for name in ("candidates", "pool"):
            validation.check_optional(validation.check_integer, name, getattr(self, name), least=1)
        for name in ("mutation_init", "mutation_final"):
            validation.check_fraction(
                name, validation.check_real(name, getattr(self, name), above=0)
            )
        validation.check_fraction("kept", self.kept)
        _accept_weight(self)
        validation.check_optional(validation.check_real, "spread", self.spread, above=0)
        validation.check_integer("sweeps", self.sweeps, least=1)
        validation.check_integer("last_sweeps", self.last_sweeps, least=1)
        validation.check_real("sharpness", self.sharpness, above=0, least=True)
        for name in ("spikes", "adaptive_bins", "move_copies"):
            _check_flag(name, getattr(self, name))
        validation.check_real("search", self.search, above=0, below=1, least=True)
        if self.search and not self.spikes:
            raise ParameterError(f"search={self.search:g}: set spikes=True for a search for piles.")
        validation.check_one_of("labels", self.labels, list(LABELS))
        validation.check_real("calibration", self.calibration, above=0, below=1)
        validation.check_real("oblivious", self.oblivious, above=0, below=1, least=True)
        if self.oblivious and 0 < self.rounds < FEWEST_GATED:
            raise ParameterError(
                f"oblivious={self.oblivious:g}: expected at least {FEWEST_GATED} rounds: tables "
                f"may take the place of the last one. Set rounds={FEWEST_GATED}, or oblivious=0."
            )

    def plan_queries(self, columns: int, classes: int, listed: int = 0) -> QueryPlan:
        """Return the queries about a table with so many columns besides the label.

        Args:
            columns: The number of columns.
            classes: The number of classes.
            listed: How many of the columns have listed values.
        """
        if not self.rounds and not columns:
            raise ParameterError("rounds=0: a label alone has no marginals. Ask for votes.")
        share = self.pairs if 2 * listed >= columns and columns < WIDE else 0.0
        pairs = plan_two_way_marginals(share, columns)
        # Where there are no classes, the second counts are of all rows again.
        singles = plan_one_way_marginals(self.tables, columns, max(classes, 1 + self.is_two_stage))
        if not self.rounds:
            whole = self.tables + sum(part.share for part in pairs)
            return QueryPlan((), scale_shares((*singles, *pairs), 1 / whole))
        calibrates = self.labels == CALIBRATED and classes > 1
        labels = (BudgetShare(CERTAINTY, self.calibration, TEACHER_COUNT),) if calibrates else ()
        # A column is looked at in so many steps.
        looks = LOOKS * (columns - listed)
        search = (BudgetShare(SEARCH, self.search, looks),) if self.search and looks else ()
        # In very many columns votes have a trial of their own.
        is_gated = self.oblivious > 0 and classes > 1 and 0 < columns < WIDE
        probe = (BudgetShare(PROBE, self.oblivious),) if is_gated else ()
        tables = (*singles, *pairs, *search, *labels, *probe)
        if is_gated:
            times = self.rounds * self.votes * TABLE_PARTS
            return QueryPlan(tables, (BudgetShare(VOTES_OR_OBLIVIOUS, 1.0, times),), TABLE_PARTS)
        later = (self.rounds - TRIAL) * self.votes
        if columns < WIDE or later < 1:
            return QueryPlan(tables, (BudgetShare(VOTES, 1.0, self.rounds * self.votes),))
        repeats = math.ceil(tables[0].times / later)
        times = self.rounds * self.votes * repeats
        return QueryPlan(tables, (BudgetShare(VOTES_OR_TABLES, 1.0, times),), repeats, TRIAL)

    @property
    def is_two_stage(self) -> bool:
        """Whether the cells of the marginals by class follow from those of all rows."""
        return self.spikes or self.adaptive_bins

    @property
    def needs_rows(self) -> bool:
        """Whether the number of rows must be known."""
        return True


Strategy = Evolution | Posterior
_KINDS: dict[str, type[Evolution | Posterior]] = {"evolution": Evolution, "posterior": Posterior}


def resolve_strategy(preset: Any) -> Strategy:
    """Return the settings of a preset by its name; settings are returned unchanged.

    A name is that of a preset or the `module:object` of settings from outside. Fields that replace
    its own may follow.

    Example:
        >>> resolve_strategy("paper").rounds
        15
        >>> resolve_strategy("paper,rounds=20,operator=my_ops:walk").operator
        'my_ops:walk'
    """
    if isinstance(preset, (Evolution, Posterior)):
        return preset
    if not isinstance(preset, str):
        raise ParameterError(f"preset={preset!r}: expected a name, an Evolution or a Posterior.")
    name, *changes = (part.strip() for part in preset.split(","))
    if is_extension_name(name):
        found = load_object("preset", name)
    else:
        found = PRESETS[validation.check_one_of("preset", name, list(PRESETS))]
    if not isinstance(found, (Evolution, Posterior)):
        raise ParameterError(f"preset={name!r}: expected an Evolution or a Posterior there.")
    return replace(found, **dict(_parse_change(text, found) for text in changes))


def _parse_change(text: str, strategy: Strategy) -> tuple[str, Any]:
    """Return the name and the value of a field: a JSON value, or else text."""
    name, equals, value = (part.strip() for part in text.partition("="))
    known = [field.name for field in fields(strategy)]
    if not equals or name not in known:
        raise ParameterError(
            f"preset: {text!r}: expected FIELD=VALUE of {type(strategy).__name__}: "
            f"{did_you_mean(name, known)}"
        )
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def list_extensions(strategy: Strategy) -> dict[str, str]:
    """Return the fields of a strategy that come from outside the package, as `module:object`.

    Example:
        >>> list_extensions(Evolution(selection="my_ops:tournament"))
        {'selection': 'my_ops:tournament'}
    """
    return {name: given for name, given in asdict(strategy).items() if is_extension_name(given)}


def apply_weight_rule(strategy: Strategy, schema: Schema) -> Strategy:
    """Return a strategy whose category weight is a number, whatever rule it came from."""
    given = strategy.category_weight
    if not is_extension_name(given):
        return strategy
    return replace(strategy, category_weight=compute_category_weight(str(given), schema))


def get_category_weight(strategy: Strategy) -> float:
    """Return the category weight of a strategy, to which `apply_weight_rule` was applied."""
    return validation.check_real("category_weight", strategy.category_weight, above=0)


def check_extensions(strategy: Strategy) -> None:
    """Refuse settings whose parts from outside can not be loaded."""
    for field, name in list_extensions(strategy).items():
        load_callable(field, name)


def serialize_strategy(strategy: Strategy) -> dict[str, Any]:
    """Return a strategy as plain values for a file.

    Example:
        >>> parse_strategy(serialize_strategy(PRESETS["best"])) == PRESETS["best"]
        True
    """
    return {"strategy": type(strategy).__name__.lower(), **asdict(strategy)}


def parse_strategy(given: Mapping[str, Any]) -> Strategy:
    """Return a strategy from a file."""
    fields = dict(given)
    name = validation.check_one_of("strategy", fields.pop("strategy", None), list(_KINDS))
    return _KINDS[name](**fields)


def plan_one_way_marginals(share: float, columns: int, classes: int) -> tuple[BudgetShare, ...]:
    """Return the share of 1-way marginals: one over all rows for each column, and one by class."""
    if not share or not columns:
        return ()
    return (BudgetShare(COLUMNS, share, columns * (2 if classes > 1 else 1)),)


def plan_two_way_marginals(share: float, columns: int) -> tuple[BudgetShare, ...]:
    """Return the share of the 2-way marginals of all pairs of columns."""
    pairs = math.comb(columns, 2)
    return (BudgetShare(PAIRS, share, pairs),) if share and pairs else ()


def _accept_extension(strategy: Strategy, field: str, known: Sequence[str]) -> None:
    """Replace an object from outside by its `module:object`."""
    name = check_extension(field, getattr(strategy, field), known)
    object.__setattr__(strategy, field, name)


def _accept_weight(strategy: Strategy) -> None:
    given = strategy.category_weight
    if is_extension_name(given) or callable(given):
        _accept_extension(strategy, "category_weight", ())
    else:
        validation.check_real("category_weight", given, above=0)


def _check_flag(name: str, given: Any) -> None:
    if not isinstance(given, bool):
        raise ParameterError(f"{name}={given!r}: expected true or false.")


def _check_votes(votes: int) -> None:
    validation.check_integer("votes", votes, least=1)
    if votes > MOST_VOTES:
        raise ParameterError(f"votes={votes}: expected at most {MOST_VOTES}.")


def _check_tables(tables: float, by_rank: float) -> None:
    validation.check_real("tables", tables, above=0, below=1, least=True)
    validation.check_fraction("by_rank", by_rank)
    if by_rank and not tables:
        raise ParameterError(
            f"by_rank={by_rank:g}: ranks come from 1-way marginals: set tables above 0, for "
            f"example 0.1."
        )


PRESETS: dict[str, Strategy] = {
    "best": Posterior(),
    "paper": Evolution(),
    # The code that the paper's authors published: 14 histograms, of which the first 4 are sampled
    # from, on the schedule of 15; uniform steps; and one-hot codes of height lambda, which put
    # two different categories at a squared distance of 2 lambda^2.
    "reference": Evolution(
        rounds=14,
        sampling_rounds=4,
        mutation_final=0.01,
        horizon=15,
        category_weight=2 / 9,
        step="uniform",
        sample_while_growing=False,
    ),
}
