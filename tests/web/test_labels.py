"""The label pages: who labels, the queue, what is told of others, settling, causes, and the API."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from benchmarks import label_keys
from tests.web.pages import session
from webapp.extensions import db
from webapp.store.models import Base

Post = Callable[..., Any]
FOUR = '```json\n{"tool": "run_code", "arguments": {"code": "print(1)"}}}}\n```'
OTHER = '```json\n{"tool": "read_file",}\n```'


@pytest.fixture
def stored(post: Post) -> None:
    assert post(session("s1", FOUR, FOUR.replace("1", "22"), OTHER)).status_code == 201


@pytest.fixture
def ann(client: FlaskClient, stored: None) -> FlaskClient:
    return named(client, "ann")


def named(client: FlaskClient, name: str) -> FlaskClient:
    assert client.post("/labels/name", data={"name": name}).status_code == 303
    return client


def place(text: str) -> str:
    found = re.search(r'data-at="([^"]+)"', text)
    assert found
    return found[1]


def seen(text: str) -> str:
    found = re.search(r'name="seen" value="([^"]*)"', text)
    assert found
    return found[1]


def save(client: FlaskClient, at: str, judgement: str = "missed", **more: str) -> Any:
    return client.post("/labels", data={"queue": "failed", "at": at, "judgement": judgement, "seen": ""} | more)


def labels(client: FlaskClient) -> list[dict[str, Any]]:
    return client.get("/api/labels").json["labels"]


def test_a_browser_is_asked_for_a_name_once(client: FlaskClient, stored: None) -> None:
    asked = client.get("/labels?queue=silent")
    assert asked.status_code == 302 and "/labels/name?next=" in asked.headers["Location"]
    told = client.post("/labels/name", data={"name": " ann ", "next": "/labels?queue=silent"})
    assert told.headers["Location"] == "/labels?queue=silent"
    assert client.get("/labels").status_code == 200
    assert client.post("/labels/name", data={"name": " "}).status_code == 422
    assert client.post("/labels/name", data={"name": "x", "next": "//elsewhere"}).headers["Location"] == "/"


def test_the_queue_shows_one_response_and_what_each_profile_made_of_it(ann: FlaskClient) -> None:
    page = ann.get("/labels")
    assert place(page.text).endswith(".0") and 'class="debugger queue failed"' in page.text
    for words in ("windlass-strict", "was meant", "shortest edit", "also label 1 similar response"):
        assert words in page.text
    partial = ann.get("/labels", headers={"HX-Request-Type": "partial"})
    assert "<html" not in partial.text and 'id="judge"' in partial.text


def test_a_response_stands_in_its_failure_group(ann: FlaskClient) -> None:
    one = ann.get("/labels?queue=one-per-group").text
    assert "Same failure:" in one and "2 responses in 1 session" in one and "one of each failure group" in one


def test_a_label_is_saved_and_the_next_comes(ann: FlaskClient) -> None:
    at = place(ann.get("/labels").text)
    expected = '{"tool": "run_code", "arguments": {"code": "print(1)"}}'
    done = save(ann, at, expects="value", expected=expected, cause="extra-closing", note="n", seconds="2.5", like="1")
    following = ann.get(done.headers["Location"]).text
    assert done.status_code == 303 and place(following).endswith(".2")
    assert "also went to 1 similar response; z undoes all of them." in following and 'data-key="z">Undo' in following
    first, other = sorted(labels(ann), key=lambda label: label["position"])
    assert (first["expects"], first["expected"]["tool"], first["cause"]) == ("one", "run_code", "extra-closing")
    assert other["expected"]["arguments"] == {"code": "print(22)"}


@pytest.mark.parametrize(
    ("fields", "expects", "values"),
    [
        ({"judgement": "right", "expects": "none"}, "none", None),
        ({"expects": "unknown"}, "unknown", None),
        ({"expected": "1 null [2]"}, "several", [1, None, [2]]),
        ({"expected": "", "expects": "value"}, None, None),
    ],
)
def test_what_may_be_expected(ann: FlaskClient, fields: dict[str, str], expects: str | None, values: Any) -> None:
    assert save(ann, place(ann.get("/labels").text), **fields).status_code == 303
    (label,) = labels(ann)
    assert (label["expects"], label.get("expected_values"), "expected" in label) == (expects, values, False)


def test_what_cannot_be_saved_comes_back_with_what_was_typed(ann: FlaskClient) -> None:
    at = place(ann.get("/labels").text)
    refused = save(ann, at, expected='{"a": <b>', note="kept & shown")
    assert refused.status_code == 422
    assert "line 1, column 7" in refused.text and "{&#34;a&#34;: &lt;b&gt;" in refused.text
    assert "kept &amp; shown" in refused.text
    assert save(ann, at, "so-so").status_code == 422
    assert labels(ann) == []


CONTRADICTIONS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("missed", {"expects": "none"}, "no JSON is meant"),
    ("spurious", {"expected": "1"}, "it is missed"),
    ("right", {"expected": "1"}, "it is missed"),
    ("wrong", {"expected": "1"}, "it is missed"),
)


def test_a_label_that_contradicts_itself_is_not_saved(ann: FlaskClient) -> None:
    at = place(ann.get("/labels").text)
    for judgement, fields, reason in CONTRADICTIONS:
        refused = save(ann, at, judgement, **fields)
        assert refused.status_code == 422 and reason in refused.text and labels(ann) == [], judgement


def test_two_windows_never_overwrite_each_other(ann: FlaskClient) -> None:
    at = place(ann.get("/labels").text)
    assert save(ann, at, "missed", note="the first").status_code == 303
    conflict = save(ann, at, "right", note="the second")
    assert conflict.status_code == 409
    assert "the first" in conflict.text and "the second" in conflict.text
    assert [label["judgement"] for label in labels(ann)] == ["missed"]
    assert save(ann, at, "right", note="the second", seen=seen(conflict.text)).status_code == 303
    assert [label["judgement"] for label in labels(ann)] == ["right"]


def test_undo_goes_back_to_the_response_and_says_where_there_is_nothing(ann: FlaskClient) -> None:
    assert "There is nothing to undo." in ann.post("/labels/undo", follow_redirects=True).text
    at = place(ann.get("/labels").text)
    save(ann, at, like="1")
    undone = ann.post("/labels/undo", data={"queue": "failed"})
    page = ann.get(undone.headers["Location"])
    assert place(page.text) == at and "Undone in 2 responses" in page.text
    assert labels(ann) == []


def test_the_check_names_the_place_and_who_reads_the_same(ann: FlaskClient) -> None:
    at = place(ann.get("/labels").text)
    wrong = ann.post("/labels/check", data={"at": at, "expected": '{"a": 1\n"b": 2}'}).text
    assert "line 2, column 1" in wrong
    right = ann.post(
        "/labels/check", data={"at": at, "expected": '{"tool": "run_code", "arguments": {"code": "print(2)"}}'}
    ).text
    assert "no profile reads the same" in right and "only in the expected value" in right
    assert ann.get(f"/labels/value?at={at}&r=9-15").text == '"tool"'[:6].strip()
    assert json.loads(ann.get(f"/labels/value?at={at}&profile=fencepost").text)["tool"] == "run_code"


def test_what_others_said_stands_beside_the_response(ann: FlaskClient, app: Flask) -> None:
    at = place(ann.get("/labels").text)
    save(ann, at, "spurious", note="ann thinks so", cause="anns-cause")
    bob = named(app.test_client(), "bob")
    for url in (f"/labels?at={at}", "/sessions/s1/turns/0", "/labels/list"):
        assert "ann thinks so" in bob.get(url).text, url
    assert [label["judgement"] for label in labels(bob)] == ["spurious"]
    save(bob, at, "missed")
    assert "bob" in ann.get("/labels/progress?queue=failed").text


def test_a_disagreement_is_listed_and_settled(ann: FlaskClient, app: Flask) -> None:
    at = place(ann.get("/labels").text)
    save(ann, at, "spurious")
    bob = named(app.test_client(), "bob")
    save(bob, at, "missed", expected="1")
    page = bob.get("/labels/disagreements").text
    assert "Krippendorff" in page and "spurious" in page and 'class="evidence' in page
    key, _, position = at.partition(".")
    form = {"key": key, "position": position, "whose": "bob", "why": "read it again", "seen": ""}
    assert bob.post("/labels/disagreements", data=form).status_code == 303
    assert "read it again" in bob.get("/labels/disagreements?settled=1").text
    assert bob.post("/labels/disagreements", data=form).status_code == 409
    assert bob.post("/labels/disagreements", data=form | {"whose": "cem"}).status_code == 422
    assert bob.post("/labels/disagreements", data=form | {"unsettle": "1"}).status_code == 303
    assert "No disagreement is settled" in bob.get("/labels/disagreements?settled=1").text


def test_causes_are_added_renamed_and_split(ann: FlaskClient) -> None:
    save(ann, place(ann.get("/labels").text), cause="extra-closing")
    assert ann.post("/labels/causes", data={"name": "mine", "group": "braces"}).status_code == 303
    assert ann.post("/labels/causes", data={"name": "mine"}).status_code == 422
    assert ann.post("/labels/causes", data={"name": "extra-closing", "into": "mine"}).status_code == 303
    assert labels(ann)[0]["cause"] == "mine" and "holds extra-closing" in ann.get("/labels/causes").text
    ann.post("/labels/causes", data={"name": "extra-closing", "split": "1"})
    assert labels(ann)[0]["cause"] == "extra-closing"
    page = " ".join(re.sub("<[^>]+>", " ", ann.get("/labels/causes").text).split())
    assert "mine added" in page and "extra-closing 1 label Rename" in page


def test_a_label_of_another_revision_can_be_taken_over(ann: FlaskClient, post: Post) -> None:
    at = place(ann.get("/labels").text)
    save(ann, at, "spurious", note="said before")
    post(session("s1", "another past", FOUR))
    page = ann.get("/sessions/s1/turns/1").text
    assert "revision 1" in page
    link = re.search(r'href="(/labels\?[^"]*carry=1)"', page)
    assert link
    taken = ann.get(link[1].replace("&amp;", "&")).text
    assert "said before" in taken and 'value="spurious" checked' in taken


def test_queues_that_cannot_be_meant_are_refused(ann: FlaskClient) -> None:
    samples = [f"queue=sample&{told}" for told in ("size=x", "size=-1", "size=99999", "seed=one")]
    for query in ("queue=x", *samples, "at=nothing.0", "queue=view&view=label%3Dx"):
        assert ann.get(f"/labels?{query}").status_code in (400, 404), query
    assert "This queue is empty" in ann.get("/labels?queue=view&view=model%3Dnobody").text


EMPTY = (
    ("queue=failed", "No stored response failed", "/homes"),
    ("queue=one-per-group", "No stored response failed", "/homes"),
    ("queue=disagree", "An import runs yours and", "/profiles"),
    ("queue=silent", "there is nothing to compare", "/homes"),
    ("queue=view&view=model%3Dnobody", "these filters leave", "/sessions?model=nobody"),
    ("ids=nothing", "they were deleted", "/dumps"),
)


def test_an_empty_queue_says_why_and_what_to_do(client: FlaskClient) -> None:
    named(client, "ann")
    for query, why, link in EMPTY:
        _, _, empty = client.get(f"/labels?{query}").text.partition("This queue is empty")
        assert why in " ".join(re.sub("<[^>]+>", "", empty).split()) and f'href="{link}"' in empty, query


def test_the_end_of_a_queue_that_holds_not_all_says_so(ann: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    save(ann, place(ann.get("/labels").text), like="1")
    save(ann, place(ann.get("/labels").text))
    for most, said in ((3, "all 3 responses of this queue."), (2, "all 2 responses of this queue that were found")):
        monkeypatch.setattr("webapp.store.labels.queue.MOST", most)
        page = " ".join(ann.get("/labels").text.split())
        assert "Nothing left" in page and said in page


def test_a_sample_is_drawn_by_a_post_and_by_no_link(app: Flask, ann: FlaskClient) -> None:
    query = "queue=sample&size=2&seed=4"
    before = stored_rows(app)
    asked = ann.get(f"/labels?{query}")
    assert asked.status_code == 200 and "not drawn yet" in asked.text
    assert ann.get(f"/labels/progress?{query}").status_code == 404
    assert ann.get(f"/labels/export?{query}").status_code == 400
    assert stored_rows(app) == before
    refused = ann.post("/labels/draw", data={"queue": "sample", "size": "999999", "seed": "4"})
    assert "must be a whole number" in refused.text and stored_rows(app) == before
    drawn = ann.post("/labels/draw", data={"queue": "sample", "size": "2", "seed": "4"})
    assert drawn.status_code == 303
    assert stored_rows(app)["saved_item"] == before["saved_item"] + 1
    complete = stored_rows(app)
    assert place(ann.get(drawn.headers["Location"]).text) and place(ann.get(f"/labels?{query}").text)
    assert ann.get(f"/labels/export?{query}").status_code == 200
    assert stored_rows(app) == complete


def stored_rows(app: Flask) -> dict[str, int]:
    with app.app_context(), db.engine.connect() as connection:
        tables = Base.metadata.tables.values()
        return {table.name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0 for table in tables}


def test_the_labels_of_a_selection_are_exported(ann: FlaskClient) -> None:
    key = place(ann.get("/labels").text).rpartition(".")[0]
    asked = ann.post("/selection/export", data={"ids": key})
    assert "1 chosen session" in ann.get(asked.headers["Location"]).text
    assert "queue: failed" in ann.get("/labels/export?queue=failed").text


def test_the_api_takes_what_is_expected(ann: FlaskClient) -> None:
    url = "/api/session/s1/turns/0/label"
    body = {"judgement": "wrong", "expects": "several", "expected_values": [1, 2], "author": "api"}
    assert ann.put(url, json=body).json["label"]["expected_values"] == [1, 2]
    none = body | {"judgement": "right", "expects": "none"}
    assert ann.put(url, json=none).json["label"]["expects"] == "none"
    for bad in ({"expects": "none"}, {"expects": "x"}, {"expects": "one"}, {"expected_values": 1}, {"cause": 7}):
        assert ann.put(url, json=body | bad).status_code == 422, bad
    assert ann.put(url, json=body | {"seen": ""}).status_code == 409
    made_at = ann.put(url, json=none).json["label"]["made_at"]
    same_time = made_at.replace("+00:00", "Z")
    assert same_time != made_at and ann.put(url, json=body | {"seen": same_time}).status_code == 200
    assert ann.put(url, json=none | {"seen": same_time}).status_code == 409


def test_a_turn_asks_for_the_name_instead_of_taking_that_of_the_server(client: FlaskClient, stored: None) -> None:
    field = re.search(r'<input name="author"[^>]*>', client.get("/sessions/s1/turns/0").text)
    assert field and 'value=""' in field[0] and "required" in field[0]
    refused = client.post("/sessions/s1/turns/0/label", data={"judgement": "missed", "seen": "", "author": ""})
    assert refused.status_code == 422 and labels(client) == []
    client.post("/sessions/s1/turns/0/label", data={"judgement": "missed", "seen": "", "author": "ann"})
    assert [label["author"] for label in labels(client)] == ["ann"]
    assert 'value="ann"' in client.get("/sessions/s1/turns/0").text


def test_the_queue_says_whether_your_parser_returned_a_value(ann: FlaskClient) -> None:
    assert re.search(r"<code>[\w-]+</code> returned\s+(a|no) value, which is", ann.get("/labels?queue=failed").text)


@pytest.fixture
def card(client: FlaskClient, post: Post) -> dict[str, str]:
    """The form of a response that your parser, `direct`, does not read and `fencepost` does."""
    body = json.dumps({"id": "card", "messages": [{"role": "assistant", "content": '{"a": 1,}'}]}).encode()
    assert post(body, home="direct").status_code == 201
    page = named(client, "ada").get("/labels?queue=failed").text
    assert 'name="pick" value="fencepost"' in page or 'data-key="1"' in page
    return {"queue": "failed", "at": place(page), "judgement": "wrong", "seen": ""}


@pytest.mark.parametrize(
    ("pick", "judgement", "expects"),
    [("fencepost", "missed", "one"), ("none", "right", "none"), ("unknown", "unsure", "unknown")],
)
def test_a_card_saves_its_value_and_the_judgement_follows(
    client: FlaskClient, card: dict[str, str], pick: str, judgement: str, expects: str
) -> None:
    assert client.post("/labels", data=card | {"pick": pick}).status_code == 303
    (label,) = labels(client)
    assert (label["judgement"], label["expects"], label["author"]) == (judgement, expects, "ada")


def test_a_card_that_reads_nothing_is_refused(client: FlaskClient, card: dict[str, str]) -> None:
    assert client.post("/labels", data=card | {"pick": "direct"}).status_code == 422


BRACES = '```json\n{"tool": "run", "arguments": {}}}}\n```'
MEANT = {"tool": "run", "arguments": {}}


def test_one_key_at_the_median_makes_the_right_label(shared: Path, tmp_path: Path) -> None:
    fifth = (shared / "cases" / "extraction.jsonl").read_text("utf-8").splitlines(keepends=True)[::5]
    (tmp_path / "extraction.jsonl").write_text("".join(fifth), "utf-8")
    keys = label_keys.of_cases([tmp_path / "extraction.jsonl"])
    assert len(keys) > 100
    told = label_keys.summary(keys)
    assert told["median"] == 1 and told["two or fewer"] > 0.85


@pytest.mark.parametrize(("meant", "keys"), [([MEANT], 1), ([], 1), ([7], 2 + len("7"))])
def test_keys_are_those_of_the_right_judgement_and_value(meant: list[object], keys: int) -> None:
    form = label_keys.form(label_keys.parsed(BRACES), "windlass-strict")
    assert form.fields.judgement == "missed" and form.keys([meant]) == keys and form.least() == 1


def test_without_an_offer_there_is_no_small_number() -> None:
    form = label_keys.form(label_keys.parsed("hello"), "windlass-strict", "no tool call")
    assert form.fields.judgement == "missed" and form.least() == label_keys.NO_OFFER
    told = label_keys.summary([1, label_keys.NO_OFFER, label_keys.NO_OFFER])
    assert told["median"] is None and told["keys"] == {"1": 1, "no offer": 2}
