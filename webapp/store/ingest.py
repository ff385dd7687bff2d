"""Takes a dump in: its bytes are kept, its sessions stored each whole or not at all, its problems listed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, BinaryIO

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import dumps as readers
from webapp.config import Settings
from webapp.dumps.formats.mapped import plugin as _mapped
from webapp.dumps.records import BadDump, Problem, SessionStart, TooLarge, UnknownFormat
from webapp.dumps.spool import Spooled, spool
from webapp.store import database, deletion, full, kept, superseded, writing
from webapp.store.batches import Batch
from webapp.store.dumps import DumpLine, find, line
from webapp.store.models import Dump, DumpSession, Session
from webapp.store.parsed import OURS, is_known
from webapp.store.progress import Progress as Watch
from webapp.store.progress import Stopped
from webapp.store.spill import Spill, sessions

MOST_PROBLEMS = 200
"""How many problems are kept word for word; all are counted."""
OWN_FORMAT = "fencepost"
_PROGRESS_EVERY = 200
_NOTED_EVERY = 0.5
"""seconds between two notes in the database of how far the reading is"""

_insert_link = sa.insert(DumpSession)
_find_link = sa.select(DumpSession.session_id).where(
    DumpSession.dump_id == sa.bindparam("dump"), DumpSession.session_id == sa.bindparam("session")
)

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a dump: `sessions` and `keys` name all its sessions, the new, the grown and the found.

    `created` is False where the same bytes, or everything in them, were there before. `new` and `grown` count
    sessions, `new_turns` the turns stored, duplicates included. At most 200 problems are word for word.
    """

    dump: DumpLine
    sessions: list[str]
    keys: list[str]
    problems: list[Problem]
    created: bool
    new: int = 0
    grown: int = 0
    new_turns: int = 0


