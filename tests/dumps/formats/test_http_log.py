"""HTTP exchanges: five providers' bodies, streams put together, what was refused, what is no model's answer."""

from __future__ import annotations

import json

from tests.dumps.conftest import gather


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
