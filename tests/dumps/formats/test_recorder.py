"""Recordings of `webapp.client`: what each field becomes, and that the entries come back as they were."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any


def line(kind: Any, text: Any, session: Any = "s1", **fields: Any) -> str:
    return json.dumps({"session_id": session, "recorded_at": 1764547200.5, "kind": kind, "text": text, **fields}) + "\n"


ALL = (
    line("prompt", "do it", home="direct", title="Demo", role="user")
    + line("response", "said \ud800", model="m1", tokens_in=7, tokens_out=2, cost=0.5, phase="plan", round=1, attempt=2)
    + line("tool_call", '{"code": 1}', name="run", sounding=3, parent="p1")
    + line("tool_result", "1", name="run")
    + line("error", "no JSON", answers=True)
    + line("error", "the network")
    + line("event", None, seconds=3)
)


def test_each_entry_is_a_turn(got):
    found = got(ALL, "rec.jsonl")
    assert found.problems == []
    (start,) = found.starts
    assert (start.external_id, start.source_format, start.home, start.title) == ("s1", "recorder", "direct", "Demo")
    kinds = [turn.kind for turn in found.only]
    assert kinds == ["prompt", "response", "tool_call", "tool_result", "error", "error", "event"]
    said, call = found.only[1], found.only[2]
    assert (said.raw, said.raw_at, said.model, said.phase) == ("said \ud800", ("text",), "m1", "plan")
    assert (said.tokens_in, said.tokens_out, said.cost, said.round, said.attempt) == (7, 2, 0.5, 1, 2)
    assert said.sent_at == datetime(2025, 12, 1, 0, 0, 0, 500_000, UTC)
    assert (call.agent, call.sounding, call.parent) == ("run", 3, "p1")
    assert [turn.answers for turn in found.only[4:6]] == [2, None]
    assert (found.only[6].raw, found.only[6].raw_at) == (None, None)


def test_the_entries_come_back_unchanged(got):
    found = got(ALL)
    assert found.entries() == [json.loads(entry) for entry in ALL.splitlines()]
    again = got(found.dumped())
    assert (again.problems, again.only) == ([], found.only)


def test_one_entry_is_a_recording_too(got):
    for text in (ALL.splitlines()[0], ALL.splitlines()[0] + "\n"):
        found = got(text)
        assert (found.starts[0].source_format, len(found.only)) == ("recorder", 1)


def test_sessions_in_one_file_and_a_cut_line(got):
    found = got(line("prompt", "a") + line("prompt", "b", session="s2") + line("response", "c") + '{"session_id": "s')
    assert (found.ids, [len(turns) for turns in found.turns]) == (["s1", "s2"], [2, 1])
    assert [problem.at for problem in found.problems] == ["line 4"]


def test_other_kinds_and_texts_that_are_none(got):
    found = got(line("prompt", "a") + line("new", "b") + line("response", {"a": 1}), named="recorder")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", "a"), ("event", "b"), ("response", None)]
    assert found.entries()[2]["text"] == {"a": 1}
