"""tau-bench results: a session an item, its name and what stands beside the messages."""

from __future__ import annotations

import json

RUN = {
    "task_id": 3,
    "trial": 1,
    "reward": 0.5,
    "info": {"task": {"instruction": "You are Mia."}},
    "traj": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "{}"}],
}


def test_sessions_and_what_is_beside_the_messages(got):
    found = got(json.dumps([RUN, {**RUN, "trial": 2}]))
    assert found.ids == ["3/1", "3/2"]
    assert found.starts[0].source_format == "tau_bench"
    assert found.starts[0].title == "You are Mia."
    assert found.starts[0].extra["reward"] == 0.5
    assert [(turn.kind, turn.raw_at) for turn in found.turns[0]] == [
        ("prompt", ("content",)),
        ("response", ("content",)),
    ]


def test_one_a_line_and_one_alone(got):
    assert got("\n".join([json.dumps(RUN)] * 2), "x.jsonl").ids == ["3/1", "3/1 (2)"]
    assert got(json.dumps(RUN)).ids == ["3/1"]


def test_arguments_that_could_not_be_read(got):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}}'}}
    traj = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "Error: invalid JSON in the tool call's arguments"},
    ]
    found = got(json.dumps([{**RUN, "traj": traj}]))
    assert found.only[0].failure == "Error: invalid JSON in the tool call's arguments"
    assert found.entries() == traj


def test_an_item_without_messages_is_a_problem(got):
    found = got(json.dumps([RUN, {**RUN, "traj": 3}, 4]))
    assert [problem.at for problem in found.problems] == ["[1]", "[2]"]
