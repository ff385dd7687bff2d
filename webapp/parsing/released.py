"""How far profiles are the releases that they restate, as `python -m benchmarks.released` wrote it."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import NamedTuple


class Held(NamedTuple):
    """`release` with the day of its files, if they have one; `same` of `texts` have the same outcome.

    `differs` counts the others by their kinds, such as "the release refuses, the profile reads".
    """

    release: str
    day: str | None
    texts: int
    same: int
    differs: dict[str, int]


@cache
def held() -> dict[str, Held]:
    """By the names of profiles; those that restate no release are not in it."""
    text = resources.files("webapp.parsing").joinpath("released.json").read_text("utf-8")
    return {name: Held(**fields) for name, fields in json.loads(text).items()}


def words(profile: str, version: str) -> str:
    """A sentence for the profile's page; none for one that restates no release, or restates another one by now."""
    found = held().get(profile)
    if found is None:
        return ""
    release, _, _ = version.removeprefix("restated-").partition("+")
    if not release.startswith(found.release.rpartition(" ")[2].removesuffix(".0")):
        return f"Not held yet against the release of its version; before against {found.release}."
    kinds = "; ".join(f"{count:,} {kind}" for kind, count in found.differs.items()) or "none"
    day = f" of {found.day}" if found.day else ", whose files have no date"
    return (
        f"Held against {found.release}{day}: the same outcome on {found.same:,} of {found.texts:,} texts. "
        f"Kinds that differ: {kinds}."
    )
