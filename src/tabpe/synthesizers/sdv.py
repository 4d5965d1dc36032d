"""`TabPESynthesizer`: tabpe under the names of SDV's synthesizers of single tables.

For programs that are written for those: `fit`, `validate`, `sample(num_rows)`,
`sample_from_conditions`, `sample_remaining_columns`, `reset_sampling`, `get_metadata`, `save` and
`load`. As from SDV 2.0 on, a table may be given as `{"name": frame}`; rows come out in that form
then. Numbers have the `computer_representation` of the metadata, where the schema fits into it.

The metadata of SDV have neither bounds nor lists of values, and reading them off the table is not
private. So they are declared beside the metadata, or estimated with a part of the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from tabpe.encoding.cells import find_column_misfits
from tabpe.errors import DataError, ParameterError, did_you_mean, shown
from tabpe.io import use_source
from tabpe.io.source import check_plain_columns
from tabpe.schema import Column, Id, Integer, PartialSchema, Schema
from tabpe.schema.files import read_schema_file
from tabpe.schema.importers import imported
from tabpe.schema.table_format import TableReading
from tabpe.synthesizers.tabpe import TabPE

PRIVATE = "private"
_BOUNDS = {
    f"{sign}int{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if not sign else (0, 2**bits - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}


class TabPESynthesizer:
    """A synthesizer with the names of SDV.

    Guarantee: that of `TabPE`, which `certificate` states.

    Args:
        metadata: Metadata of SDV: an object with `to_dict`, plain values, or the path of a file.
        domains: For each column what is publicly known of it beside: fields of its type, such as
            `{"age": {"min": 0, "max": 120}, "ward": {"values": ["eye", "heart"]}}`. What is not
            given is estimated.
        table_name: Which table, if the metadata have several.
        settings: Of `TabPE`: epsilon, label, random_state, and so on.

    Example:
        >>> import pyarrow as pa
        >>> metadata = {
        ...     "METADATA_SPEC_VERSION": "SINGLE_TABLE_V1",
        ...     "columns": {
        ...         "age": {"sdtype": "numerical", "computer_representation": "Int64"},
        ...         "ill": {"sdtype": "boolean"},
        ...     },
        ... }
        >>> synthesizer = TabPESynthesizer(
        ...     metadata, {"age": {"min": 0, "max": 120}}, delta=1e-6, random_state=0, verbose=0
        ... )
        >>> table = pa.table({"age": [30, 60] * 100, "ill": [False, True] * 100})
        >>> synthesizer.fit(table)
        >>> synthesizer.sample(num_rows=5).num_rows
        5
    """

    def __init__(
        self,
        metadata: Any,
        domains: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        table_name: str | None = None,
        **settings: Any,
    ) -> None:
        self._metadata = metadata
        plain = metadata.to_dict() if hasattr(metadata, "to_dict") else metadata
        found = imported(plain, tool="sdv", table=table_name)
        self._kinds = _list_representations(plain, table_name)
        self._table_name = table_name
        self._wrapped: str | None = None
        self._plain = _declare_domains(found.plain, domains or {})
        gaps = {"schema": PRIVATE} if PartialSchema.from_schema(self._plain).missing else {}
        self._model = TabPE(**{**gaps, **settings})
        self._left_out = found.left_out

    def fit(self, data: Any) -> None:
        """Fit a private table: whatever `TabPE.fit` takes, or `{"name": table}`."""
        data, self._wrapped = self._unwrap(data)
        if self._model.schema == PRIVATE:
            self._model.set_params(drop=self._left_out).fit(data, self._plain)
        else:
            self._model.fit(data, Schema.from_dict(self._plain))

    def validate(self, data: Any) -> None:
        """Refuse a table that lacks a column, or has cells that do not fit what is declared.

        Fitting does not need it: such cells are clamped, null or `other` there. What it says of a
        private table is private; it names columns, and no cell.

        Raises:
            DataError: If the table does not fit.
        """
        declared = PartialSchema.from_schema(self._plain)
        whole = [one.fill_gaps() for one in declared.columns if not one.missing]
        columns = [one for one in whole if not isinstance(one, Id)]
        wrong: set[str] = set()
        with use_source(
            self._unwrap(data)[0], reading=TableReading.from_schema(declared)
        ) as source:
            wanted = [one.name for one in declared.columns if one.kind is not Id]
            absent = [name for name in wanted if name not in source.names]
            if absent:
                raise DataError(f"data: lacks the columns {', '.join(map(repr, absent))}.")
            check_plain_columns(source, wanted)
            for batch in source.batches([one.name for one in columns]) if columns else ():
                wrong |= {one.name for one in columns if _has_misfits(one, batch.table[one.name])}
        if wrong:
            named = ", ".join(repr(one.name) for one in columns if one.name in wrong)
            raise DataError(
                f"data: cells of {named} do not fit what is declared: correct the table or the "
                f"domains. 'tabpe schema check' counts them."
            )

    def sample(self, num_rows: int, table_name: str | None = None) -> Any:
        """Return synthetic rows, in the form of the table that was fitted."""
        if table_name is not None and table_name not in {self._wrapped, self._table_name}:
            raise ParameterError(
                f"table_name={shown(table_name)}: expected {self._wrapped or self._table_name!r}."
            )
        return self._wrap(self._model.sample(num_rows))

    def sample_from_conditions(self, conditions: Sequence[Any]) -> Any:
        """Return rows that meet conditions, one after the other.

        Args:
            conditions: For each a `Condition` of SDV, or anything with `column_values` and
                `num_rows`; or a `DataFrameCondition`, whose rows are known cells.
        """
        if not isinstance(conditions, Sequence) or isinstance(conditions, str) or not conditions:
            raise ParameterError(f"conditions={shown(conditions)}: expected a list of conditions.")
        import narwhals as nw

        frames = [nw.from_native(self._sample_condition(one)) for one in conditions]
        return self._wrap(nw.concat(frames).to_native())

    def sample_remaining_columns(self, known_columns: Any) -> Any:
        """Return known cells, and beside them cells of rows that are nearest by what is known."""
        known, _ = self._unwrap(known_columns)
        return self._wrap(self._model.sample_remaining_columns(known))

    def reset_sampling(self) -> None:
        """Make the next sample the first again: the same calls give the same rows."""
        self._model.reset_sampling()

    def _sample_condition(self, condition: Any) -> Any:
        known = getattr(condition, "dataframe", None)
        if known is not None:
            return self._model.sample_remaining_columns(known)
        values = getattr(condition, "column_values", None)
        if not isinstance(values, Mapping):
            raise ParameterError(
                f"conditions: {type(condition).__name__}: expected a condition with column_values "
                f"and num_rows."
            )
        return self._model.sample(getattr(condition, "num_rows", 1) or 1, conditions=values)

    def _unwrap(self, data: Any) -> tuple[Any, str | None]:
        """Return a table, and the name it is given under, if it is."""
        if not isinstance(data, Mapping):
            return data, None
        if len(data) != 1:
            raise ParameterError(f"data: {len(data)} tables: expected one, as {{'name': table}}.")
        ((name, table),) = data.items()
        if self._table_name is not None and name != self._table_name:
            raise ParameterError(f"data: table {shown(name)}: expected {self._table_name!r}.")
        return table, str(name)

    def _wrap(self, frame: Any) -> Any:
        frame = _restore_representations(frame, self._kinds, self._model.schema_)
        return frame if self._wrapped is None else {self._wrapped: frame}

    def get_metadata(self) -> Any:
        """Return the metadata, as they were given."""
        return self._metadata

    def get_parameters(self) -> dict[str, Any]:
        """Return the settings of the model."""
        return self._model.get_params()

    @property
    def model(self) -> TabPE:
        """The model, with its certificate, history and schema."""
        return self._model

    def save(self, filepath: str | Path) -> None:
        """Write the fitted model; there is no private row in it."""
        self._model.save(filepath)

    @classmethod
    def load(cls, filepath: str | Path) -> Self:
        """Read a fitted model. Its metadata were not saved: its schema tells more."""
        loaded = cls.__new__(cls)
        vars(loaded).update(
            _model=TabPE.load(filepath), _metadata=None, _kinds={}, _table_name=None, _wrapped=None
        )
        return loaded


def _list_representations(plain: Any, table: str | None) -> dict[str, str]:
    """Return the names of numpy for the representations that metadata state, by column."""
    if isinstance(plain, (str, Path)):
        plain = read_schema_file(Path(plain))
    if "tables" in plain:
        tables = plain["tables"]
        plain = tables[table] if table in tables else next(iter(tables.values()))
    stated = {
        str(name): str(one.get("computer_representation", "")).lower()
        for name, one in plain.get("columns", {}).items()
    }
    return {name: kind for name, kind in stated.items() if kind in _BOUNDS}


def _restore_representations(frame: Any, kinds: Mapping[str, str], schema: Schema) -> Any:
    """Return a frame of pandas with the types that metadata state, where the bounds fit."""
    if type(frame).__module__.partition(".")[0] != "pandas":
        return frame
    changed = {}
    for column in schema.columns:
        low, high = _BOUNDS.get(kinds.get(column.name, ""), (0, -1))
        if isinstance(column, Integer) and low <= column.min and column.max <= high:
            kind = kinds[column.name]
            changed[column.name] = (
                kind.replace("i", "I").replace("u", "U") if (column.nullable) else kind
            )
    return frame.astype(changed)


def _has_misfits(column: Column, cells: Any) -> bool:
    found = find_column_misfits(column, cells)
    missing = found.missing.any() and not column.nullable
    return bool(missing or found.unreadable.any() or found.outside.any())


def _declare_domains(
    plain: Mapping[str, Any], domains: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return entries of columns with what is declared of them."""
    names = [column["name"] for column in plain["columns"]]
    for name, fields in domains.items():
        if name not in names:
            raise ParameterError(f"domains: {shown(name)}: {did_you_mean(str(name), names)}")
        if not isinstance(fields, Mapping):
            raise ParameterError(f"domains: {name!r}={shown(fields)}: expected fields by name.")
    return {
        "columns": [{**column, **domains.get(column["name"], {})} for column in plain["columns"]]
    }
