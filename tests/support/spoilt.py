"""What may go wrong with a private table: cells outside the schema, and failures of all kinds.

What fails says so in words that quote the table, as those of other libraries may.
"""

import pyarrow as pa

from planted import COUNTS, DECIMAL, MARKED, RARE, ROWS, STRICT, table

# How the private table is spoilt, what is declared of it, and how it is read then.
SPOILT = {
    "text in numbers": ("age", RARE, "schema.yaml", ()),
    "text in decimals": ("weight", f"{DECIMAL}{RARE}", "schema.yaml", ()),
    "text in booleans": ("ill", RARE, "schema.yaml", ()),
    "no value": ("height", None, "schema.yaml", ()),
    "unknown category": ("ward", RARE, "strict.yaml", ()),
    "no user": ("person", None, "schema.yaml", ("--unit", "person")),
    "a gap after the purchase": (
        *("height", None, None),
        (
            "--private-schema",
            "--estimate-columns",
            "all",
            "--estimate-columns",
            "note",
            "--label",
            "ill",
            "--drop",
            "person",
        ),
    ),
    "ids to estimate": (
        "height",
        "150",
        None,
        (
            "--private-schema",
            "--estimate-columns",
            "all",
            "--estimate-columns",
            "note",
            "--label",
            "ill",
        ),
    ),
}


def spoil(scene, name, cell):
    """Put a cell into the marked row, in a column of text."""
    private = table()
    cells = [str(one).lower() for one in private[name].to_pylist()]
    cells[MARKED] = cell
    place = private.schema.get_field_index(name)
    scene.store(private.set_column(place, name, pa.array(cells, pa.string())))
    STRICT.save(scene.private / "strict.yaml")


def quoting(kind):
    """Return what fails with words that quote the table, as those of other libraries may."""

    def fail(*_, **__):
        raise kind(f"{RARE} in an array of shape ({ROWS}, {COUNTS[1]})")

    return fail
