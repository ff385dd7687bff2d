"""Reads the entries of one session to turns, and can go on from where it stood when more entries come."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from webapp.dumps.answer_alarm import SessionAnswers
from webapp.dumps.call_failures import CallFailures
from webapp.dumps.entries import RepeatedIds
from webapp.dumps.logged_twice import Twins
from webapp.dumps.messages.turns import Conversation
from webapp.dumps.records import Problem, Turn
from webapp.dumps.turn_window import Side

SidedTurns = Iterator[tuple[Turn | Problem, Side | None]]


@dataclass(slots=True)
class TurnReader:
    """What the reading of a session holds between two entries: what later ones need of earlier ones.

    Turns wait a little while for what comes later (`twins`, `failures`); None where the format has no such thing.
    """

    conversation: Conversation
    ids: RepeatedIds = field(default_factory=RepeatedIds)
    twins: Twins | None = None
    failures: CallFailures | None = field(default_factory=CallFailures)

    def read(self, sided: SidedTurns) -> Iterator[Turn | Problem]:
        """Turns as they leave; some stay behind for `rest`."""
        for turn, side in sided:
            leaving = (turn,) if self.twins is None else self.twins.put(turn, side)
            for one in leaving:
                yield from (one,) if self.failures is None else self.failures.put(one)

    def rest(self) -> Iterator[Turn | Problem]:
        """All that waits still, where nothing more comes."""
        for one in () if self.twins is None else self.twins.rest():
            yield from (one,) if self.failures is None else self.failures.put(one)
        yield from () if self.failures is None else self.failures.rest()
        if unfinished := self.conversation.unfinished():
            yield Problem("the end of the session", unfinished)

    def so_far(self) -> Iterator[Turn | Problem]:
        """What `rest` would give if nothing more came; more may come."""
        twins, failures = deepcopy((self.twins, self.failures))
        yield from TurnReader(self.conversation, self.ids, twins, failures).rest()


@dataclass(slots=True)
class ReadTail:
    """Where the reading of a dump ended that is one session, line by line: the next lines are read from here.

    `reader` is None where it cannot go on: the format does not read line by line, or there are several sessions.
    """

    session: str | None = None
    reader: TurnReader | None = None
    answers: SessionAnswers | None = None
    sessions: int = 0

    def end(self, answers: SessionAnswers) -> None:
        """What was answered in the last session, once all was read."""
        self.answers = answers

    def note(self, session: str, reader: TurnReader) -> None:
        """A session was read to its end."""
        self.sessions += 1
        self.session, self.reader = (session, reader) if self.sessions == 1 else (None, None)
