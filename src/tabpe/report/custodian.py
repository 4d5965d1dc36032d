"""`evaluate`: every measure of a synthetic table, one section after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tabpe import _validate
from tabpe.certify import versions
from tabpe.errors import ParameterError, TabpeError
from tabpe.metrics.association import association
from tabpe.metrics.closeness import closeness
from tabpe.metrics.columns import column_views
from tabpe.metrics.learners import learner_names
from tabpe.metrics.order import order
from tabpe.metrics.projection import projection
from tabpe.metrics.representation import representation
from tabpe.metrics.scores import quality
from tabpe.metrics.utility import utility
from tabpe.metrics.variation import total_variation
from tabpe.metrics.view import View
from tabpe.metrics.wasserstein import CATEGORIES, wasserstein
from tabpe.progress import section_bar
from tabpe.report.contents import Contents
from tabpe.report.inputs import Run, Tables, audit_of, open_tables, schema_for, titled
from tabpe.report.report import Report
from tabpe.schema import Schema

T = TypeVar("T")
SECTIONS = 13


def evaluate(
    real: Any,
    synthetic: Any,
    *,
    test: Any = None,
    schema: Any = None,
    label: str | None = None,
    certificate: Any = None,
    run: str | Path | None = None,
    history: Sequence[Mapping[str, Any]] = (),
    audit: Any = None,
    learners: Sequence[str] = ("gradient boosting",),
    categories: str = "codes",
    title: str | None = None,
    random_state: int = 0,
    jobs: int | None = None,
    verbose: int = 1,
) -> Report:
    """Measure how good a synthetic table is, against the real one.

    NOT PRIVATE: the report holds statistics of the real rows as they are, and says so. It is for
    the custodian who has them. `evaluate_public` makes one that may be released.

    Args:
        real: The real table: a frame, or a path, as `TabPE.fit` takes it.
        synthetic: The synthetic table.
        test: Real rows that the synthesizer has not seen. Without them a part of the real table is
            held out, which the synthesizer has seen.
        schema: The schema or its file; None for that of the certificate, or else one that is read
            off the real table.
        label: The column to predict; None for the label of the schema.
        certificate: What was promised for the synthetic table, or its file.
        run: A saved run (`TabPE.save`), which holds certificate and history.
        history: What each round did (`TabPE.history_`).
        audit: What `tabpe audit --json` found, or its file.
        learners: Predictors by name: `gradient boosting`, `extra trees`, `nearest neighbours`,
            `tabicl`, `tabpfn`.
        categories: How far two categories are apart in k-way Wasserstein distances: `codes`, as in
            the paper's code, or `mismatch`, 1 for every two that differ.
        title: What the page is called.
        random_state: Seed of all subsamples. The same seed gives the same report.
        jobs: Threads; None for one on each core.
        verbose: 0 for silence, 1 for a progress bar in a terminal.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [20, 70, 40] * 20, "ill": [False, True, False] * 20})
        >>> report = evaluate(table, table.slice(0, 40), label="ill", verbose=0)
        >>> report.contents.quality.columns[1].metric
        'TVComplement'
    """
    seed = _validate.whole("random_state", random_state, least=0)
    _validate.one_of("categories", categories, CATEGORIES)
    _check_learners(learners)
    _validate.optional(_validate.whole, "jobs", jobs, least=1)
    called = titled(title, _title(real, synthetic))
    choices = Choices(tuple(learners), categories, seed, jobs)
    made_by = Run.of(run, certificate, history, synthetic)
    audited = audit_of(audit)
    with section_bar(SECTIONS, visible=verbose > 0) as on_section:
        clock = Clock(on_section)
        declared = schema_for(schema, made_by.certificate)
        tables = clock.timed("reading", lambda: open_tables(real, synthetic, test, declared, label))
        measured = {
            name: clock.tried(title, measure)
            for name, (title, measure) in _sections(tables, choices).items()
        }
    return Report(
        Contents(
            mode="custodian",
            title=called,
            rows=_rows(tables),
            label=tables.schema.target,
            sample=tables.sample,
            certificate=made_by.certificate,
            verification=made_by.verification,
            history=made_by.history,
            audit=audited,
            notes=(*tables.notes, *_unlabelled(tables.schema), *clock.notes),
            seconds=clock.seconds,
            versions=versions(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            **{name: found for name, found in measured.items() if found is not None},
        )
    )


@dataclass(frozen=True)
class Choices:
    """How to measure.

    Args:
        learners: Predictors by name.
        categories: How far two categories are apart.
        seed: Seed of all subsamples.
        jobs: Threads; None for one on each core.
    """

    learners: tuple[str, ...]
    categories: str
    seed: int
    jobs: int | None


class Clock:
    """Times sections, and notes which of them could not be measured.

    Args:
        on_section: Called with the name of each section as it begins.
    """

    def __init__(self, on_section: Callable[[str], None]) -> None:
        self._on_section = on_section
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    def timed(self, name: str, measure: Callable[[], T]) -> T:
        """Measure."""
        self._on_section(name)
        begun = time.perf_counter()
        try:
            return measure()
        finally:
            self.seconds[name] = time.perf_counter() - begun

    def tried(self, name: str, measure: Callable[[], T]) -> T | None:
        """Measure, or note why not: one section should not take the others with it."""
        try:
            return self.timed(name, measure)
        except TabpeError as error:
            self.notes.append(f"{name}: not measured: {error}")
            return None


def _sections(tables: Tables, choices: Choices) -> dict[str, tuple[str, Callable[[], Any]]]:
    """Return how each part of the contents is measured, and what that is called."""
    real, synthetic, test, seed = tables.real, tables.synthetic, tables.test, choices.seed
    once, again, alike = _like_with_like(real, synthetic, test, seed)
    costs = partial(
        wasserstein, categories=choices.categories, random_state=seed, jobs=choices.jobs
    )
    scored = partial(utility, learners=choices.learners, random_state=seed, jobs=choices.jobs)
    return {
        "columns": ("columns", lambda: column_views(real, synthetic)),
        "quality": ("scores", lambda: quality(real, synthetic)),
        "association": ("pairs", lambda: association(real, synthetic)),
        "variation": ("total variation", lambda: total_variation(once, alike)),
        "variation_floor": ("total variation, real", lambda: total_variation(once, again)),
        "wasserstein": ("Wasserstein", lambda: costs(once, alike)),
        "wasserstein_floor": ("Wasserstein, real", lambda: costs(once, again)),
        "utility": ("utility", lambda: scored(real, synthetic, test)),
        "order": ("order", lambda: order(real, test, random_state=seed)),
        "representation": (
            "representation",
            lambda: representation(once, alike, again, random_state=seed),
        ),
        "closeness": ("nearest rows", lambda: closeness(real, synthetic, test, random_state=seed)),
        "projection": ("map", lambda: projection(real, synthetic, random_state=seed)),
    }


def _check_learners(learners: Sequence[str]) -> None:
    if isinstance(learners, str):
        raise ParameterError(f"learners={learners!r}: expected a list, such as [{learners!r}].")
    for learner in learners:
        _validate.one_of("learners", learner, learner_names())


def _like_with_like(
    real: View, synthetic: View, test: View | None, seed: int
) -> tuple[View, View, View]:
    """Return real rows, other real rows, and as many synthetic ones as there are of these.

    How far the second are from the first is what sampling alone gives: no synthetic table can be
    expected below it. Fewer rows are further apart, so both are held against the same rows, in the
    same number. Test rows serve if they are as many as half of the real ones, or as are needed.
    """
    rng = np.random.default_rng(seed)
    half = (len(real) + 1) // 2
    if test is not None and len(test) >= min(len(synthetic), half):
        once, others = real, test
    else:
        shuffled = rng.permutation(len(real))
        once, others = real.take(shuffled[:half]), real.take(shuffled[half:])
    again = others.sampled(len(synthetic), rng)
    return once, again, synthetic.sampled(len(again) or len(synthetic), rng)


def _unlabelled(schema: Schema) -> Sequence[str]:
    if schema.label is not None:
        return ()
    return ("no label was given: what a model learns from the synthetic rows was not measured",)


def _rows(tables: Tables) -> dict[str, int]:
    counted = {"real": tables.real, "synthetic": tables.synthetic, "test": tables.test}
    return {name: len(view) for name, view in counted.items() if view is not None}


def _title(real: Any, synthetic: Any) -> str:
    names = [
        Path(data).name if isinstance(data, (str, Path)) else None for data in (synthetic, real)
    ]
    return f"{names[0] or 'synthetic rows'} against {names[1] or 'real rows'}"
