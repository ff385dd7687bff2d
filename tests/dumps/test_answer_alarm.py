"""The alarm: what was read without its answers is said, with the keys that were seen and what to do."""

from __future__ import annotations

import json

import pytest

USER = {"role": "user", "content": "Give me the plan as JSON."}
ANSWER = {"role": "assistant", "content": '{"plan": []}'}
EMPTY = {"role": "assistant", "content": ""}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}


def reasons(got, messages, **more):
    return [problem.reason for problem in got(json.dumps({"messages": messages, **more})).alarms]


@pytest.mark.parametrize("messages", [[USER, ANSWER], [USER, CALL], [USER, ANSWER, USER, ANSWER, USER, ANSWER, EMPTY]])
def test_sessions_with_answers_say_nothing(got, messages):
    assert reasons(got, messages) == []


def test_a_session_without_an_answer_is_named_with_what_to_do(got):
    [reason] = reasons(got, [USER])
    assert reason == "no answer of a model was read from its only turn; try --format NAME, or --map raw=$.PATH"


def test_empty_answers_name_the_keys_and_the_texts_beside_them(got):
    lost = {"role": "assistant", "said": "here is a long text that stands in no turn"}
    [reason] = reasons(got, [USER, ANSWER, ANSWER, lost, lost])
    assert "2 of its 4 answers are empty (keys: 'role', 'said'; texts at $.said); try --map raw=$.said" in reason


def test_calls_whose_arguments_are_gone_are_named(got):
    lost = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f", "args_": "{}"}}]}
    [reason] = reasons(got, [USER, ANSWER, ANSWER, lost])
    assert "1 of its 1 tool calls are empty" in reason


def test_a_call_streamed_without_arguments_is_no_loss(got):
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "now", "arguments": ""}}]}
    assert reasons(got, [USER, call, ANSWER]) == []


def test_an_empty_text_as_arguments_is_named_where_no_stream_gave_it(got):
    calls = [{"id": str(n), "function": {"name": "now", "arguments": said}} for n, said in enumerate(("", "{}", "{}"))]
    found = got(json.dumps({"messages": [USER, {"role": "assistant", "tool_calls": calls}, ANSWER]}))
    assert [problem.reason for problem in found.problems] == ["1 of its 3 tool calls have an empty text as arguments"]


def test_a_result_whose_call_is_gone_is_named_once(got):
    results = [{"role": "tool", "tool_call_id": name, "content": "x"} for name in ("a", "b")]
    found = got(json.dumps({"messages": [USER, ANSWER, *results]}))
    assert [problem.reason for problem in found.problems] == [
        "the call 'a', which this result answers, is nowhere before it"
    ]


def test_an_exchange_that_was_refused_is_no_loss(got):
    line = {"method": "POST", "uri": "/v1", "status": 429, "request": {"messages": [USER]}}
    found = got(json.dumps({**line, "response": {"error": {"message": "slow down"}}}), "log.jsonl")
    assert [turn.kind for turn in found.only] == ["prompt", "error"]
    assert found.alarms == []


def test_many_such_sessions_are_counted(got):
    lines = "\n".join(json.dumps({"session_id": f"s{number}", **USER}) for number in range(30))
    problems = got(lines, "a.jsonl").alarms
    assert len(problems) == 21
    assert problems[-1].reason == "30 sessions in total have no answers, or mostly empty ones"


@pytest.mark.parametrize("word", ["七号", "نعم", "ว่าง", "हाँ", "כן", "Да"])
def test_a_word_of_another_script_under_an_unknown_key_is_named(got, word):
    lines = [{"role": "user", "content": "q?"}, {"role": "assistant", "content": "Hm.", "final": word}]
    found = got("\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
    assert [problem.reason for problem in found.problems] == [
        f"the text at $.final ({len(word)} characters) is in no turn"
    ]


CHUNK = {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"role": "assistant"}}]}
THOUGHT = {"role": "assistant", "content": None, "reasoning_content": "Ferries go all day."}


@pytest.mark.parametrize("choice", [{"message": EMPTY, "finish_reason": "stop"}, {"message": THOUGHT | {"x": 1}}])
def test_an_answer_that_came_empty_is_said_and_no_mapping_is_blamed(got, choice):
    exchange = {"request": {"messages": [USER]}, "response": {"object": "chat.completion", "choices": [choice]}}
    found = got(json.dumps(exchange))
    [reason] = [problem.reason for problem in found.problems]
    assert "came without a text" in reason or "only what its model thought" in reason
    assert found.alarms == []


def test_a_prompt_that_google_blocked_is_an_error(got):
    request = {"contents": [{"role": "user", "parts": [{"text": "hi there"}]}]}
    blocked = {"request": request, "response": {"promptFeedback": {"blockReason": "SAFETY"}}}
    found = got(json.dumps(blocked))
    assert [turn.raw for turn in found.only if turn.kind == "error"] == ["SAFETY"]
    assert found.alarms == found.problems == []


def test_a_stream_that_ended_before_its_answer_is_no_fault_of_a_mapping(got):
    found = got(f"data: {json.dumps(CHUNK)}\n\n", filename="a.sse")
    assert found.alarms == [] and "the stream ends before its answer does" in found.problems[0].reason


def test_a_log_that_records_no_contents_says_so(got):
    counted = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]
    counted += [{"key": "gen_ai.usage.output_tokens", "value": {"intValue": "40"}}]
    span = {"traceId": "5b" * 16, "spanId": "ee" * 8, "name": "chat m", "attributes": counted}
    [alarm] = got(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})).alarms
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in alarm.reason and "--map" not in alarm.reason
