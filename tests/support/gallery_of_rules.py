"""Tables with rules, labels of every kind, and people with several rows."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from exhibit import ROWS, Exhibit, days, holed, rng
from tabpe import Boolean, Categorical, Date, Float, Id, Integer, Schema


def hospital():
    """Dates in order, a bill that adds up, what goes with what, and beds that are nobody else's."""
    draws, size = rng(), ROWS
    came = days(size)
    pregnant = draws.random(size) < 0.1
    room, food = draws.integers(0, 300, size) / 2, draws.integers(0, 100, size) / 4
    city = draws.choice(["Rome", "Bonn", "Oslo"], size)
    table = pd.DataFrame(
        {
            "no": [f"patient-{i}" for i in range(size)],
            "admission": came,
            "discharge": (came + pd.to_timedelta(draws.poisson(5, size), "D")),
            "sex": np.where(pregnant, "F", draws.choice(["F", "M"], size)),
            "pregnant": np.where(pregnant, "yes", "no"),
            "city": city,
            "country": pd.Series(city).map({"Rome": "IT", "Bonn": "DE", "Oslo": "NO"}),
            "room": room,
            "food": food,
            "total": room + food,
            "ward": draws.integers(1, 20, size),
            "bed": draws.integers(1, 200, size),
        }
    )
    table.loc[draws.random(size) < 0.2, "discharge"] = pd.NaT
    schema = Schema(
        (
            Id("no", prefix="P"),
            Date("admission", "2023-01-01", "2023-12-31"),
            Date("discharge", "2023-01-01", "2024-03-31", nullable=True),
            Categorical("sex", ("F", "M")),
            Categorical("pregnant", ("yes", "no")),
            Categorical("city", ("Rome", "Bonn", "Oslo")),
            Categorical("country", ("IT", "DE", "NO")),
            Float("room", 0, 150, decimals=2),
            Float("food", 0, 25, decimals=2),
            Float("total", 0, 175, decimals=2),
            Integer("ward", 1, 19),
            Integer("bed", 1, 200),
        ),
        label="pregnant",
        rules=(
            "discharge >= admission",
            "if pregnant == 'yes' then sex == 'F'",
            "(city, country) in (('Rome', 'IT'), ('Bonn', 'DE'), ('Oslo', 'NO'))",
            "total == room + food",
            "unique(ward, bed)",
        ),
    )

    def holds(made):
        home = made["city"].map({"Rome": "IT", "Bonn": "DE", "Oslo": "NO"})
        return (
            (made["discharge"].isna() | (made["discharge"] >= made["admission"]))
            & ((made["pregnant"] != "yes") | (made["sex"] == "F"))
            & (home == made["country"])
            & ((made["room"] + made["food"]).round(2) == made["total"])
            & ~made.duplicated(["ward", "bed"])
            & ~made.duplicated("no")
        )

    return Exhibit(table, schema, holds=holds)


def grades():
    """Ordered categories of pandas, with nulls, and a rule about their order."""
    levels = ["none", "mild", "bad"]
    first = rng().integers(0, 3, ROWS)
    last = np.minimum(first, rng(1).integers(0, 3, ROWS))

    def graded(codes, seed):
        return pd.Categorical(holed(np.array(levels)[codes], 0.15, seed), levels, ordered=True)

    table = pd.DataFrame({"pain": graded(first, 1), "after": graded(last, 2)})
    columns = (
        Categorical(name, tuple(levels), ordered=True, nullable=True) for name in ("pain", "after")
    )

    def holds(made):
        pain, after = (made[name].map(levels.index, na_action="ignore") for name in made)
        return pain.isna() | after.isna() | (after <= pain)

    return Exhibit(table, Schema(tuple(columns), rules=("after <= pain",)), holds=holds)


def several_labels():
    """Three labels, most combinations of which are rare, and a rule between two of them."""
    draws = rng()
    sex = draws.choice(["F", "M"], ROWS, p=[0.9, 0.1])
    expecting = (sex == "F") & (draws.random(ROWS) < 0.05)
    table = pd.DataFrame(
        {
            "sex": sex,
            "ward": draws.choice(["a", "b", "c", "d"], ROWS, p=[0.7, 0.2, 0.07, 0.03]),
            "age": np.where(expecting, 30, draws.integers(0, 100, ROWS)),
            "expecting": expecting,
        }
    )
    schema = Schema(
        (
            Categorical("sex", ("F", "M")),
            Categorical("ward", ("a", "b", "c", "d")),
            Integer("age", 0, 100),
            Boolean("expecting"),
        ),
        label=("sex", "ward"),
        rules=("if expecting then sex == 'F' and age < 60",),
    )

    def holds(made):
        return ~made["expecting"] | ((made["sex"] == "F") & (made["age"] < 60))

    return Exhibit(table, schema, holds=holds)


