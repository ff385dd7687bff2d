"""Compares a dump with what is stored of it: sessions, answers, tokens, and each long string of the file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from webapp import dumps as readers
from webapp import jsontext
from webapp.dumps.answer_alarm import MissingAnswers
from webapp.dumps.long_strings import LONG, LongString, long_strings, strings_of, within
from webapp.dumps.records import Problem, SessionStart, Turn
from webapp.dumps.spool import Spooled
from webapp.dumps.unread import UnreadText
from webapp.exports.session_dump import whole_entry
from webapp.store.models import Dump, DumpSession, Session
from webapp.store.models import Turn as StoredTurn
from webapp.store.sessions.dumps import NoSuchDump

MOST_SHOWN = 200
"""Missing strings that are shown word for word; all are counted."""
_SHOWN = 120
_AT_ONCE = 500
_DEEPEST = 4
"""JSON in strings of JSON: so often it is unpacked."""


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
    """A long string of the file that is in no turn and no entry: its place, its length, how it begins."""

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
    missing_count: int = 0
    missing: list[MissingString] = field(default_factory=list)
    unread: list[Problem] = field(default_factory=list)
    """texts of the file that are in no turn, though their entry is stored: they were misread, or are no dialogue"""
    not_compared: list[Problem] = field(default_factory=list)
    """places of the file whose strings could not be compared"""

    @property
    def is_whole(self) -> bool:
        sums_fit = all(getattr(self.stored, name) >= getattr(self.file, name) for name in Sums.__slots__)
        return sums_fit and not self.missing_sessions and not self.missing_count and not self.unread


def verify(engine: sa.Engine, spooled: Spooled, filename: str) -> Verification:
    """Compare the file with the dump of the same bytes. Raises `NoSuchDump`, `BadDump` and `UnknownFormat`."""
    with engine.connect() as connection:
        query = sa.select(Dump.id, Dump.format, Dump.mapping, Dump.filename).where(Dump.sha256 == spooled.sha256)
        dump = connection.execute(query).first()
        if dump is None:
            raise NoSuchDump("this file was not ingested: no dump has its bytes")
        result, filename = Verification(dump.format), dump.filename or filename  # sessions may be called as it was
        linked = sa.select(Session.id, Session.external_id).join(DumpSession, DumpSession.session_id == Session.id)
        visible = sa.and_(DumpSession.dump_id == dump.id, Session.deleted_at.is_(None))
        sessions = {row.id: row.external_id for row in connection.execute(linked.where(visible))}
        _sum_file(result, spooled.path, filename, dump.mapping, set(sessions.values()))
        digests = _StoredStrings(connection, sessions)
        result.stored = digests.sums
        _compare_strings(result, digests, spooled.path, filename)
    return result


def _sum_file(
    result: Verification, path: Path, filename: str, mapping: Mapping[str, str] | None, names: set[str]
) -> None:
    unanswered: list[Problem] = []
    for record in readers.read(path, filename, format=None if mapping else result.format, mapping=mapping):
        if isinstance(record, SessionStart):
            result.file.sessions += 1
            if record.external_id not in names:
                result.missing_sessions.append(record.external_id)
        elif isinstance(record, Turn) and record.duplicate_of is None:
            result.file.add(record)
        elif isinstance(record, UnreadText | MissingAnswers):
            (result.unread if isinstance(record, UnreadText) else unanswered).append(record)
    if not result.file.answers:
        result.unread += unanswered


class _StoredStrings:
    """Digests of the long strings that the turns and entries of sessions hold, and the sums of their turns."""

    def __init__(self, connection: sa.Connection, sessions: Mapping[int, str]) -> None:
        self._connection, self._sessions = connection, sessions
        self.sums = Sums(len(sessions))
        self.digests: set[bytes] = set()
        for turn in self._turns():
            if turn.duplicate_of is None:
                self.sums.add(turn)
            for _, text in _unpacked(_long_of(turn)):
                self.digests.add(_digest(text))

    def _turns(self) -> Iterator[Any]:
        columns = (StoredTurn.kind, StoredTurn.tokens_in, StoredTurn.tokens_out, StoredTurn.duplicate_of)
        content = (StoredTurn.raw, StoredTurn.source, StoredTurn.raw_at, StoredTurn.tool_calls)
        for session_id in self._sessions:
            query = sa.select(*columns, *content).where(StoredTurn.session_id == session_id)
            yield from self._connection.execute(query, execution_options={"yield_per": _AT_ONCE})
        for session_id in self._sessions:
            query = sa.select(Session.title, Session.extra).where(Session.id == session_id)
            for title, extra in self._connection.execute(query):
                yield StoredTurn(kind="session", raw=title, source=extra)

    def hold_within(self, texts: set[str]) -> set[str]:
        """Those of `texts` that stand within a longer stored text, as they are or but for white space."""
        plain = {text: "".join(text.split()) for text in texts}
        values = {text: _canonical(value) for text in texts if (value := within(text)) is not None}
        matches: set[str] = set()
        for turn in self._turns():
            if values:  # JSON that was a text, and stands in the entry as the value that it holds
                entry = _canonical(_entry_of(turn))
                matches |= {text for text, value in values.items() if value and value in entry}
            for _, stored_text in _long_of(turn):
                bare = "".join(stored_text.split())
                matches |= {text for text in plain if text in stored_text or plain[text] in bare}
            for text in matches:
                plain.pop(text, None)
                values.pop(text, None)
        return matches


def _entry_of(turn: Any) -> Any:
    return turn.source if turn.raw_at is None else whole_entry(turn.source, turn.raw, turn.raw_at)


def _canonical(value: Any) -> str:
    """The value as JSON, the same wherever it stands; "" where it is nested too deeply."""
    return (jsontext.canonical([value]) or "")[1:-1]


def _long_of(turn: Any) -> Iterator[LongString]:
    yield from strings_of(turn.raw, "raw")
    yield from strings_of(_entry_of(turn), "entry")
    yield from strings_of(turn.tool_calls, "tool calls")


def _unpacked(strings: Iterable[LongString], depth: int = 0) -> Iterator[LongString]:
    """Strings, and those within the JSON that they hold."""
    for string in strings:
        yield string
        if depth < _DEEPEST and (value := within(string.text)) is not None:
            yield from _unpacked(strings_of(value, string.at), depth + 1)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _compare_strings(result: Verification, stored_strings: _StoredStrings, path: Path, filename: str) -> None:
    suspects: dict[str, list[str]] = {}
    for string in long_strings(path, filename):
        if isinstance(string, Problem):
            result.not_compared.append(string)
            continue
        result.strings += 1
        if not _is_there(string, stored_strings.digests):
            suspects.setdefault(string.text, []).append(string.at)
    texts = iter(list(suspects))
    while batch := set(islice(texts, _AT_ONCE)):
        for text in stored_strings.hold_within(batch):
            del suspects[text]
    for text, places in suspects.items():
        result.missing_count += len(places)
        missing_strings = [MissingString(at, len(text), text[:_SHOWN]) for at in places]
        result.missing += missing_strings[: MOST_SHOWN - len(result.missing)]


def _is_there(string: LongString, digests: set[bytes]) -> bool:
    """Whether the string is stored, or is JSON all of whose long strings are."""
    if _digest(string.text) in digests:
        return True
    value = within(string.text)
    inner = [] if value is None else list(strings_of(value, string.at))
    return bool(inner) and all(len(string.text) <= LONG or _is_there(string, digests) for string in inner)
