"""Bank and Adult as people have them: with nulls, dates and rules between columns.

    python -m benchmarks.real_tables [--out benchmarks/results/real_tables.json]

Values `unknown` and `?` become null, and so do days since a call that never was. Days become
dates: in Bank from day and month; in Adult drawn from the age, with a seed. Rules state well-known
facts. Counted on 50,000 sampled rows at epsilon 3: how many of them meet every rule, by pandas and
not by tabpe, and how far the share of nulls of each column is from
the real one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.common import DATA, make_parser, write_record
from tabpe import Categorical, Date, Integer, Schema, TabPE

EPSILON, SAMPLED, SEED = 3.0, 50_000, 0
OLDEST_STUDENT = 60
SEVENTEEN_YEARS = 17 * 365  # days
Met = Callable[[pd.DataFrame], "pd.Series[bool]"]


@dataclass(frozen=True)
class Case:
    """A table, its schema, and its rules both as the schema has them and as pandas does."""

    table: pd.DataFrame
    schema: Schema
    met: Mapping[str, Met]


def read(name: str, unknown: str) -> pd.DataFrame:
    """A table in which one word stands for null."""
    return pd.read_csv(DATA / f"{name}.csv.gz", keep_default_na=False, na_values=[unknown])


def listed(table: pd.DataFrame, name: str) -> Categorical:
    """A column of texts. Its values are those of the published description of the table."""
    values = tuple(sorted(table[name].dropna().unique()))
    return Categorical(name, values, nullable=bool(table[name].isna().any()))


def bank() -> Case:
    """Bank Marketing: the call before this one is a date, or never was."""
    table = read("bank", "unknown")
    days = pd.to_datetime("2012-" + table["month"] + "-01", format="%Y-%b-%d")
    called = days + pd.to_timedelta(np.minimum(table["day"], days.dt.days_in_month) - 1, "D")
    never = table["pdays"] < 0
    before = (called - pd.to_timedelta(table["pdays"], "D")).where(~never)
    table = table.drop(columns=["day", "month", "pdays"]).assign(called=called, before=before)
    names = ("job", "marital", "education", "default", "housing", "loan", "contact", "poutcome")
    columns = (
        Integer("age", 18, 100),
        *(listed(table, name) for name in names),
        Integer("balance", -10_000, 110_000),
        Integer("duration", 0, 5000),
        Integer("campaign", 1, 70),
        Integer("previous", 0, 300),
        Date("called", "2012-01-01", "2012-12-31"),
        Date("before", "2009-01-01", "2012-12-31", nullable=True),
        listed(table, "y"),
    )
    rules: dict[str, Met] = {
        "before < called": lambda t: t["before"].isna() | (t["before"] < t["called"]),
        "if previous == 0 then before is null": lambda t: (t["previous"] != 0) | t["before"].isna(),
        "if before is null then poutcome is null": lambda t: (
            t["before"].notna() | t["poutcome"].isna()
        ),
        f"if job == 'student' then age <= {OLDEST_STUDENT}": lambda t: (
            (t["job"] != "student") | (t["age"] <= OLDEST_STUDENT)
        ),
    }
    return Case(table, Schema(columns, label="y", rules=tuple(rules)), rules)


def adult() -> Case:
    """Adult: schooling goes with its years, a husband is a man, nobody is asked before 17."""
    table = read("adult", "?").drop(columns="split")
    rng = np.random.default_rng(SEED)
    asked = pd.Timestamp("1994-01-01") + pd.to_timedelta(rng.integers(0, 365, len(table)), "D")
    age = table["age"] * 365.25 + rng.integers(0, 365, len(table))
    born = asked - pd.to_timedelta(np.ceil(age), "D")
    table = table.assign(asked=asked, born=born)
    names = ("workclass", "education", "marital-status", "occupation", "relationship", "race")
    columns = (
        Integer("age", 17, 90),
        *(listed(table, name) for name in names),
        listed(table, "sex"),
        Integer("fnlwgt", 10_000, 1_500_000),
        Integer("education-num", 1, 16),
        Integer("capital-gain", 0, 100_000),
        Integer("capital-loss", 0, 5000),
        Integer("hours-per-week", 1, 99),
        listed(table, "native-country"),
        Date("asked", "1994-01-01", "1994-12-31"),
        Date("born", "1900-01-01", "1977-12-31"),
        listed(table, "income"),
    )
    schooling = sorted(set(zip(table["education"], table["education-num"], strict=True)))
    pairs = ", ".join(f"({name!r}, {years})" for name, years in schooling)
    known = {f"{name}/{years}" for name, years in schooling}

    def check_schooling(t: pd.DataFrame) -> pd.Series[bool]:
        return (t["education"] + "/" + t["education-num"].astype(str)).isin(known)

    rules: dict[str, Met] = {
        f"(education, `education-num`) in ({pairs})": check_schooling,
        "if relationship == 'Husband' then sex == 'Male'": lambda t: (
            (t["relationship"] != "Husband") | (t["sex"] == "Male")
        ),
        "if relationship == 'Wife' then sex == 'Female'": lambda t: (
            (t["relationship"] != "Wife") | (t["sex"] == "Female")
        ),
        "`capital-gain` == 0 or `capital-loss` == 0": lambda t: (
            (t["capital-gain"] == 0) | (t["capital-loss"] == 0)
        ),
        "if workclass is null then occupation is null": lambda t: (
            t["workclass"].notna() | t["occupation"].isna()
        ),
        f"asked - born >= {SEVENTEEN_YEARS}": lambda t: (
            (t["asked"] - t["born"]).dt.days >= SEVENTEEN_YEARS
        ),
    }
    return Case(table, Schema(columns, label="income", rules=tuple(rules)), rules)


CASES: dict[str, Callable[[], Case]] = {"Bank": bank, "Adult": adult}


def measure_case(name: str) -> dict[str, Any]:
    """What is true of the rows that are sampled, and of the real ones beside them."""
    case = CASES[name]()
    begun = time.perf_counter()
    model = TabPE(epsilon=EPSILON, random_state=SEED).fit(case.table, case.schema)
    seconds = time.perf_counter() - begun
    made = model.sample(SAMPLED)
    nulls = {
        column: [round(float(table[column].isna().mean()), 5) for table in (case.table, made)]
        for column in case.schema.names
        if case.schema[column].nullable
    }
    worst = max(abs(real - synthetic) for real, synthetic in nulls.values())
    every = np.logical_and.reduce([met(made) for met in case.met.values()])
    print(f"{name:<6} rules {every.mean():.3%}  nulls off by at most {worst:.3%}  {seconds:.0f} s")
    return {
        "rows": len(case.table),
        "sampled": len(made),
        "rules": {
            rule: {"real": float(met(case.table).mean()), "synthetic": float(met(made).mean())}
            for rule, met in case.met.items()
        },
        "every rule": float(every.mean()),
        "nulls, real and synthetic": nulls,
        "largest difference of nulls": round(worst, 5),
        "certified epsilon": model.certificate.epsilon,
        "seconds": round(seconds, 1),
    }


def main() -> None:
    """Measure all and write the result."""
    arguments = make_parser(__doc__, "real_tables").parse_args()
    found = {name: measure_case(name) for name in CASES}
    about = {"epsilon": EPSILON, "seed": SEED, "tables": found}
    write_record(arguments.out, "real_tables", about)


if __name__ == "__main__":
    main()
