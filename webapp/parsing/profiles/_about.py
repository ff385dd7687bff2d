"""What a profile says of itself: its name, its group, and how far it is the release that it restates."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from typing import Any, NamedTuple

from webapp.parsing.engine import Tracer

FENCEPOST = "Fencepost"
BY_HAND = "Written by hand"
LIBRARIES = "Libraries"
ARGUMENTS = "Arguments of native calls"
SERVERS = "Model servers"
AGENTS = "Coding agents"
REPORTS = "Field reports"
OWN = "Your own"
GROUPS = (OWN, FENCEPOST, BY_HAND, LIBRARIES, ARGUMENTS, SERVERS, AGENTS, REPORTS)
RESTATED = (LIBRARIES, ARGUMENTS)  # held against a release, and failed where they give nothing
_RELEASE = re.compile(r"^Source: \S+ ([^ ,]+)", re.MULTILINE)
_IN_PYTHON = "The original is TypeScript: here Python's decoder words the errors, and large integers stay exact."


@dataclass(frozen=True)
class Described:
    """A profile that `parser` runs. All but name, version and `run` is optional for a profile of your own.

    `report` is the number of the field report that describes the parser (for example "004"), or None.
    `group` is one of `GROUPS`.
    `about` says in plain words what it does, in which order, and where it departs from its report.
    `original` is the language of a parser that is not Python, where its errors stand in the words of Python's decoder.
    `roots` is which of several values it gives: all, tools (objects with "tool" alone), first, best, or list (one
    list of them); a comparison with what was meant goes by it.
    `help` is one line; where it is empty, the first docstring line of the profile's module.
    """

    name: str = ""
    version: str = "1"
    report: str | None = None
    original: str = ""
    roots: str = "first"
    about: str = ""
    group: str = ""
    parser: Callable[[Tracer], None] | None = None
    help: str = ""

    def run(self, tracer: Tracer) -> None:
        """Where a library's parser gives nothing it failed, unless nothing in the text offered itself, as own ones."""
        if self.parser:
            self.parser(tracer)
        if self.group in RESTATED and not tracer.chosen and not tracer.exhausted:
            tracer.offered = tracer.own_reading().verdict != "none"


def described(
    name: str, group: str = REPORTS, text: str = "", *, revision: int = 1, calls: Sequence[str] = (), **fields: Any
) -> Callable[[Callable[[Tracer], None]], Described]:
    """Makes a profile of a function: its docstring, or `text`, is its help in a line, then paragraphs about it.

    Where one of these names its source, the version is that release, `revision` of what we make of it, and the releases
    that are installed of the libraries that it `calls`.
    """

    def profile(parser: Callable[[Tracer], None]) -> Described:
        first, *about = (" ".join(paragraph.split()) for paragraph in (text or parser.__doc__ or "").split("\n\n"))
        if group in RESTATED and fields.get("original") == "TypeScript":
            about[-1] += f" {_IN_PYTHON}"
        if release := _RELEASE.search("\n".join(about)):
            again = f"-{revision}" if revision > 1 else ""
            called = (f"+{library}-{metadata.version(library)}" for library in calls)
            fields["version"] = "".join([f"restated-{release[1]}{again}", *called])
        return Described(name, group=group, help=first, about="\n".join(about), parser=parser, **fields)

    return profile


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
