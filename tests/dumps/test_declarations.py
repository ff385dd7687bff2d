"""What requests declare, by the names of each provider and each instrumentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.formats.test_otlp import SPAN, TRACE, listed, span, trace
from tests.parsing import _cases
from webapp.dumps.messages.declarations import declared_in
from webapp.dumps.reading import read
from webapp.dumps.records import Turn

S = {"type": "object", "properties": {"a": {"type": "string"}}}
T = [{"name": "t", "schema": S}]
FORM = {"type": "json_schema", "schema": S}
JSON_OBJECT = {"type": "json_object"}

REQUESTS = [
    tuple(map(json.loads, pair.split("\n", 1)))
    for pair in Path(__file__).with_name("declarations.md").read_text("utf-8").split("\n\n")[2:]
]
"""requests with what each declares"""


@pytest.mark.parametrize(("request_body", "declared"), REQUESTS)
def test_a_request_declares(request_body: dict[str, Any], declared: dict[str, Any] | None) -> None:
    assert declared_in(request_body) == declared


CALL = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "t", "arguments": {"a": 1}}]}]'
ATTRIBUTES: list[dict[str, Any]] = [
    {"gen_ai.tool.definitions": json.dumps([{"type": "function", "name": "t", "parameters": S}])},
    {"llm.tools.0.tool.json_schema": json.dumps({"type": "function", "function": {"name": "t", "parameters": S}})},
    {"llm.request.functions.0.name": "t", "llm.request.functions.0.parameters": json.dumps(S)},
    {"llm.invocation_parameters": json.dumps({"tools": [{"name": "t", "input_schema": S}]})},
    {"model_request_parameters": json.dumps({"function_tools": [{"name": "t", "parameters_json_schema": S}]})},
    {"mlflow.chat.tools": json.dumps([{"type": "function", "function": {"name": "t", "parameters": S}}])},
    {"gen_ai.request.available_tools": json.dumps([{"name": "t", "parameters": S}])},
    {"llm.tools.0.tool.json_schema": json.dumps({"function_declarations": [{"name": "t", "parameters": S}]})},
    {"ai.prompt.tools": [json.dumps({"type": "function", "name": "t", "inputSchema": S})]},
]


@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_a_span_declares(attributes: dict[str, Any], tmp_path: Path) -> None:
    told = {**attributes, "gen_ai.output.messages": CALL, "gen_ai.response.finish_reasons": ["length"]}
    turn = only_call(tmp_path, json.loads(trace(span(told))))
    assert turn.declared == {"tools": T} and turn.stop == ("length", "length") and turn.arguments == "decoded"


@pytest.mark.parametrize(
    ("attributes", "form"),
    [
        ({"gen_ai.request.response_format": json.dumps({"type": "json_schema", "json_schema": {"schema": S}})}, FORM),
        ({"gen_ai.request.structured_output_schema": json.dumps(S)}, FORM),
        ({"ai.schema": json.dumps(S)}, FORM),
        ({"llm.invocation_parameters": json.dumps({"response_format": FORM})}, FORM),
        ({"gen_ai.openai.request.response_format": "json_object"}, JSON_OBJECT),
        ({"gen_ai.output.type": "json"}, JSON_OBJECT),
    ],
)
def test_a_span_asks_for_a_form(attributes: dict[str, Any], form: Any, tmp_path: Path) -> None:
    said = '[{"role": "assistant", "parts": [{"type": "text", "content": "1"}]}]'
    (turn,) = turns(tmp_path, json.loads(trace(span({"gen_ai.output.messages": said, **attributes}))))
    assert turn.declared == {"response_format": form}


def test_a_log_record_declares(tmp_path: Path) -> None:
    record = {"traceId": TRACE, "spanId": SPAN, "eventName": "gen_ai.client.inference.operation.details"}
    record["attributes"] = listed({"gen_ai.output.messages": CALL, **ATTRIBUTES[0]})
    logs = {"resourceLogs": [{"resource": {}, "scopeLogs": [{"scope": {}, "logRecords": [record]}]}]}
    assert only_call(tmp_path, logs).declared == {"tools": T}


CHAT = {
    "model": "m",
    "messages": [{"role": "user", "content": "x"}],
    "tools": [{"type": "function", "function": {"name": "t", "parameters": S}}],
}
MESSAGE = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}],
}
BODY = {"object": "chat.completion", "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}]}
CHUNK = {
    "index": 0,
    "delta": {
        "role": "assistant",
        "tool_calls": [{"index": 0, "id": "c", "function": {"name": "t", "arguments": "{}"}}],
    },
}
STREAM = "".join(
    f"data: {json.dumps({'id': 'c', 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"
    for choice in (CHUNK, {"index": 0, "delta": {}, "finish_reason": "tool_calls"})
)


@pytest.mark.parametrize(
    "dump",
    [
        {"request": CHAT, "response": BODY},
        {"method": "POST", "uri": "https://h/v1/chat/completions", "request": CHAT, "response_text": STREAM},
        {"id": "x", "request": {"body": CHAT}, "response": BODY},
        {"model_parameters": {"tools": CHAT["tools"]}, "messages": CHAT["messages"], "response": BODY},  # LiteLLM's
        {"proxy_server_request": {"tools": CHAT["tools"]}, "messages": CHAT["messages"], "response": BODY},
    ],
)
def test_a_dump_declares(dump: dict[str, Any], tmp_path: Path) -> None:
    turn = only_call(tmp_path, dump)
    assert (turn.declared, turn.arguments, turn.stop) == ({"tools": T}, "written", ("tool_call", "tool_calls"))


TRACED = {"object": "trace.span", "id": "a", "trace_id": "b", "started_at": "2026-01-01T00:00:00+00:00"}
ASKED = {"input": CHAT["messages"]}
OBSERVED = {"id": "a", "traceId": "b", "type": "GENERATION", "startTime": "2026-01-01T00:00:00Z", "output": MESSAGE}
ECHO = {
    "object": "response",
    "tools": [{"type": "function", "name": "t", "parameters": S}],
    "output": [{"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"}],
}
TOLD = {
    "mlflow.spanType": "CHAT_MODEL",
    "mlflow.chat.tools": CHAT["tools"],
    "mlflow.spanInputs": {"messages": CHAT["messages"]},
    "mlflow.spanOutputs": BODY,
}


@pytest.mark.parametrize(
    "dump",
    [
        {**TRACED, "span_data": {"type": "generation", **ASKED, "output": [MESSAGE], "model_config": CHAT}},
        {**TRACED, "span_data": {"type": "response", **ASKED, "response": ECHO}},
        {"request": {"input": "go"}, "response": ECHO},
        {**OBSERVED, "input": [*CHAT["messages"], {"role": "tool", "content": CHAT["tools"][0]}]},
        {**OBSERVED, "input": "Go.", "output": ECHO, "modelParameters": {"max_tokens": None}},
        {"spans": [{"name": "x", "attributes": {key: json.dumps(value) for key, value in TOLD.items()}}]},
    ],
)
def test_a_dump_declares_beside_its_request(dump: dict[str, Any], tmp_path: Path) -> None:
    assert only_call(tmp_path, dump).declared == {"tools": T}


CARRIERS = (
    *("langsmith", "langfuse", "mlflow", "phoenix", "weave", "braintrust", "inspect_ai", "har", "vcr", "http_log"),
    *("otlp", "jaeger", "nock"),
)


@pytest.mark.parametrize("name", CARRIERS)
def test_a_carrier_declares(name: str, tmp_path: Path) -> None:
    """As the small files of its format's cases have it."""
    declared: dict[str, Any] = {}
    for number, case in enumerate(_cases.read(Path(__file__).parent / f"formats/cases/{name}.md")):
        (path := tmp_path / str(number)).write_text(case.raw)
        turns = [turn for turn in read(path, "dump") if isinstance(turn, Turn) and turn.kind == "tool_call"]
        declared = next((turn.declared for turn in turns if turn.declared), declared)
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert (declared["tools"], declared["max_tokens"]) == ([{"name": "t", "schema": schema}], 9)
    assert declared.get("response_format", {"schema": schema})["schema"] == schema


