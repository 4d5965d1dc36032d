"""The evolution of a synthetic table: functions of public arrays and noisy measurements.

- `config`: `Evolution` and `Posterior`, the settings of both strategies, and the presets
- `private_evolution`: the strategy of the paper
- `posterior`: weighted rows fitted to all measurements so far; `evidence`: the fit
- `marginal_prior`: what noisy 1-way marginals say; `proposals`: how candidates are drawn and varied
- `constraint_repair`, `unique_keys`: rows that satisfy the constraints of the schema
- `extensions`: operators, selection rules, distance weights and callbacks from outside
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
from tabpe.evolution.extensions import (
    RoundPopulation,
    SelectionRule,
    VariationOperator,
    VotedCandidates,
    WeightRule,
)
from tabpe.evolution.posterior import fit_posterior
from tabpe.evolution.private_evolution import EvolutionResult, apportion, evolve

__all__ = [
    "PRESETS",
    "Evolution",
    "EvolutionResult",
    "Posterior",
    "QueryPlan",
    "RoundPopulation",
    "SelectionRule",
    "Strategy",
    "VariationOperator",
    "VotedCandidates",
    "WeightRule",
    "apportion",
    "evolve",
    "fit_posterior",
    "parse_strategy",
    "resolve_strategy",
    "serialize_strategy",
]
