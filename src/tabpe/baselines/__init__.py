"""The methods that Tab-PE is compared with, under the same accountant.

- `base`: `Baseline`, any method with fit, sample and certificate; `SynthesisMethod`; bins
- `session`: `BaselineSession`, what a method may ask of the private rows
- `domain`: `Domain`, the table after discretisation
- `graphical_model`, `junction_tree`: Markov random fields that several methods fit
- `independent`, `mst`, `aim`, `privsyn`, `privmrf`, `gem`, `rappp`, `privgsd`: a method each
"""

from tabpe.baselines.aim import AIM
from tabpe.baselines.base import Baseline, SynthesisMethod
from tabpe.baselines.gem import GEM
from tabpe.baselines.independent import Independent
from tabpe.baselines.mst import MST
from tabpe.baselines.privgsd import PrivGSD
from tabpe.baselines.privmrf import PrivMRF
from tabpe.baselines.privsyn import PrivSyn
from tabpe.baselines.rappp import RAPpp

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
]
