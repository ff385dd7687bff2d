"""Dumps in the wire form of public reports: their cause is told without any question answered, and no wrong one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

MODEL = ("response", "tool_call")


def test_the_cause_is_told(client: FlaskClient, post: Callable[..., Any], shared: Path) -> None:
    folder = shared / "cases" / "reports"
    wrong = []
    for line in (folder / "expected.jsonl").read_text().splitlines():
        case = json.loads(line)
        (name,) = post((folder / case["file"]).read_bytes(), case["file"]).get_json()["sessions"]
        wrong += [f"{case['file']}: {words}" for words in differences(client, name, case["expected"])]
    assert wrong == []


def differences(client: FlaskClient, name: str, expected: dict[str, Any]) -> list[str]:
    session = client.get(f"/api/session/{name}").get_json()
    turns = [
        client.get(f"/api/session/{name}/turns/{turn['position']}").get_json()
        for turn in session["turns"]
        if turn["kind"] in MODEL
    ]
    rules = {finding["rule"] for finding in session["findings"]}
    wrong = []
    for key, value in expected.items():
        if key == "contract":
            good = value in {turn["contract"]["state"] for turn in turns}
        elif key in ("path", "keyword"):
            firsts = [turn["contract"]["mismatches"][:1] for turn in turns]
            good = value in {first[0][key] for first in firsts if first}
        elif key == "stop":
            good = value in {turn["stop"] and turn["stop"]["reason"] for turn in turns}
        elif key in ("finding", "not_finding"):
            good = (not rules) if value is None else (value in rules) == (key == "finding")
        elif key == "failed":
            good = value in {turn["failed"] for turn in turns}
        elif key == "calls":
            good = value == [turn["tool"] for turn in turns if turn["kind"] == "tool_call"]
        elif key == "host":
            good = value in {turn["host"] for turn in turns}
        else:
            good = value in told(client, name, turns)
        wrong += [] if good else [f"{key} {value!r}, found {sorted(rules)}"]
    return wrong


def told(client: FlaskClient, name: str, turns: list[dict[str, Any]]) -> str:
    """The pages of a session and of its responses, without what stands in their raw texts."""
    addresses = [f"/sessions/{name}", *(f"/sessions/{name}/turns/{turn['position']}" for turn in turns)]
    pages = [client.get(address, follow_redirects=True).get_data(as_text=True) for address in addresses]
    return " ".join(part for page in pages for part in page.split("<main")[-1].partition('class="raw')[0].split())


@pytest.mark.parametrize("said", [{"content": ""}, {"content": None, "reasoning": "Hm."}])
def test_an_empty_answer_is_not_blamed_on_the_mapping(
    client: FlaskClient, post: Callable[..., Any], said: dict[str, Any]
) -> None:
    choice = {"index": 0, "message": {"role": "assistant", **said}, "finish_reason": "stop"}
    response = {"object": "chat.completion", "choices": [choice], "usage": {"completion_tokens": 40}}
    request = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
    result = post(json.dumps({"request": request, "response": response}).encode() + b"\n", "log.jsonl").get_json()
    assert result["problems"] == []
    (finding,) = client.get(f"/api/session/{result['sessions'][0]}").get_json()["findings"]
    assert finding["rule"] == "billed_but_empty" and ("reasoning alone" in finding["reason"]) == ("reasoning" in said)
