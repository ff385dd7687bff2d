"""Claude Code transcripts: lines of one message, sidechains, tool results, what is logged again."""

from __future__ import annotations

import json


def line(uuid: str, message: dict | None = None, parent: str | None = None, **more) -> dict:
    kind = {"type": (message or {}).get("role", "system")}
    return {**kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s1", "message": message, **more}


def assistant(name: str, *blocks: dict, tokens: int = 7) -> dict:
    usage = {"input_tokens": 3, "output_tokens": tokens}
    return {"id": name, "role": "assistant", "model": "opus", "content": list(blocks), "usage": usage}


TEXT = {"type": "text", "text": "I will."}


def jsonl(*lines: dict) -> str:
    return "\n".join(map(json.dumps, lines))


def test_a_subagents_own_file_is_a_session_beside_its_parents(got):
    lines = [line("a", assistant("m1", TEXT), isSidechain=True, agentId="4f"), line("b", agentId="4f")]
    assert got(jsonl(*lines), "agent-4f.jsonl").ids == ["s1/4f"]
    assert got(jsonl(*lines), "project/subagents/agent-4f.jsonl").ids == ["s1/4f"]
    assert got(jsonl(*lines), "s1.jsonl").ids == ["s1"]
