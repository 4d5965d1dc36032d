"""Objects from outside the package, by the text `module:object`.

Settings, certificates and saved models hold the text and never the object: text can be compared and
read back, and nothing is imported before a run that uses it.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import re
import sys
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from tabpe._utils import validation
from tabpe.errors import ParameterError

_DOTTED = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_NAME = re.compile(f"{_DOTTED}:{_DOTTED}")


def is_extension_name(given: Any) -> bool:
    """Return whether a value is text of the form `module:object`.

    Example:
        >>> [is_extension_name(given) for given in ("my_ops.walks:long", "genetic", 1 / 3)]
        [True, False, False]
    """
    return isinstance(given, str) and _NAME.fullmatch(given) is not None


def check_extension(parameter: str, given: Any, known: Sequence[str]) -> str:
    """Return one of the known names, or the `module:object` of an object from outside.

    Args:
        parameter: The parameter, for errors.
        given: A known name, text `module:object`, or a function or class of a module.
        known: The names that are no extension.

    Example:
        >>> check_extension("operator", reduce, ["genetic"])
        '_functools:reduce'
    """
    if is_extension_name(given):
        return str(given)
    if isinstance(given, str) or not callable(given):
        return validation.check_one_of(parameter, given, known)
    name = f"{getattr(given, '__module__', None)}:{getattr(given, '__qualname__', None)}"
    if not is_extension_name(name) or load_object(parameter, name) is not given:
        raise ParameterError(
            f"{parameter}={given!r}: has no name that leads to it: give a function or a class at "
            f"the top of a module, or the text 'module:object'."
        )
    return name


def load_object(parameter: str, name: str) -> Any:
    """Return the object that the text `module:object` names.

    Modules are found as usual, and after that in the working folder.

    Raises:
        ParameterError: If there is no such module or object.

    Example:
        >>> load_object("operator", "math:sqrt")(9)
        3.0
    """
    module_name, _, path = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:  # a console script has neither
        sys.path.append(here)
    try:
        return reduce(getattr, path.split("."), importlib.import_module(module_name))
    except AttributeError:
        raise ParameterError(f"{parameter}={name!r}: the module has no {path!r}.") from None
    except Exception as error:
        raise ParameterError(
            f"{parameter}={name!r}: can not import {module_name!r} ({type(error).__name__}: "
            f"{error}): it must be installed, or in the working folder."
        ) from error


def load_callable(parameter: str, name: str) -> Any:
    """Return the function that `module:object` names; of a class an instance without arguments."""
    found = load_object(parameter, name)
    made = found() if inspect.isclass(found) else found
    if not callable(made):
        raise ParameterError(
            f"{parameter}={name!r}: is a {type(made).__name__}: can not be called."
        )
    return made


def compute_source_digest(name: str) -> str:
    """Return the SHA-256 of the source of the module of an extension; of none if it has none."""
    try:
        source = inspect.getsource(importlib.import_module(name.partition(":")[0]))
    except (OSError, TypeError):  # of an interactive session, or compiled
        source = ""
    return hashlib.sha256(source.encode()).hexdigest()
