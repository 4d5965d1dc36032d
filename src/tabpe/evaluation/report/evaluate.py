"""`evaluate`: every measure of a synthetic table, one section after the other.

Tables, schema, certificate and audit are read from whatever form they come in. Without a schema one
is drafted from the real rows. Where a note suffices, there is no error: a column that can not be
measured is left out and named, unless it is the label; a section that can not be measured is noted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabpe._utils import serialization, validation
from tabpe._utils.arrays import is_text
from tabpe._utils.extras import require_report_extra
from tabpe._utils.files import open_regular
from tabpe._utils.progress import show_section_bar
from tabpe.accounting import Certificate
from tabpe.errors import (
    ArchiveError,
    DataError,
    ParameterError,
    SchemaError,
    TabpeError,
    column_hint,
)
from tabpe.evaluation.metrics.associations import measure_association
from tabpe.evaluation.metrics.closeness import measure_closeness
from tabpe.evaluation.metrics.columns import compare_columns
from tabpe.evaluation.metrics.correlation_order import measure_correlation_order
from tabpe.evaluation.metrics.dependence import (
    measure_class_dependence,
    measure_learned_dependence,
    measure_pair_dependence,
    shuffle_columns,
)
from tabpe.evaluation.metrics.distances import CATEGORIES, total_variation, wasserstein
from tabpe.evaluation.metrics.embedding import measure_representation, project_rows
from tabpe.evaluation.metrics.predictors import learner_names
from tabpe.evaluation.metrics.sdmetrics import score_quality
from tabpe.evaluation.metrics.utility import measure_utility
from tabpe.evaluation.report.contents import ReportContents
from tabpe.evaluation.report.report import Report
from tabpe.evaluation.table_arrays import CategoricalCells, TableArrays, build_table_arrays
from tabpe.io import draft_schema, open_table
from tabpe.schema import Column, Float, Integer, Schema
from tabpe.schema.table_format import TableReading
from tabpe.synthesizers.base import Release
from tabpe.synthesizers.certify import versions
from tabpe.verification import GIVEN, Check, Verification, verify_plain
from tabpe.verification.verify import NOT_COMPARED, read_certificate

DRAFTED = (
    "no schema was given: types, bounds and categories are those of the real table, so distances "
    "are scaled by what it happens to hold"
)


def draft_from_table(table: pa.Table, label: str | None) -> tuple[Schema, tuple[str, ...]]:
    """Return a schema drafted from a table, and notes on what was left out.

    Unlike `draft_schema` it does not stop: nulls are no part of a domain, and a column that can not
    be declared is left out.
    """
    if label is not None and label not in table.schema.names:
        raise ParameterError(
            f"label={label!r} is not a column: {column_hint(label, table.schema.names, ())}"
        )
    columns: list[Column] = []
    cuts, notes = None, [DRAFTED]
    for name in table.schema.names:
        try:
            part = _draft_column(name, table[name], is_label=name == label)
        except (DataError, SchemaError) as error:
            if name == label:
                raise
            notes.append(f"left out: {error}")
            continue
        columns += part.columns
        cuts = part.label_cuts or cuts
    if not columns:
        raise DataError("the real table has no column that can be measured: give a schema.")
    return Schema(tuple(columns), label=label, label_cuts=cuts), tuple(notes)


def _draft_column(name: str, column: pa.ChunkedArray, *, is_label: bool) -> Schema:
    filled = _drop_missing(column)
    if not len(filled):
        raise DataError(f"column {name!r} holds no value at all.")
    return draft_schema(pa.table({name: filled}), label=name if is_label else None)


def set_label(schema: Schema, label: str | None, table: pa.Table) -> Schema:
    """Return the schema with another label; the classes of a number are read from the table."""
    if label is None or label == schema.label:
        return schema
    if not isinstance(schema[label], (Integer, Float)) or label not in table.schema.names:
        return Schema(schema.columns, label=label)
    read, _ = draft_from_table(table.select([label]), label)
    columns = [column if column.name != label else read.columns[0] for column in schema.columns]
    return Schema(tuple(columns), label=label, label_cuts=read.label_cuts)


def keep_first_label(schema: Schema, label: str | None) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema with only the first of several labels, and a note that says so."""
    if len(schema.labels) < 2 or label is not None:  # noqa: PLR2004
        return schema.of_target, ()
    note = f"of several labels the first, {schema.target!r}, is the one that models predict"
    return schema.of_target, (note,)


