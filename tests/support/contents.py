"""Contents of reports for tests: made up, and looking like real ones."""

import dataclasses
import itertools

import numpy as np

from certificates import SCHEMA, honest
from tabpe.evaluation.metrics.associations import AssociationMatrix
from tabpe.evaluation.metrics.closeness import Closeness
from tabpe.evaluation.metrics.columns import ColumnComparison, ColumnShape
from tabpe.evaluation.metrics.correlation_order import CorrelationOrder
from tabpe.evaluation.metrics.dependence import LearnedDependence, PairDependence, RelatedPair
from tabpe.evaluation.metrics.distances import KWayDistance
from tabpe.evaluation.metrics.embedding import PlaneProjection, RepresentationScores
from tabpe.evaluation.metrics.sdmetrics import ColumnScore, PairScore, QualityScores
from tabpe.evaluation.metrics.utility import LearnerScore, UtilityScores
from tabpe.evaluation.private_metrics import PrivateMeasures
from tabpe.evaluation.report.contents import ReportContents
from tabpe.verification.verify import OK, Check, Verification

NUMBERS = ("age", "bmi", "blood pressure", "days in hospital", "temperature", "weight")
CATEGORIES = ("ward", "sex", "insurance", "smoker", "admission", "outcome")
BARS = ("heart", "lung", "bones", "eyes", "skin", "else")
HOSTILE = (
    "<script>window.hacked=1</script>",
    "</style><script>window.hacked=1</script>",
    "</script></title><script>window.hacked=1</script>",
    '"><img src=x onerror=window.hacked=1>',
    "' onmouseover='window.hacked=1",
    "{{7*7}}{% raw %}",
    '=HYPERLINK("http://example.invalid","x")',
    "javascript:window.hacked=1",
    "W" * 500,
    "\u202eright to left\u202c, \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "zero\u200bwidth\ufeff",
    "control\x00\x07\x1b[2J\x7f\r\n\tend",
    "\U0001f469\u200d\u2695\ufe0f \U0001f1ea\U0001f1fa \U0001f600",
    "half \ud800 a pair",
    "]]> <!-- --> &amp; &lt;",
    "",
    " ",
)
# What no cleaning changes: a page must hold it letter by letter.
VERBATIM = (*HOSTILE[:9], HOSTILE[10], HOSTILE[13], HOSTILE[15])


def custodian(names=NUMBERS + CATEGORIES, **changes):
    """A report with every part."""
    rng = np.random.default_rng(5)
    views = tuple(view(name, rng, real=True) for name in names)
    return dataclasses.replace(
        ReportContents(
            mode="custodian",
            title="Patients of the heart ward, 2019 to 2024",
            rows={"real": 48_842, "synthetic": 10_000, "test": 16_281},
            label=names[-1],
            columns=views,
            sample=sample(names, rng),
            quality=quality(views),
            association=association(names, rng, real=True),
            pair_dependence=pair_dependence(names),
            learned_dependence=learned_dependence(),
            wasserstein=ways(names, 0.021, 0.034),
            wasserstein_floor=ways(names, 0.012, 0.029),
            wasserstein_ceiling=ways(names, 0.05, 0.06),
            variation=ways(names, 0.03, 0.05)[:3],
            variation_floor=ways(names, 0.01, 0.04)[:3],
            variation_ceiling=ways(names, 0.05, 0.06)[:3],
            utility=utility(names[-1]),
            order=CorrelationOrder(
                names[-1], (2, 3, 4, 5, 6, 7), (0.781, 0.803, 0.811, 0.815, 0.816, 0.815), "some"
            ),
            representation=RepresentationScores(
                "autoencoder", 5, (5000, 5000), 0.913, 0.842, 0.97, 0.88
            ),
            closeness=closeness(),
            projection=projection(rng, real=True),
            certificate=honest(),
            history=history(),
            audit=AUDIT,
            notes=("The column note was left out: it is text.", "TabICL is not installed."),
            seconds={"columns": 0.4, "pairs": 0.9, "high order": 12.3, "utility": 17.8, "map": 0.2},
            versions={"tabpe": "0.1.0", "numpy": "2.1.0", "python": "3.11.7"},
            created="2026-11-16T06:40:00+00:00",
        ),
        **changes,
    )


