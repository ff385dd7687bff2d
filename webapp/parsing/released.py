"""How far profiles are the releases that they restate, as `released.json` has it, and in words."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import NamedTuple


class Held(NamedTuple):
    """`release` with the day on which it came to its registry; `same` of `texts` have the same outcome.

    `differs` counts the others by their kinds, such as "the release refuses, the profile reads".
    `streamed` counts texts of which a server gives something else in a stream than at once, by kinds, for pieces of 1
    and 7 characters and of the whole; None for all but servers.
    """

    release: str
    day: str
    texts: int
    same: int
    differs: dict[str, int]
    streamed: dict[str, dict[str, int]] | None = None


@cache
def held_releases() -> dict[str, Held]:
    """By the names of profiles; those that restate no release are not in it."""
    text = resources.files("webapp.parsing").joinpath("released.json").read_text("utf-8")
    return {name: Held(**fields) for name, fields in json.loads(text).items()}


def words_of_release(profile: str, version: str) -> str:
    """A sentence for the profile's page; none for one that restates no release, or restates another one by now."""
    agreement = held_releases().get(profile)
    if agreement is None:
        return ""
    of, _, _ = version.removeprefix("restated-").partition("+")
    if not of.startswith(agreement.release.rpartition(" ")[2].removesuffix(".0")):
        return f"Not held yet against the release of its version; before against {agreement.release}."
    kinds = "; ".join(f"{count:,} {kind}" for kind, count in agreement.differs.items()) or "none"
    same = f"the same outcome on {agreement.same:,} of {agreement.texts:,} texts"
    held_against = f"Held against {agreement.release} of {agreement.day}: {same}. Kinds that differ: {kinds}."
    return " ".join(filter(None, [held_against, _streamed(agreement)]))


def _streamed(agreement: Held) -> str:
    """How a server's stream differs from what it gives at once."""
    if agreement.streamed is None:
        return ""
    sizes: dict[str, list[str]] = {}
    for size, kinds in agreement.streamed.items():
        counts = ", ".join(f"{kind}: {count:,}" for kind, count in kinds.items())
        sizes.setdefault(f"{sum(kinds.values()):,} ({counts})" if kinds else "none", []).append(_PIECES[size])
    parts = "; ".join(f"in {' or '.join(pieces)} {words}" for words, pieces in sizes.items())
    return f"Fed as a stream, of {agreement.texts:,} texts come out otherwise than at once: {parts}."


_PIECES = {"1": "pieces of 1 character", "7": "pieces of 7 characters", "whole": "one piece"}
