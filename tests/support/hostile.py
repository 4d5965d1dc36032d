"""Files as somebody would make them who wants to see a loader fall over."""

import copy
import os

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# The same examples in every run, so that none fails by chance. TABPE_FUZZ=10000 tries others.
MORE = int(os.environ.get("TABPE_FUZZ", "0"))


def fuzz(examples):
    return settings(
        derandomize=not MORE,
        max_examples=MORE or examples,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


ATOMS = [
    *(None, True, False, 0, 1, -1, 2, 2**31, 2**53 + 1, -(2**63), 2**64, 10**400),
    *(0.0, -0.0, 0.5, 1.5, 1e-320, 1e-200, 1e200, 1e308, -1e308),
    *(float("nan"), float("inf"), float("-inf")),
    *(
        "",
        " ",
        "a",
        "0",
        "1",
        "true",
        "null",
        "~",
        "no",
        "=1",
        "NaN",
        "é",
        "\x00",
        "\x1b[2J",
        "\ud800",
    ),
    *(
        "\u2028",
        "\u202e",
        "\ufeff",
        "\U0010ffff",
        "<<",
        "&a",
        "*a",
        "!!int",
        "public",
        "data",
        "integer",
    ),
    *(
        "categorical",
        "float",
        "boolean",
        "add-remove",
        "pandas",
        "polars",
        "pyarrow",
        "modin",
        "string",
    ),
    *(
        "dictionary<values=string, indices=int8, ordered=0>",
        "int8",
        "Int64",
        "datetime64[ns]",
        "Enum",
    ),
    *([], {}, [[]], [None], ["a"], [0], [1.5], {"": 0}, {"name": "a"}, {"a": {"b": []}}),
    [[[[[[[[]]]]]]]],
]
atoms = st.sampled_from(ATOMS) | st.integers() | st.floats() | st.text(max_size=5)


def places(plain, above=()):
    """Return the paths of all values inside of a plain value."""
    items = plain.items() if isinstance(plain, dict) else enumerate(plain)
    found = []
    for key, value in items:
        found.append((*above, key))
        if isinstance(value, (dict, list)):
            found += places(value, (*above, key))
    return found


@st.composite
def mutations(draw, plain):
    """Draw a plain value that differs from another in one place or in a few."""
    changed = copy.deepcopy(plain)
    for _ in range(draw(st.integers(1, 3))):
        known = places(changed)
        if not known:
            break
        *above, key = draw(st.sampled_from(known))
        parent = changed
        for step in above:
            parent = parent[step]
        _mutate(draw, parent, key)
    return changed


def _mutate(draw, parent, key):
    how = draw(st.sampled_from(["replace", "replace", "replace", "delete", "copy", "wrap"]))
    if how == "replace":
        parent[key] = copy.deepcopy(draw(atoms))
    elif how == "delete":
        del parent[key]
    elif how == "wrap":
        parent[key] = [parent[key]]
    elif isinstance(parent, list):
        parent.append(copy.deepcopy(parent[key]))
    else:
        parent[draw(st.text(max_size=3))] = copy.deepcopy(parent[key])


@st.composite
def damaged(draw, content, letters):
    """Draw a text, or bytes, with some places cut out, doubled or overwritten."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from([0, 1, 2, 4, 30])))
        new = draw(letters | st.just(content[start:end] * 2))
        content = content[:start] + new + content[end:]
    return content