def verified(*checks):
    """What was found out about an honest certificate, and about the very rows that are shown."""
    usual = Check("format", OK, "a certificate"), Check("table", OK, "SHA-256 is the stated one")
    return Verification(checks or usual, honest().guarantee, ())


def public(names=NUMBERS + CATEGORIES, **changes):
    """What may be released, with measures that were estimated privately."""
    rng = np.random.default_rng(5)
    measures = PrivateMeasures(
        certificate=honest(0.5, schema=SCHEMA),
        total_epsilon=1.32,
        total_delta=2e-6,
        rows=(48_811.0, 42.0),
        accuracy=(0.784, 0.006),
        majority=0.61,
        notes=("Shares are clipped at 0.",),
    )
    return dataclasses.replace(
        ReportContents(
            mode="public",
            title="Patients of the heart ward, 2019 to 2024",
            rows={"synthetic": 10_000},
            label=names[-1],
            columns=tuple(view(name, rng, real=True, band=0.008) for name in names),
            sample=sample(names, rng),
            association=association(names, rng, real=False),
            projection=projection(rng, real=False),
            certificate=honest(),
            history=history(),
            audit=AUDIT,
            private_measures=measures,
            verification=verified(),
            created="2026-11-16T06:40:00+00:00",
        ),
        **changes,
    )


def minimal(**changes):
    """Nothing but synthetic rows."""
    plain = ReportContents("public", "a table", {"synthetic": 9}, None, (), {})
    return dataclasses.replace(plain, **changes)


def hostile():
    """All that a name, a category, a cell or a note could do to a page."""
    whole, nasty = custodian(HOSTILE), " ".join(HOSTILE)
    certificate = dataclasses.replace(
        whole.certificate, notes=HOSTILE, unit=nasty, fields_from_data=HOSTILE, accountant=nasty
    )
    columns = tuple(
        dataclasses.replace(one, bars=HOSTILE[: len(one.bars)], kind=one.kind)
        for one in whole.columns
    )
    findings = [{**one, "test": nasty, "kind": nasty} for one in AUDIT["findings"]]
    return dataclasses.replace(
        whole,
        title=nasty,
        columns=columns,
        label=HOSTILE[0],
        certificate=certificate,
        notes=HOSTILE,
        audit={**AUDIT, "system": nasty, "findings": findings},
        utility=dataclasses.replace(whole.utility, label=nasty, notes=HOSTILE),
        projection=dataclasses.replace(whole.projection, class_names=HOSTILE[:2]),
        history=[{"round": 1, "selection": nasty, nasty: 2.0}],
        sample={name: list(HOSTILE) for name in HOSTILE},
        versions={nasty: nasty},
        seconds={nasty: 1.0},
        created=nasty,
    )


def view(name, rng, *, real, band=0.0):
    wrong = rng.uniform(0, 0.35) ** 2
    if name in NUMBERS or (name not in CATEGORIES and len(name) % 2):
        edges = tuple(np.linspace(0, 120, 25).tolist())
        shares = normal(rng.uniform(5, 18), rng.uniform(2, 6), 24)
        kind, bars, facts = "number", (), {"mean": 61.2, "deviation": 14.8, "least": 1, "most": 118}
    else:
        edges, bars, kind, facts = (), BARS, "category", {}
        shares = np.sort(rng.dirichlet(np.ones(6)))[::-1]
    moved = (1 - wrong) * shares + wrong * np.roll(shares, 3)
    nulls = float(max(0.0, rng.uniform(-0.1, 0.1)))
    # What was measures is shares under noise, and no more.
    before = ColumnShape(tuple(shares.tolist()), nulls, **({} if band else facts))
    after = ColumnShape(
        tuple(moved.tolist()), nulls * 1.3, **{**facts, "mean": 60.1} if facts else {}
    )
    difference = float(np.abs(shares - moved).sum() / 2) if real else None
    return ColumnComparison(
        name, kind, edges, bars, before if real else None, after, difference, band
    )


def normal(mean, deviation, bins):
    heights = np.exp(-((np.arange(bins) - mean) ** 2) / 2 / deviation**2)
    return heights / heights.sum()


def quality(views):
    scores = [
        ColumnScore(
            one.name, "KSComplement" if one.kind == "number" else "TVComplement", 1 - one.difference
        )
        for one in views
    ]
    pairs = [
        PairScore((one.name, two.name), "ContingencySimilarity", 0.93 - one.difference)
        for one, two in itertools.pairwise(views)
    ]
    return QualityScores(tuple(scores), tuple(pairs))


