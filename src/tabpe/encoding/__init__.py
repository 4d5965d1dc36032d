"""Tables to arrays and back, from the schema alone.

- `records`: `Records`, rows as scaled numbers and category codes; `RecordSpace`, where rows may lie
- `encoder`: `Encoder`, which turns a table into records and records into a table
- `axes`: `Marginal`, into which cell of a table of counts a row falls
- `cells`: how the cells of one column become numbers or codes
- `large`: whole numbers beyond 2^53
- `scales`: where numbers lie on a bent scale
- `warp`: `RankTransform`, a scale on which numbers lie more evenly
- `sight`: `VotingSpace`, rows as they are voted on
"""

from tabpe.encoding.encoder import Encoder
from tabpe.encoding.marginals import Marginal
from tabpe.encoding.records import Records, RecordSpace
from tabpe.encoding.voting_space import RankTransform, VotingSpace

__all__ = ["Encoder", "Marginal", "RankTransform", "RecordSpace", "Records", "VotingSpace"]
