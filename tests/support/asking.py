"""All that can be asked of a table, in the order of a run, and a table to ask."""

import numpy as np
import pyarrow as pa

from tabpe import Boolean, Categorical, Date, Float, Integer, Schema
from tabpe.backends import EncodedReading, PrivacyUnit
from tabpe.backends.queries import (
    BinQuery,
    ClassCountQuery,
    DeclaredValueQuery,
    KindQuery,
    MagnitudeQuery,
    MarginalQuery,
    RawRowCountQuery,
    RowCountQuery,
    RowHashQuery,
    ValueQuery,
    VoteQuery,
)
from tabpe.encoding import Encoder, Records, VotingSpace
from tabpe.encoding.marginals import Marginal, build_axis
from tabpe.encoding.raw_cells import EqualWidthBins

SCHEMA = Schema(
    (
        Integer("age", 0, 9),
        Float("bmi", 0.0, 1.0, nullable=True),
        Categorical("ward", ("eye", "lung")),
        Boolean("ill"),
    ),
    label="ill",
)
ENCODER = Encoder(SCHEMA)
UNIT = PrivacyUnit("person", max_rows=2, seed=3, scale=1000, names=(*SCHEMA.names, "day", "person"))
ASKED = [Marginal((build_axis(ENCODER, "ward"), build_axis(ENCODER, "ill"))), Marginal(())]
DAYS = {"day": Date("day", "2000-01-01", "2000-01-01")}
SIGHT = VotingSpace(np.array([False, True]))


def table(size, seed):
    """Some people, of whom some have several rows."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(0, 10, size),
            "bmi": pa.array(rng.random(size).round(1), mask=rng.random(size) < 0.2),
            "ward": rng.choice(["eye", "lung"], size).tolist(),
            "ill": rng.random(size) < 0.4,
            "day": rng.choice(["2020-02-03", "1999-01-01", "x"], size).tolist(),
            "person": rng.integers(0, max(size // 3, 1), size),
        }
    )


def population(seed):
    """Candidates of both classes."""
    rng = np.random.default_rng(seed)
    return [
        SIGHT.transform_rows(
            Records(rng.random((size, 2)), rng.integers(0, 2, (size, 1)).astype(np.uint8))
        )
        for size in (5, 8)
    ]


def queries(seed):
    """Return whatever can be asked, in the order of a run."""
    columns = Encoder(Schema((SCHEMA["ill"],), label="ill"))
    read, kept = EncodedReading(columns), EncodedReading(ENCODER, 1 / 3, "votes")
    return [
        RowHashQuery(("age", "ward", "bmi"), b"key"),
        RawRowCountQuery(),
        KindQuery(["age", "ward", "day"]),
        MagnitudeQuery(["age", "bmi", "day"], DAYS),
        BinQuery({"age": EqualWidthBins(0.0, 10.0, 5)}),
        DeclaredValueQuery({"ward": SCHEMA["ward"]}),
        ValueQuery({"age": int, "ward": str, "bmi": float}),
        ClassCountQuery(read),
        RowCountQuery(kept),
        ClassCountQuery(kept),
        MarginalQuery(kept, ASKED),
        RowCountQuery(kept, voting_space=SIGHT),
        ClassCountQuery(kept, voting_space=SIGHT),
        VoteQuery(kept, population(seed), voting_space=SIGHT),
        VoteQuery(kept, population(seed + 1), 3, voting_space=SIGHT),
        MarginalQuery(kept, ASKED),
    ]


def answers(backend, seed):
    """Yield the answers to all of them, and let go of the table."""
    for query in queries(seed):
        yield backend.answer(query).value
    backend.close()


def plain(answer):
    """Return an answer as plain values, of dicts also the order."""
    if isinstance(answer, np.ndarray):
        return str(answer.dtype), answer.tolist()
    if isinstance(answer, dict):
        return [(name, plain(one)) for name, one in answer.items()]
    return [plain(one) for one in answer] if isinstance(answer, list) else answer
