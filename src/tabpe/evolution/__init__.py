"""The evolution of a synthetic table: functions of public arrays and noisy measurements.

- `config`: `Evolution` and `Posterior`, the settings of both strategies, and the presets
- `bins`, `guide`: what noisy tables of single columns say
- `terrain`: where rows are made up and moved, with or without a guide
- `sizes`: how many rows there are of each kind

Where the schema has rules, every row obeys them:

- `truth`: where they hold; `mend`: rows moved so that they do
- `law`: `ConstraintSet`, all rules together; `constrain_proposal`: a terrain that keeps them;
  `keys`: unique columns

The strategy of the paper:

- `schedule`: what each round does, and how strongly it mutates
- `draw_initial`, `variation`, `select`: the three operators
- `loop`: the rounds

The strategy that forgets no measurement:

- `evidence`: what was measured, and where rows fall in it
- `fit`: weights of rows by the evidence
- `sharpen`: how clear labels are among the rows around
- `posterior`: the rounds
"""

from tabpe.evolution.config import (
    PRESETS,
    Evolution,
    Posterior,
    QueryPlan,
    Strategy,
    parse_strategy,
    resolve_strategy,
    serialize_strategy,
)
from tabpe.evolution.posterior import apportion, fit_posterior
from tabpe.evolution.private_evolution import EvolutionResult, evolve

__all__ = [
    "PRESETS",
    "Evolution",
    "EvolutionResult",
    "Posterior",
    "QueryPlan",
    "Strategy",
    "apportion",
    "evolve",
    "fit_posterior",
    "parse_strategy",
    "resolve_strategy",
    "serialize_strategy",
]
