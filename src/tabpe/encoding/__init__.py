"""Encoding of tables as arrays and back, by the schema alone.

- `records`: `Records`, rows as scaled numbers and codes; `RecordSpace`, where rows may lie;
  `VotingSpace`, what votes measure distances in
- `encoder`: `Encoder`, tables to records and back
- `cells`: the cells of one column; `column_codec`: its values; `scales`: `log` and `quantile`
- `marginals`, `halfspaces`, `raw_cells`: into which cell of a histogram a row falls
"""

from tabpe.encoding.encoder import Encoder
from tabpe.encoding.marginals import Marginal
from tabpe.encoding.records import RankTransform, Records, RecordSpace, VotingSpace

__all__ = ["Encoder", "Marginal", "RankTransform", "RecordSpace", "Records", "VotingSpace"]
