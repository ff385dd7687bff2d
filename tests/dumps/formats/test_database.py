"""Databases that no program is known to write: the rows of a table are read as lines are; and three that are known."""

from __future__ import annotations

import pytest

from tests.dumps.formats.test_agents_session import database
from webapp.dumps.records import UnknownFormat

ASKED, ANSWER = "Which berth is free tonight?", '{"berth": 7,}'


def test_messages_are_sessions_by_their_chat(got, tmp_path):
    rows = [(1, 1, "user", ASKED), (2, 1, "assistant", ANSWER), (3, 2, "user", "And?"), (4, 2, "assistant", "Eight.")]
    messages = [dict(zip(("id", "conversation_id", "role", "content"), row, strict=True)) for row in rows]
    chats = [{"id": 1, "title": "Berths"}, {"id": 2, "title": "Pilots"}]
    found = got(database(tmp_path / "chats.db", conversations=chats, messages=messages), "chats.db")
    assert (found.ids, [turn.raw for turn in found.turns[0]]) == (["1", "2"], [ASKED, ANSWER])
    assert found.starts[0].source_format == "openai"


def test_bodies_in_columns(got, tmp_path):
    request = {"model": "m", "messages": [{"role": "user", "content": ASKED}]}
    response = {"choices": [{"message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}]}
    calls = [{"id": 1, "request": request, "response": response}]
    found = got(database(tmp_path / "calls.db", llm_calls=calls, settings=[{"key": "a", "value": "b"}]), "calls.db")
    assert (found.ids, [turn.raw for turn in found.only]) == (["calls.db"], [ASKED, ANSWER])


def test_of_two_tables_one_is_read_and_the_other_named(got, tmp_path):
    pairs = [{"id": 1, "prompt": ASKED, "response": ANSWER}]
    found = got(database(tmp_path / "two.db", first=pairs, second=pairs), "two.db")
    assert [turn.raw for turn in found.only] == [ASKED, ANSWER]
    assert [problem.at for problem in found.problems] == ["table first"]
    assert "second" in found.problems[0].reason


def test_a_table_whose_names_alone_tell_is_not_read(tmp_path, got):
    rows = [{"name": "a test of the harbour", "result": "it passed, as all of them did"}]
    with pytest.raises(UnknownFormat):
        got(database(tmp_path / "tests.db", runs=rows), "tests.db")


@pytest.mark.parametrize(
    "row",
    [
        {"name": "Ada", "role": "user", "created_at": "2026-01-01"},
        {"role": "user", "content": "Who is on the pier tonight?"},
        {"method": "GET", "request": {"id": 1}, "response": {"ok": True, "message": "All went well."}},
    ],
    ids=["people", "chat of people", "requests of a server"],
)
def test_a_table_in_which_no_model_speaks_is_not_read(tmp_path, got, row):
    with pytest.raises(UnknownFormat):
        got(database(tmp_path / "app.db", rows=[row, row]), "app.db")


def test_ell_keeps_what_was_asked_beside_the_result(got, tmp_path):
    asked = {"messages": [{"role": "user", "content": [{"type": "text", "text": {"content": ASKED}}]}], "model": "m"}
    row = {"invocation_id": "i", "results": {"__lstr": True, "content": ANSWER}, "invocation_api_params": asked}
    found = got(database(tmp_path / "ell.db", invocation=[{"id": "i"}], invocationcontents=[row]), "ell.db")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", ASKED), ("response", ANSWER)]


def test_langchain_caches_a_generation_by_its_prompt(got, tmp_path):
    prompt = [{"lc": 1, "id": ["HumanMessage"], "kwargs": {"content": ASKED, "type": "human"}}]
    message = {"kwargs": {"content": ANSWER, "type": "ai", "response_metadata": {"model_name": "m"}}}
    row = {"prompt": prompt, "llm": "m", "idx": 0, "response": {"kwargs": {"text": ANSWER, "message": message}}}
    older = {"prompt": ASKED, "llm": "m", "idx": 0, "response": "Eight."}
    found = got(database(tmp_path / "cache.db", full_llm_cache=[row, older]), "cache.db")
    said = [(turn.kind, turn.raw) for turn in found.only if turn.kind != "event"]
    assert sorted(said) == [("prompt", ASKED), ("prompt", ASKED), ("response", "Eight."), ("response", ANSWER)]


def test_mlflow_keeps_a_span_a_row(got, tmp_path):
    attributes = {
        "mlflow.spanType": '"CHAT_MODEL"',
        "mlflow.spanInputs": f'{{"messages": [{{"role": "user", "content": "{ASKED}"}}]}}',
        "mlflow.spanOutputs": '{"choices": [{"message": {"role": "assistant", "content": "Eight."}}]}',
    }
    spans = [{"trace_id": "tr-1", "span_id": "s", "content": {"name": "chat", "attributes": attributes}}]
    found = got(database(tmp_path / "mlflow.db", spans=spans, trace_info=[{"request_id": "tr-1"}]), "mlflow.db")
    assert (found.ids, [turn.raw for turn in found.only]) == (["tr-1"], [ASKED, "Eight."])


def test_a_column_that_holds_an_answer_in_json_is_read_as_it_stands(got, tmp_path):
    answer = '{"berth":  7, "parts": ["a"]}'
    pairs = [{"id": 1, "prompt": ASKED, "response": answer}]
    found = got(database(tmp_path / "pairs.db", calls=pairs), "pairs.db")
    memory = [{"conversation_id": "c", "role": "assistant", "sequence": 1, "original_value": answer}]
    red = got(database(tmp_path / "red.db", PromptMemoryEntries=memory), "red.db")
    assert [found.only[-1].raw, red.only[-1].raw] == [answer, answer]


def test_who_speaks_in_a_column_is_seen(got, tmp_path):
    rows = [{"id": 1, "chat_id": 1, "author": "user", "text": ASKED}]
    rows += [{"id": 2, "chat_id": 1, "author": "assistant", "text": ANSWER}]
    found = got(database(tmp_path / "oterm.db", message=rows), "oterm.db")
    assert [(turn.kind, turn.raw) for turn in found.only] == [("prompt", ASKED), ("response", ANSWER)]


def test_anythingllm_keeps_a_prompt_with_its_answer(got, tmp_path):
    row = {"id": 1, "workspaceId": 1, "thread_id": 3, "prompt": '{"a": 1}', "response": {"text": ANSWER}}
    found = got(database(tmp_path / "any.db", workspace_chats=[row]), "any.db")
    assert (found.ids, [turn.raw for turn in found.only]) == (["3"], ['{"a": 1}', ANSWER])


def test_llamaindex_keeps_a_message_a_row(got, tmp_path):
    said = [("user", ASKED), ("assistant", ANSWER)]
    blocks = [{"role": role, "blocks": [{"block_type": "text", "text": text}]} for role, text in said]
    rows = [{"id": n, "key": "port", "data": data} for n, data in enumerate(blocks)]
    found = got(database(tmp_path / "memory.db", llama_index_memory=rows), "memory.db")
    assert (found.ids, [turn.raw for turn in found.only]) == (["port"], [ASKED, ANSWER])


def test_a_message_in_a_column_is_opened(got, tmp_path):
    said = [("user", ASKED), ("assistant", ANSWER)]
    contents = [{"format": 2, "parts": [{"type": "text", "text": text}]} for _, text in said]
    rows = [{"id": n, "thread_id": "t", "role": said[n][0], "content": contents[n]} for n in range(2)]
    found = got(database(tmp_path / "mastra.db", mastra_messages=rows), "mastra.db")
    assert (found.ids, [turn.raw for turn in found.only]) == (["t"], [ASKED, ANSWER])


def test_calls_among_other_events_are_read(got, tmp_path):
    request = {"model": "m", "messages": [{"role": "user", "content": ASKED}]}
    response = {"choices": [{"message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}]}
    rows = [{"id": 1, "kind": "llm", "payload": {"request": request, "response": response}}]
    rows += [{"id": 2, "kind": "http", "payload": {"path": "/x"}}]
    found = got(database(tmp_path / "log.db", events=rows), "log.db")
    assert [turn.raw for turn in found.only if turn.raw] == [ASKED, ANSWER]
