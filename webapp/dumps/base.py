"""What a dump format is, and what the formats share: entries with their places, and ids as text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from webapp.dumps.decoding import kind_of
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, Turn
from webapp.dumps.source import Source
from webapp.dumps.stream import Item, Part

Entry = tuple[str, dict[str, Any]]
"""An entry with its place in the dump ("entries[3]", "line 4")."""

Context = Mapping[str, Any]
"""What a session's entries need to know of what stood around them: `SessionStart.extra`."""


class Format(Protocol):
    """One dump format: a module under `formats/` holds one as `plugin`."""

    @property
    def name(self) -> str: ...

    @property
    def shapes(self) -> str:
        """What a dump of this format looks like, for the message that none was recognised."""

    def sniff(self, head: Head) -> int:
        """How sure it is that this is its own, 0 (not at all) to 100; the highest wins."""

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        """The dump's sessions, turns and problems. Raises `BadDump` where nothing at all can be read."""

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        """The turns of one session; problems pass through. The same entries always give the same turns."""


def objects(parts: Iterable[Part], key: str) -> Iterator[Entry | Problem]:
    """The items under `key` that are objects; the others become problems."""
    for part in parts:
        if isinstance(part, Problem):
            yield part
        elif isinstance(part, Item) and part.key == key:
            yield entry_or_problem(part.at, part.value)


def entry_or_problem(at: str, value: Any) -> Entry | Problem:
    """`value` as an entry, or what is wrong with it."""
    if isinstance(value, dict):
        return at, value
    return Problem(at, f"expected an object, found {kind_of(value)}; skipped")


class Seen:
    """The ids of a session's entries so far, as hashes, so that a million of them are some 60 MB."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._hashes: set[int] = set()

    def again(self, at: str, value: Any) -> Iterator[Problem]:
        """A problem where the id `value` stood in an entry before; both are kept."""
        if not isinstance(value, str) or not value:
            return
        if (found := hash(value)) in self._hashes:
            yield Problem(at, f"the {self._what} {value[:200]!r} stands twice in the session; both are kept")
        self._hashes.add(found)


def id_text(value: Any) -> str | None:
    """A session's id as text; None where there is none. Numbers are taken as they print."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def id_problem(at: str, value: Any, used: str) -> Iterator[Problem]:
    """What to say of an id that is no text."""
    if value is not None and not isinstance(value, str):
        yield Problem(at, f"expected a text, found {kind_of(value)}; the session is called {used!r}")


_LEAST, _MOST = -(2**63), 2**63 - 1
_NUMERIC = (int, float, str)
_NUMBER = re.compile(r"-?\d{1,18}(\.0*)?")


def whole(value: Any) -> int | None:
    """A whole number that fits 63 bits, from a number or its text; None for anything else, NaN included."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value.partition(".")[0])
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return value if isinstance(value, int) and _LEAST <= value <= _MOST else None


def number(value: Any) -> float | None:
    """A finite number, from a number or its text; None for anything else."""
    if value is None or isinstance(value, bool) or not isinstance(value, _NUMERIC):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if abs(found) < float("inf") else None


def text(value: Any) -> str | None:
    """A text that says something: None for an empty one and for all that is no text."""
    return value if isinstance(value, str) and value else None