def keep_shared_columns(schema: Schema, synthetic: pa.Table) -> tuple[Schema, tuple[str, ...]]:
    """Return a drafted schema without columns that a synthetic table lacks, and notes on them."""
    faults = {
        column.name: find_fault("synthetic", synthetic, Schema((column,)), schema.names)
        for column in schema.columns
    }
    label = schema.target
    if label is not None and faults[label] is not None:
        raise DataError(f"label={label!r}: {faults[label]}")
    kept = tuple(column for column in schema.columns if faults[column.name] is None)
    if not kept:
        raise DataError("no column of the real table can be measured in the synthetic one.")
    notes = [f"left out: {fault}" for fault in faults.values() if fault is not None]
    return Schema(kept, label=schema.label, label_cuts=schema.label_cuts), tuple(notes)


def find_fault(
    role: str, table: pa.Table, schema: Schema, declared: Sequence[str] = ()
) -> str | None:
    """Return why a table can not be measured by a schema; None if it can.

    `declared` are all declared columns, if the schema has only some of them.
    """
    for name in schema.names:
        if name not in table.schema.names:
            hint = column_hint(name, table.schema.names, declared or schema.names)
            return f"the {role} table has no column {name!r}: {hint}"
    try:
        build_table_arrays(schema, [table])
    except DataError as error:
        return f"the {role} table: {error}"
    return None


def _drop_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    present = pc.invert(pc.is_null(column, nan_is_null=True))
    if is_text(column.type):
        blank = pc.equal(pc.utf8_trim_whitespace(column), "")
        present = pc.and_(present, pc.invert(pc.fill_null(blank, fill_value=True)))
    return column.filter(present)


LARGEST_AUDIT = 2**20


@dataclass(frozen=True)
class _AuditClaim:
    epsilon: float
    delta: float


@dataclass(frozen=True)
class _AuditFinding:
    kind: str
    test: str
    samples: int
    holds: bool
    claim: _AuditClaim | None = None
    epsilon: float | None = None
    visible: float | None = None
    p_value: float | None = None
    moved: float | None = None


@dataclass(frozen=True)
class _AuditRecord:
    """What `tabpe audit --json` writes."""

    system: str
    claim: _AuditClaim
    alarm: float
    holds: bool
    findings: tuple[_AuditFinding, ...]


@dataclass(frozen=True, eq=False)
class RunProvenance:
    """Certificate and history of the run that made a table; all of it is public.

    Args:
        certificate: The privacy certificate.
        history: The log of each round.
        verification: Whether the certificate holds and belongs to the evaluated table.
    """

    certificate: Certificate | None = None
    history: Sequence[Mapping[str, Any]] = ()
    verification: Verification | None = None

    @classmethod
    def from_sources(
        cls, run: Any, certificate: Any, history: Sequence[Mapping[str, Any]], synthetic: Any
    ) -> RunProvenance:
        """Read it from a saved run, from a certificate, or from both."""
        if isinstance(history, str) or not all(isinstance(entry, Mapping) for entry in history):
            raise ParameterError("history: expected a list of mappings, such as TabPE.history_.")
        loaded = load_certificate(certificate)
        if run is not None:
            release, _ = Release.load(Path(run))
            if loaded is not None and loaded.digest != release.certificate.digest:
                raise ParameterError(f"run={str(run)!r}: is not the run of the certificate.")
            loaded, history = loaded or release.certificate, history or release.history
        return cls(loaded, history, _verify_certificate(loaded, synthetic))


@dataclass(frozen=True, eq=False)
class ReportTables:
    """The tables of a report, as arrays under one schema.

    Args:
        schema: The schema.
        real: The real rows.
        synthetic: The synthetic rows.
        test: Real rows that the synthesizer has not seen, if there are any.
        sample: The first synthetic rows, as text.
        notes: Columns that were left out.
    """

    schema: Schema
    real: TableArrays
    synthetic: TableArrays
    test: TableArrays | None
    sample: Mapping[str, Sequence[str]]
    notes: tuple[str, ...]

    @property
    def by_role(self) -> dict[str, TableArrays]:
        """The tables that there are."""
        found = {"real": self.real, "synthetic": self.synthetic, "test": self.test}
        return {role: table for role, table in found.items() if table is not None}


