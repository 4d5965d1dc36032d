"""Grades of the findings, in words: the cards at the head of a report.

Every card states the rule of its grade. The rules are judgements, not theorems: they show a reader
where to look first. Fidelity is graded between two anchors: other real rows, and independent
columns. What looks better than real is no praise: it is a sign of copies or of rows that are too
clean, and its card says so. `Cause` names, for programs, why a card is not good.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from tabpe.accounting import Certificate
from tabpe.evaluation.metrics.closeness import Closeness
from tabpe.evaluation.metrics.columns import ColumnComparison
from tabpe.evaluation.metrics.dependence import PairDependence
from tabpe.evaluation.metrics.distances import KWayDistance
from tabpe.evaluation.metrics.utility import LearnerScore, UtilityScores
from tabpe.evaluation.private_metrics import PrivateMeasures
from tabpe.evaluation.report.contents import ReportContents
from tabpe.evaluation.report.guarantee import AttackerBound, list_failures, list_fields_from_data
from tabpe.evaluation.report.text import (
    format_number,
    format_percent,
    format_rounded_up,
    shorten_text,
)

Grade = Literal["good", "fair", "poor", "unknown"]
Cause = Literal[
    "columns differ",
    "values missing",
    "values coarser",
    "pairs lost",
    "column detached",
    "dependence invented",
    "dependence lost",
    "closer than real",
    "rows missing",
    "utility lost",
    "group lost",
    "better than real",
    "labels too certain",
    "exact copies",
    "near copies",
    "rows repeated",
]
FEWEST_ROWS = 20
# Judgements, chosen on tables that are known to be bad or honest: tests/support/bad_tables.py.
WORST_COLUMN = 0.9
MISSED_SHARE, MISSED_ROWS = 0.01, 20
COARSER, MANY_VALUES = 0.25, 20
ALL_KEPT = 0.995  # 100% once it is rounded
PAIRS, LEARNED, COVERAGE = (0.6, 0.3), (0.7, 0.4), (0.85, 0.6)
DETACHED, WEAKEST_DETACHED, INVENTED = 0.1, 0.05, 0.1
CLEAR_PAIR, PAIR_LOST, CLASS_LOST = 0.06, 0.1, 0.1
HIGH, HARDLY, BELOW_FLOOR = 3, 0.1, 0.75
USEFUL, USEFUL_ERRORS = (0.8, 0.6), 2.0
GROUP_LOSS, GROUP_SURE = 0.1, 4.0
TOO_USEFUL, TOO_CERTAIN, CERTAIN = 1.15, 0.1, 3.0
NEAR_COPIES, VERY_NEAR, CLOSEST_NEAR, REPEATED = 0.6, 0.7, 0.75, 0.5
SCORES = ("AUC", "accuracy", "R2")  # the first that is there decides
_NAME, _LEFT_TO_RIGHT = 40, "\u200e"


@dataclass(frozen=True)
class ReportCard:
    """One finding at a glance.

    Args:
        title: The subject, in two or three words.
        figure: The number, as text.
        grade: The grade.
        words: The meaning in one sentence, with the rule of the grade.
        section: The id of the section of the page that shows more.
        causes: Why the grade is not good, as far as it is about fidelity or copies.
    """

    title: str
    figure: str
    grade: Grade
    words: str
    section: str
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True)
class _Alarm:
    """A finding that makes a card fair at best."""

    cause: Cause
    words: str
    grade: Grade = "fair"


def _add_alarms(card: ReportCard, alarms: Iterable[_Alarm | None]) -> ReportCard:
    """Return the card with the worst of its grade and those of the alarms, and all causes."""
    found = [alarm for alarm in alarms if alarm is not None]
    grade = max([card.grade, *(alarm.grade for alarm in found)], key=_SEVERITY.index)
    words = " ".join([*(alarm.words for alarm in found), card.words])
    causes = tuple(dict.fromkeys([*card.causes, *(alarm.cause for alarm in found)]))
    return replace(card, grade=grade, words=words, causes=causes)


_SEVERITY: tuple[Grade, ...] = ("unknown", "good", "fair", "poor")


def build_cards(contents: ReportContents) -> tuple[ReportCard, ...]:
    """Return the findings that were measured, the privacy guarantee first."""
    found = (
        _grade_guarantee(contents),
        _grade_columns(contents),
        _grade_pairs(contents),
        _grade_high_order(contents),
        _grade_coverage(contents),
        _grade_utility(contents.utility) if contents.utility else None,
        _grade_private_utility(contents.private_measures) if contents.private_measures else None,
        _grade_closeness(contents),
    )
    return tuple(card for card in found if card is not None)


def write_verdict(contents: ReportContents) -> str:
    """Return all findings in one or two sentences."""
    return f"{_describe_guarantee(contents)} {_describe_measures(build_cards(contents)[1:])}"


def _describe_guarantee(contents: ReportContents) -> str:
    certificate = contents.certificate
    if certificate is None:
        return "The privacy guarantee is unknown: no certificate was given."
    if not certificate.private:
        return "NOT PRIVATE: the noise was fake, and nothing is guaranteed. Do not release."
    if list_failures(contents):
        return "The certificate does not hold: do not rely on its guarantee."
    total = compute_total_guarantee(certificate, contents.private_measures)
    words = (
        f"Protected by differential privacy with epsilon {format_rounded_up(total.epsilon)} and "
        f"delta {format_rounded_up(total.delta, 3)}.{_note_extra_cost(contents.private_measures)}"
    )
    count = len(list_fields_from_data(contents))
    if count:
        what = f"{count} fields of the schema" if count > 1 else "one field of the schema"
        words += f" This does not cover {what} read from the data."
    return words


def _note_extra_cost(measures: PrivateMeasures | None) -> str:
    if measures is None or measures.total_epsilon is not None:
        return ""
    return " The private measures of this report come on top; their total with it is unknown."


def _describe_measures(found: Iterable[ReportCard]) -> str:
    by_grade: dict[str, list[str]] = {"good": [], "fair": [], "poor": []}
    for card in found:
        by_grade.get(card.grade, []).append(card.title.lower())
    graded = [f"{grade} in {_join_titles(titles)}" for grade, titles in by_grade.items() if titles]
    if not graded:
        return "No measure was taken."
    return f"Against real rows the synthetic table is {'; '.join(graded)}."


def _join_titles(titles: list[str]) -> str:
    return " and ".join([", ".join(titles[:-1]), titles[-1]] if len(titles) > 1 else titles)


def compute_total_guarantee(
    certificate: Certificate, measures: PrivateMeasures | None
) -> AttackerBound:
    """Return the guarantee of a table together with the private measures of its report.

    If their total is unknown, it is the guarantee of the table alone.
    """
    bound = AttackerBound.from_certificate(certificate)
    if measures is None or measures.total_epsilon is None or measures.total_delta is None:
        return bound
    return AttackerBound(measures.total_epsilon, measures.total_delta, bound.neighbours, bound.unit)


def _grade_guarantee(contents: ReportContents) -> ReportCard:
    certificate = contents.certificate
    card = partial(ReportCard, "Guarantee", section="privacy")
    if certificate is None:
        words = "Without a certificate the guarantee for the people in the table is unknown."
        return card("no certificate", "unknown", words)
    if not certificate.private:
        words = "The noise was fake, for tests. Nothing is guaranteed. Do not release."
        return card("NOT PRIVATE", "poor", words)
    if list_failures(contents):
        words = f"It does not hold: {'; '.join(list_failures(contents))}. Do not rely on it."
        return card("DOES NOT HOLD", "poor", words)
    bound = compute_total_guarantee(certificate, contents.private_measures)
    grade = _grade_at_most(bound.epsilon, 1.0, 5.0)
    extra = _note_extra_cost(contents.private_measures)
    words = f"{bound.words} Good up to epsilon 1, fair up to 5.{extra}"
    if list_fields_from_data(contents):
        grade = "fair" if grade == "good" else grade
        words += " Fields of the schema were read from the data and are not covered: fair at best."
    return card(f"epsilon {format_rounded_up(bound.epsilon)}", grade, words)


def rate_columns(contents: ReportContents) -> dict[str, float]:
    """Return how far each column agrees with the real one, from 0 to 1; unknown ones are left out.

    It is the score of SDMetrics where it was measured, or else the same from the shares of bins:
    1 minus the largest gap between cumulative shares of a number, 1 minus total variation of a
    category; or the agreement of nulls, where that is less.
    """
    views, scores = {view.name: view for view in contents.columns}, _score_columns(contents)
    known = {name: _include_nulls(score, views.get(name)) for name, score in scores.items()}
    return {name: score for name, score in known.items() if not math.isnan(score)}


def _score_columns(contents: ReportContents) -> dict[str, float]:
    """Return the score of each column, nulls aside; NaN if it is not known."""
    if contents.quality is None:
        return {view.name: _rate_shares(view) for view in contents.columns}
    return {one.column: one.score for one in contents.quality.columns}


def list_worst_first(contents: ReportContents) -> tuple[ColumnComparison, ...]:
    """Return the columns by rising agreement; ties keep their order, unknown ones come last."""
    rated = rate_columns(contents)
    return tuple(sorted(contents.columns, key=lambda view: rated.get(view.name, math.inf)))


def _rate_shares(view: ColumnComparison) -> float:
    if view.real is None or view.difference is None:
        return math.nan
    gaps = [one - two for one, two in zip(view.real.shares, view.synthetic.shares, strict=True)]
    if view.kind == "number":
        return 1 - max(map(abs, itertools.accumulate(gaps)), default=0.0)
    return 1 - sum(map(abs, gaps)) / 2


def _grade_columns(contents: ReportContents) -> ReportCard | None:
    known = rate_columns(contents)
    if not known:
        return None
    scores = _score_columns(contents)
    what = "SDMetrics' Column Shapes"
    if contents.mode == "public":
        what = "as SDMetrics' Column Shapes, from bins and noisy shares"
    if any(known[name] != scores[name] for name in known):
        what += ", or the agreement of nulls where that is less"
    mean, worst = sum(known.values()) / len(known), min(known, key=lambda name: known[name])
    words = (
        f"Single columns agree to {format_percent(mean)} on average ({what}); the worst is "
        f"{_format_name(worst)} with {format_percent(known[worst])}. Good from 95%, fair from 85%; "
        f"fair at best with a column below {WORST_COLUMN:.0%}."
    )
    grade = _grade_at_least(round(mean, 3), 0.95, 0.85)
    causes: tuple[Cause, ...] = () if grade == "good" else ("columns differ",)
    card = ReportCard("Columns", format_percent(mean), grade, words, "columns", causes)
    return _add_alarms(
        card,
        [
            None
            if known[worst] >= WORST_COLUMN
            else _Alarm("columns differ", f"{_format_name(worst)} differs much."),
            _find_missing_values(contents),
            _find_coarser_values(contents),
        ],
    )


def _find_coarser_values(contents: ReportContents) -> _Alarm | None:
    """Return an alarm for numbers that have far fewer values than real ones, as rounded ones do."""
    coarser = [
        (made / known, view.name, made, known)
        for view in contents.columns
        if view.real is not None
        and (known := view.real.values or 0) >= MANY_VALUES
        and (made := view.synthetic.values or 0) < COARSER * known
    ]
    if not coarser:
        return None
    _, name, made, known = min(coarser)
    more = f", and so in {len(coarser) - 1} more" if len(coarser) > 1 else ""
    words = (
        f"Coarser: synthetic rows have {made:,} different values of {_format_name(name)}, as many "
        f"real rows {known:,}{more}."
    )
    return _Alarm("values coarser", words)


def _find_missing_values(contents: ReportContents) -> _Alarm | None:
    """Return an alarm for common values of categories that no synthetic row has."""
    made = contents.rows.get("synthetic", 0)
    missing = [
        (share, view.name, bar)
        for view in contents.columns
        if view.kind == "category" and view.real is not None and contents.mode == "custodian"
        for bar, share, other in zip(
            view.bars, view.real.shares, view.synthetic.shares, strict=True
        )
        if other == 0 and share >= MISSED_SHARE and share * made >= MISSED_ROWS
    ]
    if not missing:
        return None
    share, name, value = max(missing)
    more = f", and {len(missing) - 1} more" if len(missing) > 1 else ""
    words = (
        f"Missing: no synthetic row has {_format_name(name)} = {_format_name(str(value))}, which "
        f"{format_percent(share)} of the real rows have{more}."
    )
    return _Alarm("values missing", words)


def _include_nulls(score: float, view: ColumnComparison | None) -> float:
    """Return a score that counts nulls, which those of SDMetrics ignore."""
    if view is None or view.real is None or view.real.nulls == view.synthetic.nulls:
        return score
    agree = 1 - abs(view.real.nulls - view.synthetic.nulls)
    return agree if math.isnan(score) else min(score, agree)


def _format_name(name: str) -> str:
    """Return a name that does not change the direction of the text after it."""
    shown = shorten_text(name, _NAME)
    return shown if shown.isascii() else shown + _LEFT_TO_RIGHT


def _grade_pairs(contents: ReportContents) -> ReportCard | None:
    """Grade the dependence of related pairs that is kept.

    SDMetrics' Column Pair Trends is shown and not graded: it scores strong pairs alone, of which
    there may be only one, and a table with independent columns does well in it.
    """
    found = contents.pair_dependence
    if found is None or not found.possible:
        return None
    alarms = [_find_invented_pairs(found)]
    lost = found.most_lost
    if lost is None:
        words = (
            f"None of the {found.possible} pairs of columns is related: there is nothing to keep."
        )
        card = ReportCard("Pairs", "none related", "unknown", words, "pairs")
        return _add_alarms(card, alarms)
    kept = round(found.kept, 2)
    names = " with ".join(_format_name(name) for name in lost.columns)
    count = len(found.pairs)
    worst = f"Most is lost in {names}: {lost.kept:.0%} is kept. " if lost.kept < ALL_KEPT else ""
    words = (
        f"{count} of {found.possible} pairs of columns {'is' if count == 1 else 'are'} related. "
        f"Synthetic rows keep {kept:.0%} of their dependence, where other real rows keep all and "
        f"independent columns none. {worst}Good from {PAIRS[0]:.0%}, fair from {PAIRS[1]:.0%}."
    )
    grade = _grade_at_least(kept, *PAIRS)
    causes: tuple[Cause, ...] = () if grade == "good" else ("pairs lost",)
    card = ReportCard("Pairs", f"{kept:.0%} kept", grade, words, "pairs", causes)
    alarms += [_find_detached_column(found), _find_lost_pair(found), _find_lost_class(found)]
    return _add_alarms(card, alarms)


def _find_lost_pair(found: PairDependence) -> _Alarm | None:
    """Return an alarm if a clear pair has lost nearly all of its dependence."""
    lost = [pair for pair in found.pairs if pair.weight >= CLEAR_PAIR and pair.kept < PAIR_LOST]
    if not lost:
        return None
    names = " with ".join(_format_name(name) for name in lost[0].columns)
    more = f", and of {len(lost) - 1} more" if len(lost) > 1 else ""
    return _Alarm("pairs lost", f"Lost: hardly any dependence of {names} is kept{more}.")


def _find_lost_class(found: PairDependence) -> _Alarm | None:
    """Return an alarm if the rows of one class have lost their dependence."""
    worst = min(found.classes, key=lambda one: one.kept, default=None)
    if worst is None or worst.kept >= CLASS_LOST:
        return None
    words = (
        f"Lost in a class: within {_format_name(worst.value)} synthetic rows keep "
        f"{worst.kept:.0%} of the dependence between the other columns."
    )
    return _Alarm("pairs lost", words)


def _find_detached_column(found: PairDependence) -> _Alarm | None:
    """Return an alarm if a column lost its dependence, and had more than a trace of it."""
    strengths: dict[str, float] = {}
    for pair in found.pairs:
        for name in pair.columns:
            strengths[name] = max(strengths.get(name, 0.0), pair.weight)
    kept = {
        name: share
        for name, share in found.kept_by_column.items()
        if strengths[name] >= WEAKEST_DETACHED
    }
    worst = min(kept, key=lambda name: kept[name], default=None)
    if worst is None or kept[worst] >= DETACHED:
        return None
    words = f"{_format_name(worst)} has lost its dependence on all other columns."
    return _Alarm("column detached", words)


def _find_invented_pairs(found: PairDependence) -> _Alarm | None:
    """Return an alarm for a strong dependence that real rows do not have."""
    strong = [columns for columns, strength in found.invented if strength >= INVENTED]
    if not strong:
        return None
    more = f", and {len(strong) - 1} more" if len(strong) > 1 else ""
    words = (
        f"Invented: in synthetic rows {_format_name(strong[0][0])} depends on "
        f"{_format_name(strong[0][1])}, in real rows it does not{more}."
    )
    return _Alarm("dependence invented", words)


def _grade_high_order(contents: ReportContents) -> ReportCard | None:
    found, distances = contents.learned_dependence, compare_distances(contents)
    if found is None and distances is None:
        return None
    kept = math.nan if found is None else found.kept
    alarms = [] if distances is None else [_find_distances_below_floor(distances)]
    if math.isnan(kept):
        words = "A model sees no dependence between the columns of the real rows."
        card = ReportCard("High order", "none seen", "unknown", words, "high-order")
        return _add_alarms(card, alarms)
    kept = round(kept, 2)
    words = (
        f"The synthetic rows keep {_format_share(kept)} of the dependence between columns, of any "
        f"order, as a model sees it that tells real rows from independent columns. Good from "
        f"{LEARNED[0]:.0%}, fair from {LEARNED[1]:.0%}."
    )
    if distances is not None:
        words += f" {distances.words}"
    grade = _grade_at_least(kept, *LEARNED)
    causes: tuple[Cause, ...] = () if grade == "good" else ("dependence lost",)
    figure = f"{_format_share(kept)} kept"
    return _add_alarms(ReportCard("High order", figure, grade, words, "high-order", causes), alarms)


def _format_share(share: float) -> str:
    """Return the share that is kept; more than all is still all."""
    return f"{min(1.0, max(0.0, share)):.0%}"


@dataclass(frozen=True)
class AnchoredDistances:
    """k-way distances of high order between their anchors, as means over the orders.

    Args:
        orders: The orders, each with all three distances.
        distance: Mean distance of synthetic rows.
        floor: Mean distance of other real rows.
        ceiling: Mean distance of independent columns.
        spread: Standard error of a mean over sets of columns.
    """

    orders: tuple[int, ...]
    distance: float
    floor: float
    ceiling: float
    spread: float

    @property
    def kept(self) -> float:
        """Share of the way from the ceiling to the floor; NaN if the two are hardly apart."""
        way = self.ceiling - self.floor
        return (self.ceiling - self.distance) / way if way > HARDLY * self.floor else math.nan

    @property
    def words(self) -> str:
        """The meaning in a sentence."""
        of = f"{self.orders[0]} to {self.orders[-1]}" if len(self.orders) > 1 else self.orders[0]
        figures = (
            f"Distances over {of} columns at once: {format_number(self.distance)}; other real rows "
            f"{format_number(self.floor)}, independent columns {format_number(self.ceiling)}."
        )
        return figures if not math.isnan(self.kept) else figures + " They tell little here."


def compare_distances(contents: ReportContents) -> AnchoredDistances | None:
    """Return Wasserstein distances of high order between anchors; None if there are none."""
    parts = (contents.wasserstein, contents.wasserstein_floor, contents.wasserstein_ceiling)
    by_order = [{way.order: way for way in part} for part in parts]
    orders = tuple(
        order
        for order in sorted(by_order[0])
        if order >= HIGH and all(order in part and _has_enough(part[order]) for part in by_order)
    )
    if not orders:
        return None
    means = [float(np.mean([part[order].distance for order in orders])) for part in by_order]
    spread = float(
        np.mean([by_order[1][k].spread / math.sqrt(by_order[1][k].measured) for k in orders])
    )
    return AnchoredDistances(orders, means[0], means[1], means[2], spread)


def _has_enough(found: KWayDistance) -> bool:
    return not math.isnan(found.distance) and min(found.rows) >= FEWEST_ROWS


def _find_distances_below_floor(found: AnchoredDistances) -> _Alarm | None:
    if not found.distance < BELOW_FLOOR * found.floor:
        return None
    words = (
        "Better than real: synthetic rows are closer to real rows than other real rows are, as "
        "copies would be."
    )
    return _Alarm("closer than real", words)


def _grade_coverage(contents: ReportContents) -> ReportCard | None:
    found = contents.representation
    if found is None or found.floor is None or not found.floor.coverage > 0:
        return None
    share = round(found.coverage / found.floor.coverage, 2)
    words = (
        f"{format_percent(found.coverage, 0)} of real rows have a synthetic row near by; as many "
        f"other real rows reach {format_percent(found.floor.coverage, 0)}. Where none is near, "
        f"kinds of rows are missing. Good from {COVERAGE[0]:.0%} of that, fair from "
        f"{COVERAGE[1]:.0%}."
    )
    grade = _grade_at_least(share, *COVERAGE)
    causes: tuple[Cause, ...] = () if grade == "good" else ("rows missing",)
    figure = f"{format_percent(found.coverage, 0)} reached"
    return ReportCard("Coverage", figure, grade, words, "representation", causes)


def _grade_utility(utility: UtilityScores) -> ReportCard | None:
    found = find_main_scores(utility)
    if found is None:
        return None
    learner, score, (lower, value, upper) = found
    scores = (
        f"{learner[:1].upper()}{learner[1:]} trained on synthetic rows reaches {score} "
        f"{value:.3f}; trained on real rows {upper:.3f}, by the label alone {lower:.3f}. "
    )
    if upper - lower < 0.01:  # noqa: PLR2004
        words = scores + "Real rows teach almost nothing, so there is nothing to lose."
        return ReportCard("Utility", f"{value:.3f}", "unknown", words, "utility")
    way = (value - lower) / (upper - lower)
    words = scores + f"That is {format_percent(way, 0)} of the way. Good from {USEFUL[0]:.0%}, "
    words += f"fair from {USEFUL[1]:.0%}, "
    words += "within two standard errors."
    if utility.held_out:
        words += " No test rows were given: the synthetic rows may have been made from the tested "
        words += "ones, and do less well on others."
    figure = f"{format_percent(max(0.0, way), 0)} of real"
    made = _find_scores(utility, learner)["synthetic"]
    error = USEFUL_ERRORS * made.margins.get(score, 0.0) / (upper - lower)
    grade = _grade_at_least(round(way + error, 2), *USEFUL)
    causes: tuple[Cause, ...] = () if grade == "good" else ("utility lost",)
    card = ReportCard("Utility", figure, grade, words, "utility", causes)
    return _add_alarms(
        card,
        [
            _find_better_than_real(utility, learner, score, way),
            _find_certainty(utility, learner),
            _find_lost_group(utility, learner),
        ],
    )


def _find_lost_group(utility: UtilityScores, learner: str) -> _Alarm | None:
    """Return an alarm if synthetic rows mislead a model about one group more than about all."""
    by_origin = _find_scores(utility, learner)
    made, real = by_origin["synthetic"], by_origin["real"]
    group = made.worst_group
    if group is None:
        return None
    beyond = group.loss - max(0.0, real.scores["accuracy"] - made.scores["accuracy"])
    if beyond <= max(GROUP_LOSS, GROUP_SURE * group.error):
        return None
    words = (
        f"Worse for a group: where {_format_name(group.column)} = {_format_name(group.value)} the "
        f"model is right in {group.synthetic:.0%}, trained on real rows in {group.real:.0%}."
    )
    return _Alarm("group lost", words)


def _find_better_than_real(
    utility: UtilityScores, learner: str, score: str, way: float
) -> _Alarm | None:
    """Return an alarm if synthetic rows teach more than real ones, beyond sampling error."""
    by_origin = _find_scores(utility, learner)
    made, real = by_origin["synthetic"], by_origin["real"]
    excess = made.scores[score] - real.scores[score]
    if way <= TOO_USEFUL or excess <= CERTAIN * made.margins.get(score, 0.0):
        return None
    words = (
        "Better than real: synthetic rows teach more than real rows do. Rows that the model is "
        "tested on may be among them, or their labels are cleaner than real ones."
    )
    return _Alarm("better than real", words)


def _find_certainty(utility: UtilityScores, learner: str) -> _Alarm | None:
    """Return an alarm if synthetic rows teach a model to be too sure of its predictions."""
    by_origin = _find_scores(utility, learner)
    made, real = (by_origin[on].certainty for on in ("synthetic", "real"))
    if made is None or real is None:
        return None
    if made.overconfidence - max(0.0, real.overconfidence) <= TOO_CERTAIN:
        return None
    words = (
        f"Labels too certain: trained on synthetic rows the model is {made.confidence:.0%} sure "
        f"and right in {made.accuracy:.0%}; trained on real rows {real.confidence:.0%} and "
        f"{real.accuracy:.0%}. Do not trust its probabilities."
    )
    return _Alarm("labels too certain", words)


def _find_scores(utility: UtilityScores, learner: str) -> dict[str, LearnerScore]:
    return {one.trained_on: one for one in utility.scores if one.learner == learner}


def find_main_scores(utility: UtilityScores) -> tuple[str, str, tuple[float, float, float]] | None:
    """Return the learner that is best on real rows, the graded score, and its three values.

    The values are the lower bound, that of the synthetic rows, and the upper bound.
    """
    for score in SCORES:
        by_origin: dict[str, dict[str, float]] = {"real": {}, "synthetic": {}, "nothing": {}}
        for one in utility.scores:
            if not math.isnan(one.scores.get(score, math.nan)):
                by_origin[one.trained_on][one.learner] = one.scores[score]
        both = {k: v for k, v in by_origin["real"].items() if k in by_origin["synthetic"]}
        if both and by_origin["nothing"]:
            best = max(both, key=lambda name: both[name])
            lower = max(by_origin["nothing"].values())
            return best, score, (lower, by_origin["synthetic"][best], both[best])
    return None


def _grade_private_utility(measures: PrivateMeasures) -> ReportCard | None:
    if measures.accuracy is None:
        return None
    accuracy, half = measures.accuracy
    words = f"A predictor trained on the synthetic rows is right for {format_percent(accuracy)} of "
    words += f"the real rows, give or take {format_percent(half)} (estimated privately)."
    grade: Grade = "unknown"
    if measures.majority is not None:
        words += f" Saying the most common class is right for {format_percent(measures.majority)}."
        if accuracy - half <= measures.majority:
            grade = "poor"
            words += " Poor, because it is not surely better than that."
        else:
            words += " Better than that; there is no upper bound to compare it with."
    return ReportCard("Utility", format_percent(accuracy), grade, words, "utility")


def _grade_closeness(contents: ReportContents) -> ReportCard | None:
    closeness = contents.closeness
    if closeness is None:
        return None
    excess = closeness.copies - closeness.other_copies
    words = (
        f"{format_percent(closeness.copies)} of the synthetic rows equal a real row; of other real "
        f"rows {format_percent(closeness.other_copies)} do. Good up to 1 point more, fair up to 5. "
        f"A sanity check, no proof of privacy."
    )
    figure, grade = f"{format_percent(closeness.copies)} copies", _grade_at_most(excess, 0.01, 0.05)
    causes: tuple[Cause, ...] = () if grade == "good" else ("exact copies",)
    card = ReportCard("Closeness", figure, grade, words, "closeness", causes)
    near, repeated = _find_near_copies(closeness), _find_repeated_rows(closeness)
    if near is not None:
        card = replace(card, figure=near[0])
    return _add_alarms(card, [None if near is None else near[1], repeated])


def _find_near_copies(closeness: Closeness) -> tuple[str, _Alarm] | None:
    """Return the figure of near copies, of all rows or of the closest ones, and its alarm."""
    nearer, closest = closeness.nearer, closeness.closest_nearer
    if nearer is not None and nearer > max(NEAR_COPIES, closeness.chance):
        words = (
            f"Near copies: {format_percent(nearer, 0)} of the synthetic rows are nearer to a real "
            f"row than to as many {_name_control(closeness)} rows; one half is expected."
        )
        grade = _grade_at_most(nearer, 0.5, VERY_NEAR)
        return f"{nearer:.0%} too near", _Alarm("near copies", words, grade)
    if closest is not None and closest > max(CLOSEST_NEAR, closeness.closest_chance):
        words = (
            f"Some near copies: of the tenth of the synthetic rows with the nearest neighbours, "
            f"{format_percent(closest, 0)} have a row of the real table as the nearest; one half "
            f"is expected."
        )
        return "some too near", _Alarm("near copies", words)
    return None


def _find_repeated_rows(closeness: Closeness) -> _Alarm | None:
    if closeness.repeats - closeness.other_repeats <= REPEATED:
        return None
    words = (
        f"Repeated: {format_percent(closeness.repeats, 0)} of the synthetic rows equal another "
        f"synthetic row; {format_percent(closeness.other_repeats, 0)} of as many real rows do."
    )
    return _Alarm("rows repeated", words)


def _name_control(closeness: Closeness) -> str:
    return "other real" if closeness.nearer == closeness.nearer_than_other else "other synthetic"


# Figures are graded as they are shown: 69.6% that reads 70% is at least 70%.
def _grade_at_least(value: float, good: float, fair: float) -> Grade:
    return _grade_at_most(-value, -good, -fair)


def _grade_at_most(value: float, good: float, fair: float) -> Grade:
    if math.isnan(value):
        return "unknown"
    if value <= good:
        return "good"
    return "fair" if value <= fair else "poor"
