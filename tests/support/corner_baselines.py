"""Tables that every baseline must survive."""

import numpy as np
import pyarrow as pa

from tabpe.schema import Boolean, Categorical, Float, Integer, Schema

_RNG = np.random.default_rng(0)
_ROWS = 400
_CELLS = {
    "age": _RNG.integers(0, 101, _ROWS),
    "size": _RNG.random(_ROWS),
    "same": np.full(_ROWS, 7),
    "ward": np.array(["heart", "eye", "skin"])[_RNG.integers(0, 3, _ROWS)],
    "only": np.full(_ROWS, "one"),
    "ill": _RNG.random(_ROWS) < 0.3,
}
AGE, SIZE, SAME = Integer("age", 0, 100), Float("size", 0.0, 1.0), Integer("same", 7, 7)
WARD, ONLY = Categorical("ward", ("heart", "eye", "skin")), Categorical("only", ("one",))
ILL = Boolean("ill")

CORNERS = {
    "only categories": Schema((WARD, ILL), label="ill"),
    "only numbers": Schema((AGE, SIZE)),
    "no label": Schema((AGE, WARD)),
    "numeric label": Schema((AGE, SIZE, WARD), label="age", label_cuts=(30.0, 60.0)),
    "constant columns": Schema((SAME, ONLY, WARD), label="ward"),
    "nothing but constants": Schema((SAME, ONLY)),
    "one category": Schema((WARD,)),
    "one number": Schema((AGE,)),
    "only a label": Schema((ILL,), label="ill"),
}


def corner_table(schema):
    """Return the columns of a schema."""
    return pa.table({name: _CELLS[name] for name in schema.names})
