"""The tables that were not drawn by us: whole, or in the parts that they are published in."""

from __future__ import annotations

import io
from importlib.resources import files as package_files

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._arrow import attempt
from tabpe.datasets import originals
from tabpe.datasets.dataset import Parts
from tabpe.datasets.files import DataFile, read
from tabpe.datasets.sources import ARRAYS, PIXELS
from tabpe.datasets.splits import cut
from tabpe.errors import DataError
from tabpe.schema import Categorical, Column, Float, Integer, Schema

HIGH_CHARGES = 20_000.0
DIGITS = 10
_BRIGHTEST = 255
_VALIDATION = 10_000
_SPLIT = Categorical("split", ("train", "val", "test"))


def schema_of(name: str) -> Schema:
    """Return the schema that comes with the package.

    Example:
        >>> schema_of("monk").class_names
        ('0', '1')
    """
    return Schema.load(str(package_files("tabpe.datasets") / "schemas" / f"{name}.yaml"))


def adult() -> pa.Table:
    """Return the rows that the authors use: none of UCI's test rows with a missing answer."""
    schema = schema_of("adult")
    table = _read_beside(originals.ADULT, schema, _SPLIT)
    answers = (table[column.name] for column in schema.columns if _may_lack(column))
    lacking = np.any([_is(column, "?") for column in answers], axis=0)
    kept = ~(lacking & _is(table["split"], "test"))
    return table.filter(pa.array(kept)).select(schema.names)


def bank() -> pa.Table:
    """Return all clients."""
    return read(originals.BANK, schema_of("bank"))


def breast_cancer() -> pa.Table:
    """Return all patients; the rows come with scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    diagnosis, *features = schema_of("breast-cancer").names
    words = found.target_names[found.target].astype(str)
    return pa.table(
        {
            diagnosis: pa.array(np.char.upper(words.astype("U1")).tolist()),
            **dict(zip(features, found.data.T, strict=True)),
        }
    )


def insurance() -> pa.Table:
    """Return all patients, with charges as low or high."""
    schema = schema_of("insurance")
    charges = Float("charges", 0.0, 10**6)
    columns = tuple(charges if each.name == charges.name else each for each in schema.columns)
    table = read(originals.INSURANCE, Schema(columns))
    high = pc.if_else(pc.greater(table["charges"], HIGH_CHARGES), "high", "low")
    return table.set_column(table.schema.get_field_index("charges"), "charges", high)


def monk(problem: int) -> pa.Table:
    """Return training and test rows of one of the three problems."""
    schema = schema_of("monk")
    table = _read_beside(originals.MONKS, schema, Integer("problem", 1, 3))
    return table.filter(pc.equal(table["problem"], problem)).select(schema.names)


def person_activity() -> pa.Table:
    """Return what can be had: validation and test rows of the authors."""
    return read(originals.PERSON_ACTIVITY, schema_of("person-activity"))


def walking_activity() -> pa.Table:
    """Return the walks of all people."""
    return read(originals.WALKING, schema_of("walking-activity"))


def artificial_characters_parts() -> Parts:
    """Return the parts that the authors published."""
    schema = schema_of("artificial-characters")
    return Parts(*(read(file, schema) for file in originals.CHARACTERS))


def artificial_characters() -> pa.Table:
    """Return all strokes."""
    parts = artificial_characters_parts()
    return pa.concat_tables([parts.train, parts.validation, parts.test])


def mnist_schema() -> Schema:
    """Return the brightness of each pixel, row by row, and the digit.

    Example:
        >>> mnist_schema().names[-2:]
        ('pixel_195', 'digit')
    """
    pixels = (Integer(f"pixel_{place}", 0, _BRIGHTEST) for place in range(PIXELS**2))
    return Schema((*pixels, Categorical("digit", tuple(range(DIGITS)))), label="digit")


def mnist() -> pa.Table:
    """Return all images."""
    return pa.concat_tables(_mnist_tables())


def mnist_parts() -> Parts:
    """Return the usual training and test images, with a part of the first for validation."""
    known, test = _mnist_tables()
    aside = min(_VALIDATION, known.num_rows // 5)
    share = aside / known.num_rows
    train, validation = cut(np.arange(known.num_rows), known["digit"], share, seed=0)
    return Parts(known.take(train), known.take(validation), test)


def _mnist_tables() -> list[pa.Table]:
    path = originals.MNIST.found()
    tables = attempt(lambda: _unpacked(path.read_bytes()), Exception)
    if tables is None:
        sides = f"{PIXELS} by {PIXELS} pixels"
        raise DataError(f"{path}: expected the arrays {', '.join(ARRAYS)}, of {sides}.")
    return tables


def _unpacked(content: bytes) -> list[pa.Table]:
    with np.load(io.BytesIO(content), allow_pickle=False) as opened:
        train, train_digits, test, test_digits = (opened[name] for name in ARRAYS)
    return [_images(train, train_digits), _images(test, test_digits)]


def _images(pixels: NDArray[np.uint8], digits: NDArray[np.uint8]) -> pa.Table:
    columns = [*pixels.reshape(len(pixels), -1).T.astype(np.int64), digits.astype(np.int64)]
    return pa.table(dict(zip(mnist_schema().names, columns, strict=True)))


def _read_beside(file: DataFile, schema: Schema, *more: Column) -> pa.Table:
    """Read the columns of a schema, and some that say which rows these are."""
    return read(file, Schema((*schema.columns, *more)))


def _may_lack(column: Column) -> bool:
    return isinstance(column, Categorical) and "?" in column.values


def _is(column: pa.ChunkedArray, value: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.equal(column, value).to_numpy(zero_copy_only=False)
    return found
