"""What the parameters of `TabPE` mean, each checked before a row is read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tabpe import _validate
from tabpe._paths import check_local
from tabpe.charge import Charge
from tabpe.errors import (
    BudgetError,
    NoBudgetWarning,
    NotPrivateWarning,
    OutputError,
    ParameterError,
    SchemaError,
)
from tabpe.io import Source
from tabpe.privacy import Adjacency, Neighbours, NoiseSource, OpenDPNoise, TableNoise
from tabpe.privacy.ledger import Ledger
from tabpe.rows import check_unit_column
from tabpe.schema import Outline, Schema

NOISES: dict[str, type[NoiseSource]] = {"opendp": OpenDPNoise, "table": TableNoise}
ROWS_A_USER = 10


def neighbours_of(adjacency: str | Adjacency, unit: str | None, max_rows: int | None) -> Neighbours:
    """Return whom the promise is for."""
    relation = Adjacency.of(adjacency)
    if unit is None:
        if max_rows is not None:
            raise ParameterError(
                f"max_rows_per_user={max_rows!r}: needs unit, the column that tells users apart."
            )
        return Neighbours(relation)
    return Neighbours(relation, ROWS_A_USER if max_rows is None else max_rows)


def check_unit(unit: str | None, schema: Schema | Outline) -> None:
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


def path_of(name: str, given: str | Path | None) -> Path | None:
    """Return a path on this machine, if one is given."""
    if given is None:
        return None
    if not isinstance(given, (str, Path)) or not str(given):
        raise ParameterError(f"{name}={given!r}: expected a path.")
    check_local(given, OutputError)
    return Path(given)


def charge_of(
    ledger: str | Path | None,
    dataset: str | None,
    unit: str | None,
    *,
    require_budget: bool = False,
) -> Charge | None:
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
    charge = Charge(Ledger(path_of("ledger", ledger)), dataset, unit)
    if charge.delta is None:
        if require_budget:
            raise BudgetError(
                f"dataset={dataset!r}: has no budget in {charge.ledger.path}, and one is required. "
                f"Set one with 'tabpe ledger set-budget'."
            )
        warnings.warn(
            f"dataset={dataset!r}: has no budget in {charge.ledger.path}: the run is recorded and "
            f"not limited. Set one with 'tabpe ledger set-budget'.",
            NoBudgetWarning,
            stacklevel=4,
        )
    return charge


def buys_schema(own: Any) -> bool:
    """Return whether what the schema lacks is bought, by the parameter of a model."""
    if isinstance(own, (Schema, Mapping)):
        return False
    if not isinstance(own, str):
        raise ParameterError(
            f"schema: {type(own).__name__}: expected 'declared' or 'private', or a Schema."
        )
    return _validate.one_of("schema", own, ["declared", "private"]) == "private"


def one_schema(own: Any, given: Any) -> Any:
    """Return the schema that `fit` was given, or else the one that the model has."""
    if not isinstance(own, (Schema, Mapping)):
        return given
    if given is not None:
        raise ParameterError("schema: given to the model and to fit: give it to one of them.")
    return own


def outline_of(
    given: Schema | Mapping[str, Any] | str | Path | None,
    label: str | Sequence[str] | None,
    source: Source,
    *,
    drop: Sequence[str],
    unit: str | None,
) -> Outline:
    """Return what is declared of a table, with every column of it."""
    listed = isinstance(drop, Sequence) and not isinstance(drop, str)
    if not listed or not all(isinstance(name, str) for name in drop):
        raise ParameterError(f"drop={drop!r}: expected a list of names of columns.")
    outline = Outline.of(given).with_label(label)
    check_unit(unit, outline)
    left_out = list(drop)
    if unit is not None:
        check_unit_column(source, unit)
        left_out.append(unit)
    return outline.completed(source.names, drop=left_out)


def with_classes(outline: Outline, shares: Mapping[Any, float] | None) -> Schema | Outline:
    """Return an outline whose classes are declared if their shares are; whole if it has no gap."""
    if isinstance(shares, Mapping) and shares and isinstance(outline.label, str):
        outline = outline.with_values(outline.label, tuple(shares))
    return outline if outline.missing else outline.filled({})


def schema_of(given: Schema | Mapping[str, Any] | str | Path | None) -> Schema:
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


def noise_of(given: str | NoiseSource) -> NoiseSource:
    """Return the source of noise, with a warning if it is a fake one."""
    if isinstance(given, str):
        return NOISES[_validate.one_of("noise", given, list(NOISES))]()
    if isinstance(given, type) or not isinstance(given, NoiseSource):
        raise ParameterError(f"noise={given!r}: expected one of {list(NOISES)}.")
    if not given.private:
        warnings.warn(
            "noise: a fake source: what it makes is NOT PRIVATE.", NotPrivateWarning, stacklevel=4
        )
    return given


def seed_of(random_state: int | None) -> int | None:
    """Return the seed of the search; None for a random one."""
    return _validate.optional(_validate.whole, "random_state", random_state, least=0)


def is_visible(verbose: int) -> bool:
    """Return whether progress is to be shown."""
    return (
        verbose if isinstance(verbose, bool) else _validate.whole("verbose", verbose, least=0) > 0
    )


def warn_of_schema(schema: Schema | Outline) -> None:
    """Warn if fields of the schema were read off the data."""
    if schema.fields_from_data:
        warnings.warn(
            f"{len(schema.fields_from_data)} fields of the schema were read off the data and are "
            f"not covered by the promise: put in what is publicly known, then mark the columns "
            f"source: public.",
            NotPrivateWarning,
            stacklevel=3,
        )
