"""The methods that Tab-PE is compared with, under the same accountant.

- `base`: `Baseline`, any method with fit, sample and certificate; `SynthesisMethod`; bins
- `session`: `BaselineSession`, what a method may ask of the private rows
- `domain`: `Domain`, the table after discretisation
- `graphical_model`, `junction_tree`: Markov random fields that several methods fit
- `independent`, `mst`, `aim`, `privsyn`, `privmrf`, `gem`, `rappp`, `privgsd`: a method each
- `find_method`: the class of a method by its name, or by the `module:object` of one from outside
"""

import inspect

from tabpe._utils import validation
from tabpe.baselines.aim import AIM
from tabpe.baselines.base import Baseline, SynthesisMethod
from tabpe.baselines.gem import GEM
from tabpe.baselines.independent import Independent
from tabpe.baselines.mst import MST
from tabpe.baselines.privgsd import PrivGSD
from tabpe.baselines.privmrf import PrivMRF
from tabpe.baselines.privsyn import PrivSyn
from tabpe.baselines.rappp import RAPpp
from tabpe.errors import ParameterError
from tabpe.evolution.extensions import is_extension_name, load_object

REQUIRED = ("name", "adaptive", "binned", "parts", "synthesise")
METHODS: dict[str, type[SynthesisMethod]] = {
    "independent": Independent,
    "mst": MST,
    "aim": AIM,
    "privsyn": PrivSyn,
    "privmrf": PrivMRF,
    "gem": GEM,
    "rap++": RAPpp,
    "privgsd": PrivGSD,
}

__all__ = [
    "AIM",
    "GEM",
    "METHODS",
    "MST",
    "Baseline",
    "Independent",
    "PrivGSD",
    "PrivMRF",
    "PrivSyn",
    "RAPpp",
    "SynthesisMethod",
    "find_method",
]


def find_method(name: str) -> type[SynthesisMethod]:
    """Return the class of a method: one of `METHODS`, or `module:object` from outside.

    Raises:
        ParameterError: If there is none, or it is no method.

    Example:
        >>> find_method("aim").name, find_method("tabpe.baselines.mst:MST").name
        ('AIM', 'MST')
    """
    if not is_extension_name(name):
        return METHODS[validation.check_one_of("method", name, list(METHODS))]
    found: type[SynthesisMethod] = load_object("method", name)
    is_class = inspect.isclass(found) and "__dataclass_fields__" in vars(found)
    if not is_class or not all(hasattr(found, part) for part in REQUIRED):
        raise ParameterError(
            f"method={name!r}: expected a frozen dataclass with {', '.join(REQUIRED)}."
        )
    return found
