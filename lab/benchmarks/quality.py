"""Speed of the SDMetrics scores, against that package's own report, on Adult.

    python -m benchmarks.quality [--repeats 5] [--out benchmarks/results/quality.json]

The train part of UCI's Adult is the real table, the test part the synthetic one. Both sides start
from tables in memory, a data frame there and an Arrow table here, and give all scores of
`QualityReport`. They are compared with each other in the same run: with the thresholds that are the
default, which leave most pairs without a score and score no correlation on Adult; and without any,
so that every pair has one. SDMetrics takes a sample of tables above 50,000 rows; these are smaller,
so that it looks at all rows too.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

import tabpe
from benchmarks.common import make_parser, read_public_table, run_fastest, write_record
from tabpe.evaluation.metrics.sdmetrics import (
    ASSOCIATION_THRESHOLD,
    CORRELATION_THRESHOLD,
    QualityScores,
    score_quality,
)
from tabpe.evaluation.table_arrays import TableArrays, build_table_arrays
from tabpe.schema import Float, Integer

LARGEST_DIFFERENCE = 1e-6
LEAST_RATIO = 5.0
PROPERTIES = {"Column Shapes": ("Column",), "Column Pair Trends": ("Column 1", "Column 2")}

Limits = tuple[float, float]
Scores = dict[str, dict[tuple[str, ...], float]]
SETTINGS: dict[str, Limits] = {
    "default thresholds": (CORRELATION_THRESHOLD, ASSOCIATION_THRESHOLD),
    "every pair": (0.0, 0.0),
}


def parts() -> tuple[pd.DataFrame, pd.DataFrame]:
    """The parts of the published split; a question mark is a value like any other."""
    whole = read_public_table("adult")
    train, test = (whole[whole["split"] == part] for part in ("train", "test"))
    return tuple(part.drop(columns="split").reset_index(drop=True) for part in (train, test))


def rival(real: pd.DataFrame, synthetic: pd.DataFrame, schema: tabpe.Schema, limits: Limits) -> Any:
    """Return SDMetrics' report of the two."""
    from sdmetrics.reports import QualityReport

    kinds = {
        column.name: "numerical" if isinstance(column, (Integer, Float)) else "categorical"
        for column in schema.columns
    }
    columns = {name: {"sdtype": kind} for name, kind in kinds.items()}
    report = QualityReport()
    report.real_correlation_threshold, report.real_association_threshold = limits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metadata = {"tables": {"adult": {"columns": columns}}}
        report.generate({"adult": real}, {"adult": synthetic}, metadata, verbose=False)
    return report


def scores_of(report: Any) -> Scores:
    """Return SDMetrics' scores by metric, those that there are."""
    found: Scores = {}
    for name, keys in PROPERTIES.items():
        for row in report.get_details(name).to_dict("records"):
            if not math.isnan(row["Score"]):
                columns = tuple(row[key] for key in keys)
                found.setdefault(row["Metric"], {})[columns] = row["Score"]
    shapes, trends = report.get_properties()["Score"]
    found["means"] = {("shapes",): shapes, ("trends",): trends, ("overall",): report.get_score()}
    return found


def scores_here(found: QualityScores) -> Scores:
    """Return the same of ours."""
    scores: Scores = {}
    columns = [((score.column,), score) for score in found.columns]
    for names, score in (*columns, *((pair.columns, pair) for pair in found.pairs)):
        if not math.isnan(score.score):
            scores.setdefault(score.metric, {})[names] = score.score
    shapes, trends = found.column_shapes, found.column_pair_trends
    scores["means"] = {("shapes",): shapes, ("trends",): trends, ("overall",): found.overall}
    return scores


def compare_scores(ours: Scores, theirs: Scores) -> dict[str, Any]:
    """Return by metric how many scores there are and by how much they differ at most."""
    if {m: set(s) for m, s in ours.items()} != {m: set(s) for m, s in theirs.items()}:
        raise SystemExit("a score is there on one side alone")
    largest = {
        metric: max(abs(score - theirs[metric][columns]) for columns, score in scores.items())
        for metric, scores in ours.items()
    }
    if max(largest.values()) > LARGEST_DIFFERENCE:
        raise SystemExit(f"scores differ by more than {LARGEST_DIFFERENCE}: {largest}")
    return {
        metric: {"scores": len(ours[metric]), "largest_difference": float(difference)}
        for metric, difference in largest.items()
    }


def time_both(frames: Sequence[pd.DataFrame], limits: Limits, repeats: int) -> dict[str, Any]:
    """Time both sides with the same thresholds, and compare what they give."""
    schema = tabpe.draft_schema(frames[0])
    tables = [pa.Table.from_pandas(frame, preserve_index=False) for frame in frames]
    both = build_table_arrays(schema, tables)
    correlation, association = limits

    def scored(real: TableArrays, synthetic: TableArrays) -> QualityScores:
        return score_quality(
            real,
            synthetic,
            correlation_threshold=correlation,
            association_threshold=association,
        )

    (report, theirs, _), (found, ours, _), (_, alone, _) = run_fastest(
        [
            lambda: rival(*frames, schema, limits),
            lambda: scored(*build_table_arrays(schema, tables)),
            lambda: scored(*both),
        ],
        repeats,
    )
    return {
        "thresholds": {"correlation": correlation, "association": association},
        "seconds": {
            "sdmetrics": round(theirs, 3),
            "tabpe": round(ours, 4),
            "tabpe, scores alone": round(alone, 4),
        },
        "ratio": round(theirs / ours, 1),
        "agreement": compare_scores(scores_here(found), scores_of(report)),
        "overall": round(found.overall, 6),
    }


def main() -> None:
    arguments = make_parser(__doc__, "quality", repeats=5).parse_args()
    frames = parts()
    results = {}
    for name, limits in SETTINGS.items():
        result = results[name] = time_both(frames, limits, arguments.repeats)
        verdict = "ok" if result["ratio"] >= LEAST_RATIO else "BELOW"
        print(f"{name}: ratio {result['ratio']}   at least {LEAST_RATIO} {verdict}")
        print(f"  seconds {result['seconds']}")
        for metric, agreement in result["agreement"].items():
            print(f"  {metric:<22} {agreement}", flush=True)
    record = {
        "data": "Adult, train part against test part",
        "rows": [len(frame) for frame in frames],
        "columns": len(frames[0].columns),
        "least_ratio": LEAST_RATIO,
        "agree_within": LARGEST_DIFFERENCE,
        "results": results,
    }
    write_record(arguments.out, "quality", record)


if __name__ == "__main__":
    main()
