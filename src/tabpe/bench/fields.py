"""What runs are told apart by: fields of a record by name, and what people call their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tabpe.bench.records import Record
from tabpe.errors import ParameterError, did_you_mean

REAL = "real"
PLAIN = ("data", "case", "method", "epsilon", "rows", "seed", "round")
TRAIN_ROWS = "train_rows"
NESTED = ("settings", "data_options")

METHODS = {
    "real": "Real rows",
    "tabpe": "Tab-PE",
    "independent": "Independent",
    "mst": "MST",
    "aim": "AIM",
    "privsyn": "PrivSyn",
    "privmrf": "PrivMRF",
    "gem": "GEM",
    "rap++": "RAP++",
    "privgsd": "PrivGSD",
}
DATA = {
    "xor": "XOR",
    "scm-tree": "Tree",
    "scm-nn": "Neural network",
    "scm-rff": "Fourier features",
    "regions": "Regions",
    "mnist": "MNIST",
}
SETTINGS = {
    "n_samples": "synthetic rows N",
    "rounds": "rounds T",
    "sampling_rounds": "sampling rounds",
    "mutation_init": "initial mutation rate",
    "gamma": "decay factor gamma",
    "category_weight": "category weight lambda",
    "variations": "variations m",
    "features": "features d",
    "degree": "degree",
    "case": "data",
}


def check_field(name: str) -> str:
    """Return the name of a field if records have it.

    Raises:
        ParameterError: If they do not.

    Example:
        >>> check_field("settings.degree")
        'settings.degree'
        >>> check_field("metod")
        Traceback (most recent call last):
        tabpe.errors.ParameterError: 'metod': no field of a run: did you mean 'method'?
    """
    head, dot, key = name.partition(".")
    if name in PLAIN or (head in NESTED and dot and key):
        return name
    known = (*PLAIN, *(f"{head}.NAME" for head in NESTED))
    raise ParameterError(f"{name!r}: no field of a run: {did_you_mean(name, known)}")


def value_of(record: Record, field: str) -> Any:
    """Return the value of a field; None if the record has none.

    Example:
        >>> record = Record("a", "full", "0f", "xor", "aim", "aim", 0, "seed", "done",
        ...                 settings={"degree": 3})
        >>> value_of(record, "settings.degree"), value_of(record, "data")
        (3, 'xor')
    """
    if field == "case":
        return case_of(record.data, record.data_options)
    head, _, key = field.partition(".")
    if key:
        found: dict[str, Any] = getattr(record, head)
        return found.get(key)
    return getattr(record, "called" if field == "method" else field)


def case_of(data: str, options: Mapping[str, Any]) -> str:
    """Return what people call a data set with its options.

    Example:
        >>> case_of("xor", {"features": 3, "train_rows": 4000}), case_of("adult", {})
        ('XOR, 3 features', 'Adult')
    """
    told = [f"{value} {name}" for name, value in options.items() if name != TRAIN_ROWS]
    return ", ".join([label_of("data", data), *told])


def label_of(field: str, value: Any) -> str:
    """Return what people call a value of a field.

    Example:
        >>> label_of("data", "artificial-characters"), label_of("method", "aim")
        ('Artificial Characters', 'AIM')
        >>> label_of("settings.n_samples", 10000), label_of("settings.gamma", 0.2)
        ('10,000', '0.2')
    """
    if field == "data":
        return DATA.get(value) or str(value).replace("-", " ").title()
    if field == "method":
        return METHODS.get(value, str(value))
    if value is None:
        return "default" if field.startswith("settings.") else "none"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def labels_of(key: Sequence[Any], fields: Sequence[str]) -> tuple[str, ...]:
    """Return what people call the values of several fields.

    Example:
        >>> labels_of(("adult", "aim"), ("data", "method"))
        ('Adult', 'AIM')
    """
    return tuple(label_of(name, value) for name, value in zip(fields, key, strict=True))


def is_real(key: Sequence[Any], fields: Sequence[str]) -> bool:
    """Whether values of fields are of real rows, which are not private.

    Example:
        >>> is_real(("adult", "real"), ("data", "method"))
        True
    """
    return any(name == "method" and value == REAL for name, value in zip(fields, key, strict=True))


def title_of(field: str) -> str:
    """Return what people call a field.

    Example:
        >>> title_of("settings.rounds"), title_of("epsilon")
        ('rounds T', 'epsilon')
    """
    name = field.rpartition(".")[2]
    return SETTINGS.get(name, name.replace("_", " "))


def ordered(values: Iterable[Any]) -> list[Any]:
    """Return distinct values: numbers by size, anything else as it came first.

    Example:
        >>> ordered([3, 1, 3]), ordered(["b", "a"])
        ([1, 3], ['b', 'a'])
    """
    distinct = list(dict.fromkeys(values))
    if all(isinstance(value, (int, float)) for value in distinct):
        return sorted(distinct)
    return distinct
