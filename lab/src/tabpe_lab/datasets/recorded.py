"""Published data sets: their files, how sources are converted, and the tables in them."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files as package_files
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tabpe._utils.arrays import try_call
from tabpe.errors import DataError, ParameterError
from tabpe.schema import Categorical, Column, Float, Integer, Schema
from tabpe_lab.datasets.dataset import DataSplit, split_rows
from tabpe_lab.datasets.download import ConvertedFile, DataFile, RemoteFile, read_columns
from tabpe_lab.datasets.simulated import draw_xor_table, make_scm_schema, make_xor_schema

_MOST_UNPACKED = 256 * 2**20
_PEOPLE = 22
# Images are halved to so many pixels a side; these many bytes come before the first pixel or label.
PIXELS, _IMAGES_AT, _LABELS_AT = 14, 16, 8
ADULT_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income", "split"),
)
MONKS_COLUMNS = ("problem", "split", "a1", "a2", "a3", "a4", "a5", "a6", "class")
SPLITS = ("train", "val", "test")
_HARDLY = 1e-9  # by how much a number may differ in its last digits
ARRAYS = ("X_train", "y_train", "X_test", "y_test")


def normalize_newlines(parts: Sequence[bytes]) -> ConvertedFile:
    """Keep a CSV file as it is, but for the ends of its lines."""
    (part,) = parts
    return _pack_content(part.replace(b"\r\n", b"\n"))


def parse_insurance(parts: Sequence[bytes]) -> ConvertedFile:
    """Keep the table; decimals are written as Python writes them."""
    (part,) = parts
    header, *lines = csv.reader(io.StringIO(part.decode()))
    write = [_format_decimal if name in ("bmi", "charges") else str for name in header]
    return _build_csv(
        header, ([put(cell) for put, cell in zip(write, line, strict=True)] for line in lines)
    )


def parse_adult(parts: Sequence[bytes]) -> ConvertedFile:
    """Join the two files of UCI Adult, and take the full stops off the labels of one."""
    (archive,) = parts
    rows: list[list[str]] = []
    for split, member in (("train", "adult.data"), ("test", "adult.test")):
        lines = csv.reader(io.StringIO(_read_text_member(archive, member)), skipinitialspace=True)
        found = (line for line in lines if len(line) == len(ADULT_COLUMNS) - 1)
        rows += [[*line[:-1], line[-1].removesuffix("."), split] for line in found]
    return _build_csv(ADULT_COLUMNS, rows)


def parse_bank(parts: Sequence[bytes]) -> ConvertedFile:
    """Take the full table out of the archive in the archive, and commas for semicolons."""
    (archive,) = parts
    inner = _read_member(archive, "bank.zip")
    header, *rows = csv.reader(
        io.StringIO(_read_text_member(inner, "bank-full.csv")), delimiter=";"
    )
    return _build_csv(header, rows)


def parse_monks(parts: Sequence[bytes]) -> ConvertedFile:
    """Join the six files of the three problems; a name of the row at the end of a line is left."""
    (archive,) = parts
    rows = [
        [str(problem), split, *words[1:7], words[0]]
        for problem in (1, 2, 3)
        for split in ("train", "test")
        for words in map(
            str.split, _read_text_member(archive, f"monks-{problem}.{split}").splitlines()
        )
        if words
    ]
    return _build_csv(MONKS_COLUMNS, rows)


def parse_walking(parts: Sequence[bytes]) -> ConvertedFile:
    """Join the files of all people; decimals are written as Python writes them."""
    (archive,) = parts
    rows = (
        [*map(_format_decimal, line), str(person)]
        for person in range(1, _PEOPLE + 1)
        for line in csv.reader(io.StringIO(_read_text_member(archive, f"{person}.csv")))
        if line
    )
    return _build_csv(["time", "x", "y", "z", "person"], rows)


def parse_person_activity(parts: Sequence[bytes]) -> ConvertedFile:
    """Join validation and test rows of the authors."""
    return _join_splits(("val", "test"), parts)


def parse_splits(parts: Sequence[bytes]) -> ConvertedFile:
    """Join training, validation and test rows of the authors."""
    return _join_splits(SPLITS, parts)


def parse_xor_splits(parts: Sequence[bytes]) -> ConvertedFile:
    """Join the parts of the authors' XOR data, of which all rows are known but for their part."""
    joined = parse_splits(parts)
    header, *rows = csv.reader(io.StringIO(joined.content.decode()))
    given = np.array([line[:-1] for line in rows], dtype=np.float64)
    drawn = draw_xor_table(len(header) - 2, len(given))
    known = np.column_stack([column.to_numpy() for column in drawn.columns])
    order, other = (np.lexsort(cells.T) for cells in (given, known))
    if not np.allclose(given[order], known[other], rtol=0, atol=_HARDLY):
        raise ValueError("other rows than those of the stress test")
    return joined


