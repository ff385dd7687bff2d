"""Fixtures for dumps: read a dump given as text or bytes, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from webapp.dumps.answer_alarm import MissingAnswers
from webapp.dumps.reading import read
from webapp.dumps.records import Problem, Record, SessionStart, Turn, whole_entry
from webapp.exports.session import document


@dataclass(frozen=True)
class Got:
    """A dump as read: its sessions with their turns, and the problems on the way."""

    starts: list[SessionStart]
    turns: list[list[Turn]]
    problems: list[Problem]
    alarms: list[MissingAnswers]
    """what was read without its answers, which many a small case is"""

    @property
    def ids(self) -> list[str]:
        return [start.external_id for start in self.starts]

    @property
    def only(self) -> list[Turn]:
        """The turns of the only session."""
        assert len(self.turns) == 1
        return self.turns[0]

    def entries(self, session: int = 0) -> list[Any]:
        """The entries of a session, made whole again."""
        return [
            whole_entry(turn.source, turn.raw, turn.raw_at) for turn in self.turns[session] if turn.source is not None
        ]

    def dumped(self, session: int = 0) -> bytes:
        """The session as our own dump."""
        start, entries = self.starts[session], self.entries(session)
        own = {
            "version": "1",
            "format": start.source_format,
            "home": start.home,
            "title": start.title,
            "extra": start.extra,
            "service": start.service,
        }
        return b"".join(document(start.external_id, "2025-12-01T00:00:00+00:00", len(entries), entries, own))


Reader = Callable[..., Got]


@pytest.fixture
def got(tmp_path: Path) -> Reader:
    """Read text or bytes as a dump of some name."""

    def run(content: str | bytes, filename: str = "demo.json", named: str | None = None) -> Got:
        path = tmp_path / "dump"
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return gather(path, filename, named)

    return run


def gather(path: Path, filename: str, named: str | None = None) -> Got:
    return gathered(read(path, filename, format=named))


def gathered(records: Iterable[Record]) -> Got:
    found = Got([], [], [], [])
    for record in records:
        if isinstance(record, SessionStart):
            found.starts.append(record)
            found.turns.append([])
        elif isinstance(record, Turn):
            found.turns[-1].append(record)
        elif isinstance(record, MissingAnswers):
            found.alarms.append(record)
        else:
            found.problems.append(record)
    return found
