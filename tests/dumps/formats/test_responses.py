"""Single responses: lines of {"id", "text"}, or a plain text."""

from __future__ import annotations

import pytest

from webapp.dumps.records import UnknownFormat


def test_a_text_is_one_response_where_it_is_asked_for(got):
    for name in ("answer.dat", "answer.txt", "LICENSE"):
        with pytest.raises(UnknownFormat):
            got('I will call it: {"tool": 1}}\n', name)
    found = got('I will call it: {"tool": 1}}\n', "stdin")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("response", 'I will call it: {"tool": 1}}\n')]
    assert [turn.raw for turn in got('{"tool": 1}', "answer.txt", "responses").only] == ['{"tool": 1}']


def test_the_answers_of_terminus_are_read_as_they_are(got):
    """Terminal-Bench and Harbor keep a file for each answer of Terminus, JSON or not."""
    for text in ('{"analysis": "a", "commands": [],}', "<response>\n<plan>p</plan>\n</response>"):
        assert [turn.raw for turn in got(text, "task/agent-logs/episode-3/response.txt").only] == [text]


def test_an_object_that_python_printed_says_what_it_holds(got):
    message = "ChatCompletionMessage(content='{\\'a\\': 1}', role='assistant')"
    text = f"ChatCompletion(id='x', choices=[Choice(finish_reason='stop', index=0, message={message})])\n"
    assert [turn.raw for turn in got(text, "out.log").only] == ["{'a': 1}"]
    assert [turn.raw for turn in got(text, "stdin", "responses").only] == ["{'a': 1}"]
