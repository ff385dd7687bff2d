"""Codex rollouts: items and events that say the same are one turn, calls and results are linked."""

from __future__ import annotations

import json

from tests.dumps.conftest import gather

META = {"timestamp": "2026-01-02T03:04:05Z", "type": "session_meta", "payload": {"id": "r1"}}


def item(**payload) -> dict:
    return {"timestamp": "2026-01-02T03:04:06Z", "type": "response_item", "payload": payload}


def event(**payload) -> dict:
    return {"timestamp": "2026-01-02T03:04:06Z", "type": "event_msg", "payload": payload}


def jsonl(*lines: dict) -> str:
    return "\n".join(map(json.dumps, lines))


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


def test_the_event_may_come_behind_the_item(got):
    said = item(type="message", role="assistant", content=[{"type": "output_text", "text": "Done"}])
    found = got(jsonl(META, said, event(type="agent_message", message="Done")), "r.jsonl")
    assert [(turn.kind, turn.duplicate_of) for turn in found.only[1:]] == [("response", None), ("response", 1)]


def test_saying_it_twice_is_not_logging_it_twice(got):
    said = item(type="message", role="assistant", content=[{"type": "output_text", "text": "Done"}])
    assert [turn.duplicate_of for turn in got(jsonl(META, said, said), "r.jsonl").only] == [None, None, None]


def test_arguments_that_could_not_be_read(got):
    lines = [
        META,
        item(type="function_call", name="shell", arguments='{"cmd": "ls"', call_id="c1"),
        item(type="function_call_output", call_id="c1", output="failed to parse function arguments: EOF while parsing"),
    ]
    found = got(jsonl(*lines), "r.jsonl")
    assert found.only[1].failure == "failed to parse function arguments: EOF while parsing"
    assert found.entries() == lines


def test_tokens_and_the_older_form(got):
    usage = {"last_token_usage": {"input_tokens": 5, "output_tokens": 6}}
    found = got(jsonl(META, event(type="token_count", info=usage)), "r.jsonl")
    assert (found.only[1].tokens_in, found.only[1].tokens_out) == (5, 6)
    old = [
        {"id": "r0", "timestamp": "2025-05-01T00:00:00Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
    ]
    found = got(jsonl(*old), "r.jsonl")
    assert (found.ids, found.starts[0].source_format) == (["r0"], "codex")
    assert [turn.kind for turn in found.only] == ["event", "prompt", "tool_call"]


def test_an_id_that_stands_twice_is_a_problem_and_both_are_kept(got):
    said = item(type="message", id="m1", role="assistant", content=[{"type": "output_text", "text": "Done"}])
    call = item(type="function_call", name="shell", arguments="{}", call_id="c1")
    answer = item(type="function_call_output", call_id="c1", output="ok")
    found = got(jsonl(META, said, call, answer, said, call), "r.jsonl")
    assert [(problem.at, problem.reason.partition(" occurs")[0]) for problem in found.problems] == [
        ("line 5", "the item id 'm1'"),
        ("line 6", "the call id of a function_call 'c1'"),
    ]
    assert len(found.only) == 6


def test_a_fork_that_repeats_its_parents_beginning_is_one_session(got):
    fork = {**META, "payload": {"id": "r2", "forked_from_id": "r1"}}
    said = item(type="message", role="assistant", content=[{"type": "output_text", "text": "A"}])
    found = got(jsonl(fork, META, said), "x.jsonl")
    assert (found.ids, len(found.only)) == (["r2"], 3)
    assert got(jsonl(META, said, {**META, "payload": {"id": "r2"}}), "x.jsonl").ids == ["r1", "r2"]
