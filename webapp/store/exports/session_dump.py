"""Whole sessions out of the store: their dumps, streamed, written to a file in the data folder or several as one zip.

And what made their responses fail, with the smallest reproduction of each failure group.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import __version__
from webapp.config import Settings
from webapp.dumps.records import whole_entry
from webapp.exports.base import Sink
from webapp.exports.session import CauseView, document
from webapp.parsing import UnknownProfile, failure_group, minimal, profile, why_absent
from webapp.store.files import draft, file_store
from webapp.store.models import FailedResponse, Session, Turn
from webapp.store.write import stored_turns
from webapp.store.write.failed_responses import HOME, recorded_key
from webapp.store.write.parser import UNKNOWN
from webapp.store.write.rows import bare_entry

LONGEST = 200
"""bytes, the suffix not counted; file systems take 255"""

_PLAIN = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_KEPT = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{port}{number}" for port in ("com", "lpt") for number in range(10)}


def safe_name(external_id: str) -> str:
    """A file name without folder and suffix for a session id; no two ids share one.

    An id of ASCII letters, digits, `_`, `-` and single inner dots stays as it is, unless it is one of Windows'
    device names or too long. All others are percent-encoded and get `~` and a hash: `~` stands in no plain id.
    """
    is_device = external_id.partition(".")[0].lower() in _DEVICES
    is_plain = len(external_id) <= LONGEST and not is_device and _PLAIN.fullmatch(external_id) is not None
    return external_id if is_plain else _hashed(external_id)


def path_in(folder: Path, external_id: str, suffix: str) -> Path:
    """Where in `folder` the session's file is: where a file system folds case, not on another session's file."""
    path = folder / f"{safe_name(external_id)}{suffix}"
    if not path.exists() or path.name in {entry.name for entry in folder.iterdir()}:
        return path
    return folder / f"{_hashed(external_id)}{suffix}"


def _hashed(external_id: str) -> str:
    data = external_id.encode("utf-8", "surrogatepass")
    safe = "".join(chr(byte) if byte in _KEPT else f"%{byte:02X}" for byte in data[:LONGEST])
    safe = re.sub(r"%[0-9A-F]?$", "", safe[: LONGEST - 17])
    return f"{safe.lstrip('.')}~{hashlib.sha256(data).hexdigest()[:16]}"


_FOLDER = "logs/session_dumps"
_AT_ONCE = 200
"""rows fetched together; a row holds one entry"""


@dataclass(frozen=True, slots=True)
class WrittenDump:
    """A written session dump: its path or URL, and its name in the data folder or the store, with `/` on any system."""

    address: str
    name: str
    entry_count: int


def fencepost_block(session: Session) -> dict[str, Any]:
    """What the dump says of the session itself, so that it is read again as it was read first."""
    return {
        "version": __version__,
        "format": session.source_format,
        "home": session.home_profile,
        "title": session.title,
        "extra": session.extra or {},
        "service": session.service,
        "key": session.key,
        "revision": session.revision,
    }


def stream(db: orm.Session, session: Session, now: datetime | None = None) -> Iterator[bytes]:
    """The session as one JSON document, made `now`, in pieces; entries that came in are in it unchanged."""
    noticed = [stored_turns.finding_dict(finding) for finding in stored_turns.findings_of(db, session.id)]
    block = fencepost_block(session) | {"findings": noticed}
    return document(session.external_id, now or datetime.now(UTC), session.entry_count, _entries(db, session), block)


def write(db: orm.Session, settings: Settings, session: Session) -> WrittenDump:
    """Write the session's dump to `logs/session_dumps` of the data folder or the store, whole or not at all.

    Raises `OSError` where that cannot be written.
    """
    folder = settings.data / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    target = path_in(folder, session.external_id, ".json")
    name, store = f"{_FOLDER}/{target.name}", file_store(settings)
    with draft(folder, ".writing-") as path:
        with path.open("wb") as out:
            out.writelines(stream(db, session))
        store.put(name, path)
    return WrittenDump(f"{store.place.rstrip('/')}/{name}", name, session.entry_count)


def _entries(db: orm.Session, session: Session) -> Iterator[Any]:
    """Each entry as it came, from its first turn."""
    query = (
        sa.select(Turn.source, Turn.raw, Turn.raw_at, Turn.kind, Turn.role)
        .where(Turn.session_id == session.id, Turn.entry_sha256.is_not(None))
        .order_by(Turn.ordinal)
        .execution_options(yield_per=_AT_ONCE)
    )
    with db.execute(query) as rows:  # closes the server's cursor where whoever reads stops early
        for row in rows:
            if row.source is None and row.raw_at is None:
                yield bare_entry(row.kind, row.role, row.raw)
            else:
                yield whole_entry(row.source, row.raw, row.raw_at)


_LONGEST = 180
"""characters of a name, so that a number and `.json` still fit where file systems take 255 bytes"""


def stream_zip(
    db: orm.Session, sessions: Iterable[Session], now: datetime | None = None
) -> Generator[bytes, None, None]:
    """The zip in pieces, one file a session, in the order given; `now` is the moment that all of it names."""
    sink, used = Sink(), set[str]()
    now = now or datetime.now(UTC)
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for session in sessions:
            info = zipfile.ZipInfo(f"{unique_name(session.external_id, used)}.json", now.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as entry:
                for piece in stream(db, session, now):
                    entry.write(piece)
                    if written := sink.taken():
                        yield written
    yield sink.taken()


def unique_name(external_id: str, used: set[str]) -> str:
    """A safe file name that none in `used` equals, case aside (Windows, macOS); it is added to them."""
    name = safe_name(external_id)[:_LONGEST]
    unique, number = name, 1
    while unique.lower() in used:
        number += 1
        unique = f"{name}~{number}"
    used.add(unique.lower())
    return unique


MOST_REPRODUCED = 5
"""causes, the most frequent first, of which a reproduction is looked for …"""
CHARACTERS = 600_000
"""… each with so many code points given to the parser, about a second"""
LONGEST_RAW = 60_000
_MOST_POSITIONS = 20


def causes_of(db: orm.Session, session: Session) -> tuple[CauseView, ...]:
    """Every cause, the most frequent first; their counts add up to the responses that failed."""
    positions: dict[str, list[int]] = {}
    for position, title in _failures(db, session):
        positions.setdefault(title, []).append(position)
    in_order = sorted(positions.items(), key=lambda item: (-len(item[1]), item[1][0]))
    views = []
    for number, (title, places) in enumerate(in_order):
        example, why_none = (None, "")
        if number < MOST_REPRODUCED:
            example, why_none = _reproduction(db, session, places[0])
        views.append(CauseView(title, len(places), tuple(places[:_MOST_POSITIONS]), example, why_none))
    return tuple(views)


def _failures(db: orm.Session, session: Session) -> Iterator[tuple[int, str]]:
    """Position and cause of every failed response."""
    query = sa.select(Turn.position, Turn.recorded_failure, FailedResponse.group_key, FailedResponse.profile)
    query = query.join(FailedResponse, FailedResponse.turn_id == Turn.id).order_by(Turn.position)
    at_home = FailedResponse.session_id == session.id, FailedResponse.under == HOME
    for row in db.execute(query.where(*at_home)):
        if session.home_profile != UNKNOWN or not row.profile:
            yield row.position, failure_group.title(row.group_key)
        elif row.recorded_failure is not None:  # it would fail under `json.loads`, too, which nobody said was used
            yield row.position, failure_group.title(recorded_key(row.recorded_failure))


def _reproduction(db: orm.Session, session: Session, position: int) -> tuple[str | None, str]:
    """The smallest reproduction of what failed at `position`, else why there is none."""
    query = sa.select(Turn.raw).where(Turn.session_id == session.id, Turn.position == position)
    raw = db.scalar(query.where(Turn.duplicate_of.is_(None))) or ""
    if len(raw) > LONGEST_RAW:
        return None, f"not reduced: the response has {len(raw):,} characters, more than {LONGEST_RAW:,}"
    try:
        if missing := why_absent(profile(session.home_profile)):
            return None, f"not reduced: {missing}"
    except UnknownProfile:
        return None, "not reduced: the parser is unknown"
    result = minimal.of_profile(raw, session.home_profile, CHARACTERS)
    if not result.same:
        return None, "not reduced: the parser reads the response, and the failure is the log's"
    return result.text, minimal.sentence(result, len(raw), session.home_profile)
