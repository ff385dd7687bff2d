"""The parser of a program: asked for, changed, undone, dismissed and remembered, in pages and the API."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.contracts import dialects
from tests.dumps.formats.test_otlp import span, trace
from webapp.extensions import db
from webapp.store.homes import trials
from webapp.store.models import Session

BROKEN = '{"a": 1,}'


@pytest.fixture
def app(make: Callable[..., Flask]) -> Flask:
    return make(home="unknown")


def test_a_session_of_an_unknown_parser_counts_the_failures_that_its_groups_do(client: FlaskClient, post: Any) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": text} for text in (BROKEN, '{"a": 1}}')]
    messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
    assert post(json.dumps({"id": "own", "messages": messages}).encode()).status_code == 201
    page = " ".join(client.get("/sessions/own").text.split())
    assert page.count("1 of the 3 failures in this session.") == 3
    assert "1 failed, 2 more if read as <code>json.loads</code>" in page, "which makes the three"


def test_incidents_read_an_unknown_parser_as_json_loads_and_say_so(
    client: FlaskClient, brought: dict[str, Any]
) -> None:
    page = client.get("/").text
    assert "1 response of 3" in page and page.count("ead as <code>json.loads</code>") == 1, "said once"
    by_model = client.get("/responses?by=model").text
    assert "Parser unknown for 1 response: read as <code>json.loads</code>" in by_model
    assert "Parser unknown" not in client.get("/responses?by=model&under=direct").text
    failed = client.get("/api/responses?failed=1").json
    assert failed["total"] == 1 == len(failed["responses"])
    report = client.get("/api/session/one/export?format=report").text
    assert "0 failed" not in report and "parser unknown: no failure is recorded" in report
    assert client.put("/api/session/one/home", json={"home": "direct"}).status_code == 200
    page = client.get("/").text
    assert "1 response of 3" in page and "Parser unknown" not in page, "what is left is plain JSON"


def test_the_order_and_the_filter_by_failures_are_of_the_number_that_a_row_shows(
    client: FlaskClient, post: Callable[..., Any]
) -> None:
    """What json.loads would not read, and what breaks its contract, each response once."""
    declared = [{"type": "function", "function": {"name": "f", "parameters": {"required": ["n"]}}}]
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    broken = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]}]
    fenced = [{"role": "assistant", "content": f"```json\n[{number}, {{}}]\n```"} for number in range(5)]
    for name, messages in (("broken", broken), ("two", [*broken, fenced[0]]), ("five", fenced)):
        assert post(json.dumps({"id": name, "tools": declared, "messages": messages}).encode()).status_code == 201
    page = client.get("/sessions?sort=failures").text
    rows = re.findall(r'data-row>(\w+)<.*?count bad"[^>]*>(\d+)<', page, re.DOTALL)
    assert rows == [("five", "5"), ("two", "2"), ("broken", "1")]
    found = client.get("/api/sessions?failures=1&sort=failures").json["sessions"]
    assert [(each["id"], each["failing"], each["failed"]) for each in found] == [("five", 5, 0), ("two", 2, 1)]
    assert client.get("/api/responses?failed=1").json["total"] == 8


def test_no_page_counts_failures_as_none_where_the_parser_is_unknown(
    client: FlaskClient, brought: dict[str, Any]
) -> None:
    keys = [line["key"] for line in client.get("/api/sessions").json["sessions"]]
    ids = "&".join(f"ids={key}" for key in keys)
    unknown = 'title="Parser unknown: only recorded failures are counted">?</span>'
    for path, count in (("/dumps/1", 2), (f"/selection/compare?{ids}", 4)):
        assert client.get(path).text.count(unknown) == count, path
    assert client.post("/selection/delete", data={"ids": keys}).text.count(unknown) == 2
    assert "0 failed" not in client.get("/api/session/one/export?format=html").text


def chat(name: str, *texts: str) -> str:
    return json.dumps(
        {"id": name, "model": "m", "messages": [{"role": "assistant", "content": text} for text in texts]}
    )


@pytest.fixture
def brought(post: Callable[..., Any]) -> dict[str, Any]:
    """Two sessions: three responses, of which one is not plain JSON."""
    body = "\n".join((chat("one", "{}", BROKEN), chat("two", "[]")))
    answer: dict[str, Any] = post(body.encode(), "chats.jsonl").json
    return answer


@pytest.fixture
def counted(app: Flask, brought: dict[str, Any]) -> None:
    """Every profile was tried."""
    with app.app_context():
        trials.count_all(db.engine)


def homes(app: Flask) -> list[tuple[str, str]]:
    with app.app_context():
        query = sa.select(Session.home_profile, Session.home_source).order_by(Session.id)
        return [tuple(row) for row in db.session.execute(query)]


def session(client: FlaskClient, name: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"/api/session/{name}").json["session"]
    return answer


def test_it_is_asked_for(client: FlaskClient, counted: None) -> None:
    for path in ("/", "/sessions", "/dumps", "/sessions/one", "/dumps/1", "/homes"):
        page = client.get(path).text
        assert "Which parser is yours?" in page and page.count("Read as <code>json.loads</code>") == 1, path
        assert '<details id="question-parsers">' in page, "it stands folded and covers nothing"
        assert page.index('value="fire-circle"') > page.index("<summary>Field reports</summary>")
        assert "1 would have failed" in page
        assert "none would have failed, no JSON found in 2" in page, "vllm-hermes returns all of session one as plain"


def test_it_is_counted_behind_the_page(client: FlaskClient, brought: dict[str, Any]) -> None:
    assert "counting…" in client.get("/sessions").text


def test_plain_json_alone_is_no_question(client: FlaskClient, post: Callable[..., Any]) -> None:
    post(chat("fine", "{}").encode(), "fine.json")
    assert 'id="question"' not in client.get("/sessions").text


def test_native_calls_and_prose_are_no_question(client: FlaskClient, app: Flask, post: Callable[..., Any]) -> None:
    call = {"type": "function", "id": "c", "function": {"name": "find", "arguments": '{"q": 1,}'}}
    calls = {"role": "assistant", "content": "I look for it.", "tool_calls": [call]}
    post(json.dumps({"id": "native", "model": "m", "messages": [calls]}).encode(), "native.json")
    assert 'id="question"' not in client.get("/sessions").text and "Parser unknown" not in client.get("/").text
    assert session(client, "native")["failed"] == 1, "the call is no JSON, whoever reads it"
    text = {"role": "assistant", "content": 'So: {"a": 1}'}
    post(json.dumps({"id": "both", "model": "m", "messages": [calls, text]}).encode(), "both.json")
    with app.app_context():
        trials.count_all(db.engine)
    page = " ".join(client.get("/sessions").text.split())
    assert "1 of 5 responses is not plain JSON, native calls and prose set aside." in page
    assert "Which parser is yours?" in client.get("/").text
    failed = client.get("/api/session/both/home").json["would_fail"]
    assert failed["direct"] == 2, "the call is not tried"


def test_an_unknown_parser_reads_as_such(client: FlaskClient, brought: dict[str, Any]) -> None:
    page = client.get("/sessions").text
    assert "2 responses, parser unknown: 1 is plain JSON, 1 needs repairs." in page
    assert "went through" not in page
    about = session(client, "one")
    assert (about["home"], about["home_source"], about["failed"]) == ("unknown", "unknown", 0)
    assert about["shape"] == {"clean": 1, "extracted": 0, "repaired": 1, "failed": 0, "none": 0}
    assert client.get("/api/sessions?verdict=clean").json["total"] == 2
    assert client.get("/api/sessions?verdict=failed").json["total"] == 1
    assert client.get("/api/sessions?home=unknown").json["total"] == 2
    for path in ("/sessions/one", "/sessions/one/turns/1", "/", "/homes"):
        assert client.get(path).status_code == 200, path


def test_the_answer_changes_all_that_were_asked_about_until_undone(
    client: FlaskClient, app: Flask, counted: None
) -> None:
    form = {"scope": "filters", "home": "unknown", "unknown_only": "1", "profile": "direct", "back": "/dumps"}
    answer = client.post("/homes", data=form)
    assert (answer.status_code, answer.location) == (303, "/dumps")
    assert homes(app) == [("direct", "told")] * 2
    assert session(client, "one")["failed"] == 1
    assert "2 sessions now read by json.loads." in client.get("/sessions").text
    assert client.post("/homes/changes/1/undo").status_code == 303
    assert homes(app) == [("unknown", "unknown")] * 2


def test_dismissed_it_is_not_asked_again(client: FlaskClient, app: Flask, brought: dict[str, Any]) -> None:
    client.post("/homes", data={"profile": "unknown", "scope": "filters", "home": "unknown", "unknown_only": "1"})
    assert homes(app) == [("unknown", "declined")] * 2
    assert 'id="question"' not in client.get("/sessions").text


def test_a_selection_is_asked_about_and_changed(client: FlaskClient, app: Flask, brought: dict[str, Any]) -> None:
    key = session(client, "two")["key"]
    assert "Which parser do this session use?" in client.post("/homes/ask", data={"ids": key}).text
    assert "2 sessions" in client.get("/homes/ask?format=openai").text
    client.post("/homes", data={"scope": "keys", "ids": key, "profile": "four-tier"})
    assert homes(app) == [("unknown", "unknown"), ("four-tier", "told")]


def test_a_rule_is_remembered_and_forgotten(
    client: FlaskClient, app: Flask, brought: dict[str, Any], post: Callable[..., Any]
) -> None:
    client.post("/homes", data={"scope": "format", "value": "openai", "profile": "direct", "remember": "1"})
    assert "Delete rule openai" in client.get("/homes").text
    post(chat("three", BROKEN).encode(), "three.json")
    assert homes(app)[-1] == ("direct", "rule")
    client.post("/homes/rules/1/delete")
    post(chat("four", BROKEN).encode(), "four.json")
    assert homes(app)[-1] == ("unknown", "unknown")


def test_the_upload_form_takes_it(client: FlaskClient, app: Flask) -> None:
    import io

    client.post("/dumps", data={"file": (io.BytesIO(chat("u", BROKEN).encode()), "u.json"), "home": "direct"})
    assert homes(app) == [("direct", "told")]


def test_the_api_changes_one_session(client: FlaskClient, app: Flask, brought: dict[str, Any]) -> None:
    answer = client.put("/api/session/one/home", json={"home": "direct"})
    assert answer.status_code == 200
    assert answer.json["session"]["home"] == "direct"
    assert answer.json["session"]["failed"] == 1
    assert client.put("/api/session/one/home", json={"home": None}).json["session"]["home_source"] == "declined"


def test_the_api_refuses_what_is_no_parser(client: FlaskClient, brought: dict[str, Any]) -> None:
    for body in [{}, [], {"home": 1}, {"home": "no-such"}]:
        answer = client.put("/api/session/one/home", json=body)
        assert answer.status_code == 422
        assert answer.json["error"]["code"] in ("bad_home", "bad_body", "unknown_profile")


def test_each_refusal(client: FlaskClient, app: Flask, brought: dict[str, Any]) -> None:
    for path, form, status in [
        ("/homes", {"scope": "format", "value": "openai"}, 400),
        ("/homes", {"scope": "format", "value": "openai", "profile": "no-such"}, 404),
        ("/homes", {"scope": "format", "value": "no-such", "profile": "direct"}, 400),
        ("/homes", {"scope": "keys", "profile": "direct"}, 400),
        ("/homes", {"scope": "filters", "verdict": "odd", "profile": "direct"}, 400),
        ("/homes", {"scope": "filters", "profile": "direct", "remember": "1"}, 400),
        ("/homes/changes/9/undo", {}, 404),
        ("/homes/rules/9/delete", {}, 404),
        ("/homes/rules", {"kind": "odd", "value": "x", "profile": "direct"}, 400),
        ("/homes/rules", {"kind": "format", "value": "x", "profile": "unknown"}, 400),
    ]:
        assert client.post(path, data=form).status_code == status
        assert homes(app) == [("unknown", "unknown")] * 2


def test_it_leads_back_to_this_server_alone(client: FlaskClient, brought: dict[str, Any]) -> None:
    form = {"scope": "format", "value": "openai", "profile": "direct", "back": "//elsewhere.example/"}
    assert client.post("/homes", data=form).location == "/"


def told(client: FlaskClient, talk: str, ident: str, **attributes: str) -> None:
    """A span of a resource with these attributes, as an exporter sends it."""
    said = {"gen_ai.completion.0.content": BROKEN, "gen_ai.conversation.id": talk}
    body = json.loads(trace(span(said, spanId=ident, traceId=2 * ident)))
    listed = body["resourceSpans"][0].setdefault("resource", {})
    listed["attributes"] = [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]
    answer = client.post("/v1/traces", data=json.dumps(body), content_type="application/json")
    assert answer.status_code == 200


def test_a_resource_attribute_says_it(client: FlaskClient, app: Flask) -> None:
    """OTEL_RESOURCE_ATTRIBUTES=fencepost.home=direct."""
    told(client, "talk", "1" * 16, **{"fencepost.home": "direct"})
    assert homes(app) == [("direct", "told")]


def test_sessions_are_filtered_by_their_service(client: FlaskClient) -> None:
    for number, service in enumerate(("shop", "shop", "<b>")):
        told(client, f"s{number}", f"{number + 1:016x}", **{"service.name": service})
    found = client.get("/api/sessions?service=shop").json["sessions"]
    assert sorted(line["id"] for line in found) == ["s0", "s1"]
    page = client.get("/sessions").text
    assert "service=shop" in page and "service=%3Cb%3E" in page and "<b></a>" not in page
    assert client.get("/api/sessions?service=none").json["sessions"] == []
    assert "2 sessions" in client.get("/homes/ask?service=shop").text
    assert "acme.parsers:parse" in client.get("/homes").text


def test_a_native_call_that_is_json_is_marked_as_that(client: FlaskClient, post: Callable[..., Any]) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    lines = [dialects.chat([("count", schema)], "count", {"n": value}) for value in ("two", 2)]
    assert post("\n".join(map(json.dumps, lines)).encode(), "log.jsonl").get_json()["sessions"] == ["log"]
    session_page = client.get("/sessions/log").text
    assert "parser unknown" in session_page
    labels = ('aria-label="turn 1: recorded failure"', 'aria-label="turn 2: plain JSON"')
    assert [label in session_page for label in labels] == [True, True], "the map says the same"
    for path in ("/sessions/log", "/sessions/log/turns/2", "/responses"):
        page = client.get(path).text
        assert 'class="o failed"' in page and 'class="o clean"' in page and 'class="o open"' not in page, path
