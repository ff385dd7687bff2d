"""Claude Code transcripts whose file's name tells something."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("name", "session"),
    [("agent-4f.jsonl", "s1/4f"), ("project/subagents/agent-4f.jsonl", "s1/4f"), ("s1.jsonl", "s1")],
)
def test_a_subagents_own_file_is_a_session_beside_its_parents(got, name, session):
    message = {"id": "m1", "role": "assistant", "model": "opus", "content": [{"type": "text", "text": "I will."}]}
    about = {"sessionId": "s1", "agentId": "4f"}
    said = {"type": "assistant", "uuid": "a", "message": message, "isSidechain": True, **about}
    ended = {"type": "system", "uuid": "b", **about}
    assert got(f"{json.dumps(said)}\n{json.dumps(ended)}", name).ids == [session]
