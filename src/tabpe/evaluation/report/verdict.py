"""Grades of the findings, in words: the cards at the head of a report.

Every card states the rule of its grade. The rules are judgements, not theorems: they show a reader
where to look first.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from tabpe.accounting import Certificate
from tabpe.accounting.certificate import round_up
from tabpe.evaluation.metrics.columns import ColumnComparison
from tabpe.evaluation.metrics.distances import KWayDistance
from tabpe.evaluation.metrics.utility import UtilityScores
from tabpe.evaluation.private_metrics import PrivateMeasures
from tabpe.evaluation.report.contents import ReportContents
from tabpe.evaluation.report.guarantee import AttackerBound, list_failures, list_fields_from_data
from tabpe.evaluation.report.text import format_number, format_percent, shorten_text

Grade = Literal["good", "fair", "poor", "unknown"]
FEWEST_ROWS = 20
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
    """

    title: str
    figure: str
    grade: Grade
    words: str
    section: str


def build_cards(contents: ReportContents) -> tuple[ReportCard, ...]:
    """Return the findings that were measured, the privacy guarantee first."""
    found = (
        _grade_guarantee(contents),
        _grade_columns(contents),
        _grade_pairs(contents),
        _grade_high_order(contents),
        _grade_utility(contents.utility) if contents.utility else None,
        _grade_private_utility(contents.bought) if contents.bought else None,
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
    words = compute_total_guarantee(certificate, contents.bought).words + _note_extra_cost(
        contents.bought
    )
    count = len(list_fields_from_data(contents))
    if count:
        what = f"{count} fields of the schema" if count > 1 else "one field of the schema"
        words += f" This does not cover {what} read from the data."
    return words


def _note_extra_cost(bought: PrivateMeasures | None) -> str:
    if bought is None or bought.total_epsilon is not None:
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
    certificate: Certificate, bought: PrivateMeasures | None
) -> AttackerBound:
    """Return the guarantee of a table together with the private measures of its report.

    If their total is unknown, it is the guarantee of the table alone.
    """
    bound = AttackerBound.from_certificate(certificate)
    if bought is None or bought.total_epsilon is None or bought.total_delta is None:
        return bound
    return AttackerBound(bought.total_epsilon, bought.total_delta, bound.neighbours, bound.unit)


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
    bound = compute_total_guarantee(certificate, contents.bought)
    grade = _grade_at_most(bound.epsilon, 1.0, 5.0)
    words = f"{bound.words} Good up to epsilon 1, fair up to 5.{_note_extra_cost(contents.bought)}"
    if list_fields_from_data(contents):
        grade = "fair" if grade == "good" else grade
        words += " Fields of the schema were read from the data and are not covered: fair at best."
    return card(f"epsilon {round_up(bound.epsilon, 3):g}", grade, words)


def _grade_columns(contents: ReportContents) -> ReportCard | None:
    differences = {view.name: view.difference for view in contents.columns}
    known = {name: 1 - value for name, value in differences.items() if value is not None}
    what = f"1 minus total variation{', noisy' if contents.mode == 'public' else ''}"
    if contents.quality is not None:
        views = {view.name: view for view in contents.columns}
        scores = {one.column: one.score for one in contents.quality.columns}
        known = {name: _include_nulls(score, views.get(name)) for name, score in scores.items()}
        what = "SDMetrics' Column Shapes"
        what += "" if known == scores else ", or the agreement of nulls where that is less"
    known = {name: score for name, score in known.items() if not math.isnan(score)}
    if not known:
        return None
    mean, worst = sum(known.values()) / len(known), min(known, key=lambda name: known[name])
    words = (
        f"Single columns agree to {format_percent(mean)} on average ({what}); the worst is "
        f"{_format_name(worst)} with {format_percent(known[worst])}. Good from 95%, fair from 85%."
    )
    grade = _grade_at_least(round(mean, 3), 0.95, 0.85)
    return ReportCard("Columns", format_percent(mean), grade, words, "columns")


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
    """Grade the error of associations over all pairs.

    SDMetrics' Column Pair Trends is shown and not graded: it scores strong pairs alone, of which
    there may be only one.
    """
    found = contents.association
    worst = [] if found is None else found.find_most_changed(1)
    if found is None or found.difference is None or not worst:
        return None
    off = np.abs(found.difference[np.triu_indices(len(found.columns), k=1)])
    mean = float(off.mean())
    names = " with ".join(_format_name(name) for name in worst[0].columns)
    words = (
        f"The association of two columns is off by {mean:.3f} on average (at most 1); the worst is "
        f"{names}, {format_number(worst[0].real)} real and {format_number(worst[0].synthetic)} "
        f"synthetic. Good up to 0.05, fair up to 0.1."
    )
    grade = _grade_at_most(round(mean, 3), 0.05, 0.1)
    return ReportCard("Pairs", f"{mean:.3f} off", grade, words, "pairs")


