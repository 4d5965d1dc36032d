"""From noisy counts to the domain of a column: pure decisions, all of them after the noise.

- `evidence`: which noisy counts are more than noise
- `kinds`: what the cells of a column read as
- `bounds`: the range of numbers, by powers of two and then by bins
- `quantiles`: which values cut the rows of a column of numbers into equal parts
- `categories`: which values are told, and where the others go

Each module also says which cell of its histogram a value counts in, because the count and the
decision must mean the same. Where that is, depends on the value alone.
"""
