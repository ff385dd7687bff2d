"""What a profile says of itself: its name, its group, and the release that it restates."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

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
    """A profile that `parser` runs.

    `report` is the number of the field report that describes the parser (for example "004"), or None.
    `group` is one of `GROUPS`.
    `about` says in plain words what it does, in which order, and where it departs from its report.
    `original` is the language of a parser that is not Python, where its errors stand in the words of Python's decoder.
    `roots` is which of several values it gives: all, tools (objects with "tool" alone), first, best, or list (one
    list of them); a comparison with what was meant goes by it.
    `help` is one line.
    """

    name: str
    parser: Callable[[Tracer], None]
    group: str
    help: str
    about: str
    version: str = "1"
    report: str | None = None
    original: str = ""
    roots: str = "first"

    def run(self, tracer: Tracer) -> None:
        """Where a library's parser gives nothing it failed, unless nothing in the text offered itself, as own ones."""
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
        return Described(name, parser, group, first, "\n".join(about), **fields)

    return profile
