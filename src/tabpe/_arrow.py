"""What Arrow types have in common."""

from __future__ import annotations

import pyarrow as pa


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is one of Arrow's kinds of text.

    Example:
        >>> is_text(pa.large_string()), is_text(pa.int8())
        (True, False)
    """
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
