"""A streamed answer on its turn's page and in the API: its chunks, and what clients of other rules make of them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from webapp.dumps.messages.stream_view import stream_view

Post = Callable[..., Any]
Chunks = list[dict[str, Any]]


def chunk(*calls: dict[str, Any], **delta: Any) -> dict[str, Any]:
    delta |= {"tool_calls": list(calls)} if calls else {}
    return {"id": "a", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}


def call(arguments: str, ident: str | None = None, name: str | None = None, index: int = 0) -> dict[str, Any]:
    return {"index": index, "id": ident, "function": {"name": name, "arguments": arguments}}


TWO_IDS = [chunk(call('{"a": 1}', "c1", "read")), chunk(call('{"b": ', "c2", "<b>write")), chunk(call("2}"))]
CUMULATIVE = [chunk(call('{"a"', "c1", "read")), chunk(call('{"a": ')), chunk(call('{"a": 1}'))]
INTERLEAVED = [chunk(call("", "c1", "f"), call("", "c2", "g", 1)), chunk(call('{"a": 1}')), chunk(call("{}", index=1))]
NAMED_AGAIN = [chunk(call('{"a"', "c1", "read")), chunk(call(": 1}", "c1", "read"))]
AN_ID_EACH = [chunk(call("", "c1", "read")), chunk(call('{"a"', "c2")), chunk(call(": 1}", "c3"))]


def sse(chunks: Chunks) -> str:
    return "".join(f"data: {json.dumps(one)}\n\n" for one in chunks) + "data: [DONE]\n"


def read_otherwise(chunks: Chunks, raw: str) -> dict[str, list[tuple[str, ...]]]:
    view = stream_view({"stream": sse(chunks)}, raw)
    assert view is not None and len(view.chunks) == len(chunks)
    return {rule: [tuple(one) for one in reading.calls] for rule, reading in view.readings.items()}


def test_each_rule_is_told_where_it_reads_something_else() -> None:
    both = '{"a": 1}{"b": 2}'
    pieces = [("read", '{"a": 1}'), ("<b>write", '{"b": '), ("", "2}")]
    told = {"by_index": [("read<b>write", both)], "first_name": [("read", both)], "entry_a_chunk": pieces}
    assert read_otherwise(TWO_IDS, '{"b": 2}') == told == read_otherwise(TWO_IDS, '{"a": 1}')
    added = [("read", '{"a"{"a": {"a": 1}')]
    assert [added] * 3 == [read_otherwise(CUMULATIVE, '{"a": 1}')[rule] for rule in ("by_index", "by_id", "first_name")]
    assert read_otherwise(INTERLEAVED, '{"a": 1}')["by_id"] == [("f", ""), ("g", '{"a": 1}{}')]
    assert read_otherwise(NAMED_AGAIN, '{"a": 1}')["by_index"] == [("readread", '{"a": 1}')]
    assert read_otherwise(AN_ID_EACH, '{"a": 1}')["by_id"] == [("read", ""), ("", '{"a"'), ("", ": 1}")]
    assert read_otherwise([chunk(content="Po"), chunk(content="rt")], "Port") == {}


def bedrock(text: str) -> Chunks:
    return [{"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": piece}}} for piece in (text[:2], text[2:])]


@pytest.mark.parametrize(
    "entry",
    [
        {"response": {"content": {"encoding": "base64", "text": base64.b64encode(sse(TWO_IDS).encode()).decode()}}},
        {"response": {"body": {"string": sse(TWO_IDS)}}},
        {"response": [f"data: {json.dumps(one)}\n\n" for one in TWO_IDS]},
        {"attributes": [{"key": "output.value", "value": {"stringValue": json.dumps(TWO_IDS)}}]},
        {"output": TWO_IDS},
        {"lines": [{"at": n, "chunk": one} for n, one in enumerate(TWO_IDS)]},
    ],
)
def test_chunks_are_found_wherever_they_stand(entry: dict[str, Any]) -> None:
    view = stream_view(entry, '{"b": 2}')
    assert view is not None
    assert [(one.adds, one.span) for one in view.chunks] == [('{"a": 1}', None), ('{"b": ', (0, 6)), ("2}", (6, 8))]


def test_what_came_whole_or_belongs_to_another_turn_has_no_stream() -> None:
    whole = {"choices": [{"message": {"content": "Port"}}]}
    assert stream_view({"response": whole}, "Port") is None
    assert stream_view({"stream": sse(TWO_IDS)}, '{"b": 3}') is None
    parts = [{"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Po"}}] * 2
    assert stream_view(parts, "PoPo") is not None and stream_view(bedrock("Port"), "Port") is not None


def test_the_page_has_some_of_many_chunks_and_leads_to_their_characters(post: Post, client: FlaskClient) -> None:
    many = [chunk(content=f"<i>{n} ") for n in range(1000)]
    (key,) = post(sse(many).encode(), "many.txt").get_json()["sessions"]
    page = client.get(f"/sessions/{key}/turns/0").get_data(as_text=True)
    assert "1,000 chunks" in page and "<i>" not in page and page.count("Mark these characters") == 40
    assert "clients read it otherwise" not in page and len(page) < 250_000
    far = client.get(f"/sessions/{key}/turns/0?chunk=980").get_data(as_text=True)
    assert far.count("Mark these characters") == 20 and "chunk=940" in far and "Chunks after" not in far
    assert client.get(f"/sessions/{key}/turns/0?chunk=99999999").status_code == 200
    named = client.get(f"/sessions/{key}/turns/0?chunk=40&position=7&session=x&ident=y").get_data(as_text=True)
    assert f'href="/sessions/{key}/turns/0?position=7&amp;session=x&amp;ident=y&amp;chunk=80#stream"' in named


def test_the_page_and_the_api_say_what_clients_make_of_it(post: Post, client: FlaskClient) -> None:
    (key,) = post(sse(TWO_IDS).encode(), "two.txt").get_json()["sessions"]
    page = client.get(f"/sessions/{key}/turns/1").get_data(as_text=True)
    assert "clients read it otherwise" in page and "read&lt;b&gt;write" in page and "<b>write" not in page
    stream = client.get(f"/api/session/{key}/turns/1").get_json()["stream"]
    assert (stream["chunks"], list(stream["read_otherwise"])) == (3, ["by_index", "entry_a_chunk", "first_name"])
