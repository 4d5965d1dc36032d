"""Networks that were trained beforehand, if they are installed and their weights are on the disk.

Nothing here goes to the network. `docs/how-to/learners.md` says how to get the weights.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from pathlib import Path
from typing import Any

FOLDER = "TABPE_WEIGHTS"
TABICL = {
    False: "tabicl-classifier-v2-20260212.ckpt",
    True: "tabicl-regressor-v2-20260212.ckpt",
}
TABPFN = Path("models_diff", "prior_diff_real_checkpoint_n_0_epoch_42.cpkt")
BEYOND = {"tabpfn": (0, 2), "torch": (2, 6), "scikit-learn": (1, 8)}
_HOW = "docs/how-to/learners.md says how to get it"


def tabicl_lacking(*, regression: bool) -> str | None:
    """Return what must be done before TabICL can be used; None if nothing."""
    if importlib.util.find_spec("tabicl") is None:
        return f"the package tabicl is not installed: {_HOW}."
    name = TABICL[regression]
    if _tabicl_weights(name) is None:
        return f"{name} is neither in ${FOLDER} nor in the cache of Hugging Face: {_HOW}."
    return None


def tabicl(random_state: int | None, *, regression: bool) -> Any:
    """Return TabICL, with the weights of this machine."""
    from tabicl import TabICLClassifier, TabICLRegressor

    kind = TabICLRegressor if regression else TabICLClassifier
    path = _tabicl_weights(TABICL[regression])
    return kind(model_path=path, allow_auto_download=False, random_state=random_state)


def _tabicl_weights(name: str) -> Path | None:
    given = _given(Path(name))
    if given is not None:
        return given
    hub = importlib.import_module("huggingface_hub")
    found = hub.try_to_load_from_cache("jingang/TabICL", name)
    return Path(found) if isinstance(found, str) else None


def tabpfn_lacking() -> str | None:
    """Return what must be done before TabPFN can be used; None if nothing."""
    if importlib.util.find_spec("tabpfn") is None:
        return f"the package tabpfn is not installed: {_HOW}."
    for name, (major, minor) in BEYOND.items():
        if _version(name) >= (major, minor):
            return f"it does not work with this version of {name}: {_HOW}."
    if _tabpfn_folder() is None:
        return f"{TABPFN.name} is neither in ${FOLDER} nor with the package: {_HOW}."
    return None


def _version(name: str) -> tuple[int, ...]:
    from importlib import metadata

    return tuple(int(part) for part in metadata.version(name).split(".")[:2])


def tabpfn(random_state: int | None) -> Any:
    """Return TabPFN, version 1, with the weights of this machine."""
    from tabpfn import TabPFNClassifier

    return TabPFNClassifier(device="cpu", base_path=_tabpfn_folder(), seed=random_state or 0)


def _tabpfn_folder() -> Path | None:
    if _given(TABPFN) is not None:
        return Path(os.environ[FOLDER])
    spec = importlib.util.find_spec("tabpfn")
    home = Path(spec.origin).parent if spec is not None and spec.origin else None
    return home if home is not None and (home / TABPFN).is_file() else None


def _given(name: Path) -> Path | None:
    """Return a file of the folder that the user names, if it is there."""
    folder = os.environ.get(FOLDER)
    path = Path(folder, name) if folder else None
    return path if path is not None and path.is_file() else None
