"""One dump being read: its sessions are stored whole, each problem is noted, and the dump's row says how it ended."""

from __future__ import annotations

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
from webapp.store import append, files, tasks
from webapp.store.db import database
from webapp.store.homes import rules
from webapp.store.ingest import dump_files
from webapp.store.ingest.result import IngestCounts, IngestResult, Progress, Stopped, describe, problem_dict
from webapp.store.models import Dump
from webapp.store.sessions import dumps
from webapp.store.write.session_state import SessionInput, SessionOutcome

MOST_TEXT = 64 * 1024
"""characters of sessions that are written in one transaction; a longer one is appended piece by piece"""
MOST_SESSIONS = 16


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
    counts: IngestCounts = field(init=False)
    _gathered: list[SessionInput] = field(default_factory=list)
    """sessions that wait to be written together"""
    _size: int = 0
    _homes: rules.HomeChooser = field(init=False)

    def __post_init__(self) -> None:
        self.counts = IngestCounts(self.watch)
        self.watch.dump = self.again.id if self.again else None

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
        result = self.counts.result(self._finish(None))
        if self.replaced is not None:
            dump_files.remove(self.settings, self.replaced)
        return result

    def _break_off(self, error: Stopped | OSError | sa.exc.DBAPIError) -> None:
        """Note why the reading ended early; a worker that ends leaves the dump as one that is being read."""
        if isinstance(error, Stopped) and error.cancelled:
            self._finish(tasks.cancelled(tasks.IMPORT))
        elif files.is_full(error):
            with suppress(OSError, sa.exc.DBAPIError):
                self._finish(describe(files.DiskFull()))

    def _read(self) -> None:
        path = self.spooled.path
        self.watch.begin("looking", self.spooled.bytes)
        self.format = self.watch.format = self.format or reading.sniff(path, self.filename)
        self._begin()
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
            how: dict[str, Any] = {"on_piece": self._link, "between": self.watch.moved, **self._how()}
            self.counts.stored(append.write_long(self.engine, SessionInput(start, turns, home), **how))
        else:
            self._gathered.append(SessionInput(start, spool, home))
            self._size += turns.size
            if self._size >= MOST_TEXT or len(self._gathered) >= MOST_SESSIONS:
                self._write()
        self.watch.moved()

    def _write(self) -> None:
        """Write what was gathered, all of it or nothing."""
        gathered, self._gathered, self._size = self._gathered, [], 0
        if gathered:
            with database.writing_long(self.engine) as connection:
                outcomes = append.write(connection, gathered, **self._how())
                self._link(connection, *outcomes)
            self.counts.stored(*outcomes)

    def _how(self) -> dict[str, Any]:
        return {"dump_id": self.watch.dump, "on_problem": self.counts.problem, "anew": self.again is not None}

    def _begin(self) -> int:
        """Make the dump's row, or take up that of a failure or of a shorter dump; its number."""
        values = self._columns("reading", None) | {"received_at": datetime.now(UTC)}
        with database.writing(self.engine) as connection:
            dump_id = connection.scalar(sa.select(Dump.id).where(Dump.sha256 == self.spooled.sha256))
            if dump_id is None and (former := dump_files.former(connection, self.spooled, self.filename, self.format)):
                dump_id, self.replaced = former
            if dump_id is None:
                dump_id = connection.scalars(sa.insert(Dump).values(values).returning(Dump.id)).one()
            elif self.again is None:
                connection.execute(sa.update(Dump).where(Dump.id == dump_id).values(values))
        self.watch.dump = dump_id
        return dump_id

    def _columns(self, state: str, error: Mapping[str, str | None] | None) -> dict[str, Any]:
        """The dump's row as of now, with what was said of it when it came, to be said again when it is read again."""
        return {
            "sha256": self.spooled.sha256,
            "filename": self.filename,
            "format": self.format and self.format[:64],
            "bytes": self.spooled.bytes,
            "state": state,
            "error": error,
            "problems": [problem_dict(problem) for problem in self.counts.problems],
            "home": self.home and self.home[:64],
            "mapping": self.mapping and dict(self.mapping),
            **self.counts.columns(),
        }

    def _link(self, connection: sa.Connection, *outcomes: SessionOutcome) -> None:
        """Link sessions to the dump, and note how far the reading is, for who looks at the dump."""
        dumps.link(connection, self.watch.dump or 0, {outcome.id: outcome.new_turns for outcome in outcomes})
        if self.again is None:
            update = sa.update(Dump).where(Dump.id == self.watch.dump)
            connection.execute(update.values(self.counts.columns()))

    def _finish(self, error: Mapping[str, str | None] | None) -> Dump:
        dump_id = self.watch.dump or self._begin()
        values = self._columns("failed" if error else "done", error)
        with database.writing(self.engine) as connection:
            if not (error and self.again and self.again.state == "done"):
                values["not_in_log"] = None if error else self.counts.carried.missing()
                connection.execute(sa.update(Dump).where(Dump.id == dump_id).values(values))
            return dumps.line(connection, dump_id)
