"""Fields of turns: times, numbers, why a model stopped, what a request declares, and calls that could not be read."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.parsing import _cases
from webapp.dumps.linked_turns import LOOKAHEAD, TurnWindow
from webapp.dumps.messages.calls import ID_KEYS
from webapp.dumps.messages.declarations import declared_in
from webapp.dumps.messages.metadata import REASONS, says_error, stop, stop_of
from webapp.dumps.reading import read
from webapp.dumps.records import Problem, Turn
from webapp.dumps.values import moment, number, whole

NOON = datetime(2025, 12, 3, 12, 0, 0, 250000, UTC)
NAN, INFINITY = float("nan"), float("inf")
WRITTEN = [1764763200.25, "1764763200.25", 1764763200250, 1764763200250000, 1764763200250000000]
WRITTEN += ["2025-12-03T12:00:00.25Z", "2025-12-03T12:00:00.250000000+00:00", "2025-12-03T13:00:00.25+01:00"]
WRITTEN += [" 2025-12-03 12:00:00.250 "]
NO_MOMENT = [None, True, "", "soon", "9" * 30, NAN, INFINITY, 10**40, -(10**40), [], {}, "\ud800"]
NO_MOMENT += ["0001-01-01T00:00+23:00"]
NOT_WHOLE = [2**63, 3.5, NAN, INFINITY, 1e300, True, "three", None, [3]]


@pytest.mark.parametrize("value", WRITTEN)
def test_writings_of_one_moment(value):
    assert moment(value) == NOON


@pytest.mark.parametrize(
    ("value", "year"), [(0, 1970), (-1, 1969), (7226582400, 2199), ("2199-01-01", 2199), (31536000000 * 4, 1973)]
)
def test_far_years(value, year):
    assert moment(value).year == year


@pytest.mark.parametrize("value", NO_MOMENT)
def test_what_is_no_moment(value):
    assert moment(value) is None


def test_whole_numbers():
    given = (3, 3.0, "3", "-3.0", 2**63 - 1)
    assert [whole(value) for value in given] == [3, 3, 3, -3, 2**63 - 1]
    assert [whole(value) for value in NOT_WHOLE] == [None] * len(NOT_WHOLE)


def test_numbers():
    assert [number(value) for value in (0.5, 1, "0.5")] == [0.5, 1.0, 0.5]
    assert [number(value) for value in (True, NAN, "x", 10**400, None)] == [None] * 5


WORDS = """
complete: stop, word, end_turn, STOP, stop_sequence, FINISH, COMPLETE, eos_token, <FinishReason.STOP: 'STOP'>
tool_call: tool-calls, tool_use, REASON_TOOL_CALLS
length: limit, MAX_TOKENS, max_tokens, FinishReason.MAX_TOKENS, MaxTokens, model_length, max_output_tokens
filtered: SAFETY, content-filter, RECITATION, LANGUAGE, BLOCKLIST, PROHIBITED_CONTENT, SPII, IMAGE_SAFETY
filtered: IMAGE_PROHIBITED_CONTENT, IMAGE_RECITATION, guardrail_intervened, content_filtered, ERROR_TOXIC
filtered: CONTENT_FILTERED
refused: refusal
malformed: function_call_filter: MALFORMED_FUNCTION_CALL
malformed: MALFORMED_FUNCTION_CALL, UNEXPECTED_TOOL_CALL, MALFORMED_RESPONSE, malformed_model_output, malformed_tool_use
context: model_context_window_exceeded, ERROR_LIMIT, REASON_MAX_CONTEXT, max_prompt_tokens
paused: pause_turn, compaction
dropped: network_error, disconnected
error: error, TOO_MANY_TOOL_CALLS, MISSING_THOUGHT_SIGNATURE, USER_CANCEL, TIMEOUT, insufficient_system_resource, abort
other: made up, OTHER, NO_IMAGE, IMAGE_OTHER, …
"""
"""of OpenAI, Anthropic, Google, Amazon, Cohere, DeepSeek, xAI and vLLM"""


@pytest.mark.parametrize("line", WORDS.split("\n")[1:-1])
def test_a_word_has_a_reason(line: str) -> None:
    reason, _, words = line.partition(": ")
    assert {word: stop(word) for word in words.split(", ")} == {word: (reason, word) for word in words.split(", ")}


def test_no_word_means_two_reasons() -> None:
    words = [word for each in REASONS.values() for word in each]
    assert len(words) == len(set(words))
    assert {stop(word) for word in ("", "null", None, True, 0, "FINISH_REASON_UNSPECIFIED", "in_progress")} == {None}
    assert [stop(number) for number in (2, 7)] == [("length", "MAX_TOKENS"), ("other", "7")]
    assert stop_of({"finish_reason": "tool_calls", "native_finish_reason": "MAX_TOKENS"}) == ("length", "MAX_TOKENS")
    assert stop_of({"finish_reason": "tool_calls", "native_finish_reason": "STOP"}) == ("tool_call", "tool_calls")
    assert stop_of({"status": "completed"}) is stop_of({"choices": []}) is None


def test_a_result_of_the_vercel_sdk_says_that_it_is_an_error() -> None:
    results = [{"output": {"type": kind, "value": "no such file"}} for kind in ("error-text", "text")]
    assert [says_error({"content": [result]}) for result in results] == [True, None]


REQUESTS = [
    tuple(map(json.loads, pair.split("\n", 1)))
    for pair in Path(__file__).with_name("declarations.md").read_text("utf-8").split("\n\n")[2:]
]
"""requests with what each declares"""


@pytest.mark.parametrize(("request_body", "declared"), REQUESTS)
def test_a_request_declares(request_body: dict[str, Any], declared: dict[str, Any] | None) -> None:
    assert declared_in(request_body) == declared


CARRIERS = (
    *("langsmith", "langfuse", "mlflow", "phoenix", "weave", "braintrust", "inspect_ai", "har", "vcr", "http_log"),
    *("otlp", "jaeger", "nock"),
)


@pytest.mark.parametrize("name", CARRIERS)
def test_a_carrier_declares(name: str, tmp_path: Path) -> None:
    """As the small files of its format's cases have it."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    found: list[dict[str, Any]] = []
    for at, case in enumerate(_cases.read(Path(__file__).parent / f"formats/cases/{name}.md")):
        (path := tmp_path / str(at)).write_text(case.raw)
        turns = [turn for turn in read(path, "dump") if isinstance(turn, Turn) and turn.kind == "tool_call"]
        found += [turn.declared for turn in turns if turn.declared]
    (declared, *_) = [each for each in found if each.get("max_tokens") == 9]
    assert declared["tools"] == [{"name": "t", "schema": schema}]
    assert declared.get("response_format", {"schema": schema})["schema"] == schema


