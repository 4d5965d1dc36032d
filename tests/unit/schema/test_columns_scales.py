"""Scales of numbers: what may be declared, how it is written, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

from tabpe.encoding import Encoder
from tabpe.encoding.scales import build_scale
from tabpe.errors import SchemaError
from tabpe.schema import Float, Integer, PartialSchema, Schema, Source

PAY = Integer("pay", 0, 9000, scale="quantile", quantiles=[0, 120, 300, 9000])
SIZE = Float("size", 0, 5, decimals=1, scale="log")


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_scales_survive_a_file(tmp_path, ending):
    schema = Schema((PAY, SIZE))
    schema.save(tmp_path / f"schema.{ending}")
    assert Schema.load(tmp_path / f"schema.{ending}") == schema
    assert PartialSchema.from_schema(tmp_path / f"schema.{ending}").fill_gaps({}) == schema


def test_the_usual_scale_is_not_written():
    assert "scale" not in Integer("pay", 0, 9, scale="linear").to_dict()
    assert list(PAY.to_dict()) == ["name", "type", "min", "max", "scale", "quantiles", "source"]
    assert PAY.to_dict()["quantiles"] == [0, 120, 300, 9000]


def test_a_scale_is_a_part_of_what_a_schema_is_known_by():
    digests = {
        Schema((Integer("pay", 0, 9000, **scale),)).digest
        for scale in ({}, {"scale": "log"}, {"scale": "quantile", "quantiles": (0, 1, 2, 9000)})
    }
    assert len(digests) == 3


def test_quantiles_from_the_data_are_told():
    drafted = Integer("x", 0, 9, scale="quantile", quantiles=(0, 1, 3, 9), source=Source.DATA)
    assert Schema((drafted,)).fields_from_data == ("x.min", "x.max", "x.quantiles", "x.scale")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"scale": "ln"}, r"scale='ln': expected linear, log or quantile"),
        ({"scale": None}, "expected linear, log or quantile"),
        ({"scale": "quantile"}, r"quantiles=None: expected values from min to max"),
        ({"quantiles": [0, 1, 2, 9]}, "expected none, or scale: quantile"),
        ({"scale": "log", "quantiles": [0, 1, 2, 9]}, "expected none, or scale: quantile"),
        ({"scale": "quantile", "quantiles": [0, 3, 9]}, "at least two between"),
        ({"scale": "quantile", "quantiles": [0, 3, 3, 9]}, "increasing numbers from min=0"),
        ({"scale": "quantile", "quantiles": [1, 3, 4, 9]}, "increasing numbers from min=0"),
        ({"scale": "quantile", "quantiles": [0, 3, 4, 8]}, "to max=9"),
        ({"scale": "quantile", "quantiles": []}, "increasing numbers"),
        ({"scale": "quantile", "quantiles": "0139"}, "a list of whole numbers"),
        ({"scale": "quantile", "quantiles": [0, 2.5, 4, 9]}, "a list of whole numbers"),
        ({"scale": "quantile", "quantiles": [0, True, 4, 9]}, "a list of whole numbers"),
    ],
)
def test_what_does_not_fit_is_refused(fields, message):
    with pytest.raises(SchemaError, match=f"column 'pay': .*{message}"):
        Integer("pay", 0, 9, **fields)


def test_quantiles_have_the_decimals_of_their_column():
    with pytest.raises(SchemaError, match="at most 1 decimals"):
        Float("x", 0, 9, decimals=1, scale="quantile", quantiles=[0, 2.55, 4, 9])
    with pytest.raises(SchemaError, match="a list of numbers"):
        Float("x", 0, 9, scale="quantile", quantiles=[0, float("nan"), 4, 9])


@pytest.mark.parametrize("scale", ["log", "quantile"])
def test_a_grid_too_fine_for_a_bent_scale_is_refused(scale):
    with pytest.raises(SchemaError, match=r"linear for more than 2\*\*40 steps"):
        Integer("x", 0, 2**40 + 1, scale=scale)


@pytest.mark.parametrize("scale", [{"scale": "log"}, {"scale": "quantile"}])
def test_decimals_too_fine_for_a_bent_scale_only_say_how_values_are_written(scale):
    more = {"quantiles": [0, 10, 1000, 9e6]} if scale["scale"] == "quantile" else {}
    column = Float("x", 0, 9e6, decimals=9, **scale, **more)
    assert column.steps == 0
    encoder = Encoder(Schema((column,)))
    values = [0.0, 0.123456789, 1234.000000001, 9e6]
    rows, classes = encoder.encode(pa.table({"x": values}))
    found = encoder.decode(rows, classes)["x"].to_pylist()
    assert found == pytest.approx(values, rel=1e-3, abs=1e-3)
    assert [round(value, 9) for value in found] == found
    assert Float("x", 0, 9, decimals=9, scale="log").steps == 9 * 10**9


def test_there_is_an_end_to_the_number_of_quantiles():
    with pytest.raises(SchemaError, match="at most 257"):
        Integer("x", 0, 257, scale="quantile", quantiles=list(range(258)))


@pytest.mark.parametrize(("low", "high"), [(1e-200, 1e200), (-1e200, -1e-200), (0.0, 5e-324)])
def test_a_ratio_that_no_float_holds_has_no_logarithm(low, high):
    with pytest.raises(SchemaError, match="linear for bounds whose ratio is beyond 1e300"):
        Float("x", low, high, scale="log")


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.7e308), (-8e307, 8e307), (0.0, 1e-299), (1e-140, 1e140), (-3.0, -3.0)]
)
def test_the_widest_logarithmic_scales_lead_there_and_back(low, high):
    scale = build_scale(Float("x", low, high, scale="log"))
    if scale is not None:
        places = np.linspace(0, 1, 50)
        np.testing.assert_allclose(
            scale.transform_values(scale.inverse_transform(places)), places, atol=1e-9
        )
