"""`Method`: what a way to make synthetic rows is, for `Baseline` to run it."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from tabpe.baselines.desk import Desk
from tabpe.baselines.domain import Rows
from tabpe.privacy.plan import Part


@runtime_checkable
class Method(Protocol):
    """A frozen dataclass of hyperparameters that knows how to make rows.

    Privacy: a method sees nothing of the private rows but what its desk tells, and that is charged.

    Args:
        name: What it is called.
        adaptive: Whether what it asks for, how often or with which noise follows from earlier noisy
            answers. Such a method is accounted for by a filter; others by their plan.
        binned: Whether it needs bins of numbers; if not, none are bought.
    """

    name: ClassVar[str]
    adaptive: ClassVar[bool]
    binned: ClassVar[bool]

    def parts(self, attributes: int) -> tuple[Part, ...]:
        """Return the plan, whose shares add up to 1; nothing if the method is adaptive.

        Args:
            attributes: The number of attributes, the label among them.
        """
        ...

    def synthesise(self, desk: Desk, size: int) -> Rows:
        """Return about `size` synthetic rows.

        Args:
            desk: The way to the private rows.
            size: The number of rows that is asked for.
        """
        ...
