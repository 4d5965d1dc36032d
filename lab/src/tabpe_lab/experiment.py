"""The keys of an experiment file.

    name: characters
    title: Artificial Characters at epsilon 1
    paper: Table 1, left
    data: [artificial-characters, {xor: {features: [2, 3]}}]
    methods: [real, {tabpe: {n_samples: {artificial-characters: 1000, others: 2000}}},
              {aim: {as: AIM (order 3), degree: 3, on: [artificial-characters]}}]
    epsilons: [1.0]
    seeds: 3
    metrics: [accuracy, macro_f1, auc, 1-wd, 2-wd]
    variants: {full: {}, quick: {seeds: 1}}

In options and settings a list is a grid over its entries. Text such as `features + 1` in a setting
refers to an option of the data. A mapping in a setting chooses by the data; where it names neither
the data nor `others`, the setting has its default. A variant replaces whole keys.
`tabpe_lab.exhibits` reads such files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tabpe._utils import validation
from tabpe.errors import ParameterError, shown
from tabpe.evaluation.metrics.predictors import learner_names

UTILITY = ("accuracy", "macro_f1", "auc", "r2")
CERTAINTY = ("log_loss", "brier", "ece", "overconfidence")
FIDELITY = ("self_prediction", "atom_gap", "duplicates")
OVERLAP = ("precision", "recall", "density", "coverage")
OTHERS = "others"
CNN = "cnn"
KEPT = ("rows", "rounds")
_KWAY = re.compile(r"^[1-9][0-9]?-(wd|tv|qb)$")
SPLITS = ("authors", "seed")
_WORD = "[a-z0-9][a-z0-9_-]*"
_NAME = re.compile(f"^({_WORD}/)?{_WORD}$")


@dataclass(frozen=True)
class DataEntry:
    """A data set of the grid.

    Args:
        name: Its name in `tabpe_lab.datasets`.
        options: Options of its loader; a list is a grid. `train_rows` takes that many of the
            training rows.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MethodEntry:
    """A method of the grid.

    Args:
        name: `real`, `tabpe` or a name of `tabpe.baselines.METHODS`.
        settings: Its settings: a value, a list for a grid, or a mapping by the name of the data.
        called: Its display name; None for its name.
        on: The data sets that it runs on; None for all.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    called: str | None = None
    on: tuple[str, ...] | None = None


@dataclass(frozen=True)
class RunLimits:
    """Time and memory of a run, beyond which it does not fit.

    Args:
        seconds: Time for fitting and sampling together.
        gigabytes: Memory of the process and its children.
    """

    seconds: float = 3600.0
    gigabytes: float = 8.0

    def __post_init__(self) -> None:
        validation.check_real("seconds", self.seconds, above=0)
        validation.check_real("gigabytes", self.gigabytes, above=0)


@dataclass(frozen=True)
class EvaluationSettings:
    """Settings of the metrics; the same for all methods of an experiment.

    Args:
        learners: Predictors, of `tabpe.evaluation.metrics.predictors`, or `cnn` for images. Of
            several, the one that is best on the validation rows predicts the test rows.
        learner_rows: The most rows that a predictor is trained on.
        rows: Rows of each table that k-way distances compare.
        subsets: Sets of columns for each k.
        overlap_rows: Rows of each table that precision and recall compare.
        kept_rows: Rows of each table that are kept for figures.
    """

    learners: tuple[str, ...] = ("gradient boosting",)
    learner_rows: int = 20_000
    rows: int = 1000
    subsets: int = 24
    overlap_rows: int = 2000
    kept_rows: int = 2000

    def __post_init__(self) -> None:
        for name in ("learner_rows", "rows", "subsets", "overlap_rows", "kept_rows"):
            validation.check_integer(name, getattr(self, name), least=1)
        if not self.learners:
            raise ParameterError("learners=(): expected at least one.")
        for name in self.learners:
            validation.check_one_of("learners", name, [*learner_names(), CNN])


@dataclass(frozen=True)
class Experiment:
    """One experiment, in one variant.

    Args:
        name: Its name, which names the files of results; `folder/name` if its file is in a folder.
        variant: The name of the variant.
        title: Its title.
        paper: The part of the paper that it reproduces.
        data: The data sets.
        methods: The methods.
        epsilons: The budgets; `real` has none.
        delta: The delta of all runs; None for 1 / (n ln n) with n training rows.
        seeds: Each seeds a run, and with `split: seed` the split of the data too.
        split: `authors` for the split that the data comes with, `seed` for one by the seed; or a
            mapping by the name of the data.
        metrics: Names of metrics: `accuracy`, `macro_f1`, `auc`, `r2`, `log_loss`, `brier`, `ece`,
            `overconfidence`, `self_prediction`, `1-wd` .., `1-tv` .., `1-qb` .., `atom_gap`,
            `duplicates`, `precision`, `recall`, `density`, `coverage`.
        limits: Time and memory of a run.
        evaluate: Settings of the metrics.
        keep: What is kept beside the record: `rows` (synthetic rows), `rounds` (rows and metrics of
            single rounds; `tabpe` alone).
        rounds_kept: Which rounds; 0 for the initial random rows.
        tables: The tables of `tabpe-lab table`.
        figures: The figures of `tabpe-lab figure`.
        reduced: Why a variant is smaller than the paper's setting.
        left_out: Why runs of a method are not to be made, by its name.
    """

    name: str
    variant: str
    title: str
    data: tuple[DataEntry, ...]
    methods: tuple[MethodEntry, ...]
    metrics: tuple[str, ...]
    paper: str = ""
    epsilons: tuple[float, ...] = (1.0,)
    delta: float | None = None
    seeds: tuple[int, ...] = (0, 1, 2)
    split: Literal["authors", "seed"] | dict[str, Any] = "authors"
    limits: RunLimits = field(default_factory=RunLimits)
    evaluate: EvaluationSettings = field(default_factory=EvaluationSettings)
    keep: tuple[str, ...] = ()
    rounds_kept: tuple[int, ...] = ()
    tables: tuple[dict[str, Any], ...] = ()
    figures: tuple[dict[str, Any], ...] = ()
    reduced: str = ""
    left_out: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise ParameterError(
                f"name={shown(self.name)}: expected small letters, digits, - and _, after a folder "
                f"and / if there is one: it names files."
            )
        for name in ("data", "methods", "epsilons", "seeds", "metrics"):
            if not getattr(self, name):
                raise ParameterError(f"{name}: empty: expected at least one.")
        for epsilon in self.epsilons:
            validation.check_real("epsilons", epsilon, above=0)
        for seed in self.seeds:
            validation.check_integer("seeds", seed, least=0)
        for data in self.data:
            validation.check_one_of("split", self.get_split(data.name), SPLITS)
        validation.check_optional(validation.check_real, "delta", self.delta, above=0, below=1)
        for metric in self.metrics:
            check_metric(metric)
        for kept in self.keep:
            validation.check_one_of("keep", kept, KEPT)

    def get_split(self, data: str) -> Any:
        """Return how a data set is split."""
        return select_by_data(self.split, data) or SPLITS[0]


@dataclass(frozen=True)
class ExperimentSuite:
    """Experiments to be run together.

    Args:
        name: The name of the suite, or of its only experiment.
        experiments: The experiments, each in one variant.
        one_by_one: Whether an experiment ends before the next begins; otherwise the first seed of
            all of them comes first.
    """

    name: str
    experiments: tuple[Experiment, ...]
    one_by_one: bool = False


def select_by_data(value: Any, data: str) -> Any:
    """Return the entry of a mapping for a data set; any other value as it is.

    Example:
        >>> select_by_data({"adult": 2000, "others": 0.1}, "bank"), select_by_data({}, "bank")
        (0.1, None)
        >>> select_by_data(5, "bank")
        5
    """
    return value.get(data, value.get(OTHERS)) if isinstance(value, Mapping) else value


def check_metric(name: str) -> str:
    """Return the name of a metric if it exists.

    Example:
        >>> check_metric("5-wd")
        '5-wd'
        >>> check_metric("acuracy")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: metrics='acuracy': did you mean 'accuracy'?
    """
    if _KWAY.match(name):
        return name
    return validation.check_one_of(
        "metrics", name, [*UTILITY, *CERTAINTY, *FIDELITY, "1-wd", "2-tv", "2-qb", *OVERLAP]
    )
