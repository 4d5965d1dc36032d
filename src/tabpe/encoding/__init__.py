"""Encoding of tables as arrays and back, by the schema alone.

- `records`: `Records`, rows as scaled numbers and codes; `RecordSpace`, where rows may lie
- `encoder`: `Encoder`, tables to records and back; `encoded_rows`: the batches of a source, encoded
- `cells`: the cells of one column; `column_codec`: its values; `scales`: `log` and `quantile`
- `marginals`, `halfspaces`, `raw_cells`: into which cell of a histogram a row falls
- `voting_space`: `VotingSpace`, what votes measure distances in; `RankTransform`
"""

from tabpe.encoding.encoder import Encoder
from tabpe.encoding.marginals import Marginal
from tabpe.encoding.records import Records, RecordSpace
from tabpe.encoding.voting_space import RankTransform, VotingSpace

__all__ = ["Encoder", "Marginal", "RankTransform", "RecordSpace", "Records", "VotingSpace"]
