"""One JSON document around a long list: what stands beside the list, wherever in the document it stands."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from webapp import jsontext
from webapp.dumps.decoding import kind_of
from webapp.dumps.head import Head, trailing
from webapp.dumps.records import BadDump, Problem
from webapp.dumps.source import Source
from webapp.dumps.stream import Item, Member, Opened, Part, walk


def members(source: Source, head: Head, streamed: str, *, wanted: str) -> dict[str, Any]:
    """The document's members but the list `streamed`.

    Head and tail usually show them all. Only where they do not show `wanted`, or not where the list begins, and
    something may lie between, is the whole document walked once more.
    """
    found, begun = _outside(walk(iter([head.text]), frozenset((streamed,))), streamed)
    if head.whole:
        return found
    found |= {key: value for key, value in trailing(source).items() if key != streamed}
    if begun and (wanted in found or _closes_with_list(source)):
        return found
    return _outside(walk(source.text(), frozenset((streamed,))), streamed)[0]


def _outside(parts: Iterator[Part], streamed: str) -> tuple[dict[str, Any], bool]:
    """The members among the parts, the first of each name, and whether the streamed list was reached."""
    found: dict[str, Any] = {}
    begun = False
    for part in parts:
        begun = begun or (isinstance(part, Opened) and part.key == streamed)
        if isinstance(part, Member):
            found.setdefault(part.key, part.value)
    return found, begun


def _closes_with_list(source: Source) -> bool:
    """Whether the document's last member is a list."""
    return "".join(source.tail(1000).split()).endswith("]}")


def require_list(head: Head, key: str) -> None:
    """Raise `BadDump` where the head already shows that there is no list under `key`."""
    if key in head.members:
        raise BadDump(f"{key}: expected a list, found {kind_of(head.members[key])}", key)
    if key not in head.items and head.whole:
        raise BadDump(f"{key} missing: expected a list under the key {key!r}", key)


@contextmanager
def array_as_lines(source: Source) -> Iterator[tuple[Source, list[Problem]]]:
    """The items of a list that is the document itself, one a line in a file aside, and what was wrong with others.

    A damaged item's line is empty, so that line `n` is item `n - 1`.
    """
    problems: list[Problem] = []
    with tempfile.TemporaryFile() as lines:
        written = 0
        for part in walk(source.text(), frozenset()):
            if isinstance(part, Problem):
                problems.append(part)
            elif isinstance(part, Item):
                lines.write(b"\n" * (part.index - written) + jsontext.dumps(part.value).encode("ascii") + b"\n")
                written = part.index + 1
        yield Source(lines, source.filename), problems
