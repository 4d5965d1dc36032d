"""The old name of `local_backends`."""

from local_backends import backend_of as keeper_of

__all__ = ["keeper_of"]