def open_tables(
    real: Any, synthetic: Any, test: Any, schema: Schema | None, label: str | None
) -> ReportTables:
    """Read the tables of a report; without a schema, draft one from the real table."""
    given = {"real": real, "synthetic": synthetic} | ({} if test is None else {"test": test})
    reading = None if schema is None else TableReading.from_schema(schema)
    tables = {
        role: read_all_rows(role, data, None if role == "synthetic" else reading)
        for role, data in given.items()
    }
    if schema is None:
        schema, notes = draft_from_table(tables["real"], label)
        schema, left_out = keep_shared_columns(schema, tables["synthetic"])
        notes += left_out
    else:
        schema, notes = keep_first_label(schema, label)
        schema = set_label(schema, label, tables["real"])
    arrays = _build_arrays(tables, schema)
    return ReportTables(
        schema,
        arrays["real"],
        arrays["synthetic"],
        arrays.get("test"),
        format_first_rows(tables["synthetic"].select(list(schema.names))),
        (
            *notes,
            *_note_left_out(tables, schema),
            *_note_unmatched(arrays["real"], arrays["synthetic"]),
            *_note_same_tables(tables),
        ),
    )


def _note_same_tables(tables: Mapping[str, pa.Table]) -> list[str]:
    """Return a note for each table that equals the real one."""
    real = tables["real"]
    same = [name for name in ("test", "synthetic") if name in tables and real.equals(tables[name])]
    return [f"the {name} table is the real table itself" for name in same]


def check_title(given: str | None, default: str) -> str:
    """Return the given title, or else the default."""
    if given is not None and not isinstance(given, str):
        raise ParameterError(f"title={given!r}: expected text.")
    return given or default


def load_certificate(given: Any) -> Certificate | None:
    """Return a certificate from an instance, its plain values or its file."""
    if given is None or isinstance(given, Certificate):
        return given
    if isinstance(given, Mapping):
        return Certificate.from_dict(given)
    if not isinstance(given, (str, Path)):
        raise ParameterError(
            f"certificate: got {type(given).__name__}: expected a Certificate, its plain "
            f"values, or the path of its file."
        )
    try:
        return Certificate.from_dict(read_certificate(Path(given)))
    except ArchiveError as error:
        raise ArchiveError(f"{given}: {str(error).removeprefix(f'{given}: ')}") from None


def load_audit(given: Any) -> Mapping[str, Any] | None:
    """Return the findings of an audit from their plain values or the file of `tabpe audit`."""
    if given is None or isinstance(given, Mapping):
        plain, where = given, "audit"
    else:
        plain, where = _read_json(Path(given)), str(given)
    if plain is None:
        return None
    audit = serialization.read_dataclass(_AuditRecord, plain, where=where)
    return asdict(audit, dict_factory=lambda fields: {k: v for k, v in fields if v is not None})


def load_schema(given: Any, certificate: Certificate | None) -> Schema | None:
    """Return the given schema, or else that of the certificate."""
    if isinstance(given, (str, Path)):
        return Schema.load(given)
    if given is not None and not isinstance(given, Schema):
        raise ParameterError(
            f"schema: got {type(given).__name__}: expected a Schema or the path of its file."
        )
    if given is None and certificate is not None:
        return Schema.from_dict(dict(certificate.schema))
    return given


def format_first_rows(table: pa.Table, rows: int = 20) -> dict[str, list[str]]:
    """Return the first rows as text, column by column."""
    head = table.slice(0, rows)
    return {
        name: ["" if cell is None else str(cell) for cell in head[name].to_pylist()]
        for name in head.schema.names
    }


def _verify_certificate(certificate: Certificate | None, synthetic: Any) -> Verification | None:
    """Verify a certificate, and compare the evaluated rows with the table that it names."""
    if certificate is None:
        return None
    is_path = isinstance(synthetic, (str, Path))
    if certificate.release is not None and (not is_path or Path(synthetic).is_file()):
        rows = Path(synthetic) if is_path else read_all_rows("synthetic", synthetic)
        return verify_plain(certificate.to_dict(), rows)
    found = verify_plain(certificate.to_dict())
    reason = "the certificate names no table" if certificate.release is None else "no single file"
    check = Check("table", GIVEN, f"{NOT_COMPARED}: {reason}")
    return replace(found, checks=(*found.checks, check))


def _read_json(path: Path) -> Any:
    with open_regular(path, ArchiveError) as file:
        content = file.read(LARGEST_AUDIT + 1)
    try:
        plain = serialization.parse_strict_json(content)
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or len(content) > LARGEST_AUDIT:
        raise ArchiveError(f"{path}: not an audit: expected what 'tabpe audit --json' writes.")
    return plain


