"""One dump being read: its sessions are stored whole, each problem is noted, and the dump's row says how it ended."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp import dumps as readers
from webapp.config import Settings
from webapp.dumps.records import BadDump, Problem, SessionStart, Turn, UnknownFormat
from webapp.dumps.spool import Spooled
from webapp.store import collector, database, full, kept, staging, superseded, writing
from webapp.store.batches import Batch
from webapp.store.dumps import DumpLine, line
from webapp.store.ingested import MOST_PROBLEMS, Ingested, describe
from webapp.store.models import Dump, DumpSession, Session
from webapp.store.parsed import OURS, is_known
from webapp.store.pipeline import Batch as PreparedBatch
from webapp.store.pipeline import Pipeline
from webapp.store.preparing import Given
from webapp.store.progress import Progress as Watch
from webapp.store.progress import Stopped
from webapp.store.spill import Spill, sessions

OWN_FORMAT = "fencepost"
_MOST_PREPARED = 1024 * 1024
"""characters of a session whose rows are made before it is written; a longer one goes by `store.staging`"""
_PROGRESS_EVERY = 200
_NOTED_EVERY = 0.5
"""seconds between two notes in the database of how far the reading is"""

_insert_link = sa.insert(DumpSession)
_find_link = sa.select(DumpSession.session_id).where(
    DumpSession.dump_id == sa.bindparam("dump"), DumpSession.session_id == sa.bindparam("session")
)

Progress = Callable[[int], None]


@dataclass(slots=True)
class Intake:
    """One dump being read; `again` is its line where it was read before and is read anew."""

    engine: sa.Engine
    settings: Settings
    spooled: Spooled
    filename: str
    format: str | None
    home: str | None
    progress: Progress | None
    again: DumpLine | None = None
    mapping: Mapping[str, str] | None = None
    watch: Watch = field(default_factory=Watch)
    dump_id: int | None = None
    found: dict[int, tuple[str, str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    turn_count: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    new_turns: int = 0
    replaced: str | None = None
    """the hash of the shorter dump of the same recording, whose place this one takes"""
    noted_at: float = 0.0
    batch: Batch = field(init=False)
    fresh: list[writing.Outcome] = field(default_factory=list)
    """what became of the sessions of the batch that is open, and `dump_before` the dump's row before it"""
    dump_before: int | None = None

    looking: sa.Connection | None = None
    """beside the one that writes, to see which sessions are there"""

    def __post_init__(self) -> None:
        self.batch = Batch(self.engine, self._undone)

    def run(self) -> Ingested:
        """Raises `BadDump` and `UnknownFormat` once what could be read is stored, `Stopped` and `DiskFull` sooner."""
        helped = 0 if self.again else self.spooled.bytes
        with Pipeline(kept.incoming(self.settings.data), helped) as pipeline, collector.seldom(), self._looking():
            return self._run(pipeline)

    def _run(self, pipeline: Pipeline) -> Ingested:
        self.watch.begin("keeping", self.spooled.bytes)
        kept_file = kept.keep(self.settings.data, self.spooled.path, self.spooled.sha256, self.watch.advance)
        if self.spooled.problem is not None:
            self._note(self.spooled.problem)
        try:
            self._read(pipeline)
        except (BadDump, UnknownFormat) as error:
            self._finish(describe(error))
            raise
        except (Stopped, OSError, sa.exc.DBAPIError) as error:
            self._break_off(error)
            raise
        if self._only_repeats():
            kept_file.unlink()
            return self._answer(self._first_dump())
        answer = self._answer(self._finish(None))
        if self.replaced is not None:
            superseded.drop(self.settings.data, self.replaced)
        return answer

    def _break_off(self, error: Stopped | OSError | sa.exc.DBAPIError) -> None:
        """Note why the reading ended early; a worker that ends leaves the dump as one that is being read."""
        if isinstance(error, Stopped) and error.cancelled:
            self._finish({"code": "cancelled", "message": self._so_far(), "at": None})
        elif full.is_full(error):
            with suppress(OSError, sa.exc.DBAPIError):
                self._finish({"code": full.CODE, "message": full.WORDS, "at": None})

    def _so_far(self) -> str:
        count = len(self.found)
        there = f"{count:,} session{'' if count == 1 else 's'} of it {'is' if count == 1 else 'are'} stored whole"
        return f"Cancelled: {there if count else 'nothing of it was stored'}. Read it again to go on."

    def _read(self, pipeline: Pipeline) -> None:
        path = self.spooled.path
        self.watch.begin("looking", self.spooled.bytes)
        self.format = self.watch.format = self.format or readers.sniff(path, self.filename)
        if self.format != OWN_FORMAT:
            with database.writing(self.engine) as connection:
                self._dump(connection)
        records = readers.read(path, self.filename, format=self.format, mapping=self.mapping, told=self.watch.advance)
        try:
            for start, turns in sessions(records, self._note, self._count):
                self._take(start, turns, pipeline)
        finally:
            try:
                self._write_ready(pipeline.rest())
            finally:
                self.batch.commit()

    def _take(self, start: SessionStart, turns: Spill, pipeline: Pipeline) -> None:
        """Have a short new session prepared; any other is written by itself, behind those before it."""
        home, held = self._home(start), turns.held(_MOST_PREPARED)
        if self.again is not None or self._is_stored(start):
            self._write_ready(pipeline.rest())
            self._store(start, turns, home)
        elif held is None:
            self._write_ready(pipeline.rest())
            self._store_long(Given(start, self.watch.each(turns), home))
        else:
            self._write_ready(pipeline.put(Given(start, held, home)))
        self.watch.moved()

    def _write_ready(self, batches: Iterable[PreparedBatch]) -> None:
        for batch in batches:
            for given in self._write_new(batch):
                self._store(given.start, given.turns, given.home)

    @contextmanager
    def _looking(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self.looking is not None:
                self.looking.close()

    def _is_stored(self, start: SessionStart) -> bool:
        if self.looking is None:
            self.looking = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        return writing.is_known(self.looking, start)

    def _only_repeats(self) -> bool:
        """Whether this is a dump that Fencepost wrote, and everything in it is still here."""
        if self.format != OWN_FORMAT or self.dump_id is not None or not self.found:
            return False
        with self.engine.connect() as connection:
            return connection.scalar(sa.select(Dump.id).where(Dump.sha256 == self.spooled.sha256)) is None

    def _write_new(self, batch: PreparedBatch) -> list[Given]:
        """Write new sessions together; those that somebody else brought meanwhile come back."""
        prepared = [one for _, one in batch]
        with self._transaction() as connection:
            outcomes = writing.write_new(connection, prepared, dump_id=self._dump, index=self.batch.index)
            result = list(zip(batch, outcomes, strict=True))
            self._came(connection, [(given.start, outcome) for (given, _), outcome in result if outcome])
        for (_, one), outcome in result:
            for problem in one.problems if outcome else ():
                self._note(problem)
        return [given for (given, _), outcome in result if outcome is None]

    def _store(self, start: SessionStart, turns: Iterable[Turn], home: str) -> None:
        with self._transaction() as connection:
            outcome = writing.write(
                connection,
                start,
                self.watch.each(turns),
                home=home,
                dump_id=self._dump,
                problem=self._note,
                anew=self.again is not None,
                index=self.batch.index,
            )
            self._came(connection, [(start, outcome)])

    def _store_long(self, given: Given) -> None:
        """Write a long session that seems to be new: on SQLite others can write until all its rows are made."""
        if self.engine.dialect.name != "sqlite":
            self._store(*given)
            return
        self.batch.commit()
        self.fresh.clear()
        self.dump_before = self.dump_id
        with staging.staged(kept.incoming(self.settings.data), given) as stage:
            try:
                with stage.attached(self.engine) as connection:
                    outcome = stage.copy(connection, self._dump)
                    if outcome is not None:
                        self._came(connection, [(given.start, outcome)])
            except BaseException:
                self._undone()
                raise
        for problem in stage.problems if outcome else ():
            self._note(problem)
        if outcome is None:
            self._store(*given)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        if not self.batch.is_open:
            self.fresh.clear()
            self.dump_before = self.dump_id
        with self._kept_dump(), self.batch.session() as connection:
            yield connection

    def _came(self, connection: sa.Connection, came: list[tuple[SessionStart, writing.Outcome]]) -> None:
        """Count what became of sessions, and link them to the dump."""
        for start, outcome in came:
            self.fresh.append(outcome)
            self.found[outcome.id] = (start.external_id, outcome.key)
            self.outcomes[outcome.what] += 1
            self.new_turns += outcome.new_turns
        self.watch.sessions = len(self.found)
        if self.dump_id is not None:
            self._link(connection, [outcome for _, outcome in came])

    @contextmanager
    def _kept_dump(self) -> Iterator[None]:
        """Forget the dump's row where the session that brought it is taken back."""
        before = self.dump_id
        try:
            yield
        except BaseException:
            self.dump_id = self.dump_id and before
            raise

    def _undone(self) -> None:
        """Forget the sessions of a transaction that was not committed."""
        self.dump_id = self.dump_before
        for outcome in self.fresh:
            self.found.pop(outcome.id, None)
            self.outcomes[outcome.what] -= 1
            self.new_turns -= outcome.new_turns
        self.fresh.clear()

    def _home(self, start: SessionStart) -> str:
        """The argument, else what the dump says, else the setting; a name that no profile has is a problem."""
        for name in (self.home, start.home):
            if name is None:
                continue
            if is_known(name):
                return name
            reason = f"no profile is called {name[:200]!r}; the setting FENCEPOST_HOME was taken instead"
            self._note(Problem(f"session {start.external_id[:200]}", reason))
            break
        return self.settings.home if is_known(self.settings.home) else OURS

    def _dump(self, connection: sa.Connection) -> int:
        """The dump's row, made (or taken up again after a failure) when the first thing is written."""
        if self.again is not None:
            self.dump_id = self.watch.dump = self.again.id
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
        found = connection.scalar(sa.select(Dump.id).where(Dump.sha256 == self.spooled.sha256))
        if found is None and (former := superseded.former(connection, self.spooled, self.filename, self.format)):
            found, self.replaced = former
            values["sha256"] = self.spooled.sha256
        if found is None:
            insert = sa.insert(Dump).values(sha256=self.spooled.sha256, **values)
            found = connection.scalars(insert.returning(Dump.id)).one()
        else:
            connection.execute(sa.update(Dump).where(Dump.id == found).values(values))
        self.dump_id = self.watch.dump = found
        return found

    def _told(self) -> dict[str, Any]:
        """What was said of the dump when it came, to be said again when it is read again."""
        return {"home": self.home and self.home[:64], "mapping": self.mapping and dict(self.mapping)}

    def _link(self, connection: sa.Connection, outcomes: list[writing.Outcome]) -> None:
        """Link sessions to the dump; now and then note how far the reading is, for who looks at the dump."""
        missing = [one for one in outcomes if one.what == "new" or not self._is_linked(connection, one.id)]
        if missing:
            links = [{"dump_id": self.dump_id, "session_id": one.id, "new_turns": one.new_turns} for one in missing]
            connection.execute(_insert_link, links)
        if self.again is None and time.monotonic() - self.noted_at > _NOTED_EVERY:
            self.noted_at = time.monotonic()
            connection.execute(sa.update(Dump).where(Dump.id == self.dump_id).values(self._counts()))

    def _is_linked(self, connection: sa.Connection, session_id: int) -> bool:
        return connection.scalar(_find_link, {"dump": self.dump_id, "session": session_id}) is not None

    def _finish(self, error: Mapping[str, str | None] | None) -> DumpLine:
        with database.writing(self.engine) as connection:
            dump_id = self._dump(connection)
            values = {
                **self._counts(),
                "format": self.format and self.format[:64],
                "state": "failed" if error else "done",
                "error": error,
                "problems": [{"at": problem.at, "reason": problem.reason} for problem in self.problems],
                **self._told(),
            }
            if not (error and self.again and self.again.state == "done"):
                connection.execute(sa.update(Dump).where(Dump.id == dump_id).values(values))
            self._link_found(connection)
            return line(connection, dump_id)

    def _link_found(self, connection: sa.Connection) -> None:
        """Link sessions that were there before anything was written."""
        there = set(connection.scalars(sa.select(DumpSession.session_id).where(DumpSession.dump_id == self.dump_id)))
        missing = [{"dump_id": self.dump_id, "session_id": found} for found in self.found if found not in there]
        if missing:
            connection.execute(sa.insert(DumpSession), missing)

    def _first_dump(self) -> DumpLine:
        with self.engine.connect() as connection:
            first = next(iter(self.found))
            return line(connection, connection.scalars(sa.select(Session.dump_id).where(Session.id == first)).one())

    def _answer(self, dump: DumpLine) -> Ingested:
        ids = [external_id for external_id, _ in self.found.values()]
        keys = [key for _, key in self.found.values()]
        new, grown = self.outcomes["new"], self.outcomes["grown"]
        return Ingested(dump, ids, keys, self.problems, new + grown > 0, new, grown, self.new_turns)

    def _counts(self) -> dict[str, int]:
        return {
            "session_count": len(self.found),
            "turn_count": self.turn_count,
            "problem_count": self.problem_count,
        }

    def _note(self, problem: Problem) -> None:
        self.problem_count += 1
        self.watch.problems = self.problem_count
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)

    def _count(self) -> None:
        if not self.turn_count:
            self.watch.first_turn()
        self.turn_count += 1
        self.watch.turns = self.turn_count
        if self.turn_count % _PROGRESS_EVERY == 0:
            self.watch.moved()
        if self.progress is not None and self.turn_count % _PROGRESS_EVERY == 0:
            self.progress(self.turn_count)
