"""The real sessions: which findings they have, each looked at by hand, and that the clean ones have none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from webapp.dumps import SessionStart, Turn, read
from webapp.findings import Finding
from webapp.store import noticing
from webapp.store.parsed import Parser
from webapp.store.tally import Tally

EXAMPLES = Path(__file__).parents[2] / "examples"
HTTP = "http_log.first300.jsonl"
CORPUS = {
    # their providers say that the token limit was reached
    (HTTP, "test_bedrock__test_bedrock_model_max_tokens.yaml", "cut_response"): (0,),
    (HTTP, "test_bedrock__test_bedrock_model_other_parameters.yaml", "cut_response"): (0,),
    (HTTP, "test_bedrock__test_bedrock_model_service_tier.yaml", "cut_response"): (0,),
    (HTTP, "test_google__test_google_model_max_tokens.yaml", "cut_response"): (2,),
    (HTTP, "test_google__test_google_model_max_tokens_thinking_model_empty_response.yaml", "cut_response"): (2,),
    # two diagrams whose last line comes hundreds of times, to the end
    ("rsp_cache.first200.json", "rsp_cache.first200", "runaway_repetition"): (81, 93),
}
EXAMPLE_FINDINGS = {
    "agent-never-ran-its-code.json": {
        "lost_tool_call": (12, 28),
        "claimed_result": (16, 20, 32),
        "turns_exhausted": (20, 32),
        "same_failure_again": (12, 28),
    },
    "python-taken-for-tool-calls.json": {
        "validation_storm": (7, 11, 15, 19, 25, 29, 33, 37, 43, 47, 51),
        "false_alarm": (7, 11, 15, 19, 25, 29, 33, 37, 43, 47, 51),
        "turns_exhausted": (19, 37),
        "same_failure_again": (7, 11, 15, 19, 25, 29, 33, 37, 43, 51),
    },
    "three-models-in-a-circle.json": {"zombie_model": (8,), "silent_discard": (8,)},
    "plans-among-log-lines.json": {"silent_discard": (6,), "silently_wrong": (8,)},
    "invoices-one-a-line.jsonl": {"cut_response": (4,)},
    "evaluation-with-raw-newlines.json": {},
    "support-desk-clean.jsonl": {},
}


def found_in(path: Path) -> Iterator[tuple[str, list[Finding]]]:
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


def findings(start: SessionStart, turns: list[Turn]) -> list[Finding]:
    home = start.home or "fencepost"
    notice, tally, parser = noticing.watch(home), Tally(), Parser(home)
    for turn in turns:
        place = tally.place(turn.entry, turn.kind, turn.written_by_model, turn.duplicate_of)
        written = turn.written_by_model and place.original is None
        traces: tuple[Any, ...] = parser.traces(turn.raw or "") if written else ()
        answered = None if turn.answers is None else tally.answered(turn.answers)
        noticing.show(notice, place, turn, traces, None if answered is None else tally.positions[answered])
    return notice.findings()


@pytest.mark.parametrize("name", EXAMPLE_FINDINGS)
def test_the_examples(name: str) -> None:
    ((_, found),) = found_in(EXAMPLES / name)
    assert {finding.rule: finding.turns for finding in found} == EXAMPLE_FINDINGS[name]


def test_the_corpus_has_these_findings_and_no_others(shared: Path) -> None:
    found = {}
    sessions = 0
    for path in sorted((shared / "corpus").glob("*/*")):
        if path.name == "LICENSE" or path.parent.name == "jsontestsuite":
            continue
        for name, noticed in found_in(path):
            sessions += 1
            found |= {(path.name, name, finding.rule): finding.turns for finding in noticed}
    assert sessions == 392
    assert found == CORPUS