def _join_splits(names: Sequence[str], parts: Sequence[bytes]) -> ConvertedFile:
    rows: list[list[str]] = []
    headers = []
    for split, part in zip(names, parts, strict=True):
        header, *lines = csv.reader(io.StringIO(part.decode()))
        headers.append(header)
        rows += [[*line, split] for line in lines if line]
    if any(header != headers[0] for header in headers):
        raise ValueError("parts with other columns")
    return _build_csv([*headers[0], "split"], rows)


def parse_mnist(parts: Sequence[bytes]) -> ConvertedFile:
    """Take the mean of two by two pixels of images; parts are as in `ARRAYS`."""
    unpacked = [_decompress_gzip(part) for part in parts]
    arrays = [
        read(part) for read, part in zip((_parse_images, _parse_labels) * 2, unpacked, strict=True)
    ]
    file = io.BytesIO()
    named: dict[str, Any] = dict(zip(ARRAYS, arrays, strict=True))
    np.savez_compressed(file, **named)
    return ConvertedFile(file.getvalue(), b"".join(array.tobytes() for array in arrays))


def _parse_images(content: bytes) -> NDArray[np.uint8]:
    pixels = np.frombuffer(content, np.uint8, offset=_IMAGES_AT)
    sums = pixels.reshape(-1, PIXELS, 2, PIXELS, 2).sum(axis=(2, 4), dtype=np.uint16)
    means: NDArray[np.uint8] = np.rint(sums / 4).astype(np.uint8)
    return means


def _parse_labels(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, np.uint8, offset=_LABELS_AT)


def _format_decimal(cell: str) -> str:
    return repr(float(cell))


def _build_csv(header: Sequence[str], rows: Iterable[Sequence[str]]) -> ConvertedFile:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return _pack_content(text.getvalue().encode())


def _pack_content(content: bytes) -> ConvertedFile:
    return ConvertedFile(gzip.compress(content, mtime=0), content)


def _read_text_member(archive: bytes, name: str) -> str:
    return _read_member(archive, name).decode()


def _read_member(archive: bytes, name: str) -> bytes:
    """Return a file of an archive, in whichever folder it is."""
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        (found,) = (each for each in opened.namelist() if each.rpartition("/")[2] == name)
        with opened.open(found) as file:
            return _read_limited(file.read)


def _decompress_gzip(content: bytes) -> bytes:
    with gzip.open(io.BytesIO(content)) as file:
        return _read_limited(file.read)


def _read_limited(read: Callable[[int], bytes]) -> bytes:
    content = read(_MOST_UNPACKED + 1)
    if len(content) > _MOST_UNPACKED:
        raise ValueError("unpacks to too much")
    return content


_UCI = "https://archive.ics.uci.edu/static/public"
_AUTHORS = "https://raw.githubusercontent.com/toan-vt/cloud-data-store"
_REAL = f"{_AUTHORS}/acf5b455c4b2c6e1d110869a412aaba24b55c172/tabular/real"
_MNIST = "https://storage.googleapis.com/cvdf-datasets/mnist"

