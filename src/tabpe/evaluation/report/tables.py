"""Rows of the tables on the page: columns, pairs, predictors, privacy spends."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tabpe.accounting import Certificate
from tabpe.evaluation.metrics.associations import AssociationMatrix
from tabpe.evaluation.metrics.distances import KWayDistance
from tabpe.evaluation.metrics.sdmetrics import ColumnScore, QualityScores
from tabpe.evaluation.metrics.utility import UtilityScores
from tabpe.evaluation.report.charts import Bounds
from tabpe.evaluation.report.contents import ReportContents

MOST_COLUMNS, MOST_CHARTS = 1000, 60
OPEN_CHARTS = 24  # the pictures of more columns are folded
KWayAnchored = tuple[str, Sequence[KWayDistance], Sequence[KWayDistance], Sequence[KWayDistance]]
MOST_CELLS = 40
MOST_SAMPLE_COLUMNS, MOST_SAMPLE_ROWS = 100, 20


def scores_by_column(quality: QualityScores | None) -> dict[str, ColumnScore]:
    """Return the score of each column by its name."""
    return {} if quality is None else {score.column: score for score in quality.columns}


def scored_pairs(quality: QualityScores) -> int:
    """Return the number of pairs with a score; SDMetrics gives none to weakly associated ones."""
    return sum(not math.isnan(pair.score) for pair in quality.pairs)


def find_most_changed(association: AssociationMatrix, most: int = MOST_CELLS) -> list[int]:
    """Return the indices of the columns whose pairs changed most, related ones side by side."""
    strength = association.strength
    np.fill_diagonal(strength, 0.0)
    chosen = np.argsort(-strength.max(axis=0, initial=0.0), kind="stable")[:most]
    return order_by_relation(association, sorted(chosen.tolist()))


def order_by_relation(association: AssociationMatrix, indices: Sequence[int]) -> list[int]:
    """Return columns in an order in which each follows the one it is most related to."""
    known = association.synthetic if association.real is None else association.real
    related = np.abs(np.nan_to_num(known))
    np.fill_diagonal(related, 0.0)
    left = list(indices)
    if not left:
        return []
    ordered = [max(left, key=lambda at: float(related[at, left].max(initial=0.0)))]
    left.remove(ordered[0])
    while left:
        ordered.append(max(left, key=lambda at: float(related[ordered[-1], at])))
        left.remove(ordered[-1])
    return ordered


def maps(association: AssociationMatrix) -> list[tuple[str, list[str], NDArray[np.float64], float]]:
    """Return the heat maps: title, columns, matrix, and the value of the full colour."""
    indices = find_most_changed(association)
    names = [association.columns[index] for index in indices]
    grid = np.ix_(indices, indices)
    shown = [("synthetic", names, association.synthetic[grid], 1.0)]
    if association.real is not None and association.difference is not None:
        difference = association.difference[grid]
        most = max(0.1, float(np.abs(difference).max(initial=0.0)))
        shown.insert(0, ("real", names, association.real[grid], 1.0))
        shown.append(("difference, synthetic minus real", names, difference, most))
    return shown


def list_distances(contents: ReportContents) -> list[KWayAnchored]:
    """Return the title of each k-way distance, the distances, their floor and their ceiling."""
    return [
        (
            "k-way Wasserstein",
            contents.wasserstein,
            contents.wasserstein_floor,
            contents.wasserstein_ceiling,
        ),
        (
            "k-way total variation",
            contents.variation,
            contents.variation_floor,
            contents.variation_ceiling,
        ),
    ]


def utility_bounds(utility: UtilityScores) -> dict[str, list[Bounds]]:
    """Return for each score one row per learner: name, lower bound, value, upper bound."""
    names = dict.fromkeys(name for one in utility.scores for name in one.scores)
    learners = dict.fromkeys(one.learner for one in utility.scores if one.trained_on != "nothing")
    return {
        name: [
            (
                learner,
                _find_score(utility, name, "nothing", None),
                _find_score(utility, name, "synthetic", learner),
                _find_score(utility, name, "real", learner),
            )
            for learner in learners
        ]
        for name in names
    }


def _find_score(
    utility: UtilityScores, name: str, trained_on: str, learner: str | None
) -> float | None:
    found = [
        one.scores[name]
        for one in utility.scores
        if one.trained_on == trained_on and learner in {None, one.learner} and name in one.scores
    ]
    known = [value for value in found if not math.isnan(value)]
    return max(known, default=None)


def list_spend_shares(certificate: Certificate) -> list[tuple[str, float]]:
    """Return the name of each privacy spend and its share of the privacy loss."""
    return [(spend.name, certificate.share(spend)) for spend in certificate.spends]