def labels_that_exclude_each_other():
    """Two labels with a rule between them; nulls in one; a third of the combinations can not be."""
    draws = rng()
    sex = draws.choice(["F", "M"], ROWS)
    expecting = np.where(draws.random(ROWS) < 0.2, None, (sex == "F") & (draws.random(ROWS) < 0.4))
    table = pd.DataFrame(
        {
            "sex": sex,
            "expecting": pd.array(expecting, dtype="boolean"),
            "age": draws.integers(15, 50, ROWS),
        }
    )
    schema = Schema(
        (
            Categorical("sex", ("F", "M")),
            Boolean("expecting", nullable=True),
            Integer("age", 15, 50),
        ),
        label=("sex", "expecting"),
        rules=("if expecting then sex == 'F'",),
    )

    def holds(made):
        return ~made["expecting"].fillna(value=False) | (made["sex"] == "F")

    return Exhibit(table, schema, holds=holds)


def numeric_label():
    """A label of amounts, classes of which are measures."""
    table = pd.DataFrame(
        {
            "price": rng().lognormal(10, 1, ROWS).round(2).clip(0, 10**6),
            "rooms": rng().poisson(3, ROWS),
        }
    )
    declared = {
        "label": "price",
        "label_classes": 3,
        "columns": [
            {"name": "price", "type": "float", "min": 0, "max": 10**6, "decimals": 2},
            {"name": "rooms", "type": "integer", "min": 0, "max": 20},
        ],
    }
    return Exhibit(
        table, declared, {"schema": "private", "estimate_columns": "all", "schema_budget": 0.2}
    )


def label_with_holes():
    """A numeric label that is null for some."""
    table = pd.DataFrame(
        {
            "score": pd.array(holed(rng().integers(0, 100, ROWS), 0.2), dtype="Int8"),
            "age": rng().integers(0, 90, ROWS),
        }
    )
    columns = Integer("score", 0, 99, nullable=True), Integer("age", 0, 90)
    rules = ("age >= score / 2", "if score is null then age > 20")
    schema = Schema(columns, label="score", label_cuts=(30, 70), rules=rules)

    def holds(made):
        known = made["score"].notna()
        return (~known | (made["age"] >= made["score"].astype(float) / 2)) & (
            known | (made["age"] > 20)
        )

    return Exhibit(table, schema, holds=holds)


def few_of_a_class():
    """One in a hundred, of which at least twenty are wanted."""
    table = pd.DataFrame({"fraud": rng().random(ROWS) < 0.01, "sum": rng().lognormal(3, 1, ROWS)})
    schema = Schema((Boolean("fraud"), Float("sum", 0, 1000)), label="fraud")

    def holds(made):
        return pd.Series(made["fraud"].sum() >= 20, index=made.index)

    # A noisy count of nine rows may well be below 0: then there would be no class to fill up.
    shares = {False: 0.99, True: 0.01}
    return Exhibit(table, schema, {"class_floor": 20, "public_shares": shares}, holds)


def people():
    """Several rows of a person, who is promised privacy as a whole."""
    table = pl.DataFrame(
        {
            "person": [f"p{i // 3}" for i in range(ROWS)],
            "visit": days(ROWS).date.tolist(),
            "pulse": [None if i % 7 == 0 else 50 + i % 60 for i in range(ROWS)],
        }
    )
    columns = Date("visit", "2023-01-01", "2023-12-31"), Integer("pulse", 30, 200, nullable=True)
    options = {"unit": "person", "max_rows_per_user": 3}
    return Exhibit(table, Schema(columns, rules=("visit <= '2023-12-31'",)), options)


def conditional_nulls():
    """What is null says something, and rules say what."""
    retired = rng().random(ROWS) < 0.4
    table = pa.table(
        {
            "retired": retired,
            "employer": pa.array(np.where(retired, None, rng().choice(["a", "b"], ROWS))),
            "wage": pa.array(
                np.where(retired, np.nan, rng().integers(10, 99, ROWS)), from_pandas=True
            ),
            "since": pa.array(
                [
                    dt.date(2020, 1, 1) + dt.timedelta(int(i)) if r else None
                    for i, r in enumerate(retired)
                ]
            ),
        }
    )
    schema = Schema(
        (
            Boolean("retired"),
            Categorical("employer", ("a", "b"), nullable=True),
            Integer("wage", 0, 99, nullable=True),
            Date("since", "2020-01-01", "2024-12-31", nullable=True),
        ),
        rules=(
            "if retired then employer is null and wage is null",
            "if not retired then employer is not null and wage is not null and since is null",
        ),
    )

    def holds(made):
        gone = made["retired"]
        return (
            (made["employer"].isna() == gone)
            & (made["wage"].isna() == gone)
            & (gone | made["since"].isna())
        )

    return Exhibit(table, schema, holds=holds)
