"""Session dumps of a selection as one zip, streamed: no dump is held whole, nothing is written to disk."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Generator, Iterable
from datetime import UTC, datetime

from sqlalchemy import orm

from webapp.store.exports import session_dump
from webapp.store.exports.filenames import safe_name
from webapp.store.models import Session

_LONGEST = 180
"""characters of a name, so that a number and `.json` still fit where file systems take 255 bytes"""


class _Pipe(io.RawIOBase):
    """What the zip is written to; it cannot seek, so each entry's sizes stand behind it."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self.pieces.append(piece)
        return len(piece)

    def take(self) -> bytes:
        data = b"".join(self.pieces)
        self.pieces.clear()
        return data


def stream(db: orm.Session, sessions: Iterable[Session], now: datetime | None = None) -> Generator[bytes, None, None]:
    """The zip in pieces, one file a session, in the order given; `now` is the moment that all of it names."""
    pipe, used = _Pipe(), set[str]()
    now = now or datetime.now(UTC)
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for session in sessions:
            info = zipfile.ZipInfo(f"{unique_name(session.external_id, used)}.json", now.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as entry:
                for piece in session_dump.stream(db, session, now):
                    entry.write(piece)
                    if pipe.pieces:
                        yield pipe.take()
    yield pipe.take()


def unique_name(external_id: str, used: set[str]) -> str:
    """A safe file name that none in `used` equals, case aside (Windows, macOS); it is added to them."""
    name = safe_name(external_id)[:_LONGEST]
    unique, number = name, 1
    while unique.lower() in used:
        number += 1
        unique = f"{name}~{number}"
    used.add(unique.lower())
    return unique