ADULT = DataFile(
    "adult.csv.gz",
    RemoteFile(
        (f"{_UCI}/2/adult.zip",),
        parse_adult,
        "d99d5b2c07ff6c7e09b6e0cefe115f6835d5c7b6efebdb9276238f1243c6369b",
    ),
)
BANK = DataFile(
    "bank.csv.gz",
    RemoteFile(
        (f"{_UCI}/222/bank+marketing.zip",),
        parse_bank,
        "b44507c26634736d4a0619ec2d7c4b6ff56a2c63cbeb5176d3134e7b25e416f0",
    ),
)
INSURANCE = DataFile(
    "insurance.csv.gz",
    RemoteFile(
        (
            "https://raw.githubusercontent.com/stedy/Machine-Learning-with-R-datasets/"
            "9a8371e95098f3048c5540646b9fb96c7571b110/insurance.csv",
        ),
        parse_insurance,
        "bf24b412bee5075f277201c613a5e45f2704a9c28bf9fe7e6638b2c05cb4a014",
    ),
)
MONKS = DataFile(
    "monks.csv.gz",
    RemoteFile(
        (f"{_UCI}/70/monk+s+problems.zip",),
        parse_monks,
        "c80dbe49285617f2dafb2ab444fc729faf74030299555911de1073264cb2b6c4",
    ),
)
WALKING = DataFile(
    "walking_activity.csv.gz",
    RemoteFile(
        (f"{_UCI}/286/user+identification+from+walking+activity.zip",),
        parse_walking,
        "199677655713ed6c59e49187bbce66acb9d3b9756c39d69e8b54b8acac123e70",
    ),
)
PERSON_ACTIVITY = DataFile(
    "person_activity_49k.csv.gz",
    RemoteFile(
        tuple(f"{_REAL}/person-activity/person-activity_{part}.csv" for part in ("val", "test")),
        parse_person_activity,
        "c3d261dc847656396e36bce8a4ab2d1becb68f0981f59fa9dd2f180562c5f933",
    ),
)
MNIST = DataFile(
    "mnist14.npz",
    RemoteFile(
        tuple(
            f"{_MNIST}/{part}-ubyte.gz"
            for part in (
                "train-images-idx3",
                "train-labels-idx1",
                "t10k-images-idx3",
                "t10k-labels-idx1",
            )
        ),
        parse_mnist,
        "4e3d9c1c4393bfc52c6f43e2d9710fd6ed61c8d1026a6a7e6d7c9f23db00b272",
    ),
)


def _make_splits_file(
    name: str,
    urls: Sequence[str],
    *,
    convert: Callable[[Sequence[bytes]], ConvertedFile] = parse_splits,
    sizes: tuple[int, ...] = (),
    blobs: tuple[str | None, ...] = (),
) -> DataFile:
    """Return a file of the three parts of the authors, of which no digest of ours is known."""
    return DataFile(name, RemoteFile(tuple(urls), convert, None, sizes=sizes, blobs=blobs))


def _list_parts(folder: str, name: str = "data") -> list[str]:
    return [f"{folder}/{name}_{part}.csv" for part in SPLITS]


# As committed by the authors. Git's names of the first three are known, of the others the sizes.
_WHOLE = f"{_AUTHORS}/925e23f6339d53cdfe1ba0f9e211aaf6b6785281/tabular"
_SCM = "ef9443d863fced5faff13d0e5c61b9302eec01a5"
_SCM_TREE = "f3fad42c2793ba11b1c4110658d8df8e3693ce84"
_XOR = f"{_AUTHORS}/e2bd9d023b3475617402ba7b5fea8fefaa7c3392/tabular/sim/xor-stress-test"
PERSON_ACTIVITY_WHOLE = _make_splits_file(
    "person_activity.csv.gz",
    _list_parts(_WHOLE, "person-activity"),
    sizes=(4_355_787, 932_917, 933_284),
    blobs=(
        "4872d39fe139687c984ff282e38148de241c0f15",
        "820f9b7fcb4d64c0e520d0fc5afdf0a90b667258",
        "ab1385b3fad1c299de496cd23c502a5fa8f33fc0",
    ),
)
AUTHORS_SCM = {
    "tree": _make_splits_file(
        "scm_tree_authors.csv.gz",
        _list_parts(f"{_AUTHORS}/{_SCM_TREE}/tabular/sim/scm/tree"),
        sizes=(5_490_535, 1_176_462, 1_176_335),
    ),
    "nn": _make_splits_file(
        "scm_nn_authors.csv.gz",
        _list_parts(f"{_AUTHORS}/{_SCM}/tabular/sim/scm/nn"),
        sizes=(5_490_523, 1_176_361, 1_176_448),
    ),
    "rff": _make_splits_file(
        "scm_rff_authors.csv.gz",
        _list_parts(f"{_AUTHORS}/{_SCM}/tabular/sim/scm/rff"),
        sizes=(5_490_169, 1_176_595, 1_176_568),
    ),
}
MOST_XOR_FEATURES = 7