def read_all_rows(role: str, data: Any, reading: TableReading | None = None) -> pa.Table:
    """Return all rows of a table in any form that `fit` takes."""
    try:
        return open_table(data, reading)[0]
    except DataError as error:
        if isinstance(data, (str, Path)):
            raise
        raise DataError(f"{role}: {str(error).removeprefix('data: ')}") from None


def _build_arrays(tables: Mapping[str, pa.Table], schema: Schema) -> dict[str, TableArrays]:
    try:
        return dict(zip(tables, build_table_arrays(schema, list(tables.values())), strict=True))
    except DataError as error:
        faults = (find_fault(role, table, schema) for role, table in tables.items())
        raise DataError(next(filter(None, faults), str(error))) from None


def _note_left_out(tables: Mapping[str, pa.Table], schema: Schema) -> list[str]:
    notes = []
    for role, table in tables.items():
        count = len([name for name in table.schema.names if name not in schema.names])
        if count:
            columns = "column that is" if count == 1 else "columns that are"
            notes.append(f"the {role} table has {count} {columns} not measured")
    return notes


def _note_unmatched(real: TableArrays, synthetic: TableArrays) -> list[str]:
    """Name columns without a common value: often the two are written differently."""
    return [
        f"column {one.name!r}: no synthetic value is one of the real ones: are they written alike?"
        for one, two in zip(real, synthetic, strict=True)
        if isinstance(one, CategoricalCells)
        and isinstance(two, CategoricalCells)
        and len(one.present)
        and len(two.present)
        and not np.isin(two.present, one.present).any()
    ]


