"""Reads a dump: picks its format and hands on its records, each session id once, damage as problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from webapp.dumps.base import Format
from webapp.dumps.head import Head, look
from webapp.dumps.records import BadDump, Problem, Record, SessionStart, Turn, UnknownFormat
from webapp.dumps.source import Source, opened
from webapp.plugins import collect

MOST_EARLY = 1000
"""How many problems are held back until the first session."""


def known_formats() -> dict[str, Format]:
    """The known formats by name. (Not `formats`: the package `webapp.dumps.formats` takes that name.)"""
    return cast("dict[str, Format]", collect("webapp.dumps.formats"))


def sniff(path: Path, filename: str) -> str:
    """The name of the format of the dump at `path`. Raises `UnknownFormat`, and `BadDump` where it is empty."""
    with opened(path, filename) as source:
        return choose(look(source)).name


def read(
    path: Path,
    filename: str,
    *,
    format: str | None = None,  # noqa: A002 - the option's name
    mapping: Mapping[str, str] | None = None,
    told: Callable[[int], None] | None = None,
) -> Iterator[Record]:
    """The records of the dump at `path`: a `SessionStart`, its turns in order, the next; problems in between.

    The format is recognised by content unless named. `mapping` (field of a turn to path, as `{"raw":
    "$.output.text"}`) reads any JSON or JSONL; it raises `BadMapping` at once, a `ValueError`, where it is none.
    Iterating raises `UnknownFormat`, or `BadDump` where not even one session can be read; damage further on is a
    `Problem`. Memory does not grow with the dump. `told` gets how many bytes were read each time.
    """
    mapped = None if mapping is None else collect("webapp.dumps.formats")["mapped"].by(mapping)
    return _read(path, filename, format, mapped, told)


def _read(
    path: Path, filename: str, name: str | None, mapped: Format | None, told: Callable[[int], None] | None
) -> Iterator[Record]:
    with opened(path, filename, told) as source:
        head = look(source)
        kind = _named(name, head) if mapped is None else _fitting(mapped, head)
        yield from checked(kind.read(source, head), source)


def _named(name: str | None, head: Head) -> Format:
    if name is None:
        return choose(head)
    if name not in known_formats():
        raise UnknownFormat(f"there is no format {name!r}; there are: {', '.join(known_formats())}")
    return _fitting(known_formats()[name], head)


def _fitting(kind: Format, head: Head) -> Format:
    """The format named, for each member where the dump is an archive."""
    if head.shape == "empty":
        raise BadDump("the dump is empty", "byte 0")
    if head.shape in ("zip", "tar") and not kind.sniff(head):
        return cast("Format", collect("webapp.dumps.formats")["archive"].of(kind))
    return kind


def choose(head: Head) -> Format:
    """The format that recognises a head best. Raises `UnknownFormat`, and `BadDump` where nothing can be read."""
    if head.shape == "empty" and head.whole:
        raise BadDump("the dump is empty", "byte 0")
    scores = {name: plugin.sniff(head) for name, plugin in known_formats().items()}
    best = max(scores, key=scores.__getitem__)
    if scores[best] > 0:
        return known_formats()[best]
    if head.unread is not None:
        raise BadDump(head.unread.reason, head.unread.at)
    raise UnknownFormat(
        f"{_what_it_is(head)} Known are: {'; '.join(plugin.shapes for plugin in known_formats().values())}."
    )


def _what_it_is(head: Head) -> str:
    if head.shape == "empty":
        return "The dump begins with more empty space than is looked at."
    if head.shape == "text":
        return f"The dump is not JSON: it begins with {head.text.lstrip()[:20]!r}."
    if head.shape == "object":
        keys = ", ".join(repr(key) for key in sorted(head.keys)[:8]) or "nothing"
        return f"The dump is a JSON object of no known shape (its keys: {keys})."
    return f"The dump is JSON ({'a list' if head.shape == 'array' else 'one value a line'}) of no known shape."


def checked(records: Iterator[Record], source: Source) -> Iterator[Record]:
    """Pass records on, each session id once. Raises `BadDump` where there is no session.

    Problems are held back until the first session, so that a dump without one can be refused as a whole.
    """
    seen: dict[str, int] = {}
    early: list[Problem] = []
    for record in _guarded(records, seen):
        if source.problem is not None:
            yield from _once(source, seen, early)
        if isinstance(record, Turn):
            yield record
        elif isinstance(record, SessionStart):
            yield from _unique(record, seen)
            yield from early
            early.clear()
        elif seen:
            yield record
        elif len(early) < MOST_EARLY:
            early.append(record)
    yield from _once(source, seen, early)
    if not seen:
        first = early[0] if early else Problem("byte 0", "the dump holds no session")
        raise BadDump(first.reason, first.at)


def _guarded(records: Iterator[Record], seen: dict[str, int]) -> Iterator[Record]:
    try:
        yield from records
    except BadDump as bad:
        if not seen:
            raise
        yield Problem(bad.at, bad.reason)


def _once(source: Source, seen: dict[str, int], early: list[Problem]) -> Iterator[Problem]:
    for problem in source.take_problem():
        if seen:
            yield problem
        else:
            early.append(problem)


def _unique(start: SessionStart, seen: dict[str, int]) -> Iterator[Record]:
    """A session id that stands twice in a dump gets a number behind it."""
    name = start.external_id
    seen[name] = seen.get(name, 0) + 1
    if seen[name] == 1:
        yield start
        return
    while (new := f"{name} ({seen[name]})") in seen:
        seen[name] += 1
    seen[new] = 1
    yield replace(start, external_id=new)
    yield Problem(f"session {name!r}", f"this id stands twice in the dump; the later session is called {new!r}")
