"""A table with rules, and rules evaluated row by row in plain Python."""

import datetime as dt
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tabpe import Boolean, Categorical, Date, Datetime, Float, Integer, Schema, Time
from tabpe.schema.constraints import parser
from tabpe.schema.constraints.parser import parse_constraint

COLUMNS = (
    Date("admission", "2020-01-01", "2020-12-31"),
    Date("discharge", "2020-01-01", "2021-06-30"),
    Datetime("seen", "2020-01-01", "2021-01-01", resolution="hour"),
    Time("dinner", "16:00", "20:00", resolution="minute"),
    Integer("age", 0, 100),
    Float("fees", 0, 90, decimals=2),
    Float("drugs", 0, 90, decimals=1),
    Float("total", 0, 150, decimals=2),
    Float("x", 0, 1),
    Float("y", 0, 1),
    Categorical("pain", ("none", "mild", "severe"), ordered=True),
    Categorical("worst pain", ("none", "mild", "severe"), ordered=True),
    Categorical("city", ("Rome", "Bonn", "Oslo", "Kiel")),
    Categorical("state", ("IT", "DE", "NO")),
    Categorical("sex", ("F", "M")),
    Categorical("pregnant", ("yes", "no")),
    Categorical("stars", (1, 2, 5)),
    Boolean("smoker"),
    Boolean("ill"),
)
RULES = (
    "discharge >= admission",
    "discharge - admission <= 90",
    "total == fees + drugs",
    "if pregnant == 'yes' then sex == 'F' and age < 55 and age >= 14",
    "(city, state) in (('Rome', 'IT'), ('Bonn', 'DE'), ('Kiel', 'DE'), ('Oslo', 'NO'))",
    "pain <= `worst pain`",
    "x + y <= 1",
    "if ill then age > 10 else not smoker or age > 17",
    "seen >= admission",
    "dinner != '18:00'",
)
SCHEMA = Schema(COLUMNS, label="ill", rules=RULES)


def table(size=600, seed=0):
    """Rows that know nothing of the rules."""
    rng = np.random.default_rng(seed)
    day = np.datetime64("2020-01-01")
    return pa.table(
        {
            "admission": day + rng.integers(0, 366, size),
            "discharge": day + rng.integers(0, 500, size),
            "seen": (day + rng.integers(0, 366, size)).astype("datetime64[us]"),
            "dinner": rng.choice(["17:00", "18:00", "19:45"], size),
            "age": rng.integers(0, 101, size),
            "fees": np.round(rng.uniform(0, 90, size), 2),
            "drugs": np.round(rng.uniform(0, 90, size), 1),
            "total": np.round(rng.uniform(0, 150, size), 2),
            "x": rng.random(size),
            "y": rng.random(size),
            "pain": rng.choice(["none", "mild", "severe"], size),
            "worst pain": rng.choice(["none", "mild", "severe"], size),
            "city": rng.choice(["Rome", "Bonn", "Oslo", "Kiel"], size),
            "state": rng.choice(["IT", "DE", "NO"], size),
            "sex": rng.choice(["F", "M"], size),
            "pregnant": rng.choice(["yes", "no"], size),
            "stars": rng.choice([1, 2, 5], size),
            "smoker": rng.random(size) < 0.3,
            "ill": rng.random(size) < 0.4,
        }
    )


def broken(rows, schema=SCHEMA):
    """The rules that some row of a table breaks, by a reading of them that is not ours."""
    return {
        rule
        for rule in schema.rules
        if not rule.startswith("unique")
        for row in rows.to_pylist()
        if holds(parse_constraint(rule), row, schema) is False
    }


def holds(node, row, schema):  # noqa: PLR0911
    """Whether a rule holds in a row: True, False or None."""
    match node:
        case parser.ColumnReference(name):
            return row[name]
        case parser.Negation(part):
            found = holds(part, row, schema)
            return None if found is None else not found
        case parser.Conjunction(parts):
            return _all([holds(part, row, schema) for part in parts])
        case parser.Disjunction(parts):
            return _any([holds(part, row, schema) for part in parts])
        case parser.IfThenElse(condition, then, otherwise):
            asked = holds(condition, row, schema)
            no = None if asked is None else not asked
            first = _any([no, holds(then, row, schema)])
            if otherwise is None:
                return first
            return _all([first, _any([asked, holds(otherwise, row, schema)])])
        case parser.IsNull(column, negated):
            return (row[column.name] is None) ^ negated
    return _atom(node, row, schema)


def _atom(node, row, schema):
    if isinstance(node, parser.TermComparison):
        return _compared(node, row, schema)
    if any(row[column.name] is None for column in node.columns):
        return None
    met = any(
        all(
            _compared(parser.TermComparison("==", column, value), row, schema)
            for column, value in zip(node.columns, option, strict=True)
        )
        for option in node.options
    )
    return met ^ node.negated


def _compared(node, row, schema):
    left, right = _value(node.left, row), _value(node.right, row)
    if left is None or right is None:
        return None
    column = next(
        (
            schema[side.name]
            for side in (node.left, node.right)
            if isinstance(side, parser.ColumnReference)
        ),
        None,
    )
    if isinstance(column, Categorical) and isinstance(left, str) and node.sign not in ("==", "!="):
        left, right = column.values.index(left), column.values.index(right)
    left, right = _moment(left, right), _moment(right, left)
    apart = _days(left) - _days(right) if isinstance(left, dt.date) else None
    if isinstance(left, float):
        left, right = Fraction(left), Fraction(right)
    sides = (left, right) if apart is None else (apart, 0)
    return {
        "==": sides[0] == sides[1],
        "!=": sides[0] != sides[1],
        "<": node.sign in ("<", "<=", ">", ">=") and sides[0] < sides[1],
        "<=": node.sign in ("<", "<=", ">", ">=") and sides[0] <= sides[1],
        ">": node.sign in ("<", "<=", ">", ">=") and sides[0] > sides[1],
        ">=": node.sign in ("<", "<=", ">", ">=") and sides[0] >= sides[1],
    }[node.sign]


def _value(term, row):  # noqa: PLR0911
    match term:
        case parser.ColumnReference(name):
            return _exact(row[name])
        case parser.Literal(value):
            return _exact(value)
        case parser.UnaryMinus(inside):
            found = _value(inside, row)
            return None if found is None else -found
    left, right = _value(term.left, row), _value(term.right, row)
    if left is None or right is None or (term.sign == "/" and right == 0):
        return None
    if isinstance(left, dt.date):
        if isinstance(right, dt.date):
            return _days(left) - _days(right)
        sign = 1 if term.sign == "+" else -1
        clock = left.time() if isinstance(left, dt.datetime) else dt.time()
        return dt.datetime.combine(left, clock) + sign * dt.timedelta(days=float(right))
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }[term.sign]()


def _exact(value):
    """Numbers as people write them: 0.1 is a tenth."""
    if isinstance(value, (bool, str)) or value is None:
        return value
    return Fraction(str(value)) if isinstance(value, (int, float)) else value


def _moment(value, beside):
    if not isinstance(value, str):
        return value
    if isinstance(beside, dt.time):
        return dt.time.fromisoformat(value)
    return dt.datetime.fromisoformat(value) if isinstance(beside, dt.date) else value


def _days(moment):
    """Days since some day, exactly."""
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime.combine(moment, dt.time())
    since = moment - dt.datetime(1970, 1, 1)
    return since.days + Fraction(since.seconds, 86_400)


def _all(found):
    return False if False in found else None if None in found else True


def _any(found):
    return True if True in found else None if None in found else False
