"""A gallery of nasty tables: the types of the schema, nulls where they may be, rules kept."""

import warnings

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from exhibit import ROWS
from facade import QUICK, QUICK_BEST
from gallery import EXHIBITS
from output_types import expected_types, library_of, types_of
from tabpe import Posterior, TabPE
from tabpe.errors import ThinVotesWarning
from tabpe.verification import verify
from tabpe.verification.verify import count_fitting_rows

EPSILON = 8.0
PRESETS = {"evolution": QUICK, "posterior": QUICK_BEST}


@pytest.fixture(scope="module", params=list(EXHIBITS))
def exhibit(request):
    return EXHIBITS[request.param]()


@pytest.fixture(scope="module", params=list(PRESETS))
def model(request, exhibit):
    settings = {
        "epsilon": EPSILON,
        "delta": 1e-6,
        "n_samples": 120,
        "preset": PRESETS[request.param],
        "random_state": 0,
        "verbose": 0,
        **exhibit.options,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThinVotesWarning)
        return TabPE(**settings).fit(exhibit.table, exhibit.schema)


def as_pandas(frame):
    return frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()


def written(frame, path):
    if isinstance(frame, pa.Table):
        frame = pl.from_arrow(frame)
    if isinstance(frame, pl.DataFrame):
        frame.write_parquet(path)
    else:
        frame.to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("size", [None, 500])
@pytest.mark.parametrize("smooth", [False, True])
def test_types_follow_from_the_schema_and_rules_are_kept(exhibit, model, size, smooth, tmp_path):
    made = model.sample(size, smooth=smooth)
    assert type(made) is type(exhibit.table)
    assert types_of(made) == expected_types(model.schema_, library_of(made))
    assert count_fitting_rows(model.schema_, written(made, tmp_path / "made.parquet")) == len(made)
    assert exhibit.holds(as_pandas(made)).all()


def test_nulls_are_where_they_may_be_and_there_where_many_were(exhibit, model):
    made, table = as_pandas(model.sample()), as_pandas(exhibit.table)
    for column in model.schema_.columns:
        if column.name not in table:
            continue
        share = made[column.name].isna().mean()
        assert column.nullable or share == 0
        # Three rounds of evolution are too few to learn it, and three rows are.
        learns = isinstance(model.preset, Posterior) and len(table) == ROWS
        if learns and column.type_name != "id" and table[column.name].isna().mean() > 0.25:
            assert share > 0.1


def test_the_guarantee_is_kept_and_can_be_checked(model, tmp_path):
    assert model.certificate.epsilon <= EPSILON
    path = tmp_path / "certificate.json"
    path.write_text(model.certificate.to_json())
    found = verify(path)
    assert found.holds, found.checks


def test_a_saved_model_gives_the_same_rows(model, tmp_path):
    model.save(tmp_path / "run.tabpe")
    again = TabPE.load(tmp_path / "run.tabpe")
    assert as_pandas(again.sample(50, seed=1)).equals(as_pandas(model.sample(50, seed=1)))
