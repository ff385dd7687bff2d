"""What a profile says about itself beside its name and version, for its page and for `fencepost profiles`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Described:
    """Base of the profiles here. Both properties are optional for a profile of your own: readers use `getattr`.

    `report` is the number of the field report that describes the parser (for example "004"), or None.
    `about` says in plain words what it does, in which order, and where it departs from its report.
    The one-line help is the first docstring line of the profile's module (`webapp.plugins.help_of`).
    """

    name: str = ""
    version: str = "1"
    report: str | None = None
    about: str = ""
