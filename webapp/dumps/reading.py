"""Reads a dump: picks its format and hands on its records, each session id once, damage as problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import cast

from webapp.dumps.advice import refused
from webapp.dumps.answer_alarm import watched
from webapp.dumps.base import Format
from webapp.dumps.budget import BadDump, current
from webapp.dumps.first_look import look
from webapp.dumps.opening import head_of, opened
from webapp.dumps.records import Problem, Record, SessionStart, Turn, UnknownFormat
from webapp.dumps.session_keys import SessionKeys, told_key
from webapp.dumps.source import DumpHead, Source
from webapp.plugins import collect

_TEXTS = ("responses", "separated")
"""formats that, named, take a text as it is"""
MOST_EARLY = 1000
"""How many problems are held back until the first session."""


@cache
def known_formats() -> dict[str, Format]:
    """The known formats by name. (Not `formats`: the package `webapp.dumps.formats` takes that name.)"""
    return dict(sorted(collect("webapp.dumps.formats").items()))


def home_of(format_name: str) -> str | None:
    """The profile that the programs of a format parse with, where the format says so; None of an unknown one."""
    format_ = known_formats().get(format_name)
    return None if format_ is None else format_.home


def sniff(path: Path, filename: str) -> str:
    """The name of the format of the dump at `path`. Raises `UnknownFormat`, and `BadDump` where it is empty."""
    return choose(head_of(path, filename)).name


def read(
    path: Path,
    filename: str,
    *,
    format: str | None = None,  # noqa: A002 - the option's name
    mapping: Mapping[str, str] | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Iterator[Record]:
    """The records of the dump at `path`: a `SessionStart`, its turns in order, the next; problems in between.

    The format is recognised by content unless named. `mapping` (field of a turn to path, as `{"raw":
    "$.output.text"}`) reads any JSON or JSONL; `{"session_key": …}` alone says what names the sessions.
    It raises `BadMapping` at once, a `ValueError`, where it is none.
    Iterating raises `UnknownFormat`, or `BadDump` where not even one session can be read; damage further on is a
    `Problem`. Memory does not grow with the dump. `on_progress` gets how many bytes were read each time.
    """
    key = told_key(mapping)
    mapped = None if mapping is None or key is not None else collect("webapp.dumps.formats")["mapped"].by(mapping)

    def records() -> Iterator[Record]:
        with opened(path, filename, on_progress, is_text=format in _TEXTS) as source:
            head = look(source)
            kind = _named(format, head) if mapped is None else _fitting(mapped, head)
            yield from watched(checked(kind.with_key(key), source, head))

    return records()


def session_keys(
    path: Path,
    filename: str,
    *,
    format: str | None = None,  # noqa: A002
    key: str | None = None,
    most: int | None = None,
) -> SessionKeys | None:
    """What may name the sessions of a dump's entries, and what is taken; None where its format leaves no choice.

    Reads the dump once, of an archive's members about `most` bytes. Raises `UnknownFormat` and `BadDump` as `read`.
    """
    with opened(path, filename) as source:
        head = look(source)
        kind = _named(format, head)
        return kind.with_key(key).keys(source, head, most)


def _named(name: str | None, head: DumpHead) -> Format:
    if name is None:
        return choose(head)
    if name not in known_formats():
        raise UnknownFormat(f"there is no format {name!r}; there are: {', '.join(known_formats())}")
    return _fitting(known_formats()[name], head)


def _fitting(kind: Format, head: DumpHead) -> Format:
    """The format named, for each member where the dump is an archive."""
    if head.shape == "empty":
        raise BadDump("the log is empty", "byte 0")
    if head.shape in ("zip", "tar") and not kind.sniff(head):
        return cast("Format", collect("webapp.dumps.formats")["archive"].of(kind))
    return kind


def choose(head: DumpHead) -> Format:
    """The format that recognises a head best. Raises `UnknownFormat`, and `BadDump` where nothing can be read."""
    if head.shape == "empty" and head.whole:
        raise BadDump("the log is empty", "byte 0")
    score, best = _best(head)
    if head.led and (as_text := _best(replace(head, shape="text")))[0] > score:
        score, best, head.shape = *as_text, "text"
    if score > 0:
        return known_formats()[best]
    if head.unread is not None:
        raise BadDump(head.unread.reason, head.unread.at)
    raise refused(head)


@cache
def _surest_first() -> list[tuple[str, Format]]:
    return sorted(known_formats().items(), key=lambda pair: -pair[1].surest)


def _best(head: DumpHead) -> tuple[int, str]:
    """How well a head is recognised, and the format that does it best; of several the first by name."""
    score, best = 0, ""
    for name, kind in _surest_first():
        if kind.surest < score:
            break
        if (sure := kind.sniff(head)) > score or (sure == score > 0 and name < best):
            score, best = sure, name
    return score, best


def checked(kind: Format, source: Source, head: DumpHead) -> Iterator[Record]:
    """The records of a dump, each session id once. Raises `BadDump` where there is no session.

    Problems are held back until the first session, so that a dump without one can be refused as a whole.
    """
    counts: dict[str, int] = {}
    early: list[Problem] = []
    budget = current()
    if kind.session_key is not None and not kind.by_key:
        unused = f"the format {kind.name} names its sessions itself; the key was not used"
        early.append(Problem("the session key", unused))
    try:
        for count, record in enumerate(kind.read(source, head)):
            budget.check_records(count, "record")
            if source.problem is not None:
                yield from _once(source, counts, early)
            if isinstance(record, Turn):
                yield record
            elif isinstance(record, SessionStart):
                yield from _unique(record, counts)
                yield from early
                early.clear()
            elif counts:
                yield record
            elif len(early) < MOST_EARLY:
                early.append(record)
    except BadDump as bad:
        if not counts:
            raise
        yield Problem(bad.at, bad.reason)
    yield from _once(source, counts, early)
    if not counts:
        first = early[0] if early else Problem("byte 0", "the log contains no session")
        raise BadDump(first.reason, first.at)


def _once(source: Source, counts: dict[str, int], early: list[Problem]) -> Iterator[Problem]:
    for problem in source.take_problem():
        if counts:
            yield problem
        else:
            early.append(problem)


def _unique(start: SessionStart, counts: dict[str, int]) -> Iterator[Record]:
    """A session id that stands twice in a dump gets a number behind it."""
    name = start.external_id
    counts[name] = counts.get(name, 0) + 1
    if counts[name] == 1:
        yield start
        return
    while (new := f"{name} ({counts[name]})") in counts:
        counts[name] += 1
    counts[new] = 1
    yield replace(start, external_id=new)
    yield Problem(f"session {name!r}", f"this id occurs twice in the log; the later session is called {new!r}")
