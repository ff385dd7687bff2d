"""A broken contract on the turn's page, in the API, and as a filter and facet of both lists."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.contracts.dialects import chat, gemini

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture
def broken(post: Callable[..., Any]) -> str:
    lines = [chat([("count", SCHEMA)], "count", {"n": value}) for value in ("two", 2)]
    lines[1]["response"]["choices"][0]["finish_reason"] = "length"
    lines[0]["response"]["provider"] = "DeepInfra"
    body = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    (name,) = post(body, "log.jsonl").get_json()["sessions"]
    return str(name)


def test_the_page_marks_what_does_not_fit(client: FlaskClient, broken: str) -> None:
    page = client.get(f"/sessions/{broken}/turns/1").get_data(as_text=True)
    assert "must be an integer, and is &#34;two&#34;; its request declares it so" in " ".join(page.split())
    assert 'href="?r=6-11"' in page and 'range">&#34;two&#34;<' in page
    kept = client.get(f"/sessions/{broken}/turns/2").get_data(as_text=True)
    assert "It fits what its request declares." in kept and " range" not in kept
    assert "reads one value. <span" in " ".join(kept.split())
    assert "Cut off at the token limit (<code>length</code>), and complete by chance." in kept


def test_a_call_without_a_declaration_is_shown_beside_those_that_worked(
    client: FlaskClient, post: Callable[..., Any]
) -> None:
    def session(name: str, arguments: dict[str, Any], result: dict[str, Any] | None) -> str:
        call = {"id": "c", "type": "function", "function": {"name": "count", "arguments": json.dumps(arguments)}}
        said = [{"role": "assistant", "content": None, "tool_calls": [call]}, *([result] if result else [])]
        return json.dumps({"id": name, "messages": [{"role": "user", "content": "go"}, *said]})

    good, failed = {"role": "tool", "tool_call_id": "c", "content": "2"}, {"type": "tool_result", "tool_use_id": "c"}
    failed = {"role": "user", "content": [failed | {"content": "no", "is_error": True}]}
    lines = [session(f"s{n}", {"n": n, "why": None if n % 2 else "x"}, good) for n in range(20)]
    lines += [session("bad", {"m": 1}, failed), session("late", {"n": "two"}, None)]
    assert post("\n".join(lines[1:]).encode(), "log.jsonl").status_code == 201
    turn = client.get("/api/session/late/turns/1").get_json()
    assert (turn["contract"]["source"], turn["contract"]["mismatches"], turn["failed"]) == (None, [], False), (
        "19 are few"
    )
    post(lines[0].encode(), "first.jsonl")
    held = client.get("/api/session/late/turns/1").get_json()["contract"]
    assert (held["state"], held["source"]) == ("not_declared", "learned")
    assert held["reason"] == "it differs from 20 calls that worked"
    told = ["`why` is missing", '`n` must be an integer, and is "two"']
    assert [one["message"] for one in held["mismatches"]] == told
    page = " ".join(client.get("/sessions/late/turns/1").get_data(as_text=True).split())
    assert "Not declared: it differs from 20 calls that worked." in page and "declares it so" not in page
    assert client.get("/api/sessions?contract=broken").get_json()["total"] == 0


def test_the_api_tells_the_contract(client: FlaskClient, broken: str) -> None:
    turn = client.get(f"/api/session/{broken}/turns/1").get_json()
    assert (turn["tool"], turn["arguments"], turn["host"]) == ("count", "written", "DeepInfra")
    assert turn["tokens"] == {"in": None, "out": None, "reasoning": None, "cap": None}
    assert turn["contract"] == {
        "state": "schema_mismatch",
        "tool": "count",
        "source": "request",
        "reason": None,
        "more": 0,
        "mismatches": [
            {
                "path": "$.n",
                "keyword": "type",
                "message": '`n` must be an integer, and is "two"',
                "span": [6, 11],
                "schema_path": "/properties/n/type",
            }
        ],
    }
    assert client.get(f"/api/session/{broken}/turns/2").get_json()["stop"] == {"reason": "length", "said": "length"}
    assert client.get(f"/api/session/{broken}/turns/0").get_json()["contract"] is None


def test_the_lists_are_filtered_by_host(client: FlaskClient, broken: str) -> None:
    responses = client.get("/api/responses?host=DeepInfra").get_json()["responses"]
    assert [(one["position"], one["contract"], one["failed"], one["rescued"]) for one in responses] == [
        (1, "schema_mismatch", True, False)
    ]
    assert client.get("/api/sessions?host=DeepInfra").get_json()["facets"]["host"] == {"DeepInfra": 1}
    assert client.get("/api/sessions?host=other").get_json()["total"] == 0
    assert all(client.get(f"{page}?host=DeepInfra").status_code == 200 for page in ("/", "/responses", "/sessions"))
    (group,) = client.get("/api/failures").get_json()["failures"]
    assert group["title"] == "broken contract: count: type at $.n" and group["tools"] == [{"tool": "count", "count": 1}]


def test_the_model_card_counts_calls_by_model_and_host(client: FlaskClient, broken: str) -> None:
    page = client.get("/responses?by=contract").get_data(as_text=True)
    card = " ".join(page.split('id="model-card"')[1].split("</table>")[0].split())
    assert "DeepInfra" in card and "contract=schema_mismatch" in card and "100.0 %" in card and "0.0 %" in card
    assert 'id="model-card"' not in client.get("/responses?by=contract&model=nobody").get_data(as_text=True)


def test_what_has_no_text_is_counted_and_listed_alike(client: FlaskClient, post: Callable[..., Any]) -> None:
    """An answer without the call that is demanded, one that is empty, a call without arguments, and a lost one."""
    lines = [chat([("count", SCHEMA)], "count", {}) for _ in range(3)]
    lines[0]["request"]["tool_choice"], lines[1]["request"]["response_format"] = "required", {"type": "json_object"}
    for line in lines[:2]:
        line["response"]["choices"][0] |= {"message": {"role": "assistant", "content": None}, "finish_reason": "stop"}
    del lines[2]["response"]["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    lost = gemini([("count", SCHEMA)], "count", {})
    lost["response"]["candidates"] = [{"finishReason": "MALFORMED_FUNCTION_CALL"}]
    for number, line in enumerate([*lines, lost]):
        post(json.dumps(line).encode(), f"{number}.jsonl")
    found = client.get("/api/responses?limit=20").get_json()
    states = sorted(one["contract"] for one in found["responses"])
    assert states == ["invalid_json", "invalid_json", "schema_mismatch", "schema_mismatch"] and found["total"] == 4
    assert client.get("/api/responses?contract=broken").get_json()["total"] == 4
    assert client.get("/api/sessions?contract=broken").get_json()["total"] == 4
    assert sum(group["count"] for group in client.get("/api/failures").get_json()["failures"]) == 4
    assert client.get("/sessions/0/responses/0").location.endswith("/sessions/0/turns/1")
    empty = client.get("/api/session/1/turns/1").get_json()["contract"]["mismatches"][0]
    assert (empty["message"], empty["span"]) == ("it is empty", None)
    assert all("so nothing was parsed" in client.get(f"/sessions/{number}/turns/1").text for number in range(4))
