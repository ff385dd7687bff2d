"""ToolBench: branches of a tree, arguments and answers, chains of Python reprs, cut ones too."""

from __future__ import annotations

import json


def node(kind: str, said: str, *children: dict, **more) -> dict:
    return {"node_type": kind, "description": said, "children": list(children), **more}


def tree(*children: dict) -> str:
    root = node("Action Input", "", *children)
    generation = {"query": "Find it", "final_answer": ""}
    return json.dumps({"win": True, "tree": {"size": 3, "tree": root}, "answer_generation": generation})


def call(name: str, arguments: str, *children: dict, **more) -> dict:
    return node("Action", name, node("Action Input", arguments, *children, **more))


def chain(*messages: tuple[str, str]) -> str:
    below: list[dict] = []
    for role, message in reversed(messages):
        below = [{"role": role, "message": message, "next": below}]
    return json.dumps({"17": {"query": "Q", "available_tools": [], "answer": {"method": "x", "answer_details": below}}})


def test_a_chain_of_reprs(got):
    told = {"name": "f", "arguments": '{"q": "it\'s"}', "response": '{"error": ""}'}
    found = got(chain(("system", ""), ("user", "Q"), ("tool", repr(told)), ("assistant", "Done")))
    assert found.ids == ["17"]
    assert [(turn.kind, turn.raw, turn.agent) for turn in found.only] == [
        ("prompt", "", None),
        ("prompt", "Q", None),
        ("tool_call", '{"q": "it\'s"}', "f"),
        ("tool_result", '{"error": ""}', "f"),
        ("response", "Done", None),
    ]
    assert found.starts[0].extra["answer"] == {"method": "x"}
    assert found.entries()[1] == {"path": [0, 0], "node": {"role": "user", "message": "Q"}}
