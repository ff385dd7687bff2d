"""What a profile is made of: a name, a version, what runs it, what it says of itself; the groups lists show them in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from webapp.parsing.engine import Tracer, parse

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


def group_of(profile: Any) -> str:
    """A profile's group: what it says itself, else by its report; one that says nothing is somebody's own."""
    group: str | None = getattr(profile, "group", None)
    return group or (REPORTS if getattr(profile, "report", None) else OWN)


@dataclass(frozen=True)
class Described:
    """A profile that `parser` runs. All but name, version and `run` is optional for a profile of your own.

    `report` is the number of the field report that describes the parser (for example "004"), or None.
    `group` is one of `GROUPS`; without one it goes by its report.
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
            tracer.offered = parse(tracer.raw).verdict != "none"


def described(
    name: str, group: str = "", text: str = "", **fields: Any
) -> Callable[[Callable[[Tracer], None]], Described]:
    """Makes a profile of a function: its docstring, or `text`, is its help in a line, then paragraphs about it."""

    def profile(parser: Callable[[Tracer], None]) -> Described:
        first, *about = (" ".join(paragraph.split()) for paragraph in (text or parser.__doc__ or "").split("\n\n"))
        return Described(name, group=group, help=first, about="\n".join(about), parser=parser, **fields)

    return profile


@cache
def release(distribution: str) -> str:
    """The installed release of a library that a profile calls, as its version carries it: `json-repair-0.64.5`."""
    return f"{distribution}-{metadata.version(distribution)}"


def restated(of: str, *calls: str) -> str:
    """The version of a re-statement: the release it was written after, and those of the libraries that it calls."""
    return "+".join([f"restated-{of}", *map(release, calls)])
