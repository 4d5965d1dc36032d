"""All results as one list for others to cite, and methods ranked over all data sets.

A method is ranked on a data set by its mean accuracy; one that did not fit shares the last place.
Mean ranks are compared by the test of Friedman and the critical difference of Nemenyi: two methods
whose mean ranks differ by less can not be told apart on so many data sets. Only methods that ended
on every data set are in the comparison; the others are named with what they lack.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tabpe_lab.exhibits import find_metric, format_case, format_label, get_field_value
from tabpe_lab.grid import REAL
from tabpe_lab.records import RunRecord
from tabpe_lab.summary import DID_NOT_FIT, DONE, NOT_RUN, group_records, summarize_runs

EPSILON = 1.0
SIGNIFICANCE = 0.05
DIGITS = 6
# What is compared: the tables of the paper at epsilon 1. XOR counts once, not seven times.
COMPARED = ("high-order", "low-order", "more-high-order", "scm", "xor")
_XOR_FEATURES = 5


@dataclass(frozen=True)
class CitedResult:
    """One number for others to cite: a mean over seeds.

    Args:
        experiment: The experiment that it is of, with its variant.
        method: The display name of the method.
        settings: The settings that the validation rows chose, where there was a choice.
        data: The display name of the data set, with its options.
        epsilon: The budget; None for real rows.
        metric: The name of the metric; shares are not in per cent.
        mean: The mean over seeds.
        std: The standard deviation of a sample; None for one seed.
        seeds: The number of seeds.
    """

    experiment: str
    method: str
    settings: str
    data: str
    epsilon: float | None
    metric: str
    mean: float
    std: float | None
    seeds: int


def collect_results(records: Iterable[RunRecord]) -> list[CitedResult]:
    """Return the mean of every metric of every method on every data set and budget.

    Of several settings of a method that bear one name, the one that the validation rows choose.

    Example:
        >>> run = RunRecord("a", "full", "0f", "xor", "aim", "aim", 0, "seed", "done",
        ...                 epsilon=1.0, metrics={"accuracy": 0.5})
        >>> (found,) = collect_results([run])
        >>> found.method, found.metric, found.mean, found.std, found.seeds
        ('AIM', 'accuracy', 0.5, None, 1)
    """
    found = []
    groups = group_records(records, lambda run: (run.experiment, run.variant, *_get_place(run)))
    for (experiment, variant, case, called, epsilon), runs in groups.items():
        names = dict.fromkeys(name for run in runs for name in run.metrics if _is_shown(name))
        summary = summarize_runs(runs, [*names] or ["accuracy"])
        for name, spread in summary.values.items():
            std = None if spread.std is None else round(spread.std, DIGITS)
            found.append(
                CitedResult(
                    experiment=f"{experiment} {variant}",
                    method=format_label("method", called),
                    settings=summary.chosen,
                    data=case,
                    epsilon=epsilon,
                    metric=name,
                    mean=round(spread.mean, DIGITS),
                    std=std,
                    seeds=spread.count,
                )
            )
    return found


def _get_place(run: RunRecord) -> tuple[str, str, float | None]:
    return format_case(run.data, run.data_options), run.called, run.epsilon


def _is_shown(name: str) -> bool:
    return not name.startswith("validation_")


def write_results(results: Sequence[CitedResult]) -> str:
    """Return results as JSON, one result a line.

    Example:
        >>> json.loads(write_results([]))
        []
    """
    lines = (json.dumps(asdict(each), ensure_ascii=False) for each in results)
    return "[\n" + ",\n".join(lines) + ("\n" if results else "") + "]\n"


@dataclass(frozen=True)
class Leaderboard:
    """Methods ranked over data sets.

    Args:
        cases: The data sets.
        scores: The accuracy of each method on each data set, by method; None where it did not fit,
            and no entry where it was not run.
        ranks: The mean rank of each method that ended on every data set, the best first.
        critical: The critical difference of mean ranks; None with fewer than two methods.
        chance: The probability of such ranks if all methods were equal; None likewise.
    """

    cases: tuple[str, ...]
    scores: Mapping[str, Mapping[str, float | None]]
    ranks: Mapping[str, float]
    critical: float | None
    chance: float | None

    def list_equals(self) -> list[tuple[str, ...]]:
        """Return the groups of methods that can not be told apart, none inside another."""
        names = list(self.ranks)
        found: list[tuple[str, ...]] = []
        for place, name in enumerate(names):
            together = [
                other
                for other in names[place:]
                if self.critical is not None
                and self.ranks[other] - self.ranks[name] <= self.critical
            ]
            if len(together) > 1 and not (found and set(together) <= set(found[-1])):
                found.append(tuple(together))
        return found


def build_leaderboard(records: Iterable[RunRecord]) -> Leaderboard:
    """Return the methods of the comparisons of the paper, ranked by accuracy.

    Args:
        records: The runs; others than those of the comparisons are left out.
    """
    wanted = [run for run in records if _is_compared(run)]
    cases = tuple(dict.fromkeys(format_case(run.data, run.data_options) for run in wanted))
    scores: dict[str, dict[str, float | None]] = {}
    groups = group_records(
        wanted, lambda run: (run.called, format_case(run.data, run.data_options))
    )
    for (called, case), runs in groups.items():
        summary = summarize_runs(runs, ["accuracy"])
        of = scores.setdefault(format_label("method", called), {})
        if summary.outcome == DONE and "accuracy" in summary.values:
            of[case] = summary.values["accuracy"].mean
        elif summary.outcome == DID_NOT_FIT:
            of[case] = None
    complete = [name for name, of in scores.items() if len(of) == len(cases)]
    ranks = _rank_methods([[scores[name][case] for name in complete] for case in cases])
    order = sorted(range(len(complete)), key=lambda place: ranks[place])
    mean = {complete[place]: round(float(ranks[place]), 3) for place in order}
    critical, chance = compare_ranks(list(mean.values()), len(cases))
    return Leaderboard(cases, scores, mean, critical, chance)


def _is_compared(run: RunRecord) -> bool:
    if run.experiment not in COMPARED or run.method == REAL or run.status == NOT_RUN:
        return False
    is_xor = run.data == "xor"
    features = get_field_value(run, "data_options.features")
    return run.epsilon == EPSILON and (not is_xor or features == _XOR_FEATURES)


def _rank_methods(table: Sequence[Sequence[float | None]]) -> list[float]:
    """Return the mean rank of each column; equal values share the mean of their places."""
    from scipy.stats import rankdata

    if not table or not table[0]:
        return []
    scores = [[-math.inf if each is None else each for each in row] for row in table]
    ranks = [rankdata([-each for each in row]) for row in scores]
    return [float(each) for each in np.mean(ranks, axis=0)]


def compare_ranks(ranks: Sequence[float], cases: int) -> tuple[float | None, float | None]:
    """Return the critical difference of mean ranks (Nemenyi) and Friedman's probability.

    Args:
        ranks: The mean rank of each method.
        cases: The number of data sets.

    Example:
        >>> critical, chance = compare_ranks([1.0, 2.5, 2.5], cases=10)
        >>> round(critical, 3), chance < 0.001
        (1.048, True)
        >>> compare_ranks([1.0], cases=10)
        (None, None)
    """
    from scipy.stats import chi2, studentized_range

    count = len(ranks)
    if count < 2 or cases < 2:  # noqa: PLR2004
        return None, None
    reach = float(studentized_range.ppf(1 - SIGNIFICANCE, count, np.inf)) / math.sqrt(2)
    critical = reach * math.sqrt(count * (count + 1) / (6 * cases))
    spread = sum((rank - (count + 1) / 2) ** 2 for rank in ranks)
    statistic = 12 * cases / (count * (count + 1)) * spread
    return round(critical, DIGITS), float(chi2.sf(statistic, count - 1))


def draw_ranks(board: Leaderboard) -> Any:
    """Return a picture of mean ranks, with a bar over methods that can not be told apart."""
    from matplotlib.figure import Figure

    names = list(board.ranks)
    equals = board.list_equals()
    figure = Figure(figsize=(6.0, 0.9 + 0.24 * len(names) + 0.12 * len(equals)))
    axes = figure.subplots()
    axes.set_xlim(0.8, max(len(names), 2) + 0.2)
    axes.set_ylim(len(names) + 0.4, -0.4 - 0.45 * len(equals))
    for place, name in enumerate(names):
        rank = board.ranks[name]
        axes.plot([rank, rank], [-0.2, place + 0.5], color="#9aa5b1", linewidth=0.7)
        axes.plot([rank], [-0.2], marker="o", color="#d55e00", markersize=4)
        axes.text(rank + 0.06, place + 0.62, f"{name}  {rank:.2f}", va="center", fontsize=7.5)
    for place, group in enumerate(equals):
        ends = [board.ranks[group[0]] - 0.05, board.ranks[group[-1]] + 0.05]
        axes.plot(ends, [-0.6 - 0.4 * place] * 2, color="#1f2933", linewidth=2.5)
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.set_xlabel("mean rank by accuracy, 1 is best")
    return figure


def write_leaderboard_page(board: Leaderboard, picture: str) -> str:
    """Return the page of ranks, as Markdown.

    Args:
        board: The ranks.
        picture: The link to the picture of `draw_ranks`.
    """
    parts = [_HEAD, _describe_board(board), f"![Mean ranks]({picture})"]
    parts += ["## Accuracy on every data set", _write_scores(board), _describe_incomplete(board)]
    return "\n\n".join(part for part in parts if part) + "\n"


_HEAD = """\
# Leaderboard

