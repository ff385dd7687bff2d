"""Writes what was added to a file of lines: sessions grow, new ones are stored, and its dump speaks of all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import sqlalchemy as sa

from webapp import dumps as readers
from webapp.config import Settings
from webapp.dumps.answer_alarm import MOST_NAMED
from webapp.dumps.base import Format, SessionEntries
from webapp.dumps.read_tail import FileTail, ReadTail
from webapp.dumps.records import LaterKnown, Problem, SessionStart, Turn
from webapp.dumps.source import ReadsOtherwise, Source
from webapp.dumps.spool import Spooled
from webapp.dumps.tail_reading import added_turns, reread_end
from webapp.store import search
from webapp.store.homes import rules
from webapp.store.ingest import dump_links, growing
from webapp.store.ingest.growing import StoredEnd
from webapp.store.ingest.result import MOST_PROBLEMS, IngestResult, problem_dict
from webapp.store.ingest.turn_spool import Spill
from webapp.store.models import Dump
from webapp.store.sessions.dumps import line, named_sessions
from webapp.store.write import writing
from webapp.store.write.session_rows import SessionInput, new_session
from webapp.store.write.state_cache import grown_from_dumps
from webapp.store.write.writing import SessionOutcome

_MOST_PREPARED = 1024 * 1024
"""characters of a new session whose rows are made before it is written"""


@dataclass(slots=True)
class AddedLines:
    """The lines of a spooled file from byte `start` on, which follow those of a dump, in one transaction."""

    connection: sa.Connection
    settings: Settings
    dump_id: int
    end: FileTail
    """where the reading of the dump ended"""
    spooled: Spooled
    filename: str
    start: int
    base: int
    """bytes of the dump that are not in the spooled file"""
    outcomes: list[SessionOutcome] = field(default_factory=list)
    _tail: ReadTail = field(default_factory=ReadTail)
    _index: search.Pending = field(default_factory=search.Pending)
    _turns: int = 0

    def write(self) -> IngestResult:
        """Raises `ReadsOtherwise` and `NotSaved` where the whole file is to be read; the caller commits."""
        with self.spooled.path.open("rb") as file:
            source = Source(file, self.filename, start=self.start, before=self.end.lines, base=self.base)
            kind = readers.known_formats()[self.end.format].with_options(tail=self._tail)
            records = list(kind.added_sessions(source))
            sessions = [record for record in records if isinstance(record, SessionEntries)]
            if source.lines_read is None or not sessions:
                raise ReadsOtherwise
            writing.lock(self.connection, *(session.name for session in sessions))
            for record in records:
                if isinstance(record, SessionEntries):
                    self._take(kind, record)
                elif record not in source.lines_read.problems:
                    self._problem(record)
            if not any(outcome.new_turns for outcome in self.outcomes):
                raise ReadsOtherwise
            for problem in source.take_problem():
                if problem.reason not in {before.reason for before in self.end.problems}:
                    self._problem(problem)
        self.end.lines = source.lines_read
        self._index.flush(self.connection)
        return self._result()

    @property
    def ends_whole(self) -> bool:
        """Whether the last line is whole, so that lines can follow it."""
        return self.spooled.written is not None and self.spooled.written.last.endswith(b"\n")

    def hold_states(self, engine: sa.Engine) -> None:
        """Have what grew be at hand when it grows again, once this is committed."""
        for outcome in self.outcomes:
            if outcome.grown is not None:
                grown_from_dumps(engine).put(outcome.grown)

    def _take(self, kind: Format, session: SessionEntries) -> None:
        before = growing.find_session(self.connection, self.dump_id, session.name, self.end.short.get(session.name))
        if before is None and session.name == self.end.lines.session:
            raise ReadsOtherwise
        outcome = self._new(kind, session) if before is None else self._grown(kind, session, before)
        self.outcomes.append(outcome)
        growing.put_sessions(self.connection, self.dump_id, [(self._tail.sessions.pop(session.name, None), outcome)])
        self.end.short.pop(session.name, None)
        if session.name in self._tail.short:
            self.end.short[session.name] = self._tail.short[session.name]
        self.end.waiting.pop(session.name, None)
        if problems_now := self._tail.waiting.get(session.name):
            self.end.waiting[session.name] = problems_now
        if len(self.end.waiting) > MOST_NAMED:
            raise ReadsOtherwise

    def _grown(self, kind: Format, session: SessionEntries, before: StoredEnd) -> SessionOutcome:
        entries = growing.entries_of(self.connection, before.stored.id)
        end = before.end or reread_end(kind, session, entries)
        turns = self._without_problems(added_turns(kind, session, end, self._tail))
        outcome = writing.grow(self.connection, before.stored, turns, on_problem=self._problem, index=self._index)
        self._turns += outcome.new_turns
        return outcome

    def _new(self, kind: Format, session: SessionEntries) -> SessionOutcome:
        start = SessionStart(session.name, kind.name, session.home, session.title, session.extra, session.service)
        home = rules.HomeChooser(rules.read(self.connection), self.settings.home).choose(start, self._problem)
        with Spill() as turns:
            before = reread_end(kind, session, ())
            for turn in self._without_problems(added_turns(kind, session, before, self._tail)):
                if isinstance(turn, Turn):
                    turns.append(turn)
                    self._turns += 1
            return self._stored(SessionInput(start, turns, home, grows=True), turns.held(_MOST_PREPARED))

    def _stored(self, session: SessionInput, short: list[Turn] | None) -> SessionOutcome:
        if short is not None:
            new = new_session(session._replace(turns=short))
            outcome = writing.write_new(self.connection, [new], dump_id=lambda _: self.dump_id, index=self._index)[0]
            if outcome is not None:
                for problem in new.problems:
                    self._problem(problem)
                return outcome
        dump_id, on_problem = (lambda _: self.dump_id), self._problem
        return writing.write(self.connection, session, dump_id=dump_id, on_problem=on_problem, index=self._index)

    def _without_problems(self, records: Iterable[Turn | LaterKnown | Problem]) -> Iterator[Turn | LaterKnown]:
        for record in records:
            if isinstance(record, Problem):
                self._problem(record)
            else:
                yield record

    def _problem(self, problem: Problem) -> None:
        self.end.problem_count += 1
        if len(self.end.problems) < MOST_PROBLEMS:
            self.end.problems.append(problem)

    def _result(self) -> IngestResult:
        """Have the dump's row speak of the longer file."""
        said_now = self.end.said_now()
        problems = [*self.end.problems, *said_now][:MOST_PROBLEMS]
        new = sum(outcome.what == "new" for outcome in self.outcomes)
        linked = dump_links.add(self.connection, self.dump_id, {one.id: one.new_turns for one in self.outcomes})
        values = {
            "sha256": self.spooled.sha256,
            "received_at": datetime.now(UTC),
            "bytes": self.spooled.bytes if self.spooled.written is None else self.spooled.written.size,
            "session_count": Dump.session_count + linked,
            "turn_count": Dump.turn_count + self._turns,
            "problem_count": self.end.problem_count + len(said_now),
            "problems": [problem_dict(problem) for problem in problems],
        }
        self.connection.execute(sa.update(Dump).where(Dump.id == self.dump_id).values(values))
        if self.ends_whole:
            growing.put_file(self.connection, self.dump_id, self.filename, self.end)
        else:
            growing.forget(self.connection, self.dump_id)
        grown = sum(outcome.what == "grown" for outcome in self.outcomes)
        count = sum(outcome.new_turns for outcome in self.outcomes)
        dump = line(self.connection, self.dump_id)
        return IngestResult(dump, *named_sessions(self.connection, self.dump_id), problems, True, new, grown, count)
