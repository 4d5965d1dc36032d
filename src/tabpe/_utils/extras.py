"""Checks that optional packages are installed, and errors that say how to install them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from tabpe.errors import TabpeError

REPORT = {
    "ot": "POT",
    "sklearn": "scikit-learn",
}  # modules of the extra `report` and their packages
STUDIO = {
    "babel": "babel",
    "cryptography": "cryptography",
    "python_multipart": "python-multipart",
    "starlette": "starlette",
    "uvicorn": "uvicorn",
}


def has_report_extra() -> bool:
    """Return whether the packages of the extra `tabpe[report]` are installed."""
    return all(find_spec(module) is not None for module in REPORT)


def require_report_extra(what: str) -> None:
    """Raise an error unless all packages of the extra `tabpe[report]` are installed.

    Args:
        what: The feature that needs them; the subject of the error message.

    Example:
        >>> require_report_extra("evaluate")
    """
    missing = [package for module, package in REPORT.items() if find_spec(module) is None]
    if missing:
        raise TabpeError(f"{what} needs {' and '.join(missing)}: pip install 'tabpe[report]'.")


def has_sign_extra() -> bool:
    """Return whether the package of the extra `tabpe[sign]` is installed."""
    return find_spec("cryptography") is not None


def require_sign_extra(what: str) -> None:
    """Raise an error unless the package of the extra `tabpe[sign]` is installed.

    Args:
        what: The feature that needs it; the subject of the error message.

    Example:
        >>> require_sign_extra("a signature")
    """
    if not has_sign_extra():
        raise TabpeError(f"{what} needs cryptography: pip install 'tabpe[sign]'.")


def require_studio_extra(what: str) -> None:
    """Raise an error unless all packages of the extra `tabpe[studio]` are installed.

    Args:
        what: The feature that needs them; the subject of the error message.

    Example:
        >>> require_studio_extra("tabpe studio")
    """
    modules = {**STUDIO, **REPORT}
    missing = [package for module, package in modules.items() if find_spec(module) is None]
    if missing:
        raise TabpeError(f"{what} needs {', '.join(missing)}: pip install 'tabpe[studio]'.")


def has_opendp_extra() -> bool:
    """Return whether the package of the extra `tabpe[opendp]` is installed."""
    return find_spec("opendp") is not None


def require_package(module: str, extra: str, what: str) -> Any:
    """Return an optional module; raise an error that names its extra if it is not installed.

    Args:
        module: The module to import.
        extra: The extra of this package that installs it.
        what: The feature that needs it; the subject of the error message.

    Example:
        >>> require_package("json", "none", "this").__name__
        'json'
    """
    if find_spec(module) is None:
        package = module.replace("_", "-")
        raise TabpeError(f"{what} needs {package}: pip install 'tabpe[{extra}]'.")
    return import_module(module)
