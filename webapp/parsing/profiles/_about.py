"""What a profile says about itself beside its name and version, for its page and for `fencepost profiles`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Described:
    """Base of the profiles here. Both properties are optional for a profile of your own: readers use `getattr`.

    `report` is the number of the field report that describes the parser (for example "004"), or None.
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
