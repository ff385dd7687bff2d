"""The statistics page: the numbers in words, tables and bars, all of them links to the responses behind."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from flask.testing import FlaskClient

from tests.web.test_list import BAD, Links, session
from webapp.store.sessions.filters import Filters
from webapp.store.statistics.report import Bucket, Entry
from webapp.web import charts
from webapp.web.patterns import NOW

Post = Callable[..., Any]


def entry(value: str, count: int, of: int = 10) -> Entry:
    return Entry(value, count, of, 1, Filters())


def test_bars_fill_the_line_in_order_and_leave_out_zeros() -> None:
    bars = charts.stacked([entry("clean", 3), entry("failed", 0), entry("none", 1)])
    assert [(bar.entry.value, bar.x, bar.width) for bar in bars] == [("clean", "0", "75"), ("none", "75", "25")]
    assert [bar.width for bar in charts.stacked([entry("clean", 3)], 12)] == ["25"]
    assert charts.stacked([]) == []


def test_columns_are_as_high_as_the_fullest() -> None:
    full = Bucket(NOW, NOW, 1, 4, 0, 0, [entry("clean", 3), entry("none", 1)], Filters())
    half = Bucket(NOW, NOW, 1, 2, 0, 0, [entry("clean", 2)], Filters())
    (_, first), (_, second) = charts.columns([full, half])
    assert [(bar.y, bar.height) for bar in first] == [("25", "75"), ("0", "25")]
    assert [(bar.y, bar.height) for bar in second] == [("50", "50")]
    assert not list(charts.columns([])) and charts.most_responses([full, half]) == 4


def test_times_have_units() -> None:
    assert [charts.microseconds(n) for n in (37, 1_200, 340_000, 3_400_000)] == ["37 µs", "1.2 ms", "340 ms", "3.4 s"]


def test_an_empty_store_says_so(client: FlaskClient) -> None:
    assert "No response to count" in client.get("/statistics").text


def test_what_is_counted_is_said_and_every_link_leads_somewhere(client: FlaskClient, post: Post) -> None:
    for made in (session("bad", BAD, "{}", model="one"), session("good", '{"a": 1,}', "{}", model="other")):
        assert post(json.dumps(made).encode()).status_code == 201
    page = client.get("/statistics").text
    assert "2 sessions</b></a> with" in page and ">4 responses</a>" in page and "1 failed</b>" in page
    for name in ("over-time", "strategies", "profiles", "models", "errors", "repairs", "timings"):
        assert f'<h2 id="{name}">' in page, name
    for link in {link for link in Links(page).found if link.startswith(("/sessions?", "/responses"))}:
        assert client.get(link).status_code == 200, link


def test_it_stands_under_the_lists_filters(client: FlaskClient, post: Post) -> None:
    for made in (session("bad", BAD, model="one"), session("good", "{}", model="other")):
        assert post(json.dumps(made).encode()).status_code == 201
    page = client.get("/statistics?model=other").text
    assert "1 session</b></a> with" in page and ">1 response</a>" in page and "1 session hidden by filters" in page
    assert re.search(r'id="chip-model" href="/statistics"', page)
    part = client.get("/statistics?model=other", headers={"HX-Request-Type": "partial"}).text
    assert part.lstrip().startswith('<div id="list"') and "<html" not in part


def test_a_number_leads_to_just_the_responses_that_it_counts(client: FlaskClient, post: Post) -> None:
    for made in (session("bad", BAD), session("worse", BAD, "{}", BAD, model="m"), session("good", "{}")):
        assert post(json.dumps(made).encode()).status_code == 201
    page = client.get("/statistics").text
    links = set(re.findall(r'<a href="(/responses[^"]+)"[^>]*?aria-label="([\d,]+) [^"]*, show the responses"', page))
    assert len(links) > 8
    for link, number in links:
        answer = client.get("/api" + link.replace("&amp;", "&")).get_json()
        assert (answer["total"], len(answer["responses"]), answer["at_least"]) == (int(number), int(number), False), (
            link
        )
    failing = re.search(r'href="([^"]+)"><b class="bad">(\d+) failed', page)
    assert failing is None or client.get("/api" + failing[1]).get_json()["total"] == int(failing[2])


def test_zombies_are_counted_by_model_and_round_with_their_rate(client: FlaskClient) -> None:
    assert 'id="zombies"' not in client.get("/statistics").text
    client.post("/guide/examples")
    table = client.get("/statistics").text.partition('id="zombies"')[2].partition("</table>")[0]
    (row,) = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in table.split("<tr>")[2:]]
    assert re.fullmatch(r"gemini 2 1 1 100 % \(21–100\)", row), row
