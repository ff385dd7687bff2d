"""One dump being read: its sessions are stored whole, each problem is noted, and the dump's row says how it ended."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps import reading
from webapp.dumps.budget import BadDump
from webapp.dumps.records import SessionStart, UnknownFormat
from webapp.dumps.sessions import Spill, sessions
from webapp.dumps.spool import Spooled
from webapp.store import append, files
from webapp.store.db import database
from webapp.store.homes import rules
from webapp.store.ingest import dump_files
from webapp.store.ingest.result import IngestCounts, IngestResult, Outcomes, Progress, Stopped, describe, problem_dict
from webapp.store.models import Dump, Session
from webapp.store.sessions import dumps
from webapp.store.sessions.dumps import line
from webapp.store.write.session_state import SessionInput, SessionOutcome

OWN_FORMAT = "fencepost"
MOST_TEXT = 64 * 1024
"""characters of sessions that are written in one transaction; a longer one is appended piece by piece"""
MOST_SESSIONS = 16
MOST_SECONDS = 0.25
"""how long a session waits at most for others"""
_NOTED_EVERY = 0.5
"""seconds between two notes in the database of how far the reading is"""


@dataclass(slots=True)
class DumpIngest:
    """One dump being read; `again` is its line where it was read before and is read anew."""

    engine: sa.Engine
    settings: Settings
    spooled: Spooled
    filename: str
    format: str | None
    home: str | None
    again: Dump | None = None
    mapping: Mapping[str, str] | None = None
    watch: Progress = field(default_factory=Progress)
    replaced: str | None = None
    """the hash of the shorter dump of the same recording, whose place this one takes"""
    noted_at: float = 0.0
    counts: IngestCounts = field(init=False)
    _gathered: list[SessionInput] = field(default_factory=list)
    """sessions that wait to be written together"""
    _size: int = 0
    _since: float = 0.0
    _homes: rules.HomeChooser = field(init=False)
    _find_dump: sa.Select[int] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = IngestCounts(self.watch)
        self.watch.dump = self.again.id if self.again else None
        self._find_dump = sa.select(Dump.id).where(Dump.sha256 == self.spooled.sha256)

    def run(self) -> IngestResult:
        """Raises `BadDump` and `UnknownFormat` once what could be read is stored, `Stopped` and `DiskFull` sooner."""
        with self.engine.connect() as connection:
            self._homes = rules.HomeChooser(rules.read(connection), self.settings.home, reading.home_of, self.home)
        self.watch.begin("keeping", self.spooled.bytes)
        dump_files.keep(self.settings, self.spooled.path, self.spooled.sha256, self.watch.advance)
        if self.spooled.problem is not None:
            self.counts.problem(self.spooled.problem)
        try:
            self._read()
        except (BadDump, UnknownFormat) as error:
            self._finish(describe(error))
            raise
        except (Stopped, OSError, sa.exc.DBAPIError) as error:
            self._break_off(error)
            raise
        if self._only_repeats():
            dump_files.remove(self.settings, self.spooled.sha256)
            return self.counts.result(self._first_dump())
        result = self.counts.result(self._finish(None))
        if self.replaced is not None:
            dump_files.remove(self.settings, self.replaced)
        return result

    def _break_off(self, error: Stopped | OSError | sa.exc.DBAPIError) -> None:
        """Note why the reading ended early; a worker that ends leaves the dump as one that is being read."""
        if isinstance(error, Stopped) and error.cancelled:
            self._finish({"code": "cancelled", "message": self.counts.words_when_cancelled(), "at": None})
        elif files.is_full(error):
            with suppress(OSError, sa.exc.DBAPIError):
                self._finish({"code": files.DISK_FULL, "message": files.WORDS_WHEN_FULL, "at": None})

    def _read(self) -> None:
        path = self.spooled.path
        self.watch.begin("looking", self.spooled.bytes)
        self.format = self.watch.format = self.format or reading.sniff(path, self.filename)
        if self.format != OWN_FORMAT:
            with database.writing(self.engine) as connection:
                self.watch.dump = self._dump(connection)
        how: dict[str, Any] = {"format": self.format, "mapping": self.mapping}
        records = reading.read(path, self.filename, **how, on_progress=self.watch.advance)
        try:
            for start, turns in sessions(records, self.counts.problem, self.counts.turn):
                self._take(start, turns)
        finally:
            self._write()

    def _take(self, start: SessionStart, turns: Spill) -> None:
        """Gather short sessions; a long one is written by itself, behind those before it."""
        home, spool = self._homes.choose(start, self.counts.problem), turns.held(MOST_TEXT)
        if spool is None:
            self._write()
            self._write_long(SessionInput(start, turns, home))
        else:
            self._since = self._since if self._gathered else time.monotonic()
            self._gathered.append(SessionInput(start, spool, home))
            self._size += turns.size
            late = time.monotonic() - self._since > MOST_SECONDS
            if late or self._size >= MOST_TEXT or len(self._gathered) >= MOST_SESSIONS:
                self._write()
        self.watch.moved()

    def _write(self) -> None:
        """Write what was gathered, all of it or nothing."""
        gathered, self._gathered, self._size = self._gathered, [], 0
        if gathered:
            how: dict[str, Any] = {"on_problem": self.counts.problem, "anew": self.again is not None}
            with database.writing_long(self.engine) as connection:
                written = append.write(connection, gathered, dump_id=self._dump, **how)
                outcomes = [(session.start, outcome) for session, outcome in zip(gathered, written, strict=True)]
                self._link(connection, outcomes)
            self._committed(outcomes)

    def _write_long(self, session: SessionInput) -> None:
        def linked(connection: sa.Connection, outcome: SessionOutcome) -> None:
            self._link(connection, [(session.start, outcome)])
            self.counts.in_part = True

        how: dict[str, Any] = {"on_problem": self.counts.problem, "anew": self.again is not None}
        how |= {"on_piece": linked, "between": self.watch.moved}
        outcome = append.write_long(self.engine, session, dump_id=self._dump, **how)
        self.counts.in_part = False
        self._committed([(session.start, outcome)])

    def _only_repeats(self) -> bool:
        """Whether this is a dump that Fencepost wrote, and everything in it is still here."""
        if self.format != OWN_FORMAT or self.watch.dump is not None or not self.counts.sessions:
            return False
        with self.engine.connect() as connection:
            return connection.scalar(self._find_dump) is None

    def _committed(self, outcomes: Outcomes) -> None:
        """Count what became of sessions, now that it is sure."""
        self.counts.stored(outcomes)
        if self.watch.dump is None and any(outcome.what != "found" for _, outcome in outcomes):
            with self.engine.connect() as connection:
                self.watch.dump = connection.scalar(self._find_dump)

    def _dump(self, connection: sa.Connection) -> int:
        """The dump's row, made (or taken up again after a failure) when the first thing is written."""
        if self.watch.dump is not None:
            return self.watch.dump
        values: dict[str, Any] = {
            "filename": self.filename,
            "format": self.format and self.format[:64],
            "bytes": self.spooled.bytes,
            "state": "reading",
            "error": None,
            "problems": [],
            "received_at": datetime.now(UTC),
            **self._told(),
        }
        dump_id = connection.scalar(self._find_dump)
        if dump_id is None and (former := dump_files.former(connection, self.spooled, self.filename, self.format)):
            dump_id, self.replaced = former
            values["sha256"] = self.spooled.sha256
        if dump_id is None:
            insert = sa.insert(Dump).values(sha256=self.spooled.sha256, **values)
            dump_id = connection.scalars(insert.returning(Dump.id)).one()
        else:
            connection.execute(sa.update(Dump).where(Dump.id == dump_id).values(values))
        return dump_id

    def _told(self) -> dict[str, Any]:
        """What was said of the dump when it came, to be said again when it is read again."""
        return {"home": self.home and self.home[:64], "mapping": self.mapping and dict(self.mapping)}

    def _link(self, connection: sa.Connection, outcomes: Outcomes) -> None:
        """Link sessions to the dump; now and then note how far the reading is, for who looks at the dump."""
        if self.watch.dump is None and all(outcome.what == "found" for _, outcome in outcomes):
            return
        dump = self._dump(connection)
        dumps.link(connection, dump, {outcome.id: outcome.new_turns for _, outcome in outcomes})
        if self.again is None and time.monotonic() - self.noted_at > _NOTED_EVERY:
            self.noted_at = time.monotonic()
            connection.execute(sa.update(Dump).where(Dump.id == dump).values(self.counts.columns()))

    def _finish(self, error: Mapping[str, str | None] | None) -> Dump:
        with database.writing(self.engine) as connection:
            dump_id = self.watch.dump = self._dump(connection)
            values = {
                **self.counts.columns(),
                "format": self.format and self.format[:64],
                "state": "failed" if error else "done",
                "error": error,
                "not_in_log": None if error else self.counts.carried.missing(),
                "problems": [problem_dict(problem) for problem in self.counts.problems],
                **self._told(),
            }
            if not (error and self.again and self.again.state == "done"):
                connection.execute(sa.update(Dump).where(Dump.id == dump_id).values(values))
            dumps.link(connection, dump_id, dict.fromkeys(self.counts.sessions, 0))
            return line(connection, dump_id)

    def _first_dump(self) -> Dump:
        first = sa.select(Session.dump_id).where(Session.id == next(iter(self.counts.sessions)))
        with self.engine.connect() as connection:
            return line(connection, connection.scalars(first).one())
