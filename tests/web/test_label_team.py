"""Labels of several people: what a form starts with, blind queues, and queues that are limited, held and split."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web.test_labels import FOUR, labels, named, place, save, stored  # noqa: F401 -- a fixture

Post = Callable[..., Any]
LONG = 200


@pytest.fixture
def ann(client: FlaskClient, stored: None) -> FlaskClient:  # noqa: F811
    return named(client, "ann")


@pytest.fixture
def bob(app: Flask, ann: FlaskClient) -> FlaskClient:
    return named(app.test_client(), "bob")


def test_a_failed_response_starts_as_missed_with_the_cause_that_its_repair_names(ann: FlaskClient) -> None:
    page = ann.get("/labels").text
    assert 'value="missed" checked' in " ".join(page.split())
    assert 'name="cause" list="causes" value="extra-closing"' in " ".join(page.split())


def test_one_key_accepts_what_all_profiles_agree_on(ann: FlaskClient) -> None:
    page = ann.get("/labels").text
    assert 'name="accept"' in page and 'data-key="a"' in page
    assert save(ann, place(page), "", accept="1").status_code == 303
    (label,) = labels(ann)
    assert label["judgement"] == "missed" and label["expected"]["tool"] == "run_code"
    assert "1 taken from" in " ".join(ann.get("/profiles").text.split())


@pytest.mark.parametrize("spelling", ["Extra closing", "extra_closing", " EXTRA-CLOSING "])
def test_a_known_cause_has_one_spelling(ann: FlaskClient, spelling: str) -> None:
    save(ann, place(ann.get("/labels").text), cause=spelling)
    assert labels(ann)[0]["cause"] == "extra-closing"


def test_a_blind_queue_shows_no_value_and_derives_the_judgement(ann: FlaskClient) -> None:
    page = ann.get("/labels?blind=1").text
    assert "no profile&#39;s value" in page or "no profile's value" in page
    assert 'name="judgement"' not in page and "use as expected" not in page and "<del" not in page
    at = place(page)
    answer = ann.post("/labels", data={"queue": "failed", "blind": "1", "at": at, "seen": ""})
    assert answer.status_code == 422 and "give the expected value" in answer.text
    checked = ann.post("/labels/check", data={"queue": "failed", "blind": "1", "at": at, "expected": "{}"})
    assert "fencepost" not in checked.text
    given = {"queue": "failed", "blind": "1", "at": at, "seen": "", "expects": "value", "expected": '{"a": 1}'}
    assert ann.post("/labels", data=given).headers["Location"].startswith("/labels?queue=failed&blind=1")
    assert labels(ann)[0]["judgement"] == "missed"
    assert "1 from blind labels" in " ".join(ann.get("/profiles").text.split())


def test_a_response_that_somebody_holds_or_labelled_is_not_given_to_another(ann: FlaskClient, bob: FlaskClient) -> None:
    url = "/labels?queue=failed&each=1"
    first = place(page := ann.get(url).text)
    assert place(bob.get(url).text) == first and 'hx-post="/labels/hold?' in page
    assert ann.post("/labels/hold", data={"queue": "failed", "each": "1", "at": first}).status_code == 204
    second = place(bob.get(url).text)
    assert first != second and place(ann.get(url).text) == first
    save(ann, first, each="1")
    assert place(bob.get(url).text) == second
    both = "/labels?queue=failed&each=2"
    assert place(bob.get(both).text) == first


def test_a_queue_is_split_among_people_and_given_back(ann: FlaskClient, bob: FlaskClient) -> None:
    ann.get("/labels")
    assert ann.post("/labels/assign", data={"queue": "failed", "people": "ann, bob"}).status_code == 303
    mine, theirs = place(ann.get("/labels").text), place(bob.get("/labels").text)
    assert mine != theirs
    assert "bob 0 of" in ann.get("/labels").text
    assert ann.post("/labels/assign", data={"queue": "failed", "people": "x" * LONG + "y"}).status_code == 400
    ann.post("/labels/assign", data={"queue": "failed", "people": ""})
    assert place(ann.get("/labels").text) == place(bob.get("/labels").text)


def test_the_prompt_before_and_the_turn_after_stand_beside_the_response(client: FlaskClient, post: Post) -> None:
    messages = [{"role": "user", "content": "say JSON"}, {"role": "assistant", "content": FOUR}]
    body = json.dumps({"messages": [*messages, {"role": "user", "content": "the turn after"}]}).encode()
    assert post(body, "around.json").status_code == 201
    page = named(client, "ann").get("/labels?queue=view&view=").text
    assert "the turn after" in page and 'class="near before"' in page and "say JSON" in page


def test_the_name_field_is_empty_at_first(client: FlaskClient) -> None:
    assert 'name="name" value=""' in client.get("/labels/name").text


def test_what_is_assigned_is_said_counted_and_undone(ann: FlaskClient, bob: FlaskClient) -> None:
    answer = ann.post("/labels/assign", data={"queue": "failed", "people": "bob"}, follow_redirects=True)
    assert "newly assigned" in answer.text and "assigned to you" not in progress_of(answer.text)
    page = bob.get("/labels?assigned=bob").text
    assert "Assigned to bob by ann" in " ".join(page.split()) and "assigned to you" in progress_of(page)
    assert "<b>0</b> of" in progress_of(page)
    save(bob, place(page))
    assert "<b>1</b> of" in progress_of(bob.get("/labels").text)
    ann.post("/labels/undo", data={"queue": "failed"})
    assert "assigned to you" not in progress_of(bob.get("/labels").text)
    assert "This queue is empty" in bob.get("/labels?assigned=bob").text
    assert bob.get("/labels?queue=assigned").status_code == 400


def progress_of(page: str) -> str:
    return page.partition('id="progress"')[2].partition("</p>")[0]


def test_a_label_is_accepted_or_returned_by_somebody_else(ann: FlaskClient, bob: FlaskClient) -> None:
    save(ann, place(ann.get("/labels").text))
    assert "No label to review" in ann.get("/labels/review").text
    page = bob.get("/labels/review").text
    assert "not reviewed" in page and 'data-key="a"' in page and "windlass-strict" in page
    form = {name: page.partition(f'name="{name}" value="')[2].partition('"')[0] for name in ("label", "seen")}
    refused = bob.post("/labels/review", data={**form, "state": "returned", "note": " "})
    assert refused.status_code == 422 and "write a note" in refused.text
    own = ann.post("/labels/review", data={**form, "state": "reviewed"})
    assert own.status_code == 422 and "This is your label" in own.text
    answer = bob.post("/labels/review", data={**form, "state": "returned", "note": "which brace?"})
    assert answer.status_code == 303
    (label,) = labels(ann)
    assert (label["review"]["state"], label["review"]["by"], label["review"]["note"]) == (
        "returned",
        "bob",
        "which brace?",
    )
    page = ann.get("/labels").text
    assert "1 returned to you" in " ".join(page.split()) and "returned by bob" in page and "which brace?" in page
    listed = ann.get("/labels/list?review=returned").text
    assert "returned by bob" in listed and "No label matches" in ann.get("/labels/list?review=reviewed").text
    assert bob.post("/labels/undo", data={"review": "1"}).headers["Location"] == "/labels/review?undone=1"
    assert labels(ann)[0]["review"]["state"] == "not reviewed"
    assert bob.get("/labels/review?label=99").status_code == 404


def test_the_turn_of_a_label_that_nobody_reviewed_says_so(ann: FlaskClient) -> None:
    save(ann, place(ann.get("/labels").text))
    listed = ann.get("/labels/list").text
    assert (
        "not reviewed" in listed and "not reviewed" in ann.get(f"/sessions/s1/turns/{labels(ann)[0]['position']}").text
    )


def test_the_review_shows_lines_as_lines(ann: FlaskClient, bob: FlaskClient) -> None:
    save(ann, place(ann.get("/labels").text))
    assert "↵" not in bob.get("/labels/review").text