RECORDING = {"session_id": "s", "recorded_at": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    "lines",
    [
        [{"messages": [*CHAT["messages"], MESSAGE], "tools": CHAT["tools"]}],
        [
            {**RECORDING, "kind": "prompt", "text": "go", "tools": CHAT["tools"]},
            {**RECORDING, "kind": "tool_call", "name": "t", "text": "{}"},
        ],
        [{**RECORDING, "kind": "tool_call", "name": "t", "text": "{}", "tools": CHAT["tools"]}],
    ],
)
def test_a_conversation_declares(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    assert only_call(tmp_path, *lines).declared == {"tools": T}


def turns(folder: Path, *lines: dict[str, Any]) -> list[Turn]:
    path = folder / "dump"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return [record for record in read(path, path.name) if isinstance(record, Turn)]


def only_call(folder: Path, *lines: dict[str, Any]) -> Turn:
    (turn,) = [turn for turn in turns(folder, *lines) if turn.kind == "tool_call"]
    return turn


def test_what_the_history_repeats_is_not_held_against_a_later_request(tmp_path: Path) -> None:
    later = {"messages": [*CHAT["messages"], MESSAGE], "tools": [{"type": "function", "function": {"name": "other"}}]}
    said = turns(tmp_path, {"request": later, "response": BODY})
    calls = [(turn.declared is None, turn.stop is None) for turn in said if turn.kind == "tool_call"]
    assert calls == [(True, True), (False, False)]


@pytest.mark.parametrize(("tokens", "stop"), [(300, ("length", "tool_calls")), (299, ("tool_call", "tool_calls"))])
def test_an_answer_as_long_as_its_cap_was_cut(tokens: int, stop: tuple[str, str], tmp_path: Path) -> None:
    body = {**BODY, "usage": {"prompt_tokens": 1, "completion_tokens": tokens}}
    assert only_call(tmp_path, {"request": {**CHAT, "max_tokens": 300}, "response": body}).stop == stop
