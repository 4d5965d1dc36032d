"""Dates with names of months in other languages are read, and written as they were."""

import pyarrow as pa
import pytest

from tabpe.encoding.cells import decode_temporal, format_temporal, read_microseconds
from tabpe.errors import SchemaError
from tabpe.schema import Date
from tabpe.schema.month_names import MONTH_LANGUAGES, has_long_months, split_language


@pytest.mark.parametrize("pattern", ["%d-%b-%Y", "%d. %B %Y", "%Y %b %d"])
@pytest.mark.parametrize("language", MONTH_LANGUAGES)
def test_every_day_is_written_as_it_is_read(language, pattern):
    seen = Date("seen", "2023-01-01", "2024-12-31", format=f"{pattern} ({language})")
    days = decode_temporal(seen, pa.array([*range(0, 700, 7), None]))
    texts = format_temporal(seen, days)
    assert read_microseconds(seen, texts).to_pylist() == [
        None if day is None else day.toordinal() * 86_400 * 10**6 - 719_163 * 86_400 * 10**6
        for day in days.to_pylist()
    ]
    assert texts.to_pylist()[-1] is None
    named = any(has_long_months(text, language) for text in texts.to_pylist() if text)
    assert named == ("%B" in pattern)


def test_a_cell_is_read_by_itself():
    seen = Date("seen", "1900-01-01", "2024-12-31", format="%d de %B de %Y (es)")
    texts = ["3 de ABRIL de 2024", "3 de abr. de 2024", "3 de April de 2024", "?", "2024-04-03"]
    alone = [read_microseconds(seen, pa.array([text])).to_pylist()[0] for text in texts]
    assert read_microseconds(seen, pa.array(texts)).to_pylist() == alone
    assert alone[0] == alone[1] == alone[4]
    assert alone[3] is None


def test_a_language_that_is_not_known_is_refused():
    with pytest.raises(SchemaError, match="a language of months: da, de"):
        Date("seen", "2023-01-01", "2024-12-31", format="%d-%b-%Y (xx)")
    assert split_language("%d.%m.%Y (es)") == ("%d.%m.%Y (es)", None)
