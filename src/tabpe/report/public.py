"""`evaluate_public`: a report that may be released.

Privacy: what it shows follows from the synthetic rows, their certificate and the history of their
run, which are outputs of differential privacy, and from measures that are bought. The real rows are
read by `tabpe.appraise` alone, which charges for them; nothing here opens them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabpe import _validate
from tabpe.certify import versions
from tabpe.errors import ParameterError
from tabpe.metrics.association import association
from tabpe.metrics.columns import column_views
from tabpe.metrics.projection import projection
from tabpe.metrics.view import views
from tabpe.report.contents import Contents
from tabpe.report.inputs import Run, audit_of, drafted, opened, sampled, schema_for
from tabpe.report.report import Report
from tabpe.schema import Schema, Source

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
    title: str | None = None,
    random_state: int = 0,
    verbose: int = 1,
) -> Report:
    """Show a synthetic table in a report that may be released.

    Privacy: without `epsilon` the real rows are not read, and the report costs nothing. With it,
    histograms of the real rows are bought, and the report is (epsilon, delta)-differentially
    private; its certificate says so, and states the total of it and of the synthetic table.
    """
    seed = _validate.whole("random_state", random_state, least=0)
    if (real is None) != (epsilon is None):
        raise ParameterError("real and epsilon: measures are bought with both, or with neither.")
    made_by = Run.of(run, certificate, history, synthetic)
    table = opened("synthetic", synthetic)
    declared, notes = _declared(schema_for(schema, made_by.certificate), table, label)
    (view,) = views(declared, [table])
    return Report(
        Contents(
            mode="public",
            title=title or _title(synthetic),
            rows={"synthetic": len(view)},
            label=declared.label,
            columns=column_views(None, view),
            sample=sampled(table.select(list(declared.names))),
            association=association(None, view),
            projection=projection(None, view, random_state=seed),
            certificate=made_by.certificate,
            verification=made_by.verification,
            history=made_by.history,
            audit=audit_of(audit),
            notes=notes,
            versions=versions(),
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )
    )


def _declared(
    schema: Schema | None, table: pa.Table, label: str | None
) -> tuple[Schema, tuple[str, ...]]:
    """Return the schema to show rows by; one that is read off synthetic rows is public."""
    if schema is not None:
        return schema.with_label(label), ()
    read, notes = drafted(table, label)
    columns = tuple(dataclasses.replace(c, source=Source.PUBLIC) for c in read.columns)
    return dataclasses.replace(read, columns=columns), (DRAFTED, *notes[1:])


def _title(synthetic: Any) -> str:
    return Path(synthetic).name if isinstance(synthetic, (str, Path)) else "synthetic rows"