def ingest(
    engine: sa.Engine,
    settings: Settings,
    stream: BinaryIO,
    *,
    filename: str,
    format: str | None = None,  # noqa: A002
    home: str | None = None,
    progress: Progress | None = None,
    known_only: bool = False,
    mapping: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Ingested:
    """Store the sessions of `stream`; `progress` is called with the number of turns read so far.

    `home` is the profile that the sessions' own program used, over what the dump says. Raises `BadDump` and
    `UnknownFormat` after all that could be read is stored and the dump is noted as failed; the same bytes are
    tried again then, and where the process died over them. Whoever brings bytes that are being read waits.
    With `known_only` a dump that no format recognises, an empty one too, raises `UnknownFormat` and leaves no trace.
    `mapping` reads any JSON (see `webapp.dumps.read`); it raises `BadMapping` where it is none. `watch` is told how
    far it is and may stop it: then `Stopped` is raised, and what was stored by then stays, as with a full disk,
    which is `DiskFull`.
    """
    watch = watch or Watch()
    if mapping is not None:
        format = mapped(mapping)  # noqa: A001
    with full.in_words():
        spooled = spool(watch.file(stream), kept.incoming(settings.data), max_bytes=settings.max_dump)
    try:
        with kept.reading(settings.data, spooled.sha256, watch.moved), full.in_words():
            if (there := _already(engine, spooled.sha256)) is not None:
                return there
            if known_only and format is None:
                format = sniffed(spooled, filename)  # noqa: A001
            return _Reading(
                engine, settings, spooled, filename, format, home, progress, mapping=mapping, watch=watch
            ).run()
    finally:
        spooled.path.unlink(missing_ok=True)


def ingest_again(
    engine: sa.Engine,
    settings: Settings,
    ident: str | int,
    *,
    format: str | None = None,  # noqa: A002
    home: str | None = None,
    progress: Progress | None = None,
    mapping: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Ingested:
    """Read a kept dump (its number or sha256) with today's formats: sessions grow, or get a new revision.

    A session whose entries are read as they are stored is left alone; one that a format now reads otherwise becomes
    a new revision beside the old, which keeps its labels. The format is the one that recognises the dump today, else
    the one that read it before, with the mapping and the home profile told then. Raises `NoSuchDump`,
    `kept.NotKept`, and as `ingest` does: a dump that was read before then stays noted as it was.
    """
    watch = watch or Watch()
    with orm.Session(engine) as db:
        dump = find(db, ident)
    if mapping is not None:
        format = mapped(mapping)  # noqa: A001
    with kept.reading(settings.data, dump.sha256, watch.moved), full.in_words():
        spooled = kept.unpacked(settings.data, dump.sha256)
        try:
            mapping = mapping or (_mapping_then(engine, dump) if format is None else None)
            format = format or _todays_format(spooled, dump)  # noqa: A001
            given = (engine, settings, spooled, dump.filename, format, home or dump.home, progress, dump)
            return _Reading(*given, mapping, watch).run()
        finally:
            spooled.path.unlink(missing_ok=True)


def mapped(mapping: Mapping[str, str]) -> str:
    """The name of the format that reads by a mapping; raises `BadMapping` where this is none."""
    _mapped.by(mapping)
    return _mapped.name


def _mapping_then(engine: sa.Engine, dump: DumpLine) -> dict[str, str] | None:
    """The mapping that the dump was read by, which its sessions keep."""
    if dump.format != _mapped.name:
        return None
    if dump.mapping is not None:
        return dump.mapping
    query = sa.select(Session.extra).join(DumpSession, DumpSession.session_id == Session.id)
    with engine.connect() as connection:
        extra = connection.scalar(query.where(DumpSession.dump_id == dump.id).order_by(Session.id.desc()).limit(1))
    return (extra or {}).get("mapping")


def _todays_format(spooled: Spooled, dump: DumpLine) -> str:
    if dump.format == _mapped.name:
        return _mapped.name
    try:
        return readers.sniff(spooled.path, dump.filename)
    except UnknownFormat:
        if dump.format in readers.known_formats():
            return dump.format
        raise


def sniffed(spooled: Spooled, filename: str) -> str:
    """The format of a spooled dump; raises `UnknownFormat`, for an empty one too."""
    try:
        return readers.sniff(spooled.path, filename)
    except BadDump as empty:
        raise UnknownFormat(empty.reason) from empty


def _already(engine: sa.Engine, sha256: str) -> Ingested | None:
    with engine.connect() as connection:
        found = connection.scalar(sa.select(Dump.id).where(Dump.sha256 == sha256, Dump.state == "done"))
    if found is None or not deletion.bring_back(engine, found):
        return None
    with engine.connect() as connection:
        query = (
            sa.select(Session.external_id, Session.key)
            .join(DumpSession, DumpSession.session_id == Session.id)
            .where(DumpSession.dump_id == found)
            .order_by(Session.id)
        )
        links = connection.execute(query).all()
        dump = line(connection, found)
    problems = [Problem(**problem) for problem in dump.problems]
    return Ingested(dump, [row.external_id for row in links], [row.key for row in links], problems, False)


@dataclass(slots=True)
class _Reading:
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

    def __post_init__(self) -> None:
        self.batch = Batch(self.engine, self._undone)

    def run(self) -> Ingested:
        """Raises `BadDump` and `UnknownFormat` once what could be read is stored, `Stopped` and `DiskFull` sooner."""
        self.watch.begin("keeping", self.spooled.bytes)
        kept_file = kept.keep(self.settings.data, self.spooled.path, self.spooled.sha256, self.watch.advance)
        if self.spooled.problem is not None:
            self._note(self.spooled.problem)
        try:
            self._read()
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

    def _read(self) -> None:
        path = self.spooled.path
        self.watch.begin("looking", self.spooled.bytes)
        self.format = self.watch.format = self.format or readers.sniff(path, self.filename)
        if self.format != OWN_FORMAT:
            with database.writing(self.engine) as connection:
                self._dump(connection)
        records = readers.read(path, self.filename, format=self.format, mapping=self.mapping, told=self.watch.advance)
        try:
            for start, turns in sessions(records, self._note, self._count):
                self._store(start, turns)
        finally:
            self.batch.commit()

    def _only_repeats(self) -> bool:
        """Whether this is a dump that Fencepost wrote, and everything in it is still here."""
        if self.format != OWN_FORMAT or self.dump_id is not None or not self.found:
            return False
        with self.engine.connect() as connection:
            return connection.scalar(sa.select(Dump.id).where(Dump.sha256 == self.spooled.sha256)) is None

    def _store(self, start: SessionStart, turns: Spill) -> None:
        home = self._home(start)
        if not self.batch.is_open:
            self.fresh.clear()
            self.dump_before = self.dump_id
        with self._kept_dump(), self.batch.session() as connection:
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
            self.fresh.append(outcome)
            self.found[outcome.id] = (start.external_id, outcome.key)
            self.outcomes[outcome.what] += 1
            self.new_turns += outcome.new_turns
            self.watch.sessions = len(self.found)
            if self.dump_id is not None:
                self._link(connection, outcome)

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

    def _link(self, connection: sa.Connection, outcome: writing.Outcome) -> None:
        """Link the session to the dump; now and then note how far the reading is, for who looks at the dump."""
        linked = {"dump": self.dump_id, "session": outcome.id}
        if outcome.what == "new" or connection.scalar(_find_link, linked) is None:
            values = {"dump_id": self.dump_id, "session_id": outcome.id, "new_turns": outcome.new_turns}
            connection.execute(_insert_link, values)
        if self.again is None and time.monotonic() - self.noted_at > _NOTED_EVERY:
            self.noted_at = time.monotonic()
            connection.execute(sa.update(Dump).where(Dump.id == self.dump_id).values(self._counts()))

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


def describe(error: BadDump | UnknownFormat) -> dict[str, str | None]:
    """An error as a dump keeps it and the API answers it: code, message, at."""
    if isinstance(error, BadDump):
        return {"code": _code(error), "message": error.reason, "at": error.at}
    return {"code": "unknown_format", "message": str(error), "at": None}


def _code(error: BadDump) -> str:
    return "too_large" if isinstance(error, TooLarge) else "bad_dump"
