"""`TabPESynthesizer`: tabpe under the names of SDV's synthesizers of single tables.

For programs that are written for those: `fit`, `sample(num_rows)`, `get_metadata`, `save`, `load`.
The metadata of SDV have neither bounds nor lists of values, and reading them off the table is not
private. So they are declared beside the metadata, or estimated with a part of the budget.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from tabpe.errors import ParameterError, did_you_mean, shown
from tabpe.schema import PartialSchema, Schema
from tabpe.schema.importers import imported
from tabpe.synthesizers.tabpe import TabPE

PRIVATE = "private"


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
        self._plain = _declare_domains(found.plain, domains or {})
        gaps = {"schema": PRIVATE} if PartialSchema.from_schema(self._plain).missing else {}
        self._model = TabPE(**{**gaps, **settings})
        self._left_out = found.left_out

    def fit(self, data: Any) -> None:
        """Fit a private table: whatever `TabPE.fit` takes."""
        if self._model.schema == PRIVATE:
            self._model.set_params(drop=self._left_out).fit(data, self._plain)
        else:
            self._model.fit(data, Schema.from_dict(self._plain))

    def sample(self, num_rows: int) -> Any:
        """Return synthetic rows, as the kind of frame that was fitted."""
        return self._model.sample(num_rows)

    def sample_remaining_columns(self, known_columns: Any) -> Any:
        """Return known cells, and beside them cells of rows that are nearest by what is known."""
        return self._model.sample_remaining_columns(known_columns)

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
        vars(loaded).update(_model=TabPE.load(filepath), _metadata=None)
        return loaded


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
