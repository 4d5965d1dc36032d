"""Everything a report holds, as values: what is measured is apart from how it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tabpe._utils import validation
from tabpe.accounting import Certificate
from tabpe.errors import ParameterError
from tabpe.evaluation.metrics.associations import AssociationMatrix
from tabpe.evaluation.metrics.closeness import Closeness
from tabpe.evaluation.metrics.columns import ColumnComparison
from tabpe.evaluation.metrics.correlation_order import CorrelationOrder
from tabpe.evaluation.metrics.distances import KWayDistance
from tabpe.evaluation.metrics.embedding import PlaneProjection, RepresentationScores
from tabpe.evaluation.metrics.sdmetrics import QualityScores
from tabpe.evaluation.metrics.utility import UtilityScores
from tabpe.evaluation.private_metrics import PrivateMeasures
from tabpe.verification import Verification

MODES = ("custodian", "public")
CUSTODIAN_ONLY = (
    "quality",
    "wasserstein",
    "wasserstein_floor",
    "variation",
    "variation_floor",
    "utility",
    "order",
    "representation",
    "closeness",
)


@dataclass(frozen=True, eq=False)
class ReportContents:
    """Everything a report holds. A part that was not measured is None or empty.

    Privacy: a public one that holds what was read off real rows without noise can not be made.

    Args:
        mode: `custodian`: holds statistics that are not private. `public`: holds nothing but what
            follows from outputs of differential privacy.
        title: What is evaluated.
        rows: Number of rows by table: `real`, `synthetic`, `test`. Only `synthetic` if public.
        label: The label, if there is one.
        columns: Each column by itself.
        quality: SDMetrics' scores.
        association: How strongly columns go together.
        wasserstein: k-way Wasserstein distances, synthetic against real.
        wasserstein_floor: The same, real against other real rows: what sampling alone gives.
        variation: k-way total variation, synthetic against real.
        variation_floor: The same, real against other real rows.
        utility: Trained on synthetic, tested on real.
        order: Order of correlation.
        representation: Precision and recall, synthetic against real.
        closeness: Distances to the nearest real row.
        projection: Rows as points of a plane.
        sample: Some synthetic rows, as text by column; no real ones.
        certificate: What was promised.
        verification: Whether the certificate holds, and is of these very rows; None if that could
            not be looked at.
        history: What each round of the run did.
        audit: Result of an audit, as `tabpe audit --json` prints it.
        bought: Measures that were bought under differential privacy.
        notes: What a reader should know: columns left out, sections left out and why.
        seconds: How long each section took.
        versions: Versions of the software.
        created: When, in UTC.
        fields_from_data: If public: fields of the schema by which rows are shown that were read off
            the data.
    """

    mode: Literal["custodian", "public"]
    title: str
    rows: Mapping[str, int]
    label: str | None
    columns: tuple[ColumnComparison, ...]
    sample: Mapping[str, Sequence[str]]
    quality: QualityScores | None = None
    association: AssociationMatrix | None = None
    wasserstein: tuple[KWayDistance, ...] = ()
    wasserstein_floor: tuple[KWayDistance, ...] = ()
    variation: tuple[KWayDistance, ...] = ()
    variation_floor: tuple[KWayDistance, ...] = ()
    utility: UtilityScores | None = None
    order: CorrelationOrder | None = None
    representation: RepresentationScores | None = None
    closeness: Closeness | None = None
    projection: PlaneProjection | None = None
    certificate: Certificate | None = None
    verification: Verification | None = None
    history: Sequence[Mapping[str, Any]] = ()
    audit: Mapping[str, Any] | None = None
    bought: PrivateMeasures | None = None
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    fields_from_data: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A mode that nobody knows would have no stamp of the custodian.
        validation.check_one_of("mode", self.mode, MODES)
        held = () if self.mode != "public" else self.not_private
        if held:
            raise ParameterError(
                f"mode='public': the report holds {', '.join(held)}, read off real rows without "
                f"noise: leave them out, or make a report for the custodian."
            )

    @property
    def not_private(self) -> tuple[str, ...]:
        """What the stamp of a public page would deny. Real columns may have been bought."""
        return tuple(self._find_not_private())

    def _find_not_private(self) -> Iterator[str]:
        yield from (name for name in CUSTODIAN_ONLY if getattr(self, name))
        yield from (f"rows of {name}" for name in self.rows if name != "synthetic")
        if self.association is not None and self.association.real is not None:
            yield "real associations"
        if self.projection is not None and self.projection.real is not None:
            yield "real points"
        if not all(map(self._is_noisy, self.columns)):
            yield "real columns that were not bought"
        if self.seconds:
            yield "seconds, which follow from the number of rows"

    def _is_noisy(self, view: ColumnComparison) -> bool:
        """Whether a column tells nothing of real rows but noisy shares, which have a band."""
        if view.real is None:
            return view.difference is None
        moments = (view.real.mean, view.real.deviation, view.real.least, view.real.most)
        return self.bought is not None and view.band > 0 and all(one is None for one in moments)
