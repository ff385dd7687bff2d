"""The real sessions: which findings they have, each looked at by hand, and that the clean ones have none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.findings.session_cases import real_findings
from webapp.dumps.reading import read
from webapp.dumps.records import SessionStart, Turn
from webapp.findings.rule import RuleFinding
from webapp.scan.scanning import OpenSession

EXAMPLES = Path(__file__).parents[2] / "examples"
CASE_FILES = sorted((Path(__file__).parent / "cases").glob("*.md"))


def expected(folder: str) -> dict[tuple[str, str, str], tuple[int, ...]]:
    """What the case files of all rules say of the real sessions of a folder."""
    return {key: turns for path in CASE_FILES for key, turns in real_findings(path, folder).items()}


def findings_in(path: Path) -> Iterator[tuple[str, list[RuleFinding]]]:
    """Each session's id and its findings, as ingest finds them."""
    start: SessionStart | None = None
    turns: list[Turn] = []
    for record in read(path, path.name):
        if isinstance(record, SessionStart):
            if start is not None:
                yield start.external_id, findings(start, turns)
            start, turns = record, []
        elif isinstance(record, Turn):
            turns.append(record)
    if start is not None:
        yield start.external_id, findings(start, turns)


def findings(start: SessionStart, turns: list[Turn]) -> list[RuleFinding]:
    session = OpenSession(start, start.home or "fencepost")
    for turn in turns:
        session.see(turn)
    session.state.settle()
    return session.state.findings


def test_the_examples_have_these_findings_and_no_others() -> None:
    files = [path for path in sorted(EXAMPLES.iterdir()) if path.suffix in (".json", ".jsonl")]
    found = {
        (path.name, name, finding.rule): finding.turns
        for path in files
        for name, session_findings in findings_in(path)
        for finding in session_findings
    }
    assert len(files) == 8
    assert found == expected("examples")


def test_the_corpus_has_these_findings_and_no_others(shared: Path) -> None:
    found = {}
    sessions = 0
    for path in sorted((shared / "corpus").glob("*/*")):
        if path.name == "LICENSE" or path.parent.name == "jsontestsuite":
            continue
        for name, session_findings in findings_in(path):
            sessions += 1
            found |= {(path.name, name, finding.rule): finding.turns for finding in session_findings}
    assert sessions == 392
    assert found == expected("corpus")