T = TypeVar("T")
SECTIONS, SUBSETS = 17, 12
NO_LABEL = "no label was given: utility was not measured"


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
        schema: The schema or its file; None for that of the certificate, or else one that is
            drafted from the real table.
        label: The column to predict; None for the label of the schema.
        certificate: The certificate of the synthetic table, or its file.
        run: A saved run (`TabPE.save`), which holds certificate and history.
        history: The log of each round (`TabPE.history_`).
        audit: The result of `tabpe audit --json`, or its file.
        learners: Predictors by name: `gradient boosting`, `extra trees`, `nearest neighbours`,
            `tabicl`, `tabpfn`.
        categories: Distance of two categories in k-way Wasserstein distances: `codes`, as in the
            paper's code, or `mismatch`, 1 for every two that differ.
        title: Title of the page.
        random_state: Seed of all subsamples. The same seed gives the same report.
        jobs: Threads; None for one per core.
        verbose: 0 for silence, 1 for a progress bar in a terminal.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [20, 70, 40] * 20, "ill": [False, True, False] * 20})
        >>> report = evaluate(table, table.slice(0, 40), label="ill", verbose=0)
        >>> report.contents.quality.columns[1].metric
        'TVComplement'
    """
    require_report_extra("evaluate")
    seed = validation.check_integer("random_state", random_state, least=0)
    validation.check_one_of("categories", categories, CATEGORIES)
    _check_learners(learners)
    validation.check_optional(validation.check_integer, "jobs", jobs, least=1)
    title = check_title(title, _make_title(real, synthetic))
    provenance = RunProvenance.from_sources(run, certificate, history, synthetic)
    audited = load_audit(audit)
    with show_section_bar(SECTIONS, visible=verbose > 0) as on_section:
        clock = SectionClock(on_section)
        declared = load_schema(schema, provenance.certificate)
        tables = clock.run_timed(
            "reading", lambda: open_tables(real, synthetic, test, declared, label)
        )
        sections = _list_sections(tables, learners, categories, seed=seed, jobs=jobs)
        measured = {
            name: clock.try_section(section, measure)
            for name, (section, measure) in sections.items()
        }
    return Report(
        ReportContents(
            mode="custodian",
            title=title,
            rows={role: len(table) for role, table in tables.by_role.items()},
            label=tables.schema.target,
            sample=tables.sample,
            certificate=provenance.certificate,
            verification=provenance.verification,
            history=provenance.history,
            audit=audited,
            notes=(
                *tables.notes,
                *(() if tables.schema.label is not None else (NO_LABEL,)),
                *clock.notes,
            ),
            seconds=clock.seconds,
            versions=versions(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            **{name: part for name, part in measured.items() if part is not None},
        )
    )


class SectionClock:
    """Times sections, and notes which could not be measured.

    Args:
        on_section: Called with the name of each section as it begins.
    """

    def __init__(self, on_section: Callable[[str], None]) -> None:
        self._on_section = on_section
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    def run_timed(self, name: str, measure: Callable[[], T]) -> T:
        """Measure, and record the duration."""
        self._on_section(name)
        begun = time.perf_counter()
        try:
            return measure()
        finally:
            self.seconds[name] = time.perf_counter() - begun

    def try_section(self, name: str, measure: Callable[[], T]) -> T | None:
        """Measure, or note why not: a failed section must not stop the others."""
        try:
            return self.run_timed(name, measure)
        except TabpeError as error:
            self.notes.append(f"{name}: not measured: {error}")
            return None


def _list_sections(
    tables: ReportTables, learners: Sequence[str], categories: str, *, seed: int, jobs: int | None
) -> dict[str, tuple[str, Callable[[], Any]]]:
    """Return the title and the measurement of each part of the contents."""
    real, synthetic, test = tables.real, tables.synthetic, tables.test
    reference, floor, sample = _match_sample_sizes(real, synthetic, test, seed)
    ceiling = shuffle_columns(floor, np.random.default_rng(seed))
    transport = partial(
        wasserstein, subsets=SUBSETS, categories=categories, random_state=seed, jobs=jobs
    )
    utility = partial(measure_utility, learners=learners, random_state=seed, jobs=jobs)
    return {
        "columns": ("columns", lambda: compare_columns(real, synthetic)),
        "quality": ("scores", lambda: score_quality(real, synthetic)),
        "association": ("pairs", lambda: measure_association(real, synthetic)),
        "pair_dependence": (
            "related pairs",
            lambda: replace(
                measure_pair_dependence(reference, floor, sample, random_state=seed),
                classes=measure_class_dependence(reference, floor, sample, random_state=seed),
            ),
        ),
        # Fitted on the rows that the synthesizer has not seen, if there are any: a model that was
        # fitted on others would know copies of them.
        "learned_dependence": (
            "dependence",
            lambda: measure_learned_dependence(
                floor, reference, sample, random_state=seed, jobs=jobs
            ),
        ),
        "variation": ("total variation", lambda: total_variation(reference, sample)),
        "variation_floor": ("total variation, real", lambda: total_variation(reference, floor)),
        "variation_ceiling": (
            "total variation, independent",
            lambda: total_variation(reference, ceiling),
        ),
        "wasserstein": ("Wasserstein", lambda: transport(reference, sample)),
        "wasserstein_floor": ("Wasserstein, real", lambda: transport(reference, floor)),
        "wasserstein_ceiling": ("Wasserstein, independent", lambda: transport(reference, ceiling)),
        "utility": ("utility", lambda: utility(real, synthetic, test)),
        "order": ("order", lambda: measure_correlation_order(real, test, random_state=seed)),
        "representation": (
            "representation",
            lambda: measure_representation(reference, sample, floor, random_state=seed),
        ),
        "closeness": (
            "nearest rows",
            lambda: measure_closeness(real, synthetic, test, random_state=seed),
        ),
        "projection": ("map", lambda: project_rows(real, synthetic, random_state=seed)),
    }


def _check_learners(learners: Sequence[str]) -> None:
    if isinstance(learners, str):
        raise ParameterError(f"learners={learners!r}: expected a list, such as [{learners!r}].")
    for learner in learners:
        validation.check_one_of("learners", learner, learner_names())


def _match_sample_sizes(
    real: TableArrays, synthetic: TableArrays, test: TableArrays | None, seed: int
) -> tuple[TableArrays, TableArrays, TableArrays]:
    """Return real rows, other real rows, and as many synthetic rows as other real ones.

    The distance of the second from the first is the effect of sampling: no synthetic table can be
    expected below this floor. Fewer rows are further apart, so both are compared with the same
    rows, in the same number. Test rows serve if they are as many as half of the real ones, or as
    needed.
    """
    rng = np.random.default_rng(seed)
    half = (len(real) + 1) // 2
    if test is not None and len(test) >= min(len(synthetic), half):
        reference, others = real, test
    else:
        shuffled = rng.permutation(len(real))
        reference, others = real.take(shuffled[:half]), real.take(shuffled[half:])
    floor = others.sample_rows(len(synthetic), rng)
    return reference, floor, synthetic.sample_rows(len(floor) or len(synthetic), rng)


def _make_title(real: Any, synthetic: Any) -> str:
    names = [
        Path(data).name if isinstance(data, (str, Path)) else None for data in (synthetic, real)
    ]
    return f"{names[0] or 'synthetic rows'} against {names[1] or 'real rows'}"
