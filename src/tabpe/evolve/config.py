"""Settings of the evolution, and the presets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tabpe import _validate
from tabpe.errors import ParameterError

SELECTIONS = ("two-stage", "sampling", "ranking")
OPERATORS = ("random-walk", "genetic")
SCHEDULES = ("polynomial", "linear")
STEPS = ("gaussian", "uniform")


@dataclass(frozen=True)
class Evolution:
    """How a population evolves. The defaults are those of the paper.

    Args:
        rounds: Number of histograms, T.
        sampling_rounds: Rounds after which the population grows and parents are kept.
        variations: Variations of each parent from then on, m.
        mutation_init: Mutation rate of the first round.
        mutation_final: Mutation rate that the schedule falls to.
        gamma: Power of the polynomial schedule; smaller falls earlier.
        schedule: `polynomial`, or `linear`, which is a gamma of 1.
        horizon: The round at which the final rate would be reached; None for `rounds`.
        category_weight: What one differing category adds to a squared distance, lambda.
        step: Numbers move by a `gaussian` step, or by a `uniform` one up to the rate.
        operator: `random-walk`, or `genetic`: crossover of one attribute and mutation of all.
        selection: `two-stage`: sampling, then ranking; or one of the two in every round.
        sample_while_growing: Whether the round that first keeps parents still samples, as in
            the paper, or already ranks.

    Example:
        >>> import dataclasses
        >>> dataclasses.replace(PRESETS["paper"], rounds=20).mutation_final
        0.02
    """

    rounds: int = 15
    sampling_rounds: int = 5
    variations: int = 3
    mutation_init: float = 0.5
    mutation_final: float = 0.02
    gamma: float = 0.2
    schedule: str = "polynomial"
    horizon: int | None = None
    category_weight: float = 1 / 3
    step: str = "gaussian"
    operator: str = "random-walk"
    selection: str = "two-stage"
    sample_while_growing: bool = True

    def __post_init__(self) -> None:
        _validate.whole("rounds", self.rounds, least=1)
        _validate.whole("sampling_rounds", self.sampling_rounds, least=0)
        _validate.whole("variations", self.variations, least=1)
        _validate.fraction("mutation_init", self.mutation_init)
        _validate.fraction("mutation_final", self.mutation_final)
        _validate.real("gamma", self.gamma, above=0)
        _validate.one_of("schedule", self.schedule, SCHEDULES)
        if self.horizon is not None:
            _validate.whole("horizon", self.horizon, least=self.rounds)
        _validate.real("category_weight", self.category_weight, above=0)
        _validate.one_of("step", self.step, STEPS)
        _validate.one_of("operator", self.operator, OPERATORS)
        _validate.one_of("selection", self.selection, SELECTIONS)

    @classmethod
    def of(cls, preset: Any) -> Evolution:
        """Return the settings of a preset by its name; settings stay as they are."""
        if isinstance(preset, cls):
            return preset
        if not isinstance(preset, str):
            raise ParameterError(f"preset={preset!r}: expected a name or an Evolution.")
        return PRESETS[_validate.one_of("preset", preset, list(PRESETS))]


PRESETS = {
    "paper": Evolution(),
    # The code that the paper's authors published: 14 histograms, of which the first 4 are sampled
    # from, on the schedule of 15; uniform steps; and one-hot codes of height lambda, which put
    # two different categories at a squared distance of 2 lambda^2.
    "reference": Evolution(
        rounds=14,
        sampling_rounds=4,
        mutation_final=0.01,
        horizon=15,
        category_weight=2 / 9,
        step="uniform",
        sample_while_growing=False,
    ),
}
