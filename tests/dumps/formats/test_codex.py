"""Codex rollouts: items and events that say the same are one turn, calls and results are linked."""

from __future__ import annotations

from tests.dumps.conftest import gather


def event(**payload) -> dict:
    return {"timestamp": "2026-01-02T03:04:06Z", "type": "event_msg", "payload": payload}


def test_the_corpus_rollout(shared):
    (path,) = (shared / "corpus" / "codex").glob("*.jsonl")
    found = gather(path, path.name)
    assert found.ids == ["11111111-1111-4111-8111-111111111111"]
    shown = [turn for turn in found.only if turn.duplicate_of is None]
    assert [(turn.kind, turn.agent) for turn in shown if turn.kind != "event"] == [
        ("prompt", None),
        ("tool_call", "exec_command"),
        ("tool_result", "exec_command"),
        ("tool_call", "apply_patch"),
        ("tool_result", "apply_patch"),
        ("tool_call", "mcp__synthetic__lookup"),
        ("tool_result", "mcp__synthetic__lookup"),
        ("response", None),
    ]
    calls = [turn.raw for turn in shown if turn.kind == "tool_call"]
    assert calls[0] == '{"cmd":"find . -maxdepth 1 -type f"}'
    assert calls[1].startswith("*** Begin Patch")
    assert {turn.model for turn in shown if turn.kind in ("tool_call", "response")} == {"synthetic-model"}
    assert not any("SYNTHETIC_ENCRYPTED" in (turn.raw or "") for turn in found.only)