def association(columns, rng, *, real):
    size = len(columns)
    factor = rng.normal(size=(size, 3))
    length = np.linalg.norm(factor, axis=1)
    matrix = factor @ factor.T / np.outer(length, length)
    shift = rng.normal(0, 0.06, (size, size))
    moved = np.clip(matrix + (shift + shift.T) / 2, -1, 1)
    np.fill_diagonal(moved, 1.0)
    if size > 3:
        matrix[2, :] = matrix[:, 2] = moved[2, :] = moved[:, 2] = np.nan
    return AssociationMatrix(tuple(columns), matrix if real else None, moved)


def ways(columns, start, step):
    return tuple(
        KWayDistance(
            k, start + step * (k - 1), 0.004 * k, 24, 12 * 11 * k, (1000, 1000), (columns[:k], 0.3)
        )
        for k in range(1, min(7, len(columns)) + 1)
    )


def utility(label):
    def scores(accuracy, f1, auc):
        return {"accuracy": accuracy, "macro F1": f1, "AUC": auc}

    return UtilityScores(
        label=label,
        task="classification",
        test_rows=16_281,
        held_out=False,
        scores=(
            LearnerScore("majority", "nothing", scores(0.611, 0.379, 0.5)),
            LearnerScore("gradient boosting", "real", scores(0.816, 0.801, 0.894)),
            LearnerScore("gradient boosting", "synthetic", scores(0.784, 0.762, 0.858)),
            LearnerScore("extra trees", "real", scores(0.799, 0.781, 0.871)),
            LearnerScore("extra trees", "synthetic", scores(0.771, 0.744, float("nan"))),
        ),
        notes=("TabPFN is not installed.",),
    )


def closeness():
    edges = tuple(np.linspace(0, 3, 31).tolist())
    return Closeness(
        edges,
        tuple(normal(11, 4, 30).tolist()),
        tuple(normal(9, 4, 30).tolist()),
        copies=0.004,
        other_copies=0.007,
        rows=(5000, 5000, 5000),
        nearer_than_other=0.51,
        nearer_than_synthetic=0.42,
        queries=1000,
    )


def pair_dependence(names, kept=0.9):
    first, *others = names
    pairs = [RelatedPair((first, name), 0.3 - 0.2 * kept, 0.1, 0.3, 0.05) for name in others[:3]]
    return PairDependence(tuple(pairs), possible=10)


def learned_dependence(kept=0.8):
    return LearnedDependence(0.2, 0.2 * kept, 0.005, 0.005, "extra trees", (5000, 5000, 5000))


def projection(rng, *, real):
    codes = rng.integers(0, 2, 1500)
    points = rng.normal(size=(1500, 2)) * (2.0, 1.0) + np.outer(codes, (3.0, 1.0))
    moved = points[::-1] + rng.normal(0, 0.3, (1500, 2))
    return PlaneProjection(
        (0.31, 0.18),
        points if real else None,
        moved,
        codes if real else None,
        codes[::-1].copy(),
        ("goes home", "stays"),
    )


def history():
    return [
        {
            "round": k + 1,
            "selection": "sampling" if k < 5 else "ranking",
            "mutation_rate": 0.5 - 0.48 * (k / 15) ** 0.2,
            "sigma": 14.1,
            "population": 10_000 if k < 5 else 40_000,
            "noisy_votes_total": 48_800 + 7 * (-1) ** k * k,
            "noisy_votes_largest": 300 - 14 * k,
        }
        for k in range(15)
    ]


def sample(columns, rng, rows=8):
    return {name: [f"{value:.1f}" for value in rng.uniform(0, 99, rows)] for name in columns}


AUDIT = {
    "system": "as shipped",
    "claim": {"epsilon": 1.0, "delta": 1e-5},
    "alarm": 5e-8,
    "holds": True,
    "findings": [
        {
            "kind": "lower bound on epsilon",
            "test": "votes of one round",
            "claim": {"epsilon": 1.0, "delta": 1e-5},
            "epsilon": 0.61,
            "visible": 8.2,
            "samples": 20_000,
            "holds": True,
        },
        {
            "kind": "repetition of noise",
            "test": "noise of two rounds",
            "p_value": 0.31,
            "samples": 100_000,
            "holds": True,
        },
    ],
}
