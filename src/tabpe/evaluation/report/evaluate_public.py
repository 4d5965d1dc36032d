"""`evaluate_public`: a report that may be released.

Privacy: the report is post-processing of the synthetic rows, their certificate and the history of
their run, which are differentially private, and of measures that are estimated privately. Only
`tabpe.evaluation.private_metrics` reads the real rows, and charges for it; nothing here opens them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe._utils import validation
from tabpe._utils.extras import require_report_extra
from tabpe._utils.progress import show_step_line
from tabpe.accounting import NoiseSource, ReleaseStatement
from tabpe.errors import LedgerError, ParameterError
from tabpe.evaluation.metrics.associations import measure_association
from tabpe.evaluation.metrics.columns import compare_columns
from tabpe.evaluation.metrics.embedding import project_rows
from tabpe.evaluation.private_metrics import Appraisal, appraise
from tabpe.evaluation.report.contents import ReportContents
from tabpe.evaluation.report.evaluate import (
    RunProvenance,
    check_title,
    draft_from_table,
    format_first_rows,
    keep_first_label,
    load_audit,
    load_schema,
    read_all_rows,
)
from tabpe.evaluation.report.report import Report
from tabpe.evaluation.table_arrays import build_table_arrays
from tabpe.measurement.reservation import LedgerCharge
from tabpe.schema import Schema, Source
from tabpe.synthesizers.certify import versions
from tabpe.synthesizers.options import open_charge, resolve_noise

DRAFTED = "no schema was given: types, bounds and categories are those of the synthetic rows"


def evaluate_public(
    synthetic: Any,
    *,
    real: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    schema: Any = None,
    label: str | None = None,
    certificate: Any = None,
    run: str | Path | None = None,
    history: Sequence[Mapping[str, Any]] = (),
    audit: Any = None,
    dataset: str | None = None,
    ledger: str | Path | None = None,
    noise: str | NoiseSource = "exact",
    title: str | None = None,
    random_state: int = 0,
    verbose: int = 1,
) -> Report:
    """Show a synthetic table in a report that may be released.

    Privacy: without `epsilon` the real rows are not read, and the report costs nothing. With it,
    histograms of the real rows are estimated privately, and the report is (epsilon,
    delta)-differentially private in addition to the synthetic table; its certificate says so, and
    states the total of the two.

    Args:
        synthetic: The synthetic table: a frame, or a path.
        real: The real table, if measures of it are estimated privately.
        epsilon: The budget of these measures.
        delta: Their delta; None for that of the certificate, or of the budget of `dataset`.
        schema: The schema or its file; None for that of the certificate, or else one that is
            drafted from the synthetic rows.
        label: The column to predict; None for the label of the schema.
        certificate: The certificate of the synthetic table, or its file.
        run: A saved run (`TabPE.save`), which holds certificate and history.
        history: The log of each round (`TabPE.history_`).
        audit: The result of `tabpe audit --json`, or its file.
        dataset: The name of the table in a ledger, which is charged before a row is read.
        ledger: The file of the ledger; None for the one in the data folder of the user.
        noise: `exact` or `opendp`, as for `TabPE`.
        title: Title of the page.
        random_state: Seed of subsamples and of the predictor. It never seeds the noise.
        verbose: 0 for silence, 1 for a status line in a terminal.

    Example:
        >>> table = pa.table({"age": [20, 70, 40] * 20, "ill": [False, True, False] * 20})
        >>> evaluate_public(table, verbose=0).contents.rows
        {'synthetic': 60}
    """
    # The time to read the real rows reveals their number: only the beginning is recorded.
    created = datetime.now(UTC).isoformat(timespec="seconds")
    seed = validation.check_integer("random_state", random_state, least=0)
    if (real is None) != (epsilon is None):
        raise ParameterError(
            "real, epsilon: private measures need both of them; give both or none."
        )
    if epsilon is not None:
        require_report_extra("evaluate_public with epsilon")
    else:
        _refuse_budget_options(delta=delta, dataset=dataset, ledger=ledger)
    title = check_title(title, _make_title(synthetic))
    provenance = RunProvenance.from_sources(run, certificate, history, synthetic)
    table, audited = read_all_rows("synthetic", synthetic), load_audit(audit)
    declared, notes = _resolve_schema(load_schema(schema, provenance.certificate), table, label)
    (view,) = build_table_arrays(declared, [table])
    appraisal = None
    if real is not None:
        unit = None if provenance.certificate is None else provenance.certificate.unit
        charge = open_charge(ledger, dataset, unit)
        with show_step_line(visible=verbose > 0) as on_step:
            on_step("measuring the real rows under noise")
            appraisal = appraise(
                real,
                synthetic,
                declared,
                epsilon=epsilon,
                delta=delta,
                certificate=provenance.certificate,
                charge=charge,
                noise=resolve_noise(noise),
                random_state=seed,
            )
        if charge is not None:
            appraisal = _add_total(appraisal, charge)
    return Report(
        ReportContents(
            mode="public",
            title=title,
            rows={"synthetic": len(view)},
            label=declared.target,
            columns=compare_columns(None, view) if appraisal is None else appraisal.columns,
            sample=format_first_rows(table.select(list(declared.names))),
            association=measure_association(None, view),
            projection=project_rows(None, view, random_state=seed),
            certificate=provenance.certificate,
            verification=provenance.verification,
            history=provenance.history,
            audit=audited,
            private_measures=None if appraisal is None else appraisal.measures,
            notes=notes,
            versions=versions(),
            created=created,
            fields_from_data=declared.fields_from_data,
        )
    )


def _refuse_budget_options(**options: Any) -> None:
    for name, given in options.items():
        if given is not None:
            raise ParameterError(f"{name}={given!r}: is for private measures: give epsilon.")


def _add_total(appraisal: Appraisal, charge: LedgerCharge) -> Appraisal:
    """Return the appraisal with what all runs on the data set have spent, as the ledger says."""
    measures = appraisal.measures
    try:
        total = charge.ledger.status(charge.dataset).total
    except LedgerError:  # the measures are paid for: they are shown anyway
        return appraisal
    certificate = measures.certificate.with_statement(ReleaseStatement(total=total))
    return dataclasses.replace(
        appraisal, measures=dataclasses.replace(measures, certificate=certificate)
    )


def _resolve_schema(
    schema: Schema | None, table: pa.Table, label: str | None
) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema and notes; one that is drafted from synthetic rows is public."""
    if schema is not None:
        declared, notes = keep_first_label(schema, label)
        return declared.with_label(label), notes
    drafted, notes = draft_from_table(table, label)
    columns = tuple(dataclasses.replace(c, source=Source.PUBLIC) for c in drafted.columns)
    return dataclasses.replace(drafted, columns=columns), (DRAFTED, *notes[1:])


def _make_title(synthetic: Any) -> str:
    return Path(synthetic).name if isinstance(synthetic, (str, Path)) else "synthetic rows"
