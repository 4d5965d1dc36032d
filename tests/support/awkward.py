"""Tables that are hard on a nearest-neighbour search: ties, cancellation, overflow, odd shapes."""

import os
from dataclasses import dataclass

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tabpe.encoding import Records

SMALLEST = 2.0**-149
ULP = 2.0**-23

# How the numbers of a column come about.
NUMBERS = {
    "uniform": lambda rng, shape: rng.random(shape),
    "coarse grid": lambda rng, shape: rng.integers(0, 5, shape) / 4,
    "one value": lambda rng, shape: np.full(shape, 0.3),
    "ulps apart": lambda rng, shape: 1 + ULP * rng.integers(-3, 4, shape),
    "far from zero": lambda rng, shape: 1000 + 0.01 * rng.random(shape),
    "both zeros": lambda rng, shape: rng.choice([0.0, -0.0], shape),
    "denormal": lambda rng, shape: SMALLEST * rng.integers(-9, 10, shape),
    "squares vanish": lambda rng, shape: 1e-22 * rng.standard_normal(shape),
    "wide": lambda rng, shape: rng.choice([-1, 1], shape) * 10 ** rng.uniform(-30, 14.9, shape),
    "large": lambda rng, shape: 9e14 * rng.uniform(-1, 1, shape),
    "largest": lambda rng, shape: rng.choice([-1e15, 0, 1e15], shape),
}
CATEGORIES = (1, 2, 3, 33, 256, 300, 70_000, 2**31 - 1)
WEIGHTS = (0.0, SMALLEST, 1e-12, 2 / 9, 1 / 3, 1.0, 1e6, 1e30, 3e38)


@dataclass(frozen=True)
class Question:
    """Rows, candidates, the weight of a category and how many neighbours are wanted."""

    rows: Records
    candidates: Records
    weight: float
    k: int


def examples(many):
    """So many, or fewer where the compiled part is slowed down by sanitizers."""
    share = int(os.environ.get("TABPE_FEWER_EXAMPLES", "1"))
    return settings(deadline=None, max_examples=max(10, many // share))


def code_type(categories):
    return np.min_scalar_type(categories - 1)


def table(rng, size, families, categorical, categories):
    """Columns take turns in `families`; the codes of a column are below `categories`."""
    columns = [NUMBERS[family](rng, size) for family in families]
    numbers = np.array(columns, dtype=np.float32).reshape(len(families), size).T
    codes = rng.integers(0, categories, (size, categorical)).astype(code_type(categories))
    return Records(np.ascontiguousarray(numbers), codes)


def with_copies(rng, records, of, share):
    """Some records are replaced by copies of others."""
    copied = rng.random(len(records)) < share
    source = of.take(rng.integers(0, len(of), len(records)))
    return Records(
        np.where(copied[:, None], source.numbers, records.numbers),
        np.where(copied[:, None], source.codes, records.codes),
    )


def sizes(most):
    """Small ones, which shrink well, and as many large ones, which find more."""
    return st.one_of(st.integers(1, most), st.integers(most // 2, most))


@st.composite
def questions(draw, kind=None, most_rows=200, most_candidates=400):
    """Rows and candidates, with numbers of some `kind` among others."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    drawn = draw(st.lists(st.sampled_from(sorted(NUMBERS)), min_size=1, max_size=3), label="kinds")
    kinds = drawn if kind is None else [kind, *drawn[1:]]
    numeric = draw(st.one_of(st.integers(0, 40), st.sampled_from([1, 2, 3, 196])), label="numeric")
    categorical = draw(
        st.one_of(st.integers(0, 12), st.sampled_from([0, 254])), label="categorical"
    )
    categories = draw(st.sampled_from(CATEGORIES), label="categories")
    families = (kinds * (numeric + 1))[:numeric]
    rows, candidates = (
        table(rng, draw(sizes(most)), families, categorical, categories)
        for most in (most_rows, most_candidates)
    )
    share = draw(st.sampled_from([0.0, 0.0, 0.3, 0.9]), label="copies")
    candidates = with_copies(rng, candidates, candidates, share)
    rows = with_copies(rng, rows, candidates, share)
    k = draw(st.integers(1, min(16, len(candidates))), label="k")
    return Question(rows, candidates, draw(st.sampled_from(WEIGHTS), label="weight"), k)
