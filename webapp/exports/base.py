"""What an export format is given besides its rows, and what every one of them offers."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from webapp import plugins
from webapp.refusals import NotPossible, WrongUse

PACKAGE = "webapp.exports.formats"


class UnknownExport(WrongUse):
    """No export format has that name; the message lists those that there are."""


class MissingLibrary(NotPossible):
    """An export needs a library that is not installed; the message says what to install."""


@dataclass(frozen=True, slots=True)
class ExportFacts:
    """What an export says of itself: when it was made (UTC), of what, by which version, and what it hides.

    A format that leaves responses out counts them in `left_out`, by the reason (`labelled.meant`).
    """

    made_at: datetime
    scope: str
    version: str
    redacted: str | None = None
    left_out: Counter[str] = field(default_factory=Counter, compare=False)

    def sentence(self) -> str:
        """One line for a comment or a header."""
        hidden = f"; redacted: {self.redacted}" if self.redacted else ""
        return f"Fencepost {self.version}, {self.made_at:%Y-%m-%d %H:%M} UTC, {self.scope}{hidden}"


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format. `pieces` streams: it is given labelled responses or a `SessionView`, and holds a few rows at a time."""

    name: str
    takes: Literal["labels", "sessions"]
    suffix: str
    media_type: str
    pieces: Callable[[Any, ExportFacts], Iterator[bytes]]
    help: str = ""
    """its line in lists; without one the first line of its module"""


class Sink(io.RawIOBase):
    """Takes what a library writes front to back, as a zip or Parquet, and hands it on."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[bytes] = []
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        part = bytes(data)
        self._parts.append(part)
        self._at += len(part)
        return len(part)

    def tell(self) -> int:
        return self._at

    def taken(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def formats(takes: str) -> dict[str, ExportFormat]:
    """The formats that take `labels` or `sessions`, by name."""
    return {name: plugin for name, plugin in sorted(plugins.collect(PACKAGE).items()) if plugin.takes == takes}


def described(takes: str) -> list[tuple[str, str]]:
    """Each format's name and its help."""
    helps = plugins.help_of(PACKAGE)
    return [(name, helps.get(name, "")) for name in formats(takes)]


def find(name: str, takes: str) -> ExportFormat:
    """The format called `name`; raises `UnknownExport`."""
    by_name = formats(takes)
    if name not in by_name:
        raise UnknownExport(f"no format for {takes} is called {name[:100]!r}; there are {', '.join(by_name)}")
    return by_name[name]
