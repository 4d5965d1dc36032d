"""Would the neighbour tester have found it? Old behaviours are put back, one at a time.

Each let the way in which a table happens to be stored decide something. The tester must find each
within the examples that the CI takes.
"""

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import Phase, given

import storage
from neighbours import (
    ESTIMATED,
    SHARES,
    assert_release,
    assert_rows,
    assert_same,
    assert_users,
    estimated_scenes,
    frame_forms,
    scenes,
    tried,
)
from storage import is_missing
from tabpe._utils.arrays import is_text
from tabpe.backends import raw_columns, users
from tabpe.encoding import cells, raw_cells
from tabpe.encoding import cells as moments
from tabpe.errors import DataError, TabpeError
from tabpe.io import canonical, frames, source, typed_files
from tabpe.synthesizers.base import Release

CHECKS = {
    "rows": (assert_rows, scenes(), {}),
    "users": (assert_users, scenes(users=True), {}),
    "same": (assert_same, scenes(), {}),
    "release": (assert_release, scenes(most=12, forms=frame_forms), {}),
    "estimated": (assert_release, estimated_scenes(), ESTIMATED),
}


def is_found(name, folder):
    """Whether a property is refuted by as many examples as the CI takes."""
    check, drawn, changes = CHECKS[name]

    @tried(name, derandomize=True, max_examples=SHARES[name], phases=[Phase.generate])
    @given(scene=drawn)
    def run(scene):
        storage.empty(folder)
        check(scene, folder, **changes)

    try:
        run()
    except (AssertionError, TabpeError, TypeError, ValueError):
        return True
    return False


# Old behaviours: each puts itself back.


def hash_bits_of_storage(patch):
    def hashed(array, key, old=canonical._hash_numbers):
        if pa.types.is_integer(array.type):
            whole = array.cast(pa.int64(), safe=False).fill_null(0)
            return whole.to_numpy(zero_copy_only=False).view(np.uint64)
        return old(array, key)

    patch.setattr(canonical, "_hash_numbers", hashed)


def keep_the_unit_of_instants(patch):
    def canonical_kind(kind, old=canonical._is_canonical):
        return pa.types.is_timestamp(kind) or old(kind)

    patch.setattr(canonical, "_is_canonical", canonical_kind)


def keep_the_digits_of_decimals(patch):
    def of(array, name, old=canonical._canonicalize_array):
        if pa.types.is_decimal(array.type):
            return pc.utf8_lower(array.cast(pa.string()))
        return old(array, name)

    patch.setattr(canonical, "_canonicalize_array", of)


def cast_categories_by_type(patch):
    def found(array, values):
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        listed = pa.array([str(value) for value in values])
        return canonical._lookup_indices(array.cast(pa.string()), listed)

    patch.setattr(cells, "find_values", found)


def release_in_the_types_of_the_private_frame(patch):
    known = {}

    def opened(data, old=frames.read_frame):
        known.clear()
        known.update(getattr(data, "dtypes", {}) if type(data).__module__[:6] == "pandas" else {})
        return old(data)

    def framed(release, table, old=Release._to_frame):
        frame = old(release, table)
        for name, dtype in known.items():
            if release.library == "pandas" and name in frame and dtype.kind in "if":
                frame[name] = frame[name].astype("float64" if dtype.kind == "f" else "Int64")
        return frame

    patch.setattr(source, "read_frame", opened)
    patch.setattr(Release, "_to_frame", framed)


def refuse_unlisted_categories(patch):
    def codes(column, found, *, strict=False, old=cells.encode_codes):
        return old(column, found, strict=True)

    patch.setattr(cells, "encode_codes", codes)


def refuse_unreadable_numbers(patch):
    def fitted(*given, old=cells.apply_invalid_rule, **more):
        return old(*given, **(more | {"strict": True}))

    patch.setattr(cells, "apply_invalid_rule", fitted)


def refuse_many_values(patch):
    def number(values, value):
        if len(values.known) >= 5:
            raise DataError("too many values")
        return values.known.setdefault(value, len(values.known))

    patch.setattr(raw_columns._ValueNumbering, "_assign_number", number)


def take_kinds_from_types(patch):
    def of(array, old=raw_columns.find_kind_cells):
        whole = pa.types.is_integer(array.type)
        return np.full(len(array), raw_cells.WHOLE) if whole else old(array)

    patch.setattr(raw_columns, "find_kind_cells", of)


