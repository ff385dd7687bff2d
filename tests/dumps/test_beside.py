"""What an entry says beside its messages: who served it, what was thought of its tokens, and the most that it may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.dumps.formats.test_otlp import span, trace
from webapp.dumps.reading import read
from webapp.dumps.records import Turn

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Count."}]}
SPENT = {"prompt_tokens": 5, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 4}}
GOOGLE = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 7}


def chat(response: dict[str, Any], **request: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "1"}}
    body = {"object": "chat.completion", "model": "m", "choices": [choice], "usage": SPENT, **response}
    return {"request": {**ASKED, **request}, "response": body}


def http(url: str, **response: Any) -> dict[str, Any]:
    pair = chat(response)
    return {"request": {"method": "POST", "url": url, "body": pair["request"]}, "response": {"body": pair["response"]}}


def google() -> dict[str, Any]:
    said = {"role": "model", "parts": [{"text": "1"}]}
    answer = {"candidates": [{"content": said, "finishReason": "STOP"}], "usageMetadata": GOOGLE}
    asked = {"contents": [{"role": "user", "parts": [{"text": "Count."}]}], "generationConfig": {"maxOutputTokens": 10}}
    return {"request": asked, "response": answer}


def answered(attributes: dict[str, Any]) -> dict[str, Any]:
    said = [{"role": "assistant", "parts": [{"type": "text", "content": "1"}], "finish_reason": "stop"}]
    values = {"gen_ai.output.messages": json.dumps(said), "gen_ai.operation.name": "chat", **attributes}
    spans: dict[str, Any] = json.loads(trace(span(values)))
    return spans


@pytest.mark.parametrize(
    ("entry", "host"),
    [
        (chat({"provider": "DeepInfra", "system_fingerprint": "fp_1"}), "DeepInfra"),
        (chat({"system_fingerprint": "fp_1"}), "fp_1"),
        (chat({}, provider={"order": ["A"]}), None),
        (chat({}, base_url="http://127.0.0.1:8000/v1"), "127.0.0.1:8000"),
        (chat({"endpoint": "chat.completions"}), None),
        (http("https://api.together.xyz/v1/chat/completions", system_fingerprint="fp_1"), "api.together.xyz"),
        (http("https://openrouter.ai/api/v1/chat/completions", provider="Fireworks"), "Fireworks"),
        (answered({"server.address": "api.openai.com", "gen_ai.provider.name": "openai"}), "api.openai.com"),
        (answered({"gen_ai.provider.name": "openai"}), "openai"),
    ],
)
def test_who_served_a_model(tmp_path: Path, entry: dict[str, Any], host: str | None) -> None:
    assert [turn.host for turn in answers(tmp_path, entry)] == [host]


@pytest.mark.parametrize(
    ("entry", "spent"),
    [
        (chat({}, max_tokens=20), (5, 9, 4, 20)),
        (http("https://api.openai.com/v1/chat/completions"), (5, 9, 4, None)),
        (google(), (5, 9, 7, 10)),
        (answered({"gen_ai.usage.output_tokens": 9, "gen_ai.usage.reasoning.output_tokens": 4}), (None, 9, 4, None)),
    ],
)
def test_tokens_in_out_thought_and_the_cap(tmp_path: Path, entry: dict[str, Any], spent: tuple[Any, ...]) -> None:
    (turn,) = answers(tmp_path, entry)
    cap = (turn.declared or {}).get("max_tokens")
    assert (turn.tokens_in, turn.tokens_out, turn.tokens_reasoning, cap) == spent


def answers(folder: Path, entry: dict[str, Any]) -> list[Turn]:
    path = folder / "log.jsonl"
    path.write_text(json.dumps(entry) + "\n")
    return [record for record in read(path, path.name) if isinstance(record, Turn) and record.written_by_model]