def _grade_high_order(contents: ReportContents) -> ReportCard | None:
    if not contents.wasserstein:
        return None
    furthest = max(contents.wasserstein, key=lambda way: way.order)
    floors = {way.order: way for way in contents.wasserstein_floor}
    floor = floors.get(furthest.order)
    what = f"{furthest.order} columns at once" if furthest.order > 1 else "single columns"
    reason = _explain_no_grade(furthest, floor)
    if reason is not None or floor is None:
        figure = format_number(furthest.distance)
        words = f"Over {what} the Wasserstein distance is {figure}; {reason}."
        return ReportCard("High order", figure, "unknown", words, "high-order")
    ratio = furthest.distance / floor.distance
    times = f"{ratio:.2g}" if ratio < 100 else format_number(ratio)  # noqa: PLR2004
    words = (
        f"Over {what} synthetic rows are {times} times as far from the real ones as other real "
        f"rows are (Wasserstein {format_number(furthest.distance)} against "
        f"{format_number(floor.distance)}). Good up to 1.5 times, fair up to 3."
    )
    grade = _grade_at_most(float(f"{ratio:.2g}"), 1.5, 3.0)
    return ReportCard("High order", f"{times}\u00d7 floor", grade, words, "high-order")


def _explain_no_grade(found: KWayDistance, floor: KWayDistance | None) -> str | None:
    if math.isnan(found.distance):
        return "there are no rows without a null in one of them to compare"
    if floor is None or not floor.distance > 0:
        return "there is no floor to compare it with"
    fewest = min(*found.rows, *floor.rows)
    if fewest < FEWEST_ROWS:
        compared = "1 row" if fewest == 1 else f"{fewest} rows"
        return f"with {compared} to compare it is mostly sampling error, so it is not graded"
    return None


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
    words = scores + f"That is {format_percent(way, 0)} of the way. Good from 90%, fair from 70%."
    if utility.held_out:
        words += " No test rows were given: the synthetic rows may have been made from the tested "
        words += "ones, and do less well on others."
    figure = f"{format_percent(max(0.0, way), 0)} of real"
    return ReportCard("Utility", figure, _grade_at_least(round(way, 2), 0.9, 0.7), words, "utility")


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


def _grade_private_utility(bought: PrivateMeasures) -> ReportCard | None:
    if bought.accuracy is None:
        return None
    accuracy, half = bought.accuracy
    words = f"A predictor trained on the synthetic rows is right for {format_percent(accuracy)} of "
    words += f"the real rows, give or take {format_percent(half)} (estimated privately)."
    grade: Grade = "unknown"
    if bought.majority is not None:
        words += f" Saying the most common class is right for {format_percent(bought.majority)}."
        if accuracy - half <= bought.majority:
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
    return ReportCard("Closeness", figure, grade, words, "closeness")


# Figures are graded as they are shown: 69.6% that reads 70% is at least 70%.
def _grade_at_least(value: float, good: float, fair: float) -> Grade:
    return _grade_at_most(-value, -good, -fair)


def _grade_at_most(value: float, good: float, fair: float) -> Grade:
    if math.isnan(value):
        return "unknown"
    if value <= good:
        return "good"
    return "fair" if value <= fair else "poor"
