"""Numbers of turns, of times and of searched texts; the short key of sessions that URLs use; and texts cut to what a
column takes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Literal, NamedTuple, TypeVar

TURNS_A_SESSION = 2**24
"""Turn ids are `session.id * TURNS_A_SESSION + ordinal`: known before the insert; a session's turns lie together."""
LONGEST_ID = 2048
"""bytes of UTF-8; PostgreSQL's B-tree takes entries up to 2,704 bytes"""
_FIRST = datetime(1, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_T = TypeVar("_T")


def shortened(external_id: str) -> str:
    """`external_id`, or where it is longer than `LONGEST_ID` bytes its beginning and a hash of all of it."""
    data = external_id.encode("utf-8", "surrogatepass")
    if len(data) <= LONGEST_ID:
        return external_id
    return f"{external_id[:200]}…{hashlib.sha256(data).hexdigest()}"


def key(external_id: str, revision: int, attempt: int = 0) -> str:
    """Ten lower-case letters and digits that stand for the session; `attempt` gives another where one is taken."""
    text = f"{external_id}\0{revision}\0{attempt}".encode("utf-8", "surrogatepass")
    number = int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
    digits = []
    for _ in range(10):
        number, rest = divmod(number, 36)
        digits.append(_DIGITS[rest])
    return "".join(digits)


def lock_number(external_id: str) -> int:
    """A signed 64-bit number for PostgreSQL's advisory locks."""
    data = external_id.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big", signed=True)


def short(value: str, length: int) -> str:
    """`value` as `ShortText(length)` keeps it."""
    if len(value) > length:
        value = value[: length - 1] + "…"
    if value.isascii() and "\0" not in value:
        return value
    return "".join("\ufffd" if letter == "\0" or "\ud800" <= letter <= "\udfff" else letter for letter in value)


def batched(values: Iterable[_T], size: int = 500) -> Iterator[list[_T]]:
    """Lists of at most so many of `values`, in their order, for statements that take no more."""
    iterator = iter(values)
    while batch := list(islice(iterator, size)):
        yield batch


def microseconds(when: datetime) -> int:
    """Since the year 1, so that no time is negative."""
    return (when - _FIRST) // _MICROSECOND


def moment(number: int) -> datetime:
    """The time that is so many microseconds after the year 1. Raises `OverflowError` where there is none."""
    return _FIRST + timedelta(microseconds=number)


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
        return note_key(self.target, self.kind)


def note_key(turn_id: int, kind: Kind) -> int:
    """Where a text stands among all texts: by session, turn, kind."""
    return turn_id * SLOTS + KINDS.index(kind)


def session_notes(session_id: int, external_id: str, title: str | None) -> list[Note]:
    """What is noted of every session: its id, and its title if it has one."""
    first = session_id * TURNS_A_SESSION
    return [Note("id", first, external_id), *([Note("title", first, title)] if title else [])]
