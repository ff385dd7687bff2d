"""What became of a dump, and how what went wrong with it is told."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.dumps.records import BadDump, Problem, TooLarge, UnknownFormat
from webapp.store.dumps import DumpLine

MOST_PROBLEMS = 200
"""How many problems are kept word for word; all are counted."""


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


def describe(error: BadDump | UnknownFormat) -> dict[str, str | None]:
    """An error as a dump keeps it and the API answers it: code, message, at."""
    if isinstance(error, BadDump):
        return {"code": _code(error), "message": error.reason, "at": error.at}
    return {"code": "unknown_format", "message": str(error), "at": None}


def _code(error: BadDump) -> str:
    return "too_large" if isinstance(error, TooLarge) else "bad_dump"
