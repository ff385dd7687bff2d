"""What is left to do of sessions that were written together."""

from __future__ import annotations

from webapp.dumps.records import Problem, SessionStart
from webapp.store.ingest.written_batch import WrittenBatch, split
from webapp.store.write.home import Home
from webapp.store.write.session_rows import NewSession, SessionInput
from webapp.store.write.writing import SessionOutcome


def prepared(name: str) -> tuple[SessionInput, NewSession]:
    session = SessionInput(SessionStart(name, "windlass"), [], Home("fencepost", "told"))
    return session, NewSession(name, {}, problems=[Problem("entry 0", name)])


def test_only_what_was_written_has_an_outcome_and_problems() -> None:
    new, known = prepared("new"), prepared("known")
    outcome = SessionOutcome("new", 1, "key", 2)
    outcomes, rest = split([known, new], [None, outcome])
    assert outcomes == [(new[0].start, outcome)]
    assert rest == WrittenBatch([known[0]], [Problem("entry 0", "new")])
