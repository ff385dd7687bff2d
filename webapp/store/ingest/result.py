"""What became of a dump, and how what went wrong with it is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from webapp.dumps.answer_alarm import MissingAnswers
from webapp.dumps.records import BadDump, Problem, TooLarge, UnknownFormat
from webapp.store.sessions.dumps import ANSWERS_MISSING, DumpLine

MOST_PROBLEMS = 200
"""How many problems are kept word for word; all are counted."""


@dataclass(frozen=True, slots=True)
class IngestResult:
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
    changed: int = 0
    """sessions from before that have the home profile only now that was told with this dump"""


def problem_dict(problem: Problem) -> dict[str, str]:
    """A problem as a dump keeps it and the API answers it; a missing answer says so by its code."""
    code = {"code": ANSWERS_MISSING} if isinstance(problem, MissingAnswers) else {}
    return {"at": problem.at, "reason": problem.reason, **code}


def problem_of(stored: Mapping[str, str]) -> Problem:
    """The problem that a dump keeps."""
    kind = MissingAnswers if stored.get("code") == ANSWERS_MISSING else Problem
    return kind(stored["at"], stored["reason"])


def describe(error: BadDump | UnknownFormat) -> dict[str, str | None]:
    """An error as a dump keeps it and the API answers it: code, message, at."""
    if isinstance(error, BadDump):
        code = "too_large" if isinstance(error, TooLarge) else "bad_dump"
        return {"code": code, "message": error.reason, "at": error.at}
    return {"code": "unknown_format", "message": str(error), "at": None}
