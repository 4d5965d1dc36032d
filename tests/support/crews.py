"""The old name of `shard_pools`."""

from shard_pools import open_at_random as opening_at_random

__all__ = ["opening_at_random"]
