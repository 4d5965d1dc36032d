"""Schemas of other tools, as far as they say what is public.

- `sdv`: metadata of SDV, version 1
- `smartnoise`: the YAML of SmartNoise
- `domains`: `domain.yaml` of dpsynth, and the domain JSON of mbi
- `frictionless`: Table Schema and data packages

Few of them have bounds and lists of values. What they lack stays open: a person declares it, or it
is bought. What tabpe can not synthesise is left out, and said.
"""

from tabpe.schema.foreign.importing import FORMATS, imported
from tabpe.schema.foreign.parts import Imported

__all__ = ["FORMATS", "Imported", "imported"]
