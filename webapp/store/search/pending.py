"""Texts that are to be searched, until they are indexed. Knows no database before it writes to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from webapp.store.db.ids import TURNS_A_SESSION

if TYPE_CHECKING:
    import sqlalchemy as sa

    from webapp.parsing import Trace

Kind = Literal["id", "title", "failure", "error", "note", "raw"]

KINDS: tuple[Kind, ...] = ("id", "title", "failure", "error", "note", "raw")
SLOTS = 8
"""A note's key is its turn's id times this, plus the number of its kind; an id and a title stand at ordinal 0."""

Text = tuple[int, bytes]
"""a turn's id and its raw text in UTF-8"""
MOST_BYTES = 4 * 1024 * 1024
"""of texts that wait to be indexed"""


class Note(NamedTuple):
    """A text beside the raw ones. `target` is a turn's id; for an id or a title a session's first turn's."""

    kind: Kind
    target: int
    text: str

    @property
    def key(self) -> int:
        return key(self.target, self.kind)


def key(turn_id: int, kind: Kind) -> int:
    """Where a text stands among all texts: by session, turn, kind."""
    return turn_id * SLOTS + KINDS.index(kind)


def session_notes(session_id: int, external_id: str, title: str | None) -> list[Note]:
    """What is written for every session: one that lacks its id in the index is not indexed."""
    first = session_id * TURNS_A_SESSION
    return [Note("id", first, external_id), *([Note("title", first, title)] if title else [])]


def errors(trace: Trace) -> str:
    """What an `error` note says of a failed trace: each message and reason of its attempts once, a line each."""
    messages = [
        attempt.reason if attempt.error is None else f"{attempt.error.type}: {attempt.error.message}"
        for attempt in trace.attempts
        if not attempt.ok
    ]
    return "\n".join(dict.fromkeys(text for text in messages if text))


class PendingSize(NamedTuple):
    """How much waits to be indexed: texts, notes, and bytes of them."""

    texts: int = 0
    notes: int = 0
    size: int = 0


NOTHING = PendingSize()


@dataclass(slots=True)
class Pending:
    """Texts that wait to be indexed together: FTS5 writes what it holds whenever a transaction has a savepoint."""

    texts: list[Text] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    size: int = 0
    has_raw: bool = True
    """False where raw texts are in the index already, so that only notes are taken"""

    def text(self, turn_id: int, raw: bytes) -> None:
        if self.has_raw:
            self.texts.append((turn_id, raw))
            self.size += len(raw)

    def add(self, texts: Sequence[Text]) -> None:
        """Take raw texts."""
        self.texts += texts
        self.size += sum(len(text) for _, text in texts)

    def note(self, *notes: Note) -> None:
        self.notes += notes
        self.size += sum(len(note.text) for note in notes)

    def mark(self) -> PendingSize:
        """Where it stands, for `cut` and `flush`."""
        return PendingSize(len(self.texts), len(self.notes), self.size)

    def cut(self, mark: PendingSize) -> None:
        """Forget what came behind `mark`."""
        del self.texts[mark.texts :]
        del self.notes[mark.notes :]
        self.size = mark.size

    def clear(self) -> None:
        self.cut(NOTHING)

    def flush(self, connection: sa.Connection, mark: PendingSize = NOTHING) -> None:
        """Index what came behind `mark`."""
        from webapp.store.search import index  # what only gathers texts needs no database

        index.index_turns(connection, self.texts[mark.texts :])
        index.index_notes(connection, self.notes[mark.notes :])
        self.cut(mark)

    def flush_where_much(self, connection: sa.Connection) -> None:
        """Index all where it is more than is to be kept in memory."""
        if self.size > MOST_BYTES:
            self.flush(connection)
