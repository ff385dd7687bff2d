"""Langfuse exports: by start time, answers in every shape, what is JSON of the model's own stays word for word."""

from __future__ import annotations

import json

import pytest


def observation(name: str, second: int, kind: str = "GENERATION", **more) -> dict:
    return {"id": name, "type": kind, "name": name, "startTime": f"2025-06-11T14:01:{second:02}.5Z", **more}


def export(*observations: dict, session: str | None = "s1") -> str:
    return json.dumps({"trace": {"id": "t1", "sessionId": session, "name": "run"}, "observations": list(observations)})


def test_generations_by_start_time(got):
    first = observation("a", 1, input="Hi", output='{"x": 1}', model="gpt", usageDetails={"input": 3, "output": 4})
    second = observation("b", 2, output="Bye", costDetails={"total": 0.5}, parentObservationId="a")
    found = got(export(second, first))
    assert (found.ids, found.starts[0].source_format, found.starts[0].title) == (["s1"], "langfuse", "run")
    assert [(turn.kind, turn.raw, turn.model) for turn in found.only] == [
        ("prompt", "Hi", None),
        ("response", '{"x": 1}', "gpt"),
        ("response", "Bye", None),
    ]
    turns = found.only
    assert (turns[1].tokens_in, turns[1].tokens_out, turns[2].cost, turns[2].parent) == (3, 4, 0.5, "a")
    assert turns[1].sent_at.isoformat() == "2025-06-11T14:01:01.500000+00:00"
    assert found.entries() == [first, second]
    assert got(export(first, session=None)).ids == ["t1"]


CHAT = {"role": "assistant", "content": "A", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}}"}}]}


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        (None, [("response", None)]),
        ("A", [("response", "A")]),
        ('[{"a": 1}]', [("response", '[{"a": 1}]')]),
        ({"a": 1}, [("response", '{"a":1}')]),
        (CHAT, [("response", "A"), ("tool_call", "{}}")]),
        (json.dumps(CHAT), [("response", "A"), ("tool_call", "{}}")]),
        ([CHAT], [("response", "A"), ("tool_call", "{}}")]),
        ({"choices": [{"message": CHAT}]}, [("response", "A"), ("tool_call", "{}}")]),
        ({"content": {"role": "model", "parts": [{"text": "A"}]}}, [("response", "A")]),
        ({"content": "A", "type": "ai"}, [("response", "A")]),
    ],
)
def test_an_output_of_any_shape(got, output, wanted):
    found = got(export(observation("a", 1, output=output)))
    assert [(turn.kind, turn.raw) for turn in found.only] == wanted
    assert found.entries()[0]["output"] == output


def test_what_is_no_generation(got):
    spans = [
        observation("a", 1, "SPAN"),
        observation("b", 2, "TOOL", output="18"),
        observation("c", 3, "SPAN", level="ERROR", statusMessage="It broke"),
    ]
    found = got(export(*spans))
    assert [(turn.kind, turn.raw) for turn in found.only] == [
        ("event", None),
        ("tool_result", "18"),
        ("error", "It broke"),
    ]


def test_several_exports_and_bare_observations(got):
    lines = [export(observation("a", 1, output="A"), session=name) for name in ("x", "y")]
    assert got("\n".join(lines), "x.jsonl").ids == ["x", "y"]
    bare = [observation("a", 1, output="A", traceId="t1"), observation("b", 2, output="B", traceId="t2")]
    assert got(json.dumps(bare)).ids == ["t1", "t2"]


def test_an_id_that_stands_twice(got):
    found = got(export(observation("a", 1, output="A"), observation("a", 2, output="B")))
    assert (len(found.only), len(found.problems)) == (2, 1)


def test_a_generation_that_failed_ends_with_its_error(got):
    failed = observation("a", 1, input="Hi", model="gpt", level="ERROR", statusMessage="rate limited")
    found = got(export(failed))
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", "Hi"), ("error", "rate limited")]
    assert found.entries() == [failed]


def test_calls_and_chunks_as_frameworks_write_them(got):
    """Vercel's calls as JSON text, of which the call counts, and LangChain's chunk; not the JSON around them."""
    about = {"traceId": "t", "type": "GENERATION", "startTime": "2025-01-01T00:00:00Z"}
    calls = json.dumps([{"toolCallId": "c", "toolName": "f", "input": '{"a": 1'}])
    chunk = {"type": "AIMessageChunk", "content": "A"}
    lines = [{**about, "id": "1", "output": calls}, {**about, "id": "2", "output": chunk}]
    turns = got("\n".join(map(json.dumps, lines))).only
    assert [(turn.kind, turn.raw) for turn in turns if turn.raw] == [("tool_call", '{"a": 1'), ("response", "A")]