def unify_the_types_of_files(patch):
    def batches(opened, wanted, old=source.FileSource._iterate_batches):
        read = [
            dataclasses.replace(file_batch, table=table)
            for file_batch, table in _unified(list(_raw(opened, wanted)))
        ]
        yield from read

    def _raw(opened, wanted):
        for file, found in opened.files:
            for part in source.regroup_batches(opened._read_file(file, found, wanted)):
                yield part.select(wanted)

    def _unified(tables):
        try:
            whole = pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise DataError("the files have different types") from error
        yield source.Batch(whole, None, 0), whole

    patch.setattr(source.FileSource, "_iterate_batches", batches)


def leave_text_as_it_is(patch):
    patch.setattr(canonical, "_normalize_text", lambda text: text)


def take_nan_for_a_value(patch):
    def missing(array, old=canonical.find_missing):
        return np.zeros(len(array), bool) if pa.types.is_floating(array.type) else old(array)

    for module in (canonical, raw_columns, cells):
        patch.setattr(module, "find_missing", missing)


def read_dates_by_their_format_alone(patch):
    def of_iso(column, array, old=moments._parse_iso):
        if getattr(column, "format", None) is not None and not pa.types.is_temporal(array.type):
            return pa.nulls(len(array), pa.int64())
        return old(column, array)

    patch.setattr(moments, "_parse_iso", of_iso)


def take_the_type_of_the_first_object(patch):
    import pandas as pd

    known = {"string", "boolean", "integer", "decimal", "date", "datetime", "time"}

    def of_one_type(column):
        return pd.api.types.infer_dtype(column, skipna=True) in known

    patch.setattr(frames, "_are_of_one_type", of_one_type)


def keep_the_first_rows_of_a_user(patch):
    def chosen(owners, contents, most):
        order = np.argsort(owners, kind="stable")
        kept = np.zeros(len(owners), dtype=bool)
        kept[order[users._rank_within_group(owners[order]) < most]] = True
        return kept

    patch.setattr(users, "_choose_rows", chosen)


def round_large_integers_beside_a_null(patch):
    def of(table, old=canonical.canonicalize_table):
        columns = [
            cells.cast(pa.float64(), safe=False)
            if pa.types.is_integer(cells.type) and cells.null_count
            else cells
            for cells in table.columns
        ]
        return old(pa.table(columns, names=table.column_names))

    patch.setattr("tabpe.io.batches.canonicalize_table", of)


def leave_bytes_as_they_are(patch):
    def found(kind):
        return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)

    patch.setattr(canonical, "holds_text", found)


def normalize_numbers_beside_text(patch):
    def normalized(column, rules):
        texts = [None if is_missing(cell) else str(cell) for cell in column.tolist()]
        cells = [None if text is None else rules.normalize(text) for text in texts]
        return type(column)(cells, index=column.index, dtype=object)

    patch.setattr(frames, "_normalize_objects", normalized)


def take_columns_from_the_keys_of_rows(patch):
    def named(file, old=typed_files.JsonLinesFile._read_names):
        plain = dataclasses.replace(file.reading, names=())
        return old(dataclasses.replace(file, reading=plain))

    patch.setattr(typed_files.JsonLinesFile, "_read_names", named)


OLD = [
    (hash_bits_of_storage, "users"),
    (hash_bits_of_storage, "same"),
    (keep_the_unit_of_instants, "rows"),
    (keep_the_unit_of_instants, "users"),
    (keep_the_digits_of_decimals, "rows"),
    (cast_categories_by_type, "rows"),
    (cast_categories_by_type, "release"),
    (release_in_the_types_of_the_private_frame, "release"),
    (refuse_unlisted_categories, "rows"),
    (refuse_unlisted_categories, "release"),
    (refuse_unlisted_categories, "estimated"),
    (refuse_unreadable_numbers, "estimated"),
    (refuse_many_values, "rows"),
    (take_kinds_from_types, "rows"),
    (unify_the_types_of_files, "rows"),
    (leave_text_as_it_is, "rows"),
    (take_nan_for_a_value, "rows"),
    (read_dates_by_their_format_alone, "rows"),
    (take_the_type_of_the_first_object, "rows"),
    (keep_the_first_rows_of_a_user, "users"),
    (round_large_integers_beside_a_null, "rows"),
    (leave_bytes_as_they_are, "rows"),
    (normalize_numbers_beside_text, "rows"),
    (take_columns_from_the_keys_of_rows, "rows"),
]


@pytest.mark.parametrize(("old", "name"), OLD, ids=lambda one: getattr(one, "__name__", one))
def test_an_old_behaviour_is_found(old, name, tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", lambda _: None)
    old(monkeypatch)
    assert is_found(name, tmp_path)
