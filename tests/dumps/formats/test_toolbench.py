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


def test_a_tree_is_read_branch_by_branch(got):
    found = got(tree(node("Thought", "One", call("f", "{}", observation="ok")), node("Thought", "Two")), "t.json")
    assert (found.ids, found.starts[0].source_format, found.starts[0].title) == (["t"], "toolbench", "Find it")
    assert [(turn.kind, turn.raw, turn.agent, turn.sounding, turn.parent) for turn in found.only] == [
        ("event", None, None, None, None),
        ("response", "One", None, None, "0"),
        ("event", "f", "f", None, "0.0"),
        ("tool_call", "{}", "f", None, "0.0.0"),
        ("tool_result", "ok", "f", None, "0.0.0"),
        ("response", "Two", None, 1, "0"),
    ]
    assert [turn.raw_at for turn in found.only[1:4]] == [("node", "description")] * 3
    assert found.starts[0].extra["tree"] == {"size": 3}


def test_input_that_could_not_be_read_is_a_recorded_failure(got):
    found = got(tree(call("f", '{"a" 1}', observation="{error: bad}", observation_code=2)), "t.json")
    assert [turn.failure for turn in found.only if turn.kind == "tool_call"] == ["{error: bad}"]
    found = got(tree(call("f", "{}", observation="x", observation_code=11)), "t.json")
    assert [turn.failure for turn in found.only if turn.kind == "tool_call"] == [None]


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


def test_a_repr_that_was_cut(got):
    whole = repr({"name": "f", "arguments": '{\n "a": 1}', "response": '{"error": "", "response": "abc"}'})
    found = got(chain(("tool", whole[:60]), ("tool", whole[:30])))
    assert [(turn.kind, turn.raw) for turn in found.only[:2]] == [
        ("tool_call", '{\n "a": 1}'),
        ("tool_result", "'{\"err"),
    ]
    assert [(turn.kind, turn.raw) for turn in found.only[2:]] == [("tool_result", whole[:30])]


def test_odd_nodes(got):
    found = got(tree({"children": 3}, node("Thought", "x")), "t.json")
    assert [turn.kind for turn in found.only] == ["event", "event", "response"]
    assert got(json.dumps({"tree": {"tree": None}, "answer_generation": {}, "win": False}), "t.json").problems


def test_nodes_that_are_not_read_are_named(got):
    for odd in (
        {"childs": [node("Action Input", "{}")]},
        {"children": {"0": node("Thought", "x")}},
        node("Thougt", "x"),
    ):
        problems = got(tree(odd, node("Thought", "y")), "t.json").problems
        assert [problem.at for problem in problems] == ["node 0.0"]


def test_a_title_that_is_cut_ends_with_dots(got):
    (start,) = got(tree(node("Thought", "One")).replace("Find it", "a question " * 20), "t.json").starts
    assert start.title.startswith("a question") and start.title.endswith("…") and len(start.title) <= 120
