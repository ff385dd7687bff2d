"""What a profile is made of: a name, a version, a function that runs it, and what it says about itself on its page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from webapp.parsing.engine import Tracer


@dataclass(frozen=True)
class Described:
    """A profile that `parser` runs. All but name, version and `run` is optional for a profile of your own.

    `report` is the number of the field report that describes the parser (for example "004"), or None.
    `group` is one of `webapp.parsing.profile_groups`; without one it goes by its report.
    `about` says in plain words what it does, in which order, and where it departs from its report.
    `roots` is which of several values it gives: all, tools (objects with "tool" alone), first, best, or list (one
    list of them); a comparison with what was meant goes by it.
    The one-line help is the first docstring line of the profile's module (`webapp.plugins.help_of`).
    """

    name: str = ""
    version: str = "1"
    report: str | None = None
    roots: str = "first"
    about: str = ""
    group: str = ""
    parser: Callable[[Tracer], None] | None = None

    def run(self, tracer: Tracer) -> None:
        if self.parser:
            self.parser(tracer)
