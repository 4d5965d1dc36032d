"""Types of Spark: what they are as Arrow types, in canonical cells, and what comes out."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from tabpe import Datetime, Schema
from tabpe.backends.local import sum_row_hashes
from tabpe.encoding import Encoder
from tabpe.errors import DataError
from tabpe.io import Limits, open_source
from tabpe.io.clusters import SparkSource
from tabpe.io.frames import convert_to_frame

PLAIN = {
    "boolean": "bool",
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float",
    "double": "double",
    "decimal(9,2)": "decimal128(9, 2)",
    "string": "string",
    "date": "date32[day]",
    "timestamp_ntz": "timestamp[us]",
    "timestamp": "timestamp[us, tz=Europe/Vienna]",
}
MOMENTS = [f"{kind} '2020-07-01 12:00:00' as {kind}" for kind in ("timestamp", "timestamp_ntz")]
NESTED = ["array<int>", "map<string,int>", "struct<a:int>", "binary", "interval day to second"]


@pytest.fixture
def vienna(spark):
    """A session whose clocks are those of Vienna."""
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    yield spark
    spark.conf.set("spark.sql.session.timeZone", before)


def test_plain_types_have_types_of_arrow(vienna):
    columns = ", ".join(f"cast(null as {kind}) as c{n}" for n, kind in enumerate(PLAIN))
    source = open_source(vienna.sql(f"select {columns}"))
    assert [str(kind) for kind in source.build_schema().types] == list(PLAIN.values())
    assert source.library == "pyspark"
    assert source.nested == frozenset()
    assert source.most_rows is None
    (batch,) = source.batches()
    canonical = [*["bool"], *["int64"] * 4, *["double"] * 2, *["string"] * 2]
    assert [str(kind) for kind in batch.table.schema.types] == [*canonical, *[*PLAIN.values()][-3:]]


def test_words_of_a_fixed_length_are_text(spark):
    spark.sql("create table fixed (a varchar(9), b char(3)) using parquet")
    assert set(open_source(spark.table("fixed")).build_schema().types) == {pa.string()}


@pytest.mark.parametrize("kind", NESTED)
def test_other_types_are_refused_with_advice(kind, spark):
    with pytest.raises(DataError, match=r"column 'x' is of type .* drop it, or select its parts"):
        open_source(spark.sql(f"select cast(null as {kind}) as x"))


def test_names_stand_there_once_and_are_free_otherwise(spark):
    with pytest.raises(DataError, match="columns 1 and 2 have the same name"):
        open_source(spark.sql("select 1 as a, 2 as a"))
    odd = spark.sql("select 1 as `a.b``c`, 2 as d")
    assert [batch.table.to_pydict() for batch in open_source(odd).batches(["d", "a.b`c"])] == [
        {"d": [2], "a.b`c": [1]}
    ]


def test_too_many_columns_are_refused(spark):
    with pytest.raises(DataError, match="more than 1 columns"):
        SparkSource(spark.sql("select 1 as a, 2 as b"), Limits(columns=1))


def test_rows_of_all_partitions_come_into_this_process(spark):
    frame = spark.createDataFrame(pa.table({"n": range(10)})).repartition(3)
    batches = list(open_source(frame).batches())
    assert sorted(n for batch in batches for n in batch.table["n"].to_pylist()) == [*range(10)]
    nothing = open_source(frame.where("n < 0")).batches()
    assert sum(batch.table.num_rows for batch in nothing) == 0


def test_frames_of_spark_connect_are_refused():
    class DataFrame:
        columns = ("a",)

    DataFrame.__module__ = "pyspark.sql.connect.dataframe"
    with pytest.raises(DataError, match="Spark Connect"):
        SparkSource(DataFrame(), Limits())


STORED = ("ill boolean", "age tinyint", "pay decimal(9,2)", "ward string", "seen date")


def test_cells_are_the_same_whatever_type_holds_them(spark):
    """Spark has a type for each width and each number of digits; a cell means the same in all."""
    row = (True, 7, Decimal("7.25"), "heart", dt.date(2020, 1, 31))
    narrow = spark.createDataFrame([row, (None,) * 5], ", ".join(STORED))
    wide = narrow.selectExpr(
        *("cast(ill as int) as ill", "cast(age as double) as age", "cast(pay as double) as pay"),
        *("cast(ward as string) as ward", "cast(seen as timestamp_ntz) as seen"),
    )
    names = narrow.columns
    one, other = (sum_row_hashes(open_source(frame), names, b"key") for frame in (narrow, wide))
    assert one.tolist() == other.tolist()


def test_types_that_come_out_are_those_of_arrow(vienna):
    """A timestamp is a moment, which the clocks of the session show; one without a zone is not."""
    noon = dt.datetime(2020, 7, 1, 12)
    table = pa.table(
        {
            "ill": pa.array([True, None]),
            "age": pa.array([7, None], pa.int64()),
            "pay": pa.array([7.25, None]),
            "ward": pa.array(["heart", None]),
            "day": pa.array([dt.date(2020, 1, 31), None]),
            "seen": pa.array([noon, None], pa.timestamp("us")),
            "at": pa.array([noon.replace(tzinfo=dt.UTC), None], pa.timestamp("us", "UTC")),
        }
    )
    again = convert_to_frame(table, "pyspark")
    assert again.sparkSession is vienna
    kinds = ["boolean", "bigint", "double", "string", "date", "timestamp_ntz", "timestamp"]
    assert [kind for _, kind in again.dtypes] == kinds
    first = again.collect()[0].asDict()
    assert first["seen"] == noon
    assert open_source(again).names == table.schema.names


def test_timestamps_are_read_as_the_clocks_of_the_session_show_them(vienna):
    bounds = ("2020-07-01", "2020-07-02")
    columns = (
        Datetime("timestamp", *bounds, timezone="Europe/Vienna"),
        Datetime("timestamp_ntz", *bounds),
    )
    (batch,) = open_source(vienna.range(1).selectExpr(*MOMENTS)).batches()
    rows, _ = Encoder(Schema(columns)).encode(batch.table)
    assert rows.numbers.tolist() == [[0.5, 0.5]]
