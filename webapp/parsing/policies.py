"""What a profile decides where several readings are right: which roots, what a missing value is, and so on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal


@dataclass(frozen=True)
class Policies:
    """The policies of a profile, named in every trace it writes.

    roots: which of several values are the result. missing: what a key without a value gets. duplicates: which of
    two equal keys counts. truncated: whether a value that was cut off is a result. scalars: whether a response
    that is a bare string, number or literal is JSON. wanted: keys that `best` scores, each 10, the first 100.
    """

    roots: Literal["all", "first", "last", "best"] = "all"
    missing: Literal["null", "drop"] = "null"
    duplicates: Literal["last", "first", "error"] = "last"
    truncated: Literal["keep", "refuse"] = "keep"
    scalars: Literal["accept", "ignore"] = "accept"
    wanted: tuple[str, ...] = ()

    def as_dict(self) -> Mapping[str, str]:
        """Every policy by name, as `Trace.policy` keeps it; do not change it."""
        return _named(self)


@lru_cache(maxsize=64)
def _named(policies: Policies) -> Mapping[str, str]:
    by_name = {field.name: getattr(policies, field.name) for field in fields(policies)}
    return {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in by_name.items()}
