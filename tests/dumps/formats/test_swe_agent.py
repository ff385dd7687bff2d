"""SWE-agent trajectories: history and trajectory together, each alone, demonstrations left out."""

from __future__ import annotations

import json

import pytest

from tests.dumps.conftest import gather

HISTORY = [
    {"role": "system", "content": "You fix bugs.", "agent": "primary"},
    {"role": "user", "content": "A demonstration", "agent": "primary", "is_demo": True},
    {"role": "user", "content": "Fix it.", "agent": "primary"},
    {"role": "assistant", "content": "I look.\n```\nls\n```", "agent": "primary"},
    {"role": "user", "content": "a.py", "agent": "primary"},
]
STEP = {"action": "ls", "observation": "a.py", "response": "I look.\n```\nls\n```", "thought": "I look."}


def test_a_step_repeats_the_history(got):
    found = got(json.dumps({"trajectory": [STEP], "history": HISTORY, "info": {"exit_status": "done"}}), "t.traj")
    assert (found.ids, found.starts[0].source_format) == (["t"], "swe_agent")
    assert [(turn.kind, turn.agent, turn.duplicate_of) for turn in found.only] == [
        ("prompt", "primary", None),
        ("prompt", "primary", None),
        ("response", "primary", None),
        ("prompt", "primary", None),
        ("response", None, 2),
    ]
    assert found.starts[0].extra == {"info": {"exit_status": "done"}, "demonstrations": [HISTORY[1]]}
    assert found.entries() == [*HISTORY[:1], *HISTORY[2:], STEP]


def test_a_response_that_the_history_lacks_is_no_duplicate(got):
    other = {**STEP, "response": "I edit."}
    found = got(json.dumps({"trajectory": [other, STEP], "history": HISTORY}), "t.traj")
    assert [(turn.kind, turn.raw, turn.duplicate_of) for turn in found.only[4:]] == [
        ("response", "I edit.", None),
        ("tool_result", "a.py", None),
        ("response", STEP["response"], 2),
    ]


def test_each_alone(got):
    found = got(json.dumps({"history": HISTORY, "info": {}}), "t.traj")
    assert [turn.kind for turn in found.only] == ["prompt", "prompt", "response", "prompt"]
    found = got(json.dumps({"environment": "e", "trajectory": [STEP]}), "t.traj")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("response", STEP["response"]), ("tool_result", "a.py")]
    found = got(json.dumps(HISTORY), "t.json")
    assert (found.starts[0].source_format, len(found.only)) == ("swe_agent", 4)


def test_no_demonstration_is_a_turn_and_every_response_is_there(shared):
    for path in sorted((shared / "corpus" / "swe_agent").glob("*.traj")):
        value = json.loads(path.read_text())
        found = gather(path, path.name)
        demos = {message["content"] for message in value["history"] if message.get("is_demo")}
        assert not demos & {turn.raw for turn in found.only}
        said = [turn.raw for turn in found.only if turn.kind == "response" and "response" in turn.source]
        assert said == [step["response"] for step in value["trajectory"]]


def test_thinking_blocks_and_the_call_that_an_observation_answers(got):
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    thought = [{"type": "thinking", "thinking": "Hm"}]
    history = [
        {"role": "assistant", "content": "", "agent": "a", "tool_calls": [call], "thinking_blocks": thought},
        {"role": "tool", "content": "x", "agent": "a", "tool_call_ids": ["c"]},
    ]
    found = got(json.dumps({"history": history}), "x.traj")
    assert [(turn.kind, turn.raw, turn.parent) for turn in found.only] == [
        *[("event", "Hm", None), ("tool_call", "{}", None), ("tool_result", "x", "c")]
    ]
    assert found.entries() == history


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ({"trajectory": [STEP], "info": {}, "environment": "e"}, "history"),
        ({"trajectory": [STEP], "history": {"0": HISTORY[0]}, "info": {}}, "history"),
        ({"history": HISTORY, "info": {}}, "trajectory"),
        ({"history": HISTORY, "trajectory": "[]", "info": {}}, "trajectory"),
    ],
)
def test_a_list_that_is_missing_is_named(got, document, place):
    assert [problem.at for problem in got(json.dumps(document), "t.traj").problems] == [place]
