"""Recordings of `webapp.client`: what each field becomes, and that the entries come back as they were."""

from __future__ import annotations

import json
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


def test_the_entries_come_back_unchanged(got):
    found = got(ALL)
    assert found.entries() == [json.loads(entry) for entry in ALL.splitlines()]
    again = got(found.dumped())
    assert (again.problems, again.only) == ([], found.only)


def test_other_kinds_and_texts_that_are_none(got):
    found = got(line("prompt", "a") + line("new", "b") + line("response", {"a": 1}), named="recorder")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", "a"), ("event", "b"), ("response", None)]
    assert found.entries()[2]["text"] == {"a": 1}
