"""The list of responses as a page and as JSON: rows, filters, pages, what was not run, hostile text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from flask.testing import FlaskClient

from tests.web.pages import session
from tests.web.test_list import BAD

Post = Callable[..., Any]
HOSTILE = '<script>alert(1)</script> {"a": 1}'


def test_an_empty_store_says_so(client: FlaskClient) -> None:
    assert "Nothing here yet" in client.get("/responses").text
    assert client.get("/api/responses").get_json()["total"] == 0


def test_the_page_lists_responses_under_the_lists_filters(client: FlaskClient, post: Post) -> None:
    for made in (session("mixed", BAD, HOSTILE, model="one"), session("good", "{}", model="other")):
        assert post(made).status_code == 201
    page = client.get("/responses").text
    assert "<b>3 responses</b>" in page and "<script>alert" not in page and "&lt;script&gt;alert(1)" in page
    assert 'href="/sessions/mixed/turns/1"' in page and ">Responses</a>" in page
    page = client.get("/responses?verdict=clean&under=fencepost").text
    assert (
        "<b>1 response</b>" in page and "of 3." in page and "/sessions/good" in page and "/sessions/mixed" not in page
    )
    assert "No response matches" in client.get("/responses?model=one&verdict=clean&under=fencepost").text
    part = client.get("/responses?model=one", headers={"HX-Request-Type": "partial"}).text
    assert part.lstrip().startswith('<div id="list"') and "<html" not in part
    assert client.get("/responses?verdict=nonsense").status_code == 400
    assert client.get("/responses?after=nonsense").status_code == 400


def test_a_value_that_may_be_another_says_where(client: FlaskClient, post: Post) -> None:
    assert post(session("s", '{"a": 1} {"b": 2}', "{}")).status_code == 201
    both = "one of several values at 0–8; one of several values at 9–17"
    assert client.get("/responses?under=fencepost").text.count(both) == 1
    several, plain = client.get("/api/responses?under=fencepost").get_json()["responses"]
    spans = [{"flag": "several_values", "span": span} for span in ([0, 8], [9, 17])]
    assert (several["flags"], plain["flags"]) == (spans, [])


def test_pages_follow_each_other_by_cursor(client: FlaskClient, post: Post) -> None:
    assert post(session("s", *["{}"] * 5)).status_code == 201
    first = client.get("/api/responses?limit=2").get_json()
    rest = client.get(f"/api/responses?limit=3&after={first['next']}").get_json()
    seen = {line["position"] for line in (*first["responses"], *rest["responses"])}
    assert seen == set(range(5)) and (rest["next"], rest["total"]) == (None, 5)
    rows = client.get(f"/responses?limit=2&after={first['next']}", headers={"HX-Request-Type": "partial"}).text
    assert rows.lstrip().startswith("<tr") and "More responses" in rows


def test_what_was_not_run_is_no_number(client: FlaskClient, post: Post) -> None:
    assert post(session("s", "{}")).status_code == 201
    page = client.get("/responses?under=langchain&verdict=failed").text
    assert "response count unknown" in page and "Run it over these" in page and "0 responses</b>" not in page
    answer = client.get("/api/responses?under=langchain&verdict=failed").get_json()
    assert answer["total"] is None and answer["under"]["run"] == 0
    assert "<b>not run</b>" in client.get("/responses?under=langchain").text
    (line,) = client.get("/api/responses?under=langchain").get_json()["responses"]
    assert line["verdicts"] == {"home": "none", "fencepost": "clean", "langchain": None}


def test_zombies_are_counted_by_model_and_round_with_their_rate(client: FlaskClient) -> None:
    assert 'id="zombies"' not in client.get("/responses?by=model").text
    client.post("/guide/examples")
    table = client.get("/responses?by=model").text.partition('id="zombies"')[2].partition("</table>")[0]
    (row,) = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in table.split("<tr>")[2:]]
    assert re.fullmatch(r"gemini 2 1 1 100 % \(21–100\)", row), row


def test_strategies_have_shares_and_what_failed_in_production_is_called_so(client: FlaskClient, post: Post) -> None:
    post(session("s", '{"a": 1}', "Sure: {}", "{'a': 1}", "{'a': 2}"))
    table = client.get("/responses?by=strategy&under=fencepost").text.partition('<table class="by"')[2]
    head, *rows = [
        " ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in table.partition("</table>")[0].split("<tr>")[1:]
    ]
    assert head.startswith("Strategy that won Responses Failed in production Rate")
    assert sum(int(re.search(r"(\d+) %? ?[\d,]+ µs$", row)[1]) for row in rows) == 100, rows  # type: ignore[index]
