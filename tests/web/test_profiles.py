"""The scoreboard, its cells' lists, what a profile fixes and breaks, and how far it is its release."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.parsing.profiles import test_streams
from tests.parsing.profiles.test_released import HELD
from tests.web.pages import session
from webapp.parsing.engine import profile
from webapp.parsing.released import held_releases, words_of_release
from webapp.store.exports import exporting

CALL = '```json\n{"tool": "t", "arguments": {}}\n```'
EXTRA = '```json\n{"tool": "t", "arguments": {}}}}\n```'
MEANT = {"tool": "t", "arguments": {}}


@pytest.fixture
def scored(client: FlaskClient) -> FlaskClient:
    """Three labelled responses: one that all read, one with extra closers, one with no JSON."""
    document = session("s", CALL, EXTRA, "Nothing to call.", model="m<1>")
    assert client.post("/api/dumps?filename=s.json", data=document).status_code == 201
    label(client, 0, {"judgement": "right", "expected": MEANT})
    label(client, 1, {"judgement": "missed", "expected": MEANT, "cause": "extra-closing", "note": "=1+1"})
    label(client, 2, {"judgement": "right", "expects": "none"})
    return client


def label(client: FlaskClient, position: int, said: dict[str, Any]) -> None:
    answer = client.put(f"/api/session/s/turns/{position}/label", json={"author": "Ada", **said})
    assert answer.status_code in (200, 201), answer.text


def test_the_scoreboard_counts_and_every_count_leads_to_its_responses(scored: FlaskClient) -> None:
    page = scored.get("/profiles").text
    assert "3 final labels" in page and "m&lt;1&gt;" in page
    told = {line["name"]: line["score"] for line in scored.get("/api/profiles").json["profiles"]}
    assert told["windlass-strict"]["missed"] == 1 and told["fencepost"]["right"] == 2
    listed = scored.get("/profiles/windlass-strict/responses?outcome=missed&cause=extra-closing").text
    assert listed.count("<tr>") == 2 and "turn 1" in listed
    assert "No response has this outcome" in scored.get("/profiles/fencepost/responses?outcome=wrong").text


def test_a_profile_shows_its_failures_and_what_it_fixes(scored: FlaskClient) -> None:
    page = scored.get("/profiles/fencepost?against=windlass-strict").text
    assert "fixes <b>1 response</b>" in page
    assert "<h2>Failures</h2>" in scored.get("/profiles/windlass-strict").text


def test_without_labels_the_page_says_what_to_do(client: FlaskClient) -> None:
    assert "No score yet" in client.get("/profiles").text
    assert client.get("/profiles/nothing").status_code == 404


def test_labels_are_downloaded_in_every_format(scored: FlaskClient) -> None:
    for name in ("jsonl", "csv", "parquet", "pytest", "cases", "few-shot", "fine-tuning"):
        answer = scored.get(f"/api/labels/export?format={name}")
        assert answer.status_code == 200 and answer.data, name
        assert answer.headers["Content-Disposition"].startswith("attachment; filename=labels."), name


def test_what_is_exported_is_narrowed_and_redacted(scored: FlaskClient) -> None:
    assert scored.get("/api/labels/export?ids=s").text.count("\n") == 3
    assert scored.get("/api/labels/export?model=m%3C1%3E").text.count("\n") == 3
    assert scored.get("/api/labels/export?model=other").text == ""
    assert scored.get("/api/labels/export?queue=failed").text.count("\n") == 1
    row = json.loads(scored.get("/api/labels/export?redact_key=tool").text.splitlines()[0])
    assert '"tool": "█"' in row["raw"] and row["redacted"] and row["expected"]["tool"] == "█"


def test_the_page_says_what_formats_of_known_values_leave_out(scored: FlaskClient) -> None:
    assert "left out" not in scored.get("/labels/export").text
    label(scored, 1, {"judgement": "unsure"})
    page, narrowed = scored.get("/labels/export").text, scored.get("/labels/export?queue=failed").text
    for text in (page, narrowed, scored.get("/labels/export?ids=s").text):
        assert "1 labelled response without a known value is left out: 1 without an expected value." in text


def test_a_page_that_looks_at_some_labels_says_so(scored: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "MOST_COUNTED", 2)
    assert "All of the first 2 labelled responses have a known value" in scored.get("/labels/export").text


def test_a_session_is_downloaded_as_report_and_page(scored: FlaskClient) -> None:
    report = scored.get("/api/session/s/export?format=report")
    assert "extra_closer" in report.text and report.headers["Content-Disposition"].endswith("s.md")
    assert "<del" in scored.get("/api/session/s/export").text


def test_what_cannot_be_exported_is_refused_in_words(client: FlaskClient) -> None:
    for query in ("format=xlsx", "redact=(", "queue=none"):
        answer = client.get(f"/api/labels/export?{query}")
        assert answer.status_code == 400 and answer.json["error"]["message"], query


def test_every_profile_that_is_run_against_a_release_says_what_came_of_it(client: FlaskClient) -> None:
    assert {*HELD, "codex-apply-patch"} == set(held_releases()), "python -m benchmarks.released writes them"
    for name, held in held_releases().items():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", held.day)
        assert held.same + sum(held.differs.values()) == held.texts >= 2_000
        assert f"the same outcome on {held.same:,} of {held.texts:,} texts" in words_of_release(
            name, profile(name).version
        )


def test_the_page_says_release_texts_agreement_and_kinds(client: FlaskClient) -> None:
    held = held_releases()["mastra"]
    page = client.get("/profiles/mastra").text
    assert f"Held against {held.release}" in page and f"{held.same:,} of {held.texts:,} texts" in page
    assert "Kinds that differ: " in page
    assert "Held against" not in client.get("/profiles/direct").text


def test_the_page_of_a_server_says_what_comes_out_of_its_stream_otherwise(client: FlaskClient) -> None:
    streamed = {name for name, held in held_releases().items() if held.streamed is not None}
    assert streamed == set(test_streams.STREAMS)
    kinds = (held_releases()["vllm-qwen3-coder"].streamed or {})["1"]
    page = client.get("/profiles/vllm-qwen3-coder").text
    assert f"in pieces of 1 character or pieces of 7 characters {sum(kinds.values()):,} (" in page
    assert f"arguments that are no JSON: {kinds['arguments that are no JSON']:,}" in page
    assert "Fed as a stream" not in client.get("/profiles/crewai").text


def test_numbers_of_another_release_are_said_to_be_that() -> None:
    assert words_of_release("mastra", "restated-9.9.9").startswith("Not held yet against the release of its version")
