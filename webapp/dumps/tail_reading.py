"""Reads what was added to a dump of lines, from where the reading of it ended before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from webapp import saved_state
from webapp.dumps.answer_alarm import SessionAnswers
from webapp.dumps.base import Format, SessionEntries
from webapp.dumps.read_tail import END, ReadTail
from webapp.dumps.records import LaterKnown, Problem, Turn
from webapp.dumps.turn_reader import TurnReader

MOST_ADDED = 16 * 1024 * 1024
"""bytes of added lines that are read so; more are read with the whole file"""


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """A session that was read before: what goes on reading it, and what was answered in it."""

    reader: TurnReader
    answers: SessionAnswers


def noted_end(saved: bytes) -> SessionEnd:
    """What was saved of a session's end. Raises `saved_state.NotSaved`."""
    reader_bytes, answers = saved_state.restored(saved)
    reader = saved_state.restored(reader_bytes)
    if not isinstance(reader, TurnReader) or not isinstance(answers, SessionAnswers):
        raise saved_state.NotSaved("it is no session's end")
    return SessionEnd(reader, answers)


def reread_end(kind: Format, session: SessionEntries, entries: Iterable[dict[str, Any]]) -> SessionEnd:
    """The same, by reading all of a session's entries again; of one that begins in the added lines it has none."""
    end = SessionEnd(kind.reader(session.extra), SessionAnswers(session.name, about=session.extra))
    turns = end.reader.read(kind.sided_turns((("", entry) for entry in entries), end.reader))
    for record in [*turns, *end.reader.waiting()]:
        if isinstance(record, Turn):
            end.answers.add(record)
    return end


def added_turns(
    kind: Format, session: SessionEntries, before: SessionEnd, tail: ReadTail
) -> Iterator[Turn | LaterKnown | Problem]:
    """The turns of a session's added entries, and what these tell of turns before them. `tail` notes where they end."""
    reader, answers = before.reader, before.answers
    for record in _new(kind, session, reader, tail):
        if isinstance(record, Turn):
            answers.add(record)
        yield record
    tail.end(answers)


def _new(
    kind: Format, session: SessionEntries, reader: TurnReader, tail: ReadTail
) -> Iterator[Turn | LaterKnown | Problem]:
    """The records that were not given before: all that waited then was, as it was then."""
    waited = reader.waiting()
    given_ids = {id(record) for record in waited}
    first = reader.conversation.entry
    left = ordinal = reader.left
    turns_then = [record for record in waited if isinstance(record, Turn)]
    for record in kind.noted_turns(session, reader, tail):
        if isinstance(record, Problem):
            if id(record) not in given_ids and record.at != END:
                yield record
            continue
        if record.entry >= first:
            yield record
        elif id(record) not in given_ids:
            yield LaterKnown(ordinal, _difference(turns_then[ordinal - left], record))
        ordinal += 1


def _difference(before: Turn, now: Turn) -> Turn:
    values = {field.name: getattr(now, field.name) for field in fields(Turn)}
    new = {name: value for name, value in values.items() if value != getattr(before, name)}
    return Turn(now.entry, now.kind, **new)