SAID = "Error: failed to parse tool call arguments as JSON: Expecting ',' delimiter: line 1 column 5 (char 4)"


def with_call_failures(turns: list[Turn | Problem]) -> list[Turn | Problem]:
    failures = TurnWindow()
    return [*(left for turn in turns for left in failures.put(turn)), *failures.rest()]


def talk(arguments: str | None, answer: str | None, failure: str | None = None, between: int = 0) -> list[Turn]:
    call = Turn(0, "tool_call", raw=arguments, tool_calls=[{"id": "c1"}])
    result = Turn(1 + between, "tool_result", raw=answer, parent="c1", failure=failure)
    return [call, *(Turn(1 + n, "event") for n in range(between)), result]


@pytest.mark.parametrize("key", ID_KEYS)
def test_the_call_is_marked(key):
    call, result = talk('{"a" 1}', SAID)
    call, result = with_call_failures([replace(call, tool_calls=[{key: "c1"}]), result])
    assert (call.failure, result.failure) == (SAID, None)


def test_what_the_dump_notes_goes_to_the_call_and_without_an_answer_there_is_none():
    call, result = with_call_failures(talk("{}", "x", failure="parsing: bad"))
    assert (call.failure, result.failure) == ("parsing: bad", None)
    assert [turn.failure for turn in with_call_failures(talk('{"a" 1}', None))] == [None, None]


def test_without_its_call_it_stays():
    _, result = with_call_failures([Turn(0, "event"), Turn(1, "tool_result", parent="other", failure="parsing: bad")])
    assert result.failure == "parsing: bad"


def test_order_problems_and_far_answers():
    turns = [Problem("x", "y"), *talk('{"a" 1}', SAID, between=LOOKAHEAD)]
    found = list(with_call_failures(turns))
    assert found == turns
    assert next(turn.failure for turn in with_call_failures(talk('{"a" 1}', SAID, between=LOOKAHEAD - 2))) == SAID


BEGUN = {
    "chat": 'data: {"id":"c","object":"chat.completion.chunk","choices":'
    '[{"index":0,"delta":{"role":"assistant","content":"It be"},"finish_reason":null}]}',
    "anthropic": 'data: {"type":"message_start","message":{"id":"m","content":[],"stop_reason":null}}'
    '\n\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"It be"}}',
    "gemini": 'data: {"candidates": [{"content": {"role": "model", "parts": [{"text": "It be"}]}}]}',
    "ollama": '{"model":"m","message":{"role":"assistant","content":"It be"},"done":false}',
    "bedrock": '{"messageStart":{"role":"assistant"}}\n'
    '{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"It be"}}}',
}
ENDED = {
    "chat": "data: [DONE]",
    "anthropic": 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    "gemini": 'data: {"candidates": [{"content": {"role": "model", "parts": []}, "finishReason": "STOP"}]}',
    "ollama": '{"model":"m","message":{"role":"assistant","content":""},"done":true}',
    "bedrock": '{"messageStop":{"stopReason":"end_turn"}}',
}


