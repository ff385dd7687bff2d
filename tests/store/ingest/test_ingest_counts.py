"""What is counted of a dump while it is read, and what is said of it."""

from __future__ import annotations

import pytest

from webapp.dumps.records import Problem, SessionStart
from webapp.store.append import SessionOutcome
from webapp.store.ingest import result
from webapp.store.ingest.progress import Progress
from webapp.store.ingest.result import IngestCounts


def test_all_problems_are_counted_and_the_first_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result, "MOST_PROBLEMS", 2)
    counts = IngestCounts(Progress())
    for number in range(3):
        counts.problem(Problem(f"line {number}", "broken"))
    assert [problem.at for problem in counts.problems] == ["line 0", "line 1"]
    assert counts.columns()["problem_count"] == counts.watch.problems == 3


def test_a_session_that_comes_twice_counts_once() -> None:
    counts = IngestCounts(Progress())
    start = SessionStart("s1", "openai")
    counts.stored([(start, SessionOutcome("new", 7, "key7", 3)), (start, SessionOutcome("grown", 7, "key7", 2))])
    assert (counts.sessions, counts.new_turns, counts.watch.sessions) == ({7: ("s1", "key7")}, 5, 1)
    assert dict(counts.outcomes) == {"new": 1, "grown": 1}


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "nothing was stored"), (1, "1 session of it is stored whole"), (2, "2 sessions of it are stored whole")],
)
def test_what_is_said_when_it_is_cancelled(count: int, words: str) -> None:
    counts = IngestCounts(Progress())
    outcomes = [(SessionStart(f"s{n}", "openai"), SessionOutcome("new", n, f"k{n}", 1)) for n in range(count)]
    counts.stored(outcomes)
    assert counts.words_when_cancelled() == f"Cancelled: {words}. Read it again to go on."