def make_xor_file(features: int) -> DataFile:
    """Return the file of the authors' split of XOR data.

    Raises:
        ParameterError: If they published none of so many features.

    Example:
        >>> make_xor_file(3).name
        'xor_3_authors.csv.gz'
    """
    if not 1 <= features <= MOST_XOR_FEATURES:
        raise ParameterError(
            f"features={features}: the authors published 1 to {MOST_XOR_FEATURES}; use 'xor'."
        )
    folder = f"{_XOR}/{features}_feature_xor"
    name = f"xor_{features}_authors.csv.gz"
    return _make_splits_file(name, _list_parts(folder), convert=parse_xor_splits)


def _make_characters_file(part: str, folder: str, sha256: str) -> DataFile:
    url = f"{folder}/artificial-characters_{part}.csv"
    return DataFile(
        f"artificial_characters_{part}.csv.gz", RemoteFile((url,), normalize_newlines, sha256)
    )


CHARACTERS = (
    _make_characters_file(
        "train",
        f"{_AUTHORS}/8cea438a9b884344a9fcf568f4240390b70bf719/tabular",
        "074a6b0415eb89ce83456930627240e96172a6e27a25f9e7644a5b57463fcb59",
    ),
    _make_characters_file(
        "val",
        f"{_REAL}/artificial-characters",
        "730754022324410debd0c94f449339818dacdcf66d4b918ae829120448cbc560",
    ),
    _make_characters_file(
        "test",
        f"{_REAL}/artificial-characters",
        "9ba33b9698a0744e8644e1bfe18c8a8ad02cf4c7edc579436a6e01bf7a84e0c4",
    ),
)


HIGH_CHARGES = 20_000.0
DIGITS = 10
_BRIGHTEST = 255
_VALIDATION = 10_000
_SPLIT = Categorical("split", SPLITS)


def load_schema(name: str) -> Schema:
    """Return the schema that comes with the package.

    Example:
        >>> load_schema("monk").class_names
        ('0', '1')
    """
    return Schema.load(str(package_files("tabpe_lab.datasets") / "schemas" / f"{name}.yaml"))


def read_adult() -> pa.Table:
    """Return the rows that the authors use: none of UCI's test rows with a missing answer."""
    schema = load_schema("adult")
    table = _read_with_columns(ADULT, schema, _SPLIT)
    answers = (table[column.name] for column in schema.columns if _may_be_missing(column))
    lacking = np.any([_match_value(column, "?") for column in answers], axis=0)
    kept = ~(lacking & _match_value(table["split"], "test"))
    return table.filter(pa.array(kept)).select(schema.names)


def read_bank() -> pa.Table:
    """Return all clients."""
    return read_columns(BANK, load_schema("bank"))


