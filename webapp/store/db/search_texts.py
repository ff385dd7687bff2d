"""Texts that are searched beside the raw ones: what they are called, and where each stands. Knows no database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from webapp.store.db.ids import TURNS_A_SESSION

if TYPE_CHECKING:
    from webapp.parsing import Trace

Kind = Literal["id", "title", "failure", "error", "note", "raw"]

KINDS: tuple[Kind, ...] = ("id", "title", "failure", "error", "note", "raw")
SLOTS = 8
"""A note's key is its turn's id times this, plus the number of its kind; an id and a title stand at ordinal 0."""

Text = tuple[int, bytes]
"""a turn's id and its raw text in UTF-8"""


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
