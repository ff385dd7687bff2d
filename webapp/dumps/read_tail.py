"""Notes where the reading of a dump of lines ended, session by session, so that further lines are read from there."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain

from webapp import saved_state
from webapp.dumps.answer_alarm import SessionAnswers
from webapp.dumps.records import Problem
from webapp.dumps.source import LinesRead
from webapp.dumps.turn_reader import TurnReader

FEWEST = 100
"""turns of a session below which reading it again, from what is stored of it, costs less than noting where it ended"""


@dataclass(slots=True)
class SessionTail:
    """Where the reading of a session ended: its reader as bytes, None of a short one, and what was answered in it."""

    reader: bytes | None
    entries: int
    answers: SessionAnswers


@dataclass(slots=True)
class ReadTail:
    """The same of a dump. `lines` is None where it cannot be gone on from: nothing was noted then."""

    lines: LinesRead | None = None
    sessions: dict[str, SessionTail] = field(default_factory=dict)
    """those that were read and that nobody has taken yet"""
    waiting: dict[str, list[Problem]] = field(default_factory=dict)
    """what is said of sessions until more of them comes"""
    short: dict[str, int] = field(default_factory=dict)
    """how many entries each short session has"""
    _readers: dict[str, tuple[bytes | None, int]] = field(default_factory=dict)

    def note(self, session: str, reader: TurnReader) -> None:
        """A session was read to its end; what waits in its reader is about to leave."""
        with suppress(saved_state.NotSaved):
            is_short = reader.left + len(reader.waiting()) < FEWEST
            self._readers[session] = None if is_short else saved_state.saved(reader), reader.conversation.entry
        if unfinished := reader.conversation.unfinished():
            self.waiting.setdefault(session, []).append(Problem(END, unfinished))

    def end(self, answers: SessionAnswers) -> None:
        """All turns of a session have left."""
        if (reader := self._readers.pop(answers.name, None)) is not None:
            self.sessions[answers.name] = SessionTail(*reader, answers)
            if reader[0] is None:
                self.short[answers.name] = reader[1]
        if (problem := answers.problem()) is not None:
            self.waiting.setdefault(answers.name, []).append(problem)


@dataclass(slots=True)
class FileTail:
    """Where the reading of a whole dump ended, and what was said of it."""

    format: str
    lines: LinesRead
    problems: list[Problem]
    """of its lines: those that no further line changes; of many no more than the first"""
    problem_count: int
    waiting: dict[str, list[Problem]]
    """of its sessions, by their names, as far as they have come"""
    short: dict[str, int] = field(default_factory=dict)
    """how many entries each of its short sessions has"""

    def said_now(self) -> list[Problem]:
        """What is said of all so far, and anew when more comes."""
        return [*self.lines.problems, *chain.from_iterable(self.waiting.values())]


END = "the end of the session"
"""where a problem stands that says what a session's last entry began"""
