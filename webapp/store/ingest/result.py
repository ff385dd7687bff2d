"""What becomes of a dump: how far its ingest is, its counts, its result, and how what went wrong is said."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from webapp.dumps.answer_alarm import Carried, MissingAnswers
from webapp.dumps.records import Problem, Turn
from webapp.refusals import Refusal
from webapp.store.models import ANSWERS_MISSING, Dump
from webapp.store.write.session_state import SessionOutcome

EVERY = 0.5
"""seconds between two tellings"""


class Stopped(Exception):
    """The ingest is to end before all was read; `cancelled` says that a person asked for it."""

    def __init__(self, cancelled: bool) -> None:
        super().__init__("cancelled" if cancelled else "stopped")
        self.cancelled = cancelled


@dataclass(slots=True)
class Progress:
    """What was done so far; `tell` gets it at most twice a second and may raise `Stopped`.

    `phase` is receiving, unpacking, keeping, looking (through the file, before the first turn) or storing, and
    `read` counts the `bytes` that it has to go through. `dump` is the dump's number once it has one.
    Of an export it is exporting, or paused for an import; `read` counts the bytes that were written, `sessions` those
    that are in it, and `chosen` how many there are to be.
    """

    tell: Callable[[Progress], None] = lambda _: None
    phase: str = "receiving"
    read: int = 0
    bytes: int = 0
    turns: int = 0
    sessions: int = 0
    problems: int = 0
    chosen: int | None = None
    format: str | None = None
    dump: int | None = None
    told_at: float = 0.0

    def begin(self, phase: str, size: int) -> None:
        """Another phase, over `size` bytes; told at once."""
        self.phase, self.read, self.bytes = phase, 0, size
        self.told_at = time.monotonic()
        self.tell(self)

    def advance(self, count: int) -> None:
        """`count` bytes were read."""
        self.read += count
        self.moved()

    def first_turn(self) -> None:
        """Turns come now. A file that was gone through to find its sessions is gone through once more."""
        self.phase = "storing"
        if self.read > self.bytes // 2:
            self.read = 0

    def moved(self) -> None:
        """Tell how far it is, where that was not done just now."""
        now = time.monotonic()
        if now - self.told_at >= EVERY:
            self.told_at = now
            self.tell(self)

    def file(self, stream: BinaryIO) -> BinaryIO:
        """`stream`, of which each piece that is read is told."""
        return cast(BinaryIO, _Pieces(self, stream))


@dataclass(frozen=True, slots=True)
class _Pieces:
    progress: Progress
    stream: BinaryIO

    def read(self, size: int = -1) -> bytes:
        piece = self.stream.read(size)
        self.progress.advance(len(piece))
        return piece


MOST_PROBLEMS = 200
"""How many problems are kept word for word; all are counted."""


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What became of a dump: `sessions` and `keys` name all its sessions, the new, the grown and the found.

    `created` is False where the same bytes, or everything in them, were there before. `new` and `grown` count
    sessions, `new_turns` the turns stored, duplicates included. At most 200 problems are word for word.
    """

    dump: Dump
    sessions: list[str]
    keys: list[str]
    problems: list[Problem]
    created: bool
    new: int = 0
    grown: int = 0
    new_turns: int = 0
    changed: int = 0
    """sessions from before that have the home profile only now that was told with this dump"""


def problem_dict(problem: Problem) -> dict[str, str]:
    """A problem as a dump keeps it and the API answers it; a missing answer says so by its code."""
    code = {"code": ANSWERS_MISSING} if isinstance(problem, MissingAnswers) else {}
    return {"at": problem.at, "reason": problem.reason, **code}


def problem_of(row: Mapping[str, str]) -> Problem:
    """The problem that a dump keeps."""
    kind = MissingAnswers if row.get("code") == ANSWERS_MISSING else Problem
    return kind(row["at"], row["reason"])


def describe(error: Refusal) -> dict[str, str | None]:
    """An error as a dump keeps it and the API answers it: code, message, at."""
    return {"code": error.code, "message": str(error), "at": getattr(error, "at", None)}


@dataclass(slots=True)
class IngestCounts:
    """The counts of one dump; `watch` has those of turns and problems.

    `sessions` are the id and the key of each that is stored, by its number; the first `MOST_PROBLEMS` `problems` are
    kept word for word.
    """

    watch: Progress
    carried: Carried = field(default_factory=Carried)
    sessions: dict[int, tuple[str, str]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    new_turns: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)

    def problem(self, problem: Problem) -> None:
        """Something is wrong with the dump, at a place in it."""
        self.watch.problems += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        elif isinstance(problem, MissingAnswers) and not isinstance(self.problems[-1], MissingAnswers):
            self.problems[-1] = problem

    def turn(self, turn: Turn) -> None:
        """Another turn was read."""
        self.carried.see(turn)
        if not self.watch.turns:
            self.watch.first_turn()
        self.watch.turns += 1
        self.watch.moved()

    def stored(self, *outcomes: SessionOutcome) -> None:
        """Sessions are stored for sure."""
        for outcome in outcomes:
            self.sessions[outcome.id] = (outcome.external_id, outcome.key)
            self.outcomes[outcome.what] += 1
            self.new_turns += outcome.new_turns
        self.watch.sessions = len(self.sessions)

    def columns(self) -> dict[str, int]:
        """The counts that the dump's row has."""
        return {
            "session_count": len(self.sessions),
            "turn_count": self.watch.turns,
            "problem_count": self.watch.problems,
        }

    def result(self, dump: Dump) -> IngestResult:
        """What became of the dump."""
        ids = [external_id for external_id, _ in self.sessions.values()]
        keys = [key for _, key in self.sessions.values()]
        new, grown = self.outcomes["new"], self.outcomes["grown"]
        return IngestResult(dump, ids, keys, self.problems, new + grown > 0, new, grown, self.new_turns)
