"""`Release`: the rows and the certificate of a run, all public. `Fitted`: a model that has one."""

from __future__ import annotations

import html
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tabpe._utils import serialization, validation
from tabpe._utils.serialization import Archive
from tabpe.accounting import Certificate
from tabpe.encoding import Encoder, Records, RecordSpace
from tabpe.encoding.cells import format_temporal_columns, make_ids
from tabpe.encoding.records import Floats
from tabpe.errors import (
    ArchiveError,
    DataError,
    NotFittedError,
    ParameterError,
    RuleError,
    TabpeError,
    ThinSupportWarning,
)
from tabpe.evolution.constraint_repair import ConstraintSet
from tabpe.evolution.private_evolution import SamplingPool
from tabpe.io.canonical import canonicalize_table
from tabpe.io.frames import check_library, convert_to_frame, read_frame
from tabpe.schema import Categorical, Id, Schema
from tabpe.synthesizers.conditional import (
    ReleasedRows,
    complete_rows,
    enforce_constraints,
    find_matching_rows,
    find_nearest_rows,
    warn_of_repeats,
)
from tabpe.synthesizers.pipeline import PipelineResult

# Which kind of sample a stream of random numbers is for, beside the first of a release.
_LATER, _SEEDED = 3, 4


@dataclass
class DrawCounter:
    """Counts the samples of a release."""

    drawn: int = 0

    def advance(self) -> int:
        """Return how many were drawn before, and count one more."""
        self.drawn += 1
        return self.drawn - 1

    def restart(self) -> None:
        """Make the next sample the first again."""
        self.drawn = 0


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Synthetic rows, their certificate, and how to give them the form of the table.

    Args:
        schema: The schema.
        certificate: What was guaranteed.
        history: What each round did.
        library: The library of the frame that was fitted; no type of it is kept.
        seed: Seed of the order of the rows and of samples.
        rows: The evolved rows, in random order.
        classes: The class of each.
        pool: What the rows were drawn from, if they were: more can be drawn from it.
        draws: Numbers the samples that are drawn, so that each is another one.
    """

    schema: Schema
    certificate: Certificate
    history: Sequence[Mapping[str, Any]]
    library: str
    seed: int
    rows: Records
    classes: NDArray[np.int64]
    pool: SamplingPool | None = None
    draws: DrawCounter = field(default_factory=DrawCounter)

    @classmethod
    def of(cls, outcome: PipelineResult, library: str) -> Self:
        """Put the outcome of a run in random order: rows come out of it class by class."""
        parts = outcome.evolved.classes
        labels = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        order = np.random.default_rng([outcome.seed]).permutation(len(labels))
        rows = Records.concat(parts).take(order)
        return cls(
            schema=outcome.schema,
            certificate=outcome.certificate,
            history=outcome.evolved.history,
            library=library,
            seed=outcome.seed,
            rows=rows,
            classes=labels[order],
            pool=outcome.evolved.pool,
        )

    def sample(
        self,
        size: int | None,
        conditions: Mapping[str, Any] | None = None,
        *,
        smooth: bool = False,
        seed: int | None = None,
    ) -> Any:
        """Return rows that meet conditions, as the kind of frame that was fitted; None for all."""
        number = 0 if size is None or seed is not None else self.draws.advance()
        key = self._choose_key(number, seed)
        if conditions is not None:
            places = find_matching_rows(
                self._decode_rows(np.arange(len(self.rows))), self.schema, conditions
            )
            warn_of_repeats(size or 0, places)
            made, chosen = self, self.choose_rows(places, size or len(places), key)
        else:
            size = len(self.rows) if size is None else size
            is_first = number == 0 and seed is None
            made, chosen = self._draw_rows(size, key, is_first=is_first)
        rows = made.smooth_rows(chosen, key) if smooth else made.rows.take(chosen)
        rng = np.random.default_rng([*key, len(chosen), 2])
        fixed, classes = frozenset(conditions or ()), made.classes[chosen]
        rows = enforce_constraints(self._constraints, rows, classes, rng, fixed=fixed)
        if conditions is None and len(chosen) > len(self.rows) and not smooth:
            _warn_of_copies(len(chosen), len(np.unique(chosen)), len(self.rows))
        return self._to_frame(Encoder(self.schema).decode(rows, classes))

    def __repr__(self) -> str:
        return f"Release({len(self.rows):,} rows of {len(self.schema.columns)} columns)"

    def _choose_key(self, number: int, seed: int | None) -> tuple[int, ...]:
        """Return the seeds of the sample of that number, or of that seed."""
        if seed is not None:
            return (seed, _SEEDED)
        return (self.seed, number, _LATER) if number else (self.seed,)

    def _draw_rows(
        self, size: int, key: tuple[int, ...], *, is_first: bool
    ) -> tuple[Release, NDArray[np.int64]]:
        """Return which rows of what make up a sample: of the pool, or of those that were made.

        The first sample is of the rows that were made, as far as they go.
        """
        if self.pool is None or (is_first and size <= len(self.rows)):
            return self, self.choose_rows(np.arange(len(self.rows)), size, key)
        shares = np.bincount(self.classes).astype(np.float64)
        shares = np.pad(shares, (0, max(0, int(self.pool.classes.max()) + 1 - len(shares))))
        chosen = self.pool.draw_rows(size, shares, np.random.default_rng([*key, size]))
        return replace(self, rows=self.pool.rows, classes=self.pool.classes), chosen

    def completed(self, known: pa.Table) -> Any:
        """Return known cells with cells of rows beside them that are nearest by what is known."""
        rng = np.random.default_rng([self.seed, known.num_rows])
        every = self._decode_rows(np.arange(len(self.rows)))
        near = find_nearest_rows(known, every, self.schema, rng)
        if self.schema.rules:
            made = ReleasedRows(Encoder(self.schema), self._constraints, self.rows, self.classes)
            table = complete_rows(known, near, made, rng)
        else:
            table = every.take(near[:, 0])
        for place, name in enumerate(self.schema.names):
            if name in known.schema.names:
                table = table.set_column(place, name, known[name])
            elif isinstance(column := self.schema[name], Id):
                table = table.set_column(place, name, make_ids(column, len(table)))
        return self._to_frame(table)

    def _decode_rows(self, chosen: NDArray[np.int64]) -> pa.Table:
        return Encoder(self.schema).decode(self.rows.take(chosen), self.classes[chosen])

    @cached_property
    def _constraints(self) -> ConstraintSet:
        return ConstraintSet.from_encoder(Encoder(self.schema))

    def smooth_rows(self, chosen: NDArray[np.int64], key: tuple[int, ...]) -> Records:
        """Return rows of which only the first of several copies is where it was."""
        encoder, rows, classes = Encoder(self.schema), self.rows.take(chosen), self.classes[chosen]
        rng = np.random.default_rng([*key, len(chosen), 1])
        first = np.zeros(len(chosen), dtype=bool)
        first[np.unique(chosen, return_index=True)[1]] = True
        rate, among = self._get_last_rate(), self.rows.numbers
        moved = smooth_numbers(rows, classes, encoder.spaces, rate, rng, among=among)
        numbers = np.where(first[:, None], rows.numbers, moved)
        return self._constraints.repair_or_revert(Records(numbers, rows.codes), rows, classes, rng)

    def _get_last_rate(self) -> float:
        """Return how far rows moved in the last round."""
        if not self.history or "mutation_rate" not in self.history[-1]:
            raise ParameterError("smooth=True: these rows were not moved: there is no step size.")
        rate = self.history[-1]["mutation_rate"]
        return validation.check_fraction("history: mutation_rate", rate)

    def _to_frame(self, table: pa.Table) -> Any:
        """Return rows as a frame: its types follow from the schema, and from the library alone."""
        nullable = frozenset(column.name for column in self.schema.columns if column.nullable)
        formatted = [
            column for column in self.schema.columns if getattr(column, "format", None) is not None
        ]
        orders = {
            column.name: column.values
            for column in self.schema.columns
            if isinstance(column, Categorical) and column.ordered
        }
        return convert_to_frame(
            format_temporal_columns(table, formatted),
            self.library,
            nullable=nullable,
            orders=orders,
        )

    def save(self, path: Path, *, parameters: Mapping[str, Any]) -> None:
        """Write the release, and the parameters of the model that made it."""
        text = {
            "parameters": parameters,
            "schema": self.schema.to_dict(),
            "certificate": self.certificate.to_dict(),
            "history": self.history,
            "library": self.library,
            "seed": self.seed,
        }
        arrays = {
            "numbers": self.rows.numbers,
            "codes": self.rows.codes,
            "classes": self.classes,
        }
        if self.pool is not None:
            arrays |= {
                "pool numbers": self.pool.rows.numbers,
                "pool codes": self.pool.rows.codes,
                "pool classes": self.pool.classes,
                "pool weights": self.pool.weights,
            }
        Archive(text, arrays).save(path)

    @classmethod
    def load(cls, path: Path) -> tuple[Self, dict[str, Any]]:
        """Return a saved release, and the parameters of the model that made it."""
        archive = Archive.load(path)
        text, arrays = archive.text, archive.arrays
        try:
            release = cls(
                schema=Schema.from_dict(text["schema"]),
                certificate=Certificate.from_dict(text["certificate"]),
                history=serialization.read_value(
                    list[Mapping[str, Any]], text["history"], where="history"
                ),
                library=check_library(text["library"]),
                seed=validation.check_integer("seed", text["seed"], least=0),
                rows=Records(arrays["numbers"], arrays["codes"]),
                classes=arrays["classes"],
                pool=_load_pool(arrays),
            )
            parameters = serialization.read_value(
                dict[str, Any], text["parameters"], where="parameters"
            )
        except KeyError as missing:
            raise ArchiveError(f"{path}: {missing.args[0]} is missing.") from None
        except TabpeError as error:
            raise ArchiveError(f"{path}: {error}") from None
        if not (release.fits_schema() and release.has_fitting_pool()):
            raise ArchiveError(f"{path}: the saved rows do not fit their schema.")
        return release, parameters

    def fits_schema(self) -> bool:
        """Whether there are rows, and all lie where the schema says."""
        encoder = Encoder(self.schema)
        sizes, can_miss = encoder.space.sizes, encoder.space.can_miss
        numbers, codes, classes = self.rows.numbers, self.rows.codes, self.classes
        return bool(
            numbers.dtype.kind == "f"
            and codes.dtype.kind == "u"
            and classes.dtype.kind == "i"
            and classes.ndim == 1
            and len(classes)
            and numbers.shape == (len(classes), len(encoder.numeric))
            and codes.shape == (len(classes), len(sizes))
            and (((numbers >= 0) & (numbers <= 1)) | (np.isnan(numbers) & can_miss)).all()
            and ((codes >= 0) & (codes < sizes)).all()
            and ((classes >= 0) & (classes < encoder.class_count)).all()
            and self._obeys_constraints()
        )

    def has_fitting_pool(self) -> bool:
        """Whether the pool, if there is one, can be drawn from."""
        if self.pool is None:
            return True
        weights = self.pool.weights
        return bool(
            replace(self, rows=self.pool.rows, classes=self.pool.classes).fits_schema()
            and weights.dtype.kind == "f"
            and weights.shape == self.pool.classes.shape
            and (np.isfinite(weights) & (weights >= 0)).all()
            and np.isin(self.classes, self.pool.classes[weights > 0]).all()
        )

    def _obeys_constraints(self) -> bool:
        try:
            return not self._constraints.find_broken(self.rows, self.classes).any()
        except RuleError:
            return False

    def choose_rows(
        self, places: NDArray[np.int64], size: int, key: tuple[int, ...]
    ) -> NDArray[np.int64]:
        """Return which rows make up a sample: whole copies of those given, and a random rest."""
        available = len(places)
        whole = np.arange(size - size % available) % available
        rng = np.random.default_rng([*key, size])
        rest = rng.permutation(available)[: size % available]
        chosen: NDArray[np.int64] = places[np.concatenate([whole, rest])]
        return chosen


class Fitted:
    """What every model has once it is fitted: rows to draw, and what they guarantee.

    Attributes:
        release_: What leaves the building: rows, certificate and schema, all of it public.
    """

    release_: Release

    def sample(
        self,
        n: int | None = None,
        *,
        conditions: Mapping[str, Any] | None = None,
        smooth: bool = False,
        seed: int | None = None,
    ) -> Any:
        """Return synthetic rows, as the kind of frame that was fitted.

        Drawing costs no privacy: the rows are public already. Every call with `n` gives another
        sample. The first has the rows that were made, as far as they go; later ones, and larger
        ones, are drawn from the pool of weighted rows that the default strategy fits. Presets
        without a pool repeat the rows that were made. A warning says how many rows of a sample
        repeat others because it is larger than what was made.

        Args:
            n: None for all rows that were made, which are always the same. More: draws from the
                pool, or else every row the same number of times, as in the paper's study of
                oversampling, and a random rest. Fewer: a random part.
            conditions: Only rows that have these values, by column; of numbers, dates, times and
                ordered values, a pair is a range. Rows are repeated, with a warning, if those that
                were made with these values are fewer than `n`.
            smooth: Whether further copies of a row have their numbers moved a little, by the step
                of the last round, instead of being the same. It is measured in ranks, so that
                skewed columns stay skewed.
            seed: Of this sample, which is then the same in every call; None for another one in
                each call, which follow from `random_state`.
        """
        size = validation.check_optional(validation.check_integer, "n", n, least=1)
        if smooth and conditions is not None:
            raise ParameterError(
                "smooth=True: not together with conditions, which a row that moves may not meet."
            )
        seed = validation.check_optional(validation.check_integer, "seed", seed, least=0)
        return self._get_release().sample(size, conditions, smooth=smooth, seed=seed)

    def sample_remaining_columns(self, known: Any) -> Any:
        """Return known cells, and beside them cells of rows that are nearest by what is known.

        It costs no privacy: the rows are public already. A row is as good as the nearest that was
        made: a warning says for how many known rows there is none that is like them.

        Args:
            known: A data frame with some columns of the schema.
        """
        release = self._get_release()
        table, _ = read_frame(known)
        if not table.num_rows:
            raise DataError("known: the table has no rows.")
        return release.completed(canonicalize_table(table))

    def reset_sampling(self) -> None:
        """Make the next sample the first again: the same calls give the same rows."""
        self._get_release().draws.restart()

    @property
    def certificate(self) -> Certificate:
        """What is guaranteed, spend by spend."""
        return self._get_release().certificate

    @property
    def schema_(self) -> Schema:
        """The schema that was used."""
        return self._get_release().schema

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the model, and once it is fitted what is guaranteed."""
        release: Release | None = getattr(self, "release_", None)
        return self._describe_as_html() + (
            "" if release is None else release.certificate._repr_html_()
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _describe_as_html(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def _get_release(self) -> Release:
        release: Release | None = getattr(self, "release_", None)
        if release is None:
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first.")
        return release


def _load_pool(arrays: Mapping[str, NDArray[Any]]) -> SamplingPool | None:
    if "pool weights" not in arrays:
        return None
    rows = Records(arrays["pool numbers"], arrays["pool codes"])
    return SamplingPool(rows, arrays["pool classes"], arrays["pool weights"])


def _warn_of_copies(size: int, distinct: int, made: int) -> None:
    if size > distinct:
        warnings.warn(
            f"{size - distinct:,} of {size:,} rows repeat others of the sample: {made:,} were "
            f"made. Pass smooth=True to move the numbers of copies a little, or fit with a larger "
            f"n_samples.",
            ThinSupportWarning,
            stacklevel=4,
        )


def smooth_numbers(
    rows: Records,
    classes: NDArray[np.int64],
    spaces: Sequence[RecordSpace],
    rate: float,
    rng: np.random.Generator,
    *,
    among: Floats,
) -> NDArray[np.float64]:
    """Return the numbers of rows, moved within their class by steps of `rate` in rank.

    A step is short where numbers are dense, and zero where very many are equal. So skewed columns
    stay skewed.

    Args:
        rows: The rows.
        classes: The class of each.
        spaces: Where the rows of each class may lie.
        rate: The scale of a step, as a part of all numbers of the column.
        rng: Source of randomness.
        among: All numbers, column by column, that define the ranks; NaN for null.

    Example:
        >>> space = RecordSpace(np.zeros(1), np.ones(1), np.zeros(1), np.array([], dtype=np.int64))
        >>> rows = Records(np.array([[0.0], [0.5]]), np.empty((2, 0), dtype=np.uint8))
        >>> among = np.append(np.zeros(900), np.linspace(0.45, 0.55, 100))[:, None]
        >>> classes, rng = np.zeros(2, int), np.random.default_rng(1)
        >>> smooth_numbers(rows, classes, [space], 0.01, rng, among=among).ravel().round(2)
        array([0.  , 0.49])
    """
    moved = np.array(rows.numbers, dtype=np.float64)
    for index, column in enumerate(among.T):
        moved[:, index] = _move_past_ranks(
            moved[:, index], np.sort(column[~np.isnan(column)]), rate, rng
        )
    for label, space in enumerate(spaces):
        mine = classes == label
        moved[mine] = space.project(moved[mine])
    return moved


def _move_past_ranks(
    numbers: NDArray[np.float64], rising: Floats, rate: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return numbers moved by `rate` in rank among sorted ones; nulls stay null."""
    if not len(rising):
        return numbers
    # Of several equal numbers, a number has the rank of a random one.
    first, after = (np.searchsorted(rising, numbers, side=side) for side in ("left", "right"))
    ranks = (first + (after - first) * rng.random(len(numbers))) / len(rising)
    ranks = np.abs(ranks + rate * rng.standard_normal(len(numbers)))
    ranks = np.where(ranks > 1, 2 - ranks, ranks)
    middles = (np.arange(len(rising)) + 0.5) / len(rising)
    return np.where(np.isnan(numbers), np.nan, np.interp(ranks, middles, rising))
