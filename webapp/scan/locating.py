"""Where a response stands in its log: line and column of its text, or of the character where its JSON ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

SECTION = 1 << 20
HEAD = 200
"""characters of a text by which it is found"""


class LogLocation(NamedTuple):
    """Line and column, from 1, in the file's own text."""

    line: int
    column: int


def locate(path: Path, raw: str, at: int = 0) -> LogLocation | None:
    """Where the character `at` of `raw` stands in the file, as JSON writes it or as it is; None where it is not found.

    The file is read in sections, so that one of any size may be searched. Of several places the first is given.
    """
    for wanted, ahead in _written(raw, at):
        found = _find(path, wanted)
        if found is not None:
            return LogLocation(found.line, found.column + ahead)
    return None


def _written(raw: str, at: int) -> list[tuple[bytes, int]]:
    """The ways in which a log may hold the beginning of a text, and how far the character is from there."""
    ways: list[tuple[bytes, int]] = []
    for ascii_only in (False, True):
        head, ahead = (json.dumps(part, ensure_ascii=ascii_only)[1:-1] for part in (raw[:HEAD], raw[:at]))
        ways.append((head.encode("utf-8", "surrogatepass"), len(ahead)))
    ways.append((raw[:HEAD].encode("utf-8", "surrogatepass"), at if "\n" not in raw[:at] else 0))
    return [way for way in dict.fromkeys(ways) if way[0]]


def _find(path: Path, wanted: bytes) -> LogLocation | None:
    line, column, kept = 1, 1, b""
    try:
        with path.open("rb") as file:
            while section := file.read(SECTION):
                text = kept + section
                at = text.find(wanted)
                passed = text[: at if at >= 0 else max(0, len(text) - len(wanted) + 1)]
                if feeds := passed.count(b"\n"):
                    line, column = line + feeds, 1
                column += len(passed[passed.rfind(b"\n") + 1 :].decode("utf-8", "ignore"))
                if at >= 0:
                    return LogLocation(line, column)
                kept = text[len(passed) :]
    except OSError:
        return None
    return None