def read_breast_cancer() -> pa.Table:
    """Return all patients; the rows come with scikit-learn."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    diagnosis, *features = load_schema("breast-cancer").names
    words = found.target_names[found.target].astype(str)
    return pa.table(
        {
            diagnosis: pa.array(np.char.upper(words.astype("U1")).tolist()),
            **dict(zip(features, found.data.T, strict=True)),
        }
    )


def read_insurance() -> pa.Table:
    """Return all patients, with charges as low or high."""
    schema = load_schema("insurance")
    charges = Float("charges", 0.0, 10**6)
    columns = tuple(charges if each.name == charges.name else each for each in schema.columns)
    table = read_columns(INSURANCE, Schema(columns))
    high = pc.if_else(pc.greater(table["charges"], HIGH_CHARGES), "high", "low")
    return table.set_column(table.schema.get_field_index("charges"), "charges", high)


def read_monk(problem: int) -> pa.Table:
    """Return training and test rows of one of the three problems."""
    schema = load_schema("monk")
    table = _read_with_columns(MONKS, schema, Integer("problem", 1, 3))
    return table.filter(pc.equal(table["problem"], problem)).select(schema.names)


def read_person_activity() -> pa.Table:
    """Return what can be had: validation and test rows of the authors."""
    return read_columns(PERSON_ACTIVITY, load_schema("person-activity"))


def read_whole_person_activity() -> DataSplit:
    """Return the three parts of the authors."""
    return _read_splits(PERSON_ACTIVITY_WHOLE, load_schema("person-activity"))


def read_authors_scm(prior: str) -> DataSplit:
    """Return the three parts of the authors, of one of their models.

    Args:
        prior: `tree`, `nn` or `rff`.
    """
    return _read_splits(AUTHORS_SCM[prior], make_scm_schema())


def read_authors_xor(features: int) -> DataSplit:
    """Return the three parts of the authors."""
    return _read_splits(make_xor_file(features), make_xor_schema(features))


def pool_rows(read: Callable[..., DataSplit], **options: int) -> pa.Table:
    """Return the rows of all parts of a data set.

    Args:
        read: Returns the parts.
        options: Its options.
    """
    parts = read(**options)
    return pa.concat_tables([parts.train, parts.validation, parts.test])


def _read_splits(file: DataFile, schema: Schema) -> DataSplit:
    """Return the parts that the column `split` names."""
    table = _read_with_columns(file, schema, _SPLIT)
    parts = (table.filter(pc.equal(table["split"], part)) for part in SPLITS)
    train, validation, test = (part.select(schema.names) for part in parts)
    lacking = [n for n, part in zip(SPLITS, (train, validation, test), strict=True) if not part]
    if lacking:
        raise DataError(f"{file.name}: no row has {' or '.join(lacking)} in its column split.")
    return DataSplit(train, validation, test)


def read_walking_activity() -> pa.Table:
    """Return the walks of all people."""
    return read_columns(WALKING, load_schema("walking-activity"))


def read_artificial_characters_split() -> DataSplit:
    """Return the parts that the authors published."""
    schema = load_schema("artificial-characters")
    return DataSplit(*(read_columns(file, schema) for file in CHARACTERS))


def read_artificial_characters() -> pa.Table:
    """Return all strokes."""
    return pool_rows(read_artificial_characters_split)


def make_mnist_schema() -> Schema:
    """Return the brightness of each pixel, row by row, and the digit.

    Example:
        >>> make_mnist_schema().names[-2:]
        ('pixel_195', 'digit')
    """
    pixels = (Integer(f"pixel_{place}", 0, _BRIGHTEST) for place in range(PIXELS**2))
    return Schema((*pixels, Categorical("digit", tuple(range(DIGITS)))), label="digit")


def read_mnist() -> pa.Table:
    """Return all images."""
    return pa.concat_tables(_read_mnist_tables())


def read_mnist_split() -> DataSplit:
    """Return the usual training and test images, with a part of the first for validation."""
    known, test = _read_mnist_tables()
    aside = min(_VALIDATION, known.num_rows // 5)
    share = aside / known.num_rows
    train, validation = split_rows(np.arange(known.num_rows), known["digit"], share, seed=0)
    return DataSplit(known.take(train), known.take(validation), test)


def _read_mnist_tables() -> list[pa.Table]:
    path = MNIST.find_or_download()
    tables = try_call(lambda: _unpack_arrays(path.read_bytes()), Exception)
    if tables is None:
        sides = f"{PIXELS} by {PIXELS} pixels"
        raise DataError(f"{path}: expected the arrays {', '.join(ARRAYS)}, of {sides}.")
    return tables


def _unpack_arrays(content: bytes) -> list[pa.Table]:
    with np.load(io.BytesIO(content), allow_pickle=False) as opened:
        train, train_digits, test, test_digits = (opened[name] for name in ARRAYS)
    return [_build_image_table(train, train_digits), _build_image_table(test, test_digits)]


def _build_image_table(pixels: NDArray[np.uint8], digits: NDArray[np.uint8]) -> pa.Table:
    columns = [*pixels.reshape(len(pixels), -1).T.astype(np.int64), digits.astype(np.int64)]
    return pa.table(dict(zip(make_mnist_schema().names, columns, strict=True)))


def _read_with_columns(file: DataFile, schema: Schema, *more: Column) -> pa.Table:
    """Read the columns of a schema, and some that say which rows these are."""
    return read_columns(file, Schema((*schema.columns, *more)))


def _may_be_missing(column: Column) -> bool:
    return isinstance(column, Categorical) and "?" in column.values


def _match_value(column: pa.ChunkedArray, value: str) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.equal(column, value).to_numpy(zero_copy_only=False)
    return found