Made by `python lab/pages.py` from the records at epsilon 1: the tables of the paper, with XOR of
five features once. [`results.json`](results.json) has every number: experiment, method, settings,
data, epsilon, metric, mean, standard deviation and seeds. Accuracy is that of the best classifier
by validation, trained on synthetic rows and asked about real ones."""


def _describe_board(board: Leaderboard) -> str:
    if board.critical is None or board.chance is None:
        return "Fewer than two methods have ended on every data set: there is nothing to compare."
    names = ", ".join(f"{name} {rank:.2f}" for name, rank in board.ranks.items())
    equals = "; ".join(", ".join(group) for group in board.list_equals())
    together = f" Not to be told apart: {equals}." if equals else ""
    chance = f"{board.chance:.2g}" if board.chance >= 1e-4 else "below 0.0001"  # noqa: PLR2004
    return (
        f"Mean ranks over {len(board.cases)} data sets: {names}. If all were equal, such ranks had "
        f"the probability {chance} (Friedman). Two methods differ at the level of "
        f"{SIGNIFICANCE:.0%} if their mean ranks are more than {board.critical:.2f} apart "
        f"(Nemenyi).{together}"
    )


def _write_scores(board: Leaderboard) -> str:
    metric = find_metric("accuracy")
    order = [*board.ranks, *(name for name in board.scores if name not in board.ranks)]
    lines = [["data", *order], ["---", *["---:"] * len(order)]]
    for case in board.cases:
        known = [of[case] for of in board.scores.values() if of.get(case) is not None]
        best = max((metric.format_value(each) for each in known if each is not None), key=float)
        cells = []
        for name in order:
            of = board.scores[name]
            score = of.get(case)
            text = "not run" if case not in of else "did not fit"
            text = text if score is None else metric.format_value(score)
            cells.append(f"**{text}**" if text == best else text)
        lines.append([case, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _describe_incomplete(board: Leaderboard) -> str:
    lacking = {
        name: [case for case in board.cases if case not in of]
        for name, of in board.scores.items()
        if name not in board.ranks
    }
    if not lacking:
        return ""
    lines = [f"- {name}: no run on {', '.join(cases)}" for name, cases in lacking.items()]
    return "\n".join(["Not ranked yet, since runs are missing:", "", *lines])
