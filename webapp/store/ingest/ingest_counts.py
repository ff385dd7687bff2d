"""Counts what was read and stored of a dump so far: its turns, its problems, and what became of its sessions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from webapp.dumps.answer_alarm import MissingAnswers
from webapp.dumps.records import Problem, SessionStart
from webapp.store.append import SessionOutcome
from webapp.store.ingest.progress import Progress
from webapp.store.ingest.result import MOST_PROBLEMS, IngestResult
from webapp.store.sessions.dumps import DumpLine

Outcomes = Sequence[tuple[SessionStart, SessionOutcome]]
_PROGRESS_EVERY = 200


@dataclass(slots=True)
class IngestCounts:
    """The counts of one dump, of which `watch` is told.

    `sessions` are the id and the key of each that is stored, by its number; the first `MOST_PROBLEMS` `problems` are
    kept word for word.
    """

    watch: Progress
    sessions: dict[int, tuple[str, str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    turn_count: int = 0
    new_turns: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    in_part: bool = False
    """whether a long session is stored as far as it was read"""

    def problem(self, problem: Problem) -> None:
        """Something is wrong with the dump, at a place in it."""
        self.problem_count += 1
        self.watch.problems = self.problem_count
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        elif isinstance(problem, MissingAnswers) and not isinstance(self.problems[-1], MissingAnswers):
            self.problems[-1] = problem

    def turn(self) -> None:
        """Another turn was read."""
        if not self.turn_count:
            self.watch.first_turn()
        self.turn_count += 1
        self.watch.turns = self.turn_count
        if self.turn_count % _PROGRESS_EVERY == 0:
            self.watch.moved()

    def stored(self, outcomes: Outcomes) -> None:
        """Sessions are stored for sure."""
        for start, outcome in outcomes:
            self.sessions[outcome.id] = (start.external_id, outcome.key)
            self.outcomes[outcome.what] += 1
            self.new_turns += outcome.new_turns
        self.watch.sessions = len(self.sessions)

    def columns(self) -> dict[str, int]:
        """The counts that the dump's row has."""
        return {
            "session_count": len(self.sessions),
            "turn_count": self.turn_count,
            "problem_count": self.problem_count,
        }

    def result(self, dump: DumpLine) -> IngestResult:
        """What became of the dump."""
        ids = [external_id for external_id, _ in self.sessions.values()]
        keys = [key for _, key in self.sessions.values()]
        new, grown = self.outcomes["new"], self.outcomes["grown"]
        return IngestResult(dump, ids, keys, self.problems, new + grown > 0, new, grown, self.new_turns)

    def words_when_cancelled(self) -> str:
        """What a person reads who had the reading end early."""
        count = len(self.sessions)
        sentence = f"{count:,} session{'' if count == 1 else 's'} of it {'is' if count == 1 else 'are'} stored whole"
        rest = ", and one in part" if self.in_part and count else ""
        nothing = "one session of it is stored in part" if self.in_part else "nothing was stored"
        return f"Cancelled: {sentence + rest if count else nothing}. Read it again to go on."
