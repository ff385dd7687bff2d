"""One dump being read: its sessions are stored whole, each problem is noted, and the dump's row says how it ended."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import sqlalchemy as sa

from webapp import dumps as readers
from webapp.config import Settings
from webapp.dumps.records import BadDump, SessionStart, UnknownFormat
from webapp.dumps.spool import Spooled
from webapp.store import search
from webapp.store.db import database, disk_full
from webapp.store.homes import rules
from webapp.store.ingest import dump_files, dump_links, kept_dumps, superseded, unfinished, written_batch
from webapp.store.ingest.batches import Batch
from webapp.store.ingest.beside import Outcomes
from webapp.store.ingest.ingest_counts import IngestCounts
from webapp.store.ingest.pipeline import MOST_BYTES, MOST_BYTES_A_COMMIT, Known, Pipeline, ReadyBatch
from webapp.store.ingest.progress import Progress, Stopped
from webapp.store.ingest.result import IngestResult, describe, problem_dict
from webapp.store.ingest.turn_spool import Spill, sessions
from webapp.store.ingest.written_batch import NewBatch, WrittenBatch
from webapp.store.models import Dump, Session
from webapp.store.sessions.dumps import DumpLine, line
from webapp.store.write import relaxed_gc, writing
from webapp.store.write.session_rows import SessionInput

OWN_FORMAT = "fencepost"
_MOST_PREPARED = 1024 * 1024
"""characters of a session whose rows are made before it is written; a longer one goes by `store.ingest.unfinished`"""
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
    again: DumpLine | None = None
    mapping: Mapping[str, str] | None = None
    watch: Progress = field(default_factory=Progress)
    dump_id: int | None = None
    replaced: str | None = None
    """the hash of the shorter dump of the same recording, whose place this one takes"""
    noted_at: float = 0.0
    counts: IngestCounts = field(init=False)
    batch: Batch[WrittenBatch] = field(init=False)
    pipeline: Pipeline = field(init=False)
    _homes: rules.HomeChooser = field(init=False)
    _known: Known = field(init=False)
    _find_dump: sa.Select[int] = field(init=False)

    def __post_init__(self) -> None:
        self.counts = IngestCounts(self.watch)
        self.batch = Batch(self.engine, self._on_commit)
        self.dump_id = self.watch.dump = self.again.id if self.again else None
        self._find_dump = sa.select(Dump.id).where(Dump.sha256 == self.spooled.sha256)

    def run(self) -> IngestResult:
        """Raises `BadDump` and `UnknownFormat` once what could be read is stored, `Stopped` and `DiskFull` sooner."""
        helped = 0 if self.again else self.spooled.bytes
        beside = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        with relaxed_gc.seldom(), beside as looking:
            self._known = partial(writing.known, looking)
            self._homes = rules.HomeChooser(rules.read(looking), self.settings.home, self.home)
            most_bytes = MOST_BYTES if self.engine.dialect.name == "sqlite" else MOST_BYTES_A_COMMIT
            folder = dump_files.incoming(self.settings.data)
            with Pipeline(folder, helped, self._known, most_bytes) as self.pipeline:
                return self._run()

    def _run(self) -> IngestResult:
        self.watch.begin("keeping", self.spooled.bytes)
        kept_dumps.keep(self.settings, self.spooled.path, self.spooled.sha256, self.watch.advance)
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
            kept_dumps.remove(self.settings, self.spooled.sha256)
            return self.counts.result(self._first_dump())
        result = self.counts.result(self._finish(None))
        if self.replaced is not None:
            kept_dumps.remove(self.settings, self.replaced)
        return result

    def _break_off(self, error: Stopped | OSError | sa.exc.DBAPIError) -> None:
        """Note why the reading ended early; a worker that ends leaves the dump as one that is being read."""
        if isinstance(error, Stopped) and error.cancelled:
            self._finish({"code": "cancelled", "message": self.counts.words_when_cancelled(), "at": None})
        elif disk_full.is_full(error):
            with suppress(OSError, sa.exc.DBAPIError):
                self._finish({"code": disk_full.CODE, "message": disk_full.WORDS, "at": None})

    def _read(self) -> None:
        path = self.spooled.path
        self.watch.begin("looking", self.spooled.bytes)
        self.format = self.watch.format = self.format or readers.sniff(path, self.filename)
        if self.format != OWN_FORMAT:
            with database.writing(self.engine) as connection:
                self.dump_id = self.watch.dump = self._dump(connection)
        how: dict[str, Any] = {"format": self.format, "mapping": self.mapping}
        records = readers.read(path, self.filename, **how, on_progress=self._read_on)
        try:
            for start, turns in sessions(records, self.counts.problem, self.counts.turn):
                self._take(start, turns)
        finally:
            try:
                self._write_rest()
            finally:
                self.batch.commit()

    def _read_on(self, count: int) -> None:
        """`count` bytes more were read, which may take long where the next session is large."""
        self.watch.advance(count)
        self.batch.yield_lock()

    def _take(self, start: SessionStart, turns: Spill) -> None:
        """Have a short new session prepared; any other is written by itself, behind those before it."""
        home, short_turns = self._homes.choose(start, self.counts.problem), turns.held(_MOST_PREPARED)
        if self.again is None and short_turns is not None:
            self._write_ready(self.pipeline.put(SessionInput(start, short_turns, home)))
        else:
            self._write_rest()
            if self.again is not None or self._known([start.external_id]):
                self._store(SessionInput(start, turns, home))
            else:
                self._store_long(SessionInput(start, self.watch.each(turns), home))
        self.watch.moved()

    def _write_ready(self, batches: Iterable[ReadyBatch]) -> None:
        for batch in batches:
            new = [(session_input, rows) for session_input, rows in batch if rows is not None]
            if new:
                self._go_on(self.batch.put(partial(self._write_new, new)))
                if self.dump_id is None:  # or the next batch would make the dump's row as well
                    self._go_on(self.batch.drain())
            else:
                self._go_on(self.batch.drain())
                for session, _ in batch:
                    self._store(session)
            self.watch.moved()  # what waits to be written may take seconds, behind the last byte that is read

    def _write_rest(self) -> None:
        """Write all that was put into the pipeline, and wait for its end."""
        self._write_ready(self.pipeline.rest())
        self._go_on(self.batch.drain())

    def _go_on(self, batches: list[WrittenBatch]) -> None:
        """Note the problems of new sessions that are stored now, and store those of them that others brought."""
        batches = batches + self.batch.drain() if any(batch.known for batch in batches) else batches
        for batch in batches:
            for problem in batch.problems:
                self.counts.problem(problem)
            for session_input in batch.known:
                self._store(session_input)

    def _only_repeats(self) -> bool:
        """Whether this is a dump that Fencepost wrote, and everything in it is still here."""
        if self.format != OWN_FORMAT or self.dump_id is not None or not self.counts.sessions:
            return False
        with self.engine.connect() as connection:
            return connection.scalar(self._find_dump) is None

    def _write_new(
        self, batch: NewBatch, connection: sa.Connection, index: search.Pending
    ) -> tuple[Outcomes, WrittenBatch]:
        """Write new sessions together."""
        written = writing.write_new(connection, [rows for _, rows in batch], dump_id=self._dump, index=index)
        result = written_batch.split(batch, written)
        self._link(connection, result[0])
        return result

    def _store(self, session: SessionInput) -> None:
        with self.batch.session() as connection:
            outcome = writing.write(
                connection,
                session._replace(turns=self.watch.each(session.turns)),
                dump_id=self._dump,
                on_problem=self.counts.problem,
                anew=self.again is not None,
                index=self.batch.index,
            )
            self._link(connection, [(session.start, outcome)])
            self.batch.outcomes.append((session.start, outcome))

    def _store_long(self, session_input: SessionInput) -> None:
        """Write a long session that seems to be new, which others see once all its turns are there."""
        self.batch.commit()
        with unfinished.written(self.engine, session_input, self._dump) as session:
            with self.batch.session() as connection:
                outcome = session.show(connection)
                if outcome is not None:
                    self._link(connection, [(session_input.start, outcome)])
                    self.batch.outcomes.append((session_input.start, outcome))
            self.batch.commit()
        for problem in session.problems if outcome else ():
            self.counts.problem(problem)
        if outcome is None:
            self._store(session_input)

    def _on_commit(self, outcomes: Outcomes) -> None:
        self.counts.stored(outcomes)
        if self.dump_id is None and any(outcome.what != "found" for _, outcome in outcomes):
            with self.engine.connect() as connection:
                self.dump_id = self.watch.dump = connection.scalar(self._find_dump)

    def _dump(self, connection: sa.Connection) -> int:
        """The dump's row, made (or taken up again after a failure) when the first thing is written."""
        if self.dump_id is not None:
            return self.dump_id
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
        if dump_id is None and (former := superseded.former(connection, self.spooled, self.filename, self.format)):
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
        if self.dump_id is None and all(outcome.what == "found" for _, outcome in outcomes):
            return
        dump = self._dump(connection)
        dump_links.add(connection, dump, {outcome.id: outcome.new_turns for _, outcome in outcomes})
        if self.again is None and time.monotonic() - self.noted_at > _NOTED_EVERY:
            self.noted_at = time.monotonic()
            connection.execute(sa.update(Dump).where(Dump.id == dump).values(self.counts.columns()))

    def _finish(self, error: Mapping[str, str | None] | None) -> DumpLine:
        with database.writing(self.engine) as connection:
            dump_id = self.dump_id = self.watch.dump = self._dump(connection)
            values = {
                **self.counts.columns(),
                "format": self.format and self.format[:64],
                "state": "failed" if error else "done",
                "error": error,
                "problems": [problem_dict(problem) for problem in self.counts.problems],
                **self._told(),
            }
            if not (error and self.again and self.again.state == "done"):
                connection.execute(sa.update(Dump).where(Dump.id == dump_id).values(values))
            dump_links.link_found(connection, dump_id, self.counts.sessions)
            return line(connection, dump_id)

    def _first_dump(self) -> DumpLine:
        first = sa.select(Session.dump_id).where(Session.id == next(iter(self.counts.sessions)))
        with self.engine.connect() as connection:
            return line(connection, connection.scalars(first).one())
