"""Reads the entries of one session to turns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from webapp.dumps.call_failures import CallFailures
from webapp.dumps.entries import RepeatedIds
from webapp.dumps.logged_twice import Twins
from webapp.dumps.messages.turns import Conversation
from webapp.dumps.records import Problem, Turn
from webapp.dumps.turn_window import Side
from webapp.dumps.unread import UnreadTexts

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
    unread: UnreadTexts = field(default_factory=UnreadTexts)

    def read(self, sided: SidedTurns) -> Iterator[Turn | Problem]:
        """Turns as they leave; some stay behind for `rest`."""
        for turn, side in sided:
            leaving = (turn,) if self.twins is None else self.twins.put(turn, side)
            for record in leaving:
                yield from (record,) if self.failures is None else self.failures.put(record)

    def rest(self) -> Iterator[Turn | Problem]:
        """All that waits still, where nothing more comes."""
        for record in () if self.twins is None else self.twins.rest():
            yield from (record,) if self.failures is None else self.failures.put(record)
        yield from () if self.failures is None else self.failures.rest()
        yield from self.unread.problems()
        if unfinished := self.conversation.unfinished():
            yield Problem("the end of the session", unfinished)