def answered(tmp_path: Path, request: Any, response: str) -> Turn:
    """The one answer that a recorded exchange comes to."""
    asked = {"messages": [{"role": "user", "content": "go"}], **request}
    log = tmp_path / "log.jsonl"
    log.write_text(
        json.dumps({"method": "POST", "uri": "https://h/v1/chat", "request": asked, "response_text": response})
    )
    (turn,) = (record for record in read(log, log.name) if isinstance(record, Turn) and record.kind == "response")
    return turn


@pytest.mark.parametrize("dialect", BEGUN)
def test_a_stream_that_ends_before_its_answer_is_dropped(tmp_path, dialect):
    turn = answered(tmp_path, {}, BEGUN[dialect] + "\n\n")
    assert turn.raw == "It be" and turn.stop is not None and turn.stop.reason == "dropped"
    whole_turn = answered(tmp_path, {}, f"{BEGUN[dialect]}\n\n{ENDED[dialect]}\n\n")
    assert whole_turn.stop is None or whole_turn.stop.reason == "complete"


@pytest.mark.parametrize(
    ("says_ends", "is_dropped"), [((), False), ((1,), True), ((0, 1), False)], ids=["none", "one", "both"]
)
def test_chunks_that_a_program_wrote_down_may_have_no_ends(tmp_path, says_ends, is_dropped):
    log = tmp_path / "log.jsonl"
    deltas = [(ident, {"content": piece}, None) for ident in "ab" for piece in ("It", " be")]
    ends = [("ab"[which], {}, "stop") for which in says_ends]
    chunks = [
        {
            "id": ident,
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": delta, "finish_reason": why}],
        }
        for ident, delta, why in sorted([*deltas, *ends], key=lambda chunk: chunk[0])
    ]
    log.write_text("\n".join(map(json.dumps, chunks)))
    stops = [record.stop for record in read(log, log.name) if isinstance(record, Turn) and record.kind == "response"]
    assert any(stop is not None and stop.reason == "dropped" for stop in stops) == is_dropped


@pytest.mark.parametrize("end", ["... [truncated 900 bytes]", "…", " " * (1000 - len(BEGUN["chat"]))])
def test_a_stream_that_its_recorder_cut_is_not_dropped(tmp_path, end):
    turn = answered(tmp_path, {}, BEGUN["chat"] + end)
    assert turn.raw == "It be" and turn.stop is None


@pytest.mark.parametrize(
    ("response", "is_dropped"),
    [({}, True), ({"_error": "net::ERR_ABORTED"}, False), ({"_error": "net::ERR_CONNECTION_RESET"}, True)],
)
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_stream_that_its_reader_left_is_not_dropped(tmp_path, response, is_dropped, is_whole):
    asked = {"messages": [{"role": "user", "content": "go"}]}
    body = BEGUN["chat"] + "\n\n"
    content = {"mimeType": "text/event-stream", "text": body, "size": len(body) * (1 if is_whole else 9)}
    request = {"method": "POST", "url": "https://h/v1/chat/completions", "postData": {"text": json.dumps(asked)}}
    entry = {"startedDateTime": "2026-11-01T10:00:00Z", "request": request}
    log = tmp_path / "log.har"
    log.write_text(
        json.dumps({"log": {"entries": [entry | {"response": {"status": 200, "content": content, **response}}]}})
    )
    (turn,) = (record for record in read(log, log.name) if isinstance(record, Turn) and record.kind == "response")
    assert (turn.stop is not None) == (is_dropped and is_whole)


@pytest.mark.parametrize("word", ["message_start", "response.created", "chat.completion.chunk"])
def test_an_answer_that_speaks_of_streams_is_none(tmp_path, word):
    parts = [{"text": f"{word}, or {json.dumps({'type': word, 'object': word})}"}]
    body = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    log = tmp_path / "log.jsonl"
    asked = {"contents": [{"role": "user", "parts": [{"text": "which?"}]}]}
    log.write_text(
        json.dumps({"method": "POST", "uri": "https://h/v1/x", "request": asked, "response_text": json.dumps(body)})
    )
    assert [record for record in read(log, log.name) if isinstance(record, Problem)] == []


@pytest.mark.parametrize(
    ("request_", "model"),
    [
        ({"model": "gpt-4o"}, "gpt-4o"),
        ({"model": "gpt-5.4"}, "gpt-5.4"),
        ({"model": "GPT-5.4-mini"}, None),
        ({"model": "gpt-4o", "models": ["gpt-4o", "gpt-5.4"]}, None),
        ({"model": "gpt-4o", "providerOptions": {"gateway": {"models": ["gpt-5.4"]}}}, None),
        ({}, None),
    ],
)
def test_who_was_asked_is_kept_where_another_answers(tmp_path, request_, model):
    message = {"role": "assistant", "content": "Hello."}
    body = {"object": "chat.completion", "model": "gpt-5.4-mini-2026-03-05", "choices": [{"message": message}]}
    assert (answered(tmp_path, request_, json.dumps(body)).declared or {}).get("model") == model
    of_azure = json.dumps({**body, "prompt_filter_results": []})
    assert "model" not in (answered(tmp_path, request_, of_azure).declared or {})
