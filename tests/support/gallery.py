"""Tables as people have them: holes, dates, codes, ids, rules, odd types and odder names.

Each comes with what its owner would declare, how it is fitted, and what must be true of every row,
written in pandas and not in the words of the schema.
"""

from collections.abc import Callable

import gallery_of_rules as rules
import gallery_of_types as types
from exhibit import Exhibit

EXHIBITS: dict[str, Callable[[], Exhibit]] = {
    function.__name__.replace("_", " "): function
    for function in (
        rules.hospital,
        types.nearly_empty,
        types.nothing_at_all,
        types.constants,
        types.hostile_names,
        types.decimals_and_large_numbers,
        types.moments,
        rules.grades,
        types.skewed,
        types.towns,
        types.common_towns,
        types.unknown_schema,
        rules.several_labels,
        rules.labels_that_exclude_each_other,
        rules.numeric_label,
        rules.label_with_holes,
        rules.few_of_a_class,
        rules.people,
        types.a_few_rows,
        types.wide_and_flat,
        types.every_kind_of_pandas,
        rules.conditional_nulls,
    )
}
