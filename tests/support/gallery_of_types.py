"""Tables with holes, dates, codes, odd types and odder names."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from exhibit import ROWS, Exhibit, days, holed, rng
from tabpe import Boolean, Categorical, Date, Datetime, Float, Integer, Schema, Time


def nearly_empty():
    """Nineteen of twenty cells are null, in every column."""
    table = pd.DataFrame(
        {
            "a": pd.array(holed(rng().integers(0, 50, ROWS), 0.95, 1), dtype="Int32"),
            "b": holed(rng().normal(size=ROWS), 0.95, 2),
            "c": pd.Categorical(holed(rng().choice(["x", "y"], ROWS), 0.95, 3)),
            "d": holed(days(ROWS), 0.95, 4),
            "e": pd.array(holed(rng().random(ROWS) < 0.5, 0.95, 5), dtype="boolean"),
        }
    )
    schema = Schema(
        (
            Integer("a", 0, 50, nullable=True),
            Float("b", -5, 5, nullable=True),
            Categorical("c", ("x", "y"), nullable=True),
            Date("d", "2023-01-01", "2023-12-31", nullable=True),
            Boolean("e", nullable=True),
        )
    )
    return Exhibit(table, schema)


def nothing_at_all():
    """A column without a single value, beside one that is constant."""
    table = pa.table(
        {"empty": pa.nulls(ROWS, pa.float64()), "one": pa.array([7] * ROWS, pa.int8())}
    )
    return Exhibit(table, Schema((Float("empty", 0, 1, nullable=True), Integer("one", 7, 7))))


def constants():
    table = pd.DataFrame(
        {
            "whole": np.full(ROWS, 3, dtype="int16"),
            "part": np.full(ROWS, 0.5, dtype="float32"),
            "word": pd.Categorical(["same"] * ROWS),
            "day": pd.Timestamp("2024-02-29"),
            "so": True,
        }
    )
    schema = Schema(
        (
            Integer("whole", 3, 3),
            Float("part", 0.5, 0.5),
            Categorical("word", ("same",)),
            Date("day", "2024-02-29", "2024-02-29"),
            Boolean("so"),
        ),
        label="word",
    )
    return Exhibit(table, schema, holds=lambda made: (made["whole"] == 3) & (made["part"] == 0.5))


def hostile_names():
    """Names and values that break files, pages and parsers."""
    names = ["a b", "=SUM(A1)", "`tick`", "<script>", "שלום", "🜚", 'quo"te', "null", "x" * 300]
    odd = ["", " lead", "tab\there", "new\nline", "=1+1", "'", '"', "NULL", "nan", "ß"]
    table = pl.DataFrame({name: rng(i).choice(odd, ROWS) for i, name in enumerate(names)})
    return Exhibit(table, Schema(tuple(Categorical(name, tuple(odd)) for name in names)))


def decimals_and_large_numbers():
    cents = rng().integers(-(10**6), 10**6, ROWS)
    table = pa.table(
        {
            "paid": pa.array(
                [Decimal(int(cent)).scaleb(-2) for cent in cents], pa.decimal128(12, 2)
            ),
            "account": pa.array(2**60 + rng().integers(0, 10**6, ROWS)),
            "huge": pa.array((2**63 + rng().integers(0, 100, ROWS).astype("uint64")), pa.uint64()),
            "small": pa.array(rng().integers(-128, 127, ROWS), pa.int8()),
        }
    )
    schema = Schema(
        (
            Float("paid", -10_000, 10_000, decimals=2),
            Integer("account", 2**60, 2**60 + 10**6),
            Integer("huge", 2**63, 2**63 + 99),
            Integer("small", -128, 127),
        )
    )
    return Exhibit(table, schema)


def moments():
    """A zone with summer time, times in a format, dates as text, microseconds."""
    start = pd.Timestamp("2024-03-30", tz="Europe/Berlin")
    seen = start + pd.to_timedelta(rng().integers(0, 72 * 60, ROWS), "min")
    table = pd.DataFrame(
        {
            "seen": seen,
            "fed": [f"{h:02d}.{m:02d}" for h, m in rng().integers(0, [24, 60], (ROWS, 2))],
            "born": pd.Series(days(ROWS)).dt.strftime("%d/%m/%Y"),
            "at": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng().integers(0, 10**9, ROWS), "us"),
        }
    )
    table.loc[::5, "born"] = None
    schema = Schema(
        (
            Datetime("seen", "2024-03-30", "2024-04-02", "minute", timezone="Europe/Berlin"),
            Time("fed", "00:00", "23:59", "minute", format="%H.%M"),
            Date("born", "2023-01-01", "2023-12-31", format="%d/%m/%Y", nullable=True),
            Datetime("at", "2024-01-01", "2024-01-02", "microsecond"),
        )
    )
    return Exhibit(table, schema)


def skewed():
    """Amounts over six orders of magnitude, most of them nothing."""
    amounts = np.where(rng().random(ROWS) < 0.6, 0, rng().lognormal(8, 2, ROWS)).round()
    table = pd.DataFrame(
        {
            "gain": amounts.clip(0, 10**7).astype("int64"),
            "rate": rng().lognormal(0, 1, ROWS).clip(0.01, 100),
            "wealth": holed(rng().normal(0, 10, ROWS) ** 5, 0.2).clip(-(10**7), 10**7),
        }
    )
    schema = Schema(
        (
            Integer("gain", 0, 10**7, scale="log"),
            Float("rate", 0.01, 100, scale="quantile", quantiles=(0.01, 0.4, 1.0, 2.2, 100.0)),
            Float("wealth", -(10**7), 10**7, scale="log", nullable=True),
        ),
        rules=("gain >= rate",),
    )
    return Exhibit(table, schema, holds=lambda made: made["gain"] >= made["rate"])


def towns():
    """Three thousand declared values."""
    values = tuple(f"town {i:04d}" for i in range(3000))
    share = 1 / np.arange(1, 3001)
    table = pl.DataFrame(
        {
            "town": rng().choice(values, ROWS, p=share / share.sum()),
            "rich": rng().random(ROWS) < 0.3,
        },
        schema_overrides={"town": pl.Enum(values)},
    )
    return Exhibit(table, Schema((Categorical("town", values), Boolean("rich")), label="rich"))


def common_towns():
    """The most common of them, estimated."""
    declared = {
        "columns": [
            {"name": "town", "type": "categorical", "top": 5, "other": "elsewhere"},
            {"name": "rich", "type": "boolean"},
        ]
    }
    values = np.array([f"town {i}" for i in range(300)])
    share = 1 / np.arange(1, 301) ** 2
    table = pd.DataFrame(
        {
            "town": rng().choice(values, ROWS, p=share / share.sum()),
            "rich": rng().random(ROWS) < 0.3,
        }
    )
    options = {"schema": "private", "estimate_columns": "all", "schema_budget": 0.2}

    def holds(made):
        return pd.Series(made["town"].nunique() <= 6, index=made.index)

    return Exhibit(table, declared, options, holds)


def unknown_schema():
    """Nothing is declared; some cells are empty."""
    table = pa.table(
        {
            "age": pa.array(holed(rng().integers(18, 90, ROWS).astype(float), 0.5)),
            "ward": pa.array(rng().choice(["eye", "heart"], ROWS)),
            "ill": pa.array(rng().random(ROWS) < 0.4),
            "born": pa.array(days(ROWS)).cast(pa.date32()),
        }
    )
    return Exhibit(
        table, None, {"schema": "private", "estimate_columns": "all", "schema_budget": 0.3}
    )


def a_few_rows():
    """Smaller than the noise."""
    table = pd.DataFrame({"x": [1, None, 3], "y": ["a", "b", None], "z": [True, False, True]})
    schema = Schema(
        (
            Integer("x", 0, 9, nullable=True),
            Categorical("y", ("a", "b"), nullable=True),
            Boolean("z"),
        )
    )
    return Exhibit(table, schema, {"n_samples": 20})


def wide_and_flat():
    """Sixty columns that may all be null."""
    numbers = {f"n{i}": holed(rng(i).random(ROWS), 0.1, i) for i in range(30)}
    words = {f"c{i}": holed(rng(i).choice(["p", "q"], ROWS), 0.1, i + 50) for i in range(30)}
    columns = (
        *(Float(name, 0, 1, nullable=True) for name in numbers),
        *(Categorical(name, ("p", "q"), nullable=True) for name in words),
    )
    return Exhibit(pd.DataFrame(numbers | words), Schema(columns))


def every_kind_of_pandas():
    """Extension types of pandas, its own and those of Arrow, with nulls in all of them."""
    base = pd.DataFrame({"x": holed(rng().integers(0, 100, ROWS).astype(float), 0.2)})
    table = pd.DataFrame(
        {
            "Int16": base["x"].astype("Int16"),
            "UInt8": base["x"].astype("UInt8"),
            "Float32": base["x"].astype("Float32"),
            "arrow": base["x"].astype("int64[pyarrow]"),
            "boolean": (base["x"] > 50).astype("boolean").mask(base["x"].isna()),
            "string": base["x"]
            .map(lambda x: None if pd.isna(x) else f"v{int(x) % 3}")
            .astype("string"),
            "category": pd.Categorical(base["x"] // 50),
        }
    )
    schema = Schema(
        (
            *(Integer(name, 0, 99, nullable=True) for name in ("Int16", "UInt8")),
            Float("Float32", 0, 99, decimals=0, nullable=True),
            Integer("arrow", 0, 99, nullable=True),
            Boolean("boolean", nullable=True),
            Categorical("string", ("v0", "v1", "v2"), nullable=True),
            Categorical("category", (0.0, 1.0), nullable=True),
        ),
        label="boolean",
    )
    return Exhibit(table, schema)
