"""Compares a dump with what is stored of it: sessions, answers, tokens, texts and entries; and what was not read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from webapp import jsontext
from webapp.dumps import reading
from webapp.dumps.answer_alarm import MissingAnswers
from webapp.dumps.records import Problem, SessionStart, Turn, whole_entry
from webapp.dumps.spool import Spooled
from webapp.dumps.unread import UnreadText
from webapp.store.models import Dump, DumpSession, Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.sessions.dumps import NoSuchDump

MOST_SHOWN = 200
"""Missing strings that are shown word for word; all are counted."""
_SHOWN = 120
_AT_ONCE = 500


@dataclass(slots=True)
class Sums:
    """What a dump holds, or what is stored of it: numbers of sessions and answers, sums of tokens."""

    sessions: int = 0
    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def add(self, turn: Any) -> None:
        self.answers += turn.kind == "response"
        self.tokens_in += turn.tokens_in or 0
        self.tokens_out += turn.tokens_out or 0


@dataclass(frozen=True, slots=True)
class MissingString:
    """A text, or an entry, of the file that is not stored: its place, its length, how it begins."""

    at: str
    length: int
    beginning: str


@dataclass(slots=True)
class Verification:
    """`file` is what today's reading finds in the file, `stored` what the database holds of it."""

    format: str | None
    file: Sums = field(default_factory=Sums)
    stored: Sums = field(default_factory=Sums)
    missing_sessions: list[str] = field(default_factory=list)
    strings: int = 0
    """texts and entries that were compared"""
    missing_count: int = 0
    missing: list[MissingString] = field(default_factory=list)
    unread: list[Problem] = field(default_factory=list)
    """texts of the file that are in no turn, though their entry is stored: they were misread, or are no dialogue"""
    not_compared: list[Problem] = field(default_factory=list)
    """what was wrong with other places of the file"""

    @property
    def is_whole(self) -> bool:
        sums_fit = all(getattr(self.stored, name) >= getattr(self.file, name) for name in Sums.__slots__)
        return sums_fit and not self.missing_sessions and not self.missing_count and not self.unread

    def miss(self, at: str, text: str) -> None:
        self.missing_count += 1
        if len(self.missing) < MOST_SHOWN:
            self.missing.append(MissingString(at, len(text), text[:_SHOWN]))


def verify(engine: sa.Engine, spooled: Spooled, filename: str) -> Verification:
    """Compare the file with the dump of the same bytes. Raises `NoSuchDump`, `BadDump` and `UnknownFormat`."""
    with engine.connect() as connection:
        query = sa.select(Dump.id, Dump.format, Dump.mapping, Dump.filename).where(Dump.sha256 == spooled.sha256)
        dump = connection.execute(query).first()
        if dump is None:
            raise NoSuchDump("this file was not ingested: no log has its bytes")
        result, filename = Verification(dump.format), dump.filename or filename  # sessions may be called as it was
        linked = sa.select(Session.id, Session.external_id).join(DumpSession, DumpSession.session_id == Session.id)
        visible = sa.and_(DumpSession.dump_id == dump.id, Session.deleted_at.is_(None))
        sessions = {row.id: row.external_id for row in connection.execute(linked.where(visible))}
        result.stored.sessions = len(sessions)
        digests = set(_stored_digests(connection, sessions, result.stored))
    _compare(result, spooled.path, filename, dump.mapping, set(sessions.values()), digests)
    return result


def _stored_digests(connection: sa.Connection, sessions: Mapping[int, str], sums: Sums) -> Iterator[bytes]:
    """Of the texts and entries that the turns of the sessions hold, which are summed meanwhile."""
    columns = (StoredTurn.kind, StoredTurn.tokens_in, StoredTurn.tokens_out, StoredTurn.duplicate_of)
    content = (StoredTurn.raw, StoredTurn.source, StoredTurn.raw_at)
    for ident, name in sessions.items():
        query = sa.select(*columns, *content).where(StoredTurn.session_id == ident)
        for turn in connection.execute(query, execution_options={"yield_per": _AT_ONCE}):
            if turn.duplicate_of is None:
                sums.add(turn)
            yield from (_digest(name, text) for text in _texts(turn))


def _texts(turn: Any) -> Iterator[str]:
    """A turn's text, and its entry as JSON, the same wherever it stands."""
    if turn.raw:
        yield turn.raw
    if turn.source is not None:
        entry = turn.source if turn.raw_at is None else whole_entry(turn.source, turn.raw, turn.raw_at)
        yield jsontext.canonical([entry]) or ""


def _digest(session: str, text: str) -> bytes:
    return hashlib.sha256(f"{session}\0{text}".encode("utf-8", "surrogatepass")).digest()[:16]


def _compare(
    result: Verification,
    path: Path,
    filename: str,
    mapping: Mapping[str, str] | None,
    names: set[str],
    digests: set[bytes],
) -> None:
    """Read the file again, and hold each text and entry against what is stored."""
    session, unanswered = "", list[Problem]()
    for record in reading.read(path, filename, format=None if mapping else result.format, mapping=mapping):
        if isinstance(record, SessionStart):
            session = record.external_id
            result.file.sessions += 1
            if session not in names:
                result.missing_sessions.append(session)
        elif isinstance(record, Turn):
            if record.duplicate_of is None:
                result.file.add(record)
            for text in _texts(record) if session in names else ():
                result.strings += 1
                if _digest(session, text) not in digests:
                    result.miss(f"session {session!r}, entry {record.entry + 1}", text)
        elif isinstance(record, UnreadText):
            result.unread.append(record)
        elif isinstance(record, Problem):
            (unanswered if isinstance(record, MissingAnswers) else result.not_compared).append(record)
    if not result.file.answers:
        result.unread += unanswered
