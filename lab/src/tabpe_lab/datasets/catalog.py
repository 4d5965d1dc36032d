"""Data sets by name, those of the paper, or by the path of a file: `load` and `names`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe._utils import validation
from tabpe.errors import ParameterError, did_you_mean
from tabpe.io import read_table
from tabpe.schema import Schema
from tabpe_lab.datasets import families, recorded, simulated
from tabpe_lab.datasets.dataset import AUTHORS_SEED, Dataset, DataSplit, Order, split

FILES = (".csv", ".parquet")
_UCI = "CC BY 4.0 (UCI)"
_OURS = "none needed: drawn by tabpe"
_STORE = "the data store of the paper's authors"
_NOT_STATED = "not stated there"
_FILES = "the files of the paper's authors"


@dataclass(frozen=True)
class CatalogEntry:
    """A data set of the catalogue.

    Args:
        title: Display name; `order`, `source` and `licence` are as in `Dataset`.
        schema: Returns the public schema.
        table: Returns all rows.
        parts: Returns the published splits; None if there are none.
        split: Describes them.
        seed: Seed of the default split otherwise.
        options: Options of the functions above, with their defaults.
    """

    title: str
    order: Order
    source: str
    licence: str
    schema: Callable[..., Schema]
    table: Callable[..., pa.Table]
    parts: Callable[..., DataSplit] | None = None
    split: str = ""
    seed: int = 0
    options: dict[str, int] = field(default_factory=dict)


def names() -> tuple[str, ...]:
    """Return the names of all data sets.

    Example:
        >>> names()[:4]
        ('xor', 'scm-tree', 'scm-nn', 'scm-rff')
    """
    return tuple(_ENTRIES)


def is_file_name(name: str) -> bool:
    """Return whether a data set is a file of one's own.

    Example:
        >>> is_file_name("ward/patients.csv"), is_file_name("adult")
        (True, False)
    """
    return Path(name).suffix.lower() in FILES


def load(name: str, *, split_seed: int | None = None, **options: Any) -> Dataset:
    """Return a data set, with its public schema and its split.

    Files are looked for in the folder that `TABPE_DATA` names, in `../shared/data`, and in the
    cache of this user; what is in none of them is downloaded from its public source.

    Args:
        name: One of `names()`, or the path of a CSV or Parquet file.
        split_seed: Seed of a split of all rows by 70, 15 and 15 percent; None for the split of the
            paper's authors where it is known, else for one with seed 0.
        options: Of simulated data: `rows`; of `xor` also `features`; of a file `schema`, the path
            of its schema.

    Raises:
        ParameterError: If there is no such data set or option.
        DataError: If a file is nowhere and can not be downloaded, or is not what it should be.

    Example:
        >>> data = load("xor", features=3)
        >>> data.train.num_rows, data.validation.num_rows, data.test.num_rows
        (35000, 7500, 7500)
        >>> data.split
        '70/15/15, stratified, seed 0'
    """
    if is_file_name(name):
        return _load_file(name, split_seed or 0, **options)
    entry = _ENTRIES[validation.check_one_of("name", name, names())]
    chosen = _check_options(name, entry, options)
    seed = validation.check_optional(validation.check_integer, "split_seed", split_seed, least=0)
    schema = entry.schema(**{key: chosen[key] for key in chosen if key != "rows"})
    parts, words = _load_split(entry, str(schema.label), seed, chosen)
    return Dataset(
        name=name,
        title=entry.title.format(**chosen),
        schema=schema,
        train=parts.train,
        validation=parts.validation,
        test=parts.test,
        order=entry.order,
        source=entry.source,
        licence=entry.licence,
        split=words,
    )


def _load_file(path: str, seed: int, schema: str | None = None, **others: Any) -> Dataset:
    """Return the rows of a file, split."""
    if schema is None or others:
        raise ParameterError(f"{path}: expected one option, schema: the path of its schema file.")
    declared = Schema.load(schema)
    if not isinstance(declared.label, str) or declared.label_cuts is not None:
        raise ParameterError(f"{schema}: label: expected one column with a list of values.")
    table = read_table(Path(path)).select([column.name for column in declared.columns])
    parts = split(table, declared.label, seed)
    return Dataset(
        name=path,
        title=Path(path).stem,
        schema=declared,
        train=parts.train,
        validation=parts.validation,
        test=parts.test,
        order="own",
        source=path,
        licence="not known",
        split=f"70/15/15, stratified, seed {seed}",
    )


def _check_options(name: str, entry: CatalogEntry, options: dict[str, Any]) -> dict[str, int]:
    for key, value in options.items():
        if key not in entry.options:
            known = did_you_mean(key, entry.options) if entry.options else "it has no options."
            raise ParameterError(f"{key}={value!r} is no option of data set {name!r}: {known}")
        validation.check_integer(key, value, least=_LEAST[key])
    return {**entry.options, **options}


def _load_split(
    entry: CatalogEntry, label: str, seed: int | None, chosen: dict[str, int]
) -> tuple[DataSplit, str]:
    if seed is None and entry.parts is not None:
        return entry.parts(**chosen), entry.split
    used = entry.seed if seed is None else seed
    whose = ", as the paper's authors cut it" if used == AUTHORS_SEED == entry.seed else ""
    words = f"70/15/15, stratified, seed {used}{whose}"
    return split(entry.table(**chosen), label, used), words


def _make_scm_entry(prior: str, words: str) -> CatalogEntry:
    return CatalogEntry(
        title=f"SCM, {words} prior",
        order="simulated",
        source="structural causal model in the manner of TabPFN's prior",
        licence=_OURS,
        schema=simulated.make_scm_schema,
        table=partial(simulated.draw_scm_table, prior),
        options={"rows": 50_000},
    )


def _make_authors_entry(prior: str, words: str) -> CatalogEntry:
    read = partial(recorded.read_authors_scm, prior)
    return CatalogEntry(
        title=f"SCM of the authors, {words} prior",
        order="simulated",
        source=_STORE,
        licence=_NOT_STATED,
        schema=simulated.make_scm_schema,
        table=partial(recorded.pool_rows, read),
        parts=read,
        split=_FILES,
    )


def _make_monk_entry(problem: int) -> CatalogEntry:
    return CatalogEntry(
        title=f"MONK's problem {problem}",
        order="high",
        source="UCI 70, MONK's problems, training and test rows together",
        licence=_UCI,
        schema=partial(recorded.load_schema, "monk"),
        table=partial(recorded.read_monk, problem),
    )


def _make_family_entry(
    title: str, schema: Callable[..., Schema], table: Callable[..., pa.Table]
) -> CatalogEntry:
    return CatalogEntry(
        title=title,
        order="simulated",
        source="a family of tables (tabpe_lab.datasets.families)",
        licence=_OURS,
        schema=schema,
        table=table,
        options={"rows": families.ROWS},
    )


# Fewer rows might not have two of each class in each part, of which the split needs both.
_LEAST = {"features": 1, "rows": 40}
_ENTRIES = {
    "xor": CatalogEntry(
        title="XOR of {features} features",
        order="simulated",
        source="the draw of the paper's authors (tabpe_lab.datasets.simulated)",
        licence=_OURS,
        schema=simulated.make_xor_schema,
        table=simulated.draw_xor_table,
        options={"features": 5, "rows": 50_000},
    ),
    "scm-tree": _make_scm_entry("tree", "tree"),
    "scm-nn": _make_scm_entry("nn", "neural network"),
    "scm-rff": _make_scm_entry("rff", "random Fourier features"),
    "xor-authors": CatalogEntry(
        title="XOR of {features} features, parts of the authors",
        order="simulated",
        source=_STORE,
        licence=_NOT_STATED,
        schema=simulated.make_xor_schema,
        table=partial(recorded.pool_rows, recorded.read_authors_xor),
        parts=recorded.read_authors_xor,
        split=_FILES,
        options={"features": 5},
    ),
    "scm-tree-authors": _make_authors_entry("tree", "tree"),
    "scm-nn-authors": _make_authors_entry("nn", "neural network"),
    "scm-rff-authors": _make_authors_entry("rff", "random Fourier features"),
    "regions": CatalogEntry(
        title="Regions of 20 classes",
        order="simulated",
        source="nearest of 60 points, in a structural causal model (tabpe_lab.datasets.simulated)",
        licence=_OURS,
        schema=simulated.make_regions_schema,
        table=simulated.draw_regions_table,
    ),
    "xor-shifted": CatalogEntry(
        title="XOR of {features} features, cuts at random ranks",
        order="simulated",
        source="XOR with other cuts (tabpe_lab.datasets.families)",
        licence=_OURS,
        schema=simulated.make_xor_schema,
        table=families.draw_shifted_xor_table,
        options={"features": 5, "rows": 50_000},
    ),
    "zero-inflated": _make_family_entry(
        "Zero-inflated numbers",
        families.make_zero_inflated_schema,
        families.draw_zero_inflated_table,
    ),
    "capped": _make_family_entry(
        "Capped numbers", families.make_capped_schema, families.draw_capped_table
    ),
    "survey": _make_family_entry(
        "Answers to a survey", families.make_survey_schema, families.draw_survey_table
    ),
    "many-classes": _make_family_entry(
        "24 classes of different size",
        families.make_many_classes_schema,
        families.draw_many_classes_table,
    ),
    "wide": _make_family_entry("40 columns", families.make_wide_schema, families.draw_wide_table),
    "artificial-characters": CatalogEntry(
        title="Artificial Characters",
        order="high",
        source="OpenML 1459, in the parts of the paper's authors",
        licence=_UCI,
        schema=partial(recorded.load_schema, "artificial-characters"),
        table=recorded.read_artificial_characters,
        parts=recorded.read_artificial_characters_split,
        split="the files of the paper's authors, 70/15/15",
    ),
    "person-activity": CatalogEntry(
        title="Person Activity (49,458 rows)",
        order="high",
        source="OpenML 1483, validation and test rows of the paper's authors together",
        licence=_UCI,
        schema=partial(recorded.load_schema, "person-activity"),
        table=recorded.read_person_activity,
    ),
    "person-activity-whole": CatalogEntry(
        title="Person Activity",
        order="high",
        source=f"OpenML 1483, {_STORE}",
        licence=_UCI,
        schema=partial(recorded.load_schema, "person-activity"),
        table=partial(recorded.pool_rows, recorded.read_whole_person_activity),
        parts=recorded.read_whole_person_activity,
        split=_FILES,
    ),
    "adult": CatalogEntry(
        title="Adult",
        order="low",
        source="UCI 2, without the test rows that lack an answer",
        licence=_UCI,
        schema=partial(recorded.load_schema, "adult"),
        table=recorded.read_adult,
        seed=AUTHORS_SEED,
    ),
    "breast-cancer": CatalogEntry(
        title="Breast Cancer Wisconsin (diagnostic)",
        order="low",
        source="UCI 17, as it comes with scikit-learn",
        licence=_UCI,
        schema=partial(recorded.load_schema, "breast-cancer"),
        table=recorded.read_breast_cancer,
        seed=AUTHORS_SEED,
    ),
    "insurance": CatalogEntry(
        title="Medical insurance: charges above 20,000",
        order="high",
        source="Medical Cost Personal, from the book Machine Learning with R",
        licence="Open Database License",
        schema=partial(recorded.load_schema, "insurance"),
        table=recorded.read_insurance,
    ),
    "monk": _make_monk_entry(2),
    "monk-1": _make_monk_entry(1),
    "monk-2": _make_monk_entry(2),
    "monk-3": _make_monk_entry(3),
    "walking-activity": CatalogEntry(
        title="Walking Activity",
        order="high",
        source="UCI 286, User Identification From Walking Activity",
        licence=_UCI,
        schema=partial(recorded.load_schema, "walking-activity"),
        table=recorded.read_walking_activity,
    ),
    "mnist": CatalogEntry(
        title="MNIST, 14x14",
        order="high",
        source="MNIST, means of two by two pixels",
        licence="CC BY-SA 3.0",
        schema=recorded.make_mnist_schema,
        table=recorded.read_mnist,
        parts=recorded.read_mnist_split,
        split="the usual 10,000 test images; 10,000 of the training images, stratified, seed 0",
    ),
    "bank": CatalogEntry(
        title="Bank Marketing",
        order="low",
        source="UCI 222, bank-full",
        licence=_UCI,
        schema=partial(recorded.load_schema, "bank"),
        table=recorded.read_bank,
    ),
}
