"""Files that no short case can hold: named, long, deep, or odd in every field; see `cases/` for others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.dumps.conftest import gather
from tests.pace import is_linear
from webapp.dumps.decoding import opened_literal
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


def test_messages_of_no_list(got):
    with pytest.raises(ValueError, match="messages: expected a list, found a number"):
        got('{"messages": 3}')


def test_results_within_results(got):
    inner: object = "x"
    for _ in range(180):
        inner = [{"type": "tool_result", "content": inner}]
    found = got(json.dumps([{"role": "user", "content": inner}]))
    assert [turn.kind for turn in found.only] == ["tool_result"]
    assert found.entries() == [{"role": "user", "content": inner}]


@pytest.mark.parametrize(
    ("name", "session"),
    [("agent-4f.jsonl", "s1/4f"), ("project/subagents/agent-4f.jsonl", "s1/4f"), ("s1.jsonl", "s1")],
)
def test_a_subagents_own_file_is_a_session_beside_its_parents(got, name, session):
    message = {"id": "m1", "role": "assistant", "model": "opus", "content": [{"type": "text", "text": "I will."}]}
    about = {"sessionId": "s1", "agentId": "4f"}
    said = {"type": "assistant", "uuid": "a", "message": message, "isSidechain": True, **about}
    ended = {"type": "system", "uuid": "b", **about}
    assert got(f"{json.dumps(said)}\n{json.dumps(ended)}", name).ids == [session]


ENTRIES = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": '{"a": 1,}'}]


def own(**more: object) -> str:
    fencepost = {
        "version": "1",
        "format": "openai",
        "home": "four-tier",
        "title": "A title",
        "extra": {"model": "m"},
        **more,
    }
    return json.dumps(
        {"session_id": "s", "dumped_at": "x", "entry_count": 2, "entries": ENTRIES, "fencepost": fencepost}
    )


def test_it_is_recognised_by_its_last_member_behind_many_entries(got):
    doc = json.loads(own())
    doc["entries"] = [{"role": "user", "content": f"{number} " * 200} for number in range(2000)]
    found = got(json.dumps(doc))
    assert (found.starts[0].home, len(found.only)) == ("four-tier", 2000)


def exchanged(request: object, response: object, **more: object) -> str:
    line = {"method": "POST", "uri": "https://api.example/v1", "status": 200, "request": request, "response": response}
    return json.dumps({**line, **more})


def test_what_was_refused_and_what_is_no_answer(got):
    lines = [
        exchanged({"model": "m"}, {"error": {"message": "no such model"}}, status=404),
        exchanged(None, {"input_tokens": 3}),
        exchanged(None, None, response_text=""),
        exchanged(None, None, response_text="{" * 50_000),
    ]
    found = got("\n".join(lines), "x.jsonl")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("error", "no such model"), *[("event", None)] * 3]


def test_every_answer_of_the_corpus_is_read(shared):
    path = shared / "corpus" / "pydantic_ai" / "http_log.first300.jsonl"
    found = gather(path, path.name)
    silent = [
        turn.source["uri"].rpartition("/")[2].partition("?")[0]
        for turns in found.turns
        for turn in turns
        if turn.kind == "event" and turn.role not in ("thinking", "compaction") and turn.source["status"] == 200
    ]
    assert not [uri for uri in silent if uri in ("messages", "completions", "responses", "chat", "converse")]


def test_a_pair_that_is_none_is_a_problem(got):
    pairs = {"Write the code": "a", "Write the test": None, "Write it all": "c"}
    found = got(json.dumps(pairs), "x.json", "prompt_map")
    assert (len(found.only), [problem.at for problem in found.problems]) == (4, ["pair 1"])


@pytest.mark.parametrize("value", [{"a": "b"}, {"a b": 3}, {"a b": "c", "d": "e", "f": "g"}, {"a b": "c", "d e": []}])
def test_what_is_no_map(got, value):
    with pytest.raises(UnknownFormat):
        got(json.dumps(value))


def line(kind: Any, text: Any, session: Any = "s1", **fields: Any) -> str:
    return json.dumps({"session_id": session, "recorded_at": 1764547200.5, "kind": kind, "text": text, **fields}) + "\n"


def test_other_kinds_and_texts_that_are_none(got):
    found = got(line("prompt", "a") + line("new", "b") + line("response", {"a": 1}), named="recorder")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", "a"), ("event", "b"), ("response", None)]
    assert found.entries()[2]["text"] == {"a": 1}


PIECES = {
    "headings": "## User\na\n## Assistant\nb\n",
    "roles in fences": "user: a\n```\nassistant: b\n",
    "tags that nothing closes": "<tool-use>\nb\n",
    "empty lines": "\n",
    "empty lines of a set": "\\n",
    "names within a line": "User: a. Assistant: b. ",
    "spaces in a box": " ",
    "calls in fences that nothing closes": "**Tool Use:**\n  ```\n",
}
STARTS = {
    "tags that nothing closes": "## User\na\n## Assistant\n",
    "empty lines": "## User\na\n## Assistant\nb",
    "empty lines of a set": '{"chat": "Human: a',
    "calls in fences that nothing closes": "## User\na\n## Assistant\n",
    "spaces in a box": "╭── User ──╮\n│ a │\n╰──╯\n╭── Assistant ──╮\n│ b",
}
ENDS = {"empty lines": "c\n", "empty lines of a set": 'b\\n\\nAssistant: c"}\n'}


@pytest.mark.parametrize("name", PIECES)
def test_time_grows_no_faster_than_the_text(got, name: str) -> None:
    def reading(size: int) -> Callable[[], Any]:
        written = STARTS.get(name, "") + PIECES[name] * (size // len(PIECES[name])) + ENDS.get(name, "")
        return lambda: got(written, "chat.md").only[0]

    assert reading(5_000)().kind == "prompt"
    assert is_linear(reading(5_000), reading(40_000), 8)


def test_settings_as_yaml_are_looked_at_once_for_exchanges(got) -> None:
    def refused(lines: int) -> None:
        with pytest.raises(UnknownFormat):
            got("log:\n" + "    level: info\n" * lines, "settings.yaml")

    refused(1)
    assert is_linear(lambda: refused(6), lambda: refused(12), 2)


def test_settings_are_no_chat(got) -> None:
    written = "User: harbour\nAI: enabled\n"
    assert got(written, "pier.md").only[0].kind == "prompt"
    with pytest.raises(UnknownFormat) as refused:
        got(written * 2, "pier.conf")
    assert not refused.value.speaks


AGENT = {
    "timestamp": 1764772931.5,
    "session_id": "run_1",
    "trace_id": "t1",
    "parent_id": "p0",
    "node_type": "agent",
    "role": "agent",
    "depth": 1,
    "sounding_index": 2,
    "phase_name": None,
    "tokens_in": 10,
    "tokens_out": 20,
    "cost": 0.001,
    "model": "gemini",
    "content": '```json\n{"tool": "run_code"}}}\n```',
    "metadata": {"turn_number": 3, "attempt_number": 1},
}
OUTPUT = {
    "timestamp": 1764772931.6,
    "session_id": "run_1",
    "node_type": "turn_output",
    "role": "assistant",
    "sounding_index": None,
    "phase_name": "solve",
    "content": '```json\n{"tool": "run_code"}}}\n```',
    "metadata": {},
}


def dump(*entries: object, **more: object) -> str:
    return json.dumps({"session_id": "run_1", "entries": list(entries), **more})


def linked(turns) -> list[int | None]:
    return [turn.duplicate_of for turn in turns]


def test_without_any_id_the_session_is_called_as_the_file(got):
    data = '{"entries": [{"node_type": "agent", "content": "x"}]}'
    assert got(data, "night run.json.gz").ids == ["night run"]
    assert got(data, "logs/night run.json.gz").ids == ["logs/night run"]
    for path in ("/var/logs/night run.json", "../logs/night run.json", "C:\\logs\\night run.json"):
        assert got(data, path).ids == ["night run"]


def test_an_id_far_behind_the_entries_is_found(got):
    entries = [{**AGENT, "content": f"{number} " * 100} for number in range(3000)]
    found = got(json.dumps({"entries": entries, "source": "jsonl", "note": {"a": ["x"] * 20000}, "session_id": "late"}))
    assert found.ids == ["late"]
    assert len(found.only) == 3000


def test_twins_too_far_apart_are_left_apart(got):
    between = [{"node_type": "log", "content": str(number)} for number in range(200)]
    assert linked(got(dump(AGENT, *between, OUTPUT)).only)[-1] is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ("{'a': None, 'b': (1, 2)}", {"a": None, "b": (1, 2)}),
        ("{'a': '\\d'}", {"a": "\\d"}),
        ("{'a': open('x')}", None),
        ("{'a': nan}", None),
        ("{" * 5000, None),
        ("[" * 100_000, None),
        ("words", None),
        (None, None),
    ],
)
def test_structured_fields(value, expected):
    assert opened_literal(value) == expected


def test_odd_values_in_every_field_do_no_harm(got):
    for odd in (None, True, 7, 1e300, -1, "x", "", [], [1], {}, {"a": {}}, "\ud800", "9" * 400):
        found = got(dump(dict.fromkeys(AGENT, odd)))
        assert len(found.only) == 1
        assert found.entries() == [dict.fromkeys(AGENT, odd)]
