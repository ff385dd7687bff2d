"""What became of new sessions that were written together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webapp.dumps.records import Problem
from webapp.store.ingest.beside import Outcomes
from webapp.store.write.session_rows import NewSession, SessionInput
from webapp.store.write.writing import SessionOutcome

NewBatch = list[tuple[SessionInput, NewSession]]
"""new sessions with their rows"""


class WrittenBatch(NamedTuple):
    """What is left to do of a batch: `known` sessions that somebody else brought meanwhile, and to note `problems`."""

    known: list[SessionInput]
    problems: list[Problem]


def split(batch: NewBatch, written: Sequence[SessionOutcome | None]) -> tuple[Outcomes, WrittenBatch]:
    """The outcomes of those of `batch` that were written, and what is left to do."""
    outcomes: Outcomes = []
    rest = WrittenBatch([], [])
    for (session_input, rows), outcome in zip(batch, written, strict=True):
        if outcome is None:
            rest.known.append(session_input)
        else:
            outcomes.append((session_input.start, outcome))
            rest.problems.extend(rows.problems)
    return outcomes, rest
