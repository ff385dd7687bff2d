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
CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}]}


def jsonl(*lines: dict) -> str:
    return "\n".join(map(json.dumps, lines))


def test_lines_of_one_message_count_its_usage_once(got):
    lines = [
        line("u1", {"role": "user", "content": "Go"}, timestamp="2025-06-14T10:00:00+02:00"),
        line("u2", assistant("m1", {"type": "thinking", "thinking": "Hm"}), "u1"),
        line("u3", assistant("m1", TEXT), "u2"),
        line("u4", assistant("m1", CALL), "u3"),
        line("u5", RESULT, "u4", toolUseResult="a.txt"),
    ]
    found = got(jsonl(*lines), "x.jsonl")
    assert (found.ids, found.starts[0].source_format, found.problems) == (["s1"], "claude_code", [])
    assert [(turn.kind, turn.raw, turn.parent) for turn in found.only] == [
        ("prompt", "Go", None),
        ("event", "Hm", "u1"),
        ("response", "I will.", "u2"),
        ("tool_call", '{"command":"ls"}', "u3"),
        ("tool_result", "a.txt", "t1"),
    ]
    assert sum(turn.tokens_out or 0 for turn in found.only) == 7
    assert found.only[0].sent_at.hour == 8
    assert found.only[4].agent == "Bash"
    assert found.entries() == lines


def test_sidechains_are_branches(got):
    lines = [
        line("a", {"role": "user", "content": "main"}),
        line("b", {"role": "user", "content": "side 1"}, isSidechain=True),
        line("c", {"role": "user", "content": "side 2"}, isSidechain=True),
        line("d", assistant("m1", TEXT), "b", isSidechain=True),
        line("e", assistant("m2", TEXT), "c", isSidechain=True),
        line("f", assistant("m3", TEXT), "a"),
    ]
    found = got(jsonl(*lines), "x.jsonl")
    assert [turn.sounding for turn in found.only] == [None, 1, 2, 1, 2, None]


def test_a_message_that_is_logged_again_is_a_duplicate(got):
    lines = [
        line("a", assistant("m1", TEXT)),
        line("b", assistant("m1", TEXT)),
        line("c", assistant("m1", TEXT, CALL)),
        line("d", assistant("m2", TEXT)),
    ]
    found = got(jsonl(*lines), "x.jsonl")
    assert [(turn.kind, turn.duplicate_of) for turn in found.only] == [
        ("response", None),
        ("response", 0),
        ("response", None),
        ("tool_call", None),
        ("response", None),
    ]


def test_an_id_that_stands_twice_is_a_problem(got):
    found = got(jsonl(line("a", assistant("m1", TEXT)), line("a", assistant("m2", TEXT))), "x.jsonl")
    assert len(found.only) == 2
    assert [(problem.at, "occurs twice" in problem.reason) for problem in found.problems] == [("line 2", True)]


def test_lines_that_are_no_messages(got):
    lines = [
        {"type": "summary", "summary": "What was done", "leafUuid": "x"},
        line("a", {"role": "user", "content": "Go"}),
        {"type": "system", "uuid": "b", "sessionId": "s1", "content": "Compacted"},
        {"type": "file-history-snapshot", "messageId": "c", "snapshot": {}},
    ]
    found = got(jsonl(*lines), "x.jsonl")
    assert [(turn.kind, turn.role, turn.raw) for turn in found.only] == [
        ("event", "summary", "What was done"),
        ("prompt", "user", "Go"),
        ("event", "system", "Compacted"),
        ("event", "file-history-snapshot", None),
    ]
    assert found.entries() == lines


def test_several_sessions_in_one_file(got):
    lines = [
        line("a", {"role": "user", "content": "1"}),
        {**line("b", {"role": "user", "content": "2"}), "sessionId": "s2"},
    ]
    assert got(jsonl(*lines), "x.jsonl").ids == ["s1", "s2"]


def test_usage_that_grows_while_a_message_streams_is_counted_at_its_last(got):
    lines = [
        line("a", assistant("m1", {"type": "thinking", "thinking": "Hm"}, tokens=1)),
        line("b", assistant("m1", TEXT, tokens=1), "a"),
        line("c", assistant("m1", CALL, tokens=57), "b"),
    ]
    turns = got(jsonl(*lines), "x.jsonl").only
    assert [(turn.tokens_in, turn.tokens_out) for turn in turns] == [(3, 1), (None, None), (None, 56)]


def test_a_subagents_own_file_is_a_session_beside_its_parents(got):
    lines = [line("a", assistant("m1", TEXT), isSidechain=True, agentId="4f"), line("b", agentId="4f")]
    assert got(jsonl(*lines), "agent-4f.jsonl").ids == ["s1/4f"]
    assert got(jsonl(*lines), "project/subagents/agent-4f.jsonl").ids == ["s1/4f"]
    assert got(jsonl(*lines), "s1.jsonl").ids == ["s1"]
