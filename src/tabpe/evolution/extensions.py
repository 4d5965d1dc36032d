"""Operators, selection rules, distance weights and callbacks from outside the package.

They are given as functions or classes of a module, or as the text `module:object`. Settings,
certificates and saved models hold the text and never the object: text can be compared and read
back, and nothing is imported before a run that uses it.

Privacy: they see public values alone: the schema, candidates, and noisy votes. So whatever they
compute is post-processing. Arrays are given to them read-only, and what they return is checked and
put into the bounds of the schema. They are ordinary Python code in the process of the run: Python
can not stop such code from looking around in the memory of the process.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils import validation
from tabpe.encoding import Encoder, Records, RecordSpace
from tabpe.errors import ParameterError
from tabpe.schema import Schema

Whole = NDArray[np.int64]
Floats = NDArray[np.float64]
_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_NAME = re.compile(f"{_DOTTED}:{_DOTTED}")


def is_extension_name(given: Any) -> bool:
    """Return whether a value is text of the form `module:object`.

    Example:
        >>> [is_extension_name(given) for given in ("my_ops.walks:long", "genetic", 1 / 3)]
        [True, False, False]
    """
    return isinstance(given, str) and _NAME.fullmatch(given) is not None


def check_extension(parameter: str, given: Any, known: Sequence[str]) -> str:
    """Return one of the known names, or the `module:object` of an object from outside.

    Args:
        parameter: The parameter, for errors.
        given: A known name, text `module:object`, or a function or class of a module.
        known: The names that are no extension.

    Example:
        >>> check_extension("operator", reduce, ["genetic"])
        '_functools:reduce'
    """
    if is_extension_name(given):
        return str(given)
    if isinstance(given, str) or not callable(given):
        return validation.check_one_of(parameter, given, known)
    name = f"{getattr(given, '__module__', None)}:{getattr(given, '__qualname__', None)}"
    if not is_extension_name(name) or load_object(parameter, name) is not given:
        raise ParameterError(
            f"{parameter}={given!r}: has no name that leads to it: give a function or a class at "
            f"the top of a module, or the text 'module:object'."
        )
    return name


def load_object(parameter: str, name: str) -> Any:
    """Return the object that the text `module:object` names.

    Modules are found as usual, and after that in the working folder.

    Raises:
        ParameterError: If there is no such module or object.

    Example:
        >>> load_object("operator", "math:sqrt")(9)
        3.0
    """
    module_name, _, path = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:  # a console script has neither
        sys.path.append(here)
    try:
        return reduce(getattr, path.split("."), importlib.import_module(module_name))
    except AttributeError:
        raise ParameterError(f"{parameter}={name!r}: the module has no {path!r}.") from None
    except Exception as error:
        raise ParameterError(
            f"{parameter}={name!r}: can not import {module_name!r} ({type(error).__name__}: "
            f"{error}): it must be installed, or in the working folder."
        ) from error


def load_callable(parameter: str, name: str) -> Any:
    """Return the function that `module:object` names; of a class an instance without arguments."""
    found = load_object(parameter, name)
    made = found() if inspect.isclass(found) else found
    if not callable(made):
        raise ParameterError(
            f"{parameter}={name!r}: is a {type(made).__name__}: can not be called."
        )
    return made


def compute_source_digest(name: str) -> str:
    """Return the SHA-256 of the source of the module of an extension; of none if it has none."""
    try:
        source = inspect.getsource(importlib.import_module(name.partition(":")[0]))
    except (OSError, TypeError):  # of an interactive session, or compiled
        source = ""
    return hashlib.sha256(source.encode()).hexdigest()


class VariationOperator(Protocol):
    """Returns one variation of each row; called as often as rows of a class are varied."""

    def __call__(
        self, rows: Records, space: RecordSpace, rate: float, rng: np.random.Generator, /
    ) -> Records:
        """Return as many rows as were given.

        Args:
            rows: The rows of a class.
            space: The bounds of their numbers and the sizes of their lists of categories.
            rate: The mutation rate of the round.
            rng: The only source of randomness, so that a run can be repeated.
        """
        ...


@dataclass(frozen=True, eq=False)
class VotedCandidates:
    """The candidates of one class in one round, with their noisy votes.

    Args:
        rows: The candidates.
        votes: The noisy number of votes for each.
        sigma: The standard deviation of the noise on each.
        size: How many are to be selected.
        label: The number of the class.
        index: The number of the round, from 0.
    """

    rows: Records
    votes: Floats
    sigma: float
    size: int
    label: int
    index: int


class SelectionRule(Protocol):
    """Selects the parents of the next round; called once a class and round."""

    def __call__(self, voted: VotedCandidates, rng: np.random.Generator, /) -> Whole:
        """Return the indices of `voted.size` candidates; one may be selected several times."""
        ...


class WeightRule(Protocol):
    """Returns what one differing category adds to a squared distance; called once a run."""

    def __call__(self, schema: Schema, /) -> float:
        """Return a number above 0."""
        ...


@dataclass(frozen=True, eq=False)
class RoundPopulation:
    """What a run has made after a round; all of it is public.

    Args:
        rows: The selected rows, or the pool of a `Posterior`.
        classes: The class of each.
        weights: The weight of each: 1, or how many private rows it stands for.
        record: The entry of `TabPE.history_`: the round, its noise, and so on.
        encoder: Encodes and decodes rows.
    """

    rows: Records
    classes: Whole
    weights: Floats
    record: Mapping[str, Any]
    encoder: Encoder

    def to_table(self) -> pa.Table:
        """Return the rows as a table with the columns of the schema."""
        return self.encoder.decode(self.rows, self.classes)


# Called after a round with rows, classes, weights and the record of the round.
RoundObserver = Callable[[Records, Whole, Floats, Mapping[str, Any]], None]


def ignore_round(
    _rows: Records, _classes: Whole, _weights: Floats, _record: Mapping[str, Any]
) -> None:
    """Do nothing after a round."""


def make_observer(
    call: Callable[[RoundPopulation], None] | None, encoder: Encoder
) -> RoundObserver:
    """Return an observer that calls a function with the population of each round."""
    if call is None:
        return ignore_round

    def observe(rows: Records, classes: Whole, weights: Floats, record: Mapping[str, Any]) -> None:
        arrays = freeze_array(classes), freeze_array(weights)
        call(RoundPopulation(freeze_rows(rows), *arrays, dict(record), encoder))

    return observe


def resolve_callback(given: Any) -> Callable[[RoundPopulation], None] | None:
    """Return what is called after each round: a callable, or what `module:object` names."""
    found = load_callable("on_round", given) if is_extension_name(given) else given
    if found is not None and not callable(found):
        raise ParameterError(f"on_round={given!r}: expected a function, or 'module:object'.")
    return found  # type: ignore[no-any-return]


def apply_operator(
    name: str, rows: Records, space: RecordSpace, rate: float, rng: np.random.Generator
) -> Records:
    """Return variations of rows by an operator from outside, within their space.

    Raises:
        ParameterError: If it returns something else than such rows.
    """
    operator: VariationOperator = load_callable("operator", name)
    made = operator(freeze_rows(rows), space, rate, rng)
    shapes = rows.numbers.shape, rows.codes.shape
    if not isinstance(made, Records) or (np.shape(made.numbers), np.shape(made.codes)) != shapes:
        raise ParameterError(f"operator={name!r}: expected as many rows as it is given: Records.")
    numbers = np.array(made.numbers, dtype=np.float64)
    lacking = ~np.isfinite(numbers) & ~(np.isnan(numbers) & space.can_miss)
    codes = np.asarray(made.codes)
    if (
        lacking.any()
        or codes.dtype.kind not in "iu"
        or np.any((codes < 0) | (codes >= space.sizes))
    ):
        raise ParameterError(
            f"operator={name!r}: expected numbers, null only where the schema allows it, and codes "
            f"of categories from 0 to below space.sizes."
        )
    return Records(space.project(numbers), codes.astype(rows.codes.dtype))


def apply_rule(name: str, voted: VotedCandidates, rng: np.random.Generator) -> Whole:
    """Return the candidates that a selection rule from outside selects.

    Raises:
        ParameterError: If it does not return as many indices as were asked for.
    """
    if not voted.size:
        return np.empty(0, dtype=np.int64)
    rule: SelectionRule = load_callable("selection", name)
    chosen = np.asarray(rule(voted, rng))
    if chosen.shape != (voted.size,) or chosen.dtype.kind not in "iu":
        raise ParameterError(f"selection={name!r}: expected voted.size={voted.size} indices.")
    if chosen.min() < 0 or chosen.max() >= len(voted.rows):
        raise ParameterError(f"selection={name!r}: expected indices of voted.rows.")
    return chosen.astype(np.int64)


def compute_category_weight(name: str, schema: Schema) -> float:
    """Return the category weight that a rule from outside gives for a schema.

    Raises:
        ParameterError: If it is not a number above 0.
    """
    rule: WeightRule = load_callable("category_weight", name)
    return validation.check_real(f"category_weight={name!r}", rule(schema), above=0)


def freeze_rows(rows: Records) -> Records:
    """Return rows whose arrays can not be written to."""
    return Records(freeze_array(rows.numbers), freeze_array(rows.codes))


def freeze_array(values: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array."""
    view = values.view()
    view.setflags(write=False)
    return view
