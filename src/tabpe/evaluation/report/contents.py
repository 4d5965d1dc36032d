"""Everything a report holds, as values, apart from how it is shown."""

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
from tabpe.evaluation.metrics.dependence import LearnedDependence, PairDependence
from tabpe.evaluation.metrics.distances import KWayDistance
from tabpe.evaluation.metrics.embedding import PlaneProjection, RepresentationScores
from tabpe.evaluation.metrics.sdmetrics import QualityScores
from tabpe.evaluation.metrics.utility import UtilityScores
from tabpe.evaluation.private_metrics import PrivateMeasures
from tabpe.verification import Verification

MODES = ("custodian", "public")
CUSTODIAN_ONLY = (
    "quality",
    "pair_dependence",
    "learned_dependence",
    "wasserstein",
    "wasserstein_floor",
    "wasserstein_ceiling",
    "variation",
    "variation_floor",
    "variation_ceiling",
    "utility",
    "order",
    "representation",
    "closeness",
)


@dataclass(frozen=True, eq=False)
class ReportContents:
    """Everything a report holds. A part that was not measured is None or empty.

    Privacy: a public one that holds anything read from real rows without noise can not be made.

    Args:
        mode: `custodian`: holds statistics that are not private. `public`: holds only
            post-processing of differentially private outputs.
        title: What is evaluated.
        rows: Number of rows by table: `real`, `synthetic`, `test`. Only `synthetic` if public.
        label: The label, if there is one.
        columns: Each column by itself.
        quality: SDMetrics' scores.
        association: Association of each pair of columns.
        pair_dependence: How much of the dependence of each related pair is kept.
        learned_dependence: How much dependence of any order a model finds in synthetic rows.
        wasserstein: k-way Wasserstein distances, synthetic against real.
        wasserstein_floor: The same, real against other real rows: the effect of sampling.
        wasserstein_ceiling: The same, real against real rows with independent columns.
        variation: k-way total variation, synthetic against real.
        variation_floor: The same, real against other real rows.
        variation_ceiling: The same, real against real rows with independent columns.
        utility: Scores of predictors trained on synthetic and tested on real rows.
        order: Order of correlation.
        representation: Precision and recall, synthetic against real.
        closeness: Distances to the nearest real row.
        projection: Rows as points of a plane.
        sample: Some synthetic rows, as text by column; no real ones.
        certificate: The privacy certificate of the synthetic rows.
        verification: Whether the certificate holds and belongs to these rows; None if that could
            not be checked.
        history: The log of each round of the run.
        audit: Result of an audit, as `tabpe audit --json` prints it.
        private_measures: Measures of the real rows that were estimated privately.
        notes: Columns and sections that were left out, and why.
        seconds: Duration of each section.
        versions: Versions of the software.
        created: When, in UTC.
        fields_from_data: If public: fields of the schema of the shown rows that were read from the
            data.
    """

    mode: Literal["custodian", "public"]
    title: str
    rows: Mapping[str, int]
    label: str | None
    columns: tuple[ColumnComparison, ...]
    sample: Mapping[str, Sequence[str]]
    quality: QualityScores | None = None
    association: AssociationMatrix | None = None
    pair_dependence: PairDependence | None = None
    learned_dependence: LearnedDependence | None = None
    wasserstein: tuple[KWayDistance, ...] = ()
    wasserstein_floor: tuple[KWayDistance, ...] = ()
    wasserstein_ceiling: tuple[KWayDistance, ...] = ()
    variation: tuple[KWayDistance, ...] = ()
    variation_floor: tuple[KWayDistance, ...] = ()
    variation_ceiling: tuple[KWayDistance, ...] = ()
    utility: UtilityScores | None = None
    order: CorrelationOrder | None = None
    representation: RepresentationScores | None = None
    closeness: Closeness | None = None
    projection: PlaneProjection | None = None
    certificate: Certificate | None = None
    verification: Verification | None = None
    history: Sequence[Mapping[str, Any]] = ()
    audit: Mapping[str, Any] | None = None
    private_measures: PrivateMeasures | None = None
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    fields_from_data: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # An unknown mode would lack the custodian's warning.
        validation.check_one_of("mode", self.mode, MODES)
        if self.mode == "public" and self.not_private:
            raise ParameterError(
                f"mode='public': the report holds {', '.join(self.not_private)}, read from real "
                f"rows without noise: leave them out, or make a report for the custodian."
            )

    @property
    def not_private(self) -> tuple[str, ...]:
        """Everything read from real rows without noise. Real columns may be estimated privately."""
        return tuple(self._find_not_private())

    def _find_not_private(self) -> Iterator[str]:
        yield from (name for name in CUSTODIAN_ONLY if getattr(self, name))
        yield from (f"rows of {name}" for name in self.rows if name != "synthetic")
        if self.association is not None and self.association.real is not None:
            yield "real associations"
        if self.projection is not None and self.projection.real is not None:
            yield "real points"
        if not all(map(self._is_noisy, self.columns)):
            yield "real columns that were not estimated privately"
        if self.seconds:
            yield "seconds, which depend on the number of rows"

    def _is_noisy(self, view: ColumnComparison) -> bool:
        """Whether all that a column shows of real rows are noisy shares, which have a band."""
        if view.real is None:
            return view.difference is None
        moments = (view.real.mean, view.real.deviation, view.real.least, view.real.most)
        return (
            self.private_measures is not None
            and view.band > 0
            and all(one is None for one in moments)
        )
