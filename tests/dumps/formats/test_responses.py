"""Single responses: lines of {"id", "text"}, or a plain text."""

from __future__ import annotations

import pytest

from webapp.dumps import UnknownFormat


def test_lines(got):
    found = got('{"id": 1, "text": "{}"}\n{"id": "b", "text": "x", "model": "m"}\n', "r.jsonl")
    assert (found.ids, found.starts[0].source_format) == (["r"], "responses")
    assert [(turn.kind, turn.raw, turn.parent, turn.model) for turn in found.only] == [
        ("response", "{}", "1", None),
        ("response", "x", "b", "m"),
    ]
    assert found.entries() == [{"id": 1, "text": "{}"}, {"id": "b", "text": "x", "model": "m"}]


def test_one_line_alone(got):
    assert [turn.raw for turn in got('{"id": 1, "text": "{}"}', "r.jsonl").only] == ["{}"]


def test_a_line_without_text_is_an_event_and_a_problem(got):
    found = got('{"text": "a"}\n{"text": "b"}\n' * 3 + '{"text": 3}\n[]\n', "r.jsonl")
    assert [turn.kind for turn in found.only] == ["response"] * 6 + ["event"]
    assert [problem.at for problem in found.problems] == ["line 7", "line 8"]


def test_a_text_is_one_response_where_it_is_asked_for(got):
    for name in ("answer.dat", "answer.txt", "LICENSE"):
        with pytest.raises(UnknownFormat):
            got('I will call it: {"tool": 1}}\n', name)
    found = got('I will call it: {"tool": 1}}\n', "stdin")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("response", 'I will call it: {"tool": 1}}\n')]
    assert [turn.raw for turn in got('{"tool": 1}', "answer.txt", "responses").only] == ['{"tool": 1}']


def test_an_id_that_stands_twice_is_a_problem_and_both_are_kept(got):
    found = got('{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n{"id": 1, "text": "c"}\n', "r.jsonl")
    assert [(problem.at, problem.reason) for problem in found.problems] == [
        ("line 3", "the id '1' occurs twice in the session; both are kept")
    ]
    assert [turn.raw for turn in found.only] == ["a", "b", "c"]


def test_the_answers_of_terminus_are_read_as_they_are(got):
    """Terminal-Bench and Harbor keep a file for each answer of Terminus, JSON or not."""
    for text in ('{"analysis": "a", "commands": [],}', "<response>\n<plan>p</plan>\n</response>"):
        assert [turn.raw for turn in got(text, "task/agent-logs/episode-3/response.txt").only] == [text]


def test_an_object_that_python_printed_says_what_it_holds(got):
    message = "ChatCompletionMessage(content='{\\'a\\': 1}', role='assistant')"
    text = f"ChatCompletion(id='x', choices=[Choice(finish_reason='stop', index=0, message={message})])\n"
    assert [turn.raw for turn in got(text, "out.log").only] == ["{'a': 1}"]
    assert [turn.raw for turn in got(text, "stdin", "responses").only] == ["{'a': 1}"]
