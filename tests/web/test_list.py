"""The session list's HTML: links, chips, facets, sizes, selection and views, hostile texts included."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web.pages import attributes, session
from webapp.store.sessions.overview import Cell
from webapp.web.sessions.outcome_marks import (
    CELLS,
    cell_words,
    failures,
    gravest,
    marks,
    marks_in_words,
    responses_per_mark,
    shade,
)

Post = Callable[..., Any]
STATIC = Path(__file__).resolve().parents[2] / "static"
PARTIAL = {"HX-Request-Type": "partial"}
BAD = 'I will run it.\n\n```json\n{"tool": "run_code", "arguments": {"code": "print(1)"}}}}\n```\n'


@pytest.fixture
def bring(post: Post) -> Callable[..., None]:
    def bring(*args: Any, **options: Any) -> None:
        assert post(session(*args, **options)).status_code == 201

    return bring


def links_of(page: str) -> list[str]:
    return [value for name, value in attributes(page) if name in ("href", "action", "src", "formaction")]


def keys(client: FlaskClient) -> dict[str, str]:
    return {line["id"]: line["key"] for line in client.get("/api/sessions").json["sessions"]}


def test_each_session_is_a_row_with_its_failures_counted(client: FlaskClient, bring: Callable[..., None]) -> None:
    bring("bad", BAD, "{}")
    bring("good", "{}")
    page = client.get("/sessions").text
    assert page.index("/sessions/bad") < page.index("/sessions/good")
    assert re.search(r'id="s-\w+" class="failed"', page)
    assert "1 of 2 responses failed" in page


def test_filters_are_said_and_what_they_hide_is_counted(client: FlaskClient, bring: Callable[..., None]) -> None:
    bring("bad", BAD, model="one")
    bring("good", "{}", model="other")
    page = client.get("/sessions?failed=1&model=one&sort=time").text
    assert "1 session</b>, 1 hidden by filters" in page
    assert 'id="chip-failed" href="/sessions?model=one&amp;sort=time"' in page
    assert 'id="chip-model" href="/sessions?failed=1&amp;sort=time"' in page
    assert 'aria-sort="descending"><a href="/sessions?failed=1&amp;model=one">When' in page
    more = page[page.index('id="facet-more"') :].partition("</form>")[0]
    for kept in ('name="failed" value="1"', 'name="model" value="one"', 'name="failures"'):
        assert kept in more, "what the form sends beside what is typed into it"
    assert 'id="chip-failures"' in client.get("/sessions?failures=5").text


def test_htmx_gets_the_list_alone_and_rows_alone(client: FlaskClient, bring: Callable[..., None]) -> None:
    for number in range(3):
        bring(f"s{number}", "{}")
    part = client.get("/sessions", headers=PARTIAL).text
    assert part.lstrip().startswith('<div id="list"') and "<html" not in part
    following = client.get("/api/sessions?limit=2").json["next"]
    rows = client.get(f"/sessions?limit=2&after={following}", headers=PARTIAL).text
    assert rows.count("<tr") == 1 and "<table" not in rows


def test_a_filter_that_cannot_be_meant_is_refused_in_words(client: FlaskClient) -> None:
    for query in ("verdict=odd", "since=soon", "failures=many", "sort=size", "after=x"):
        answer = client.get(f"/sessions?{query}")
        assert answer.status_code == 400 and "Refused" in answer.text, query
    part = client.get("/sessions?verdict=odd", headers=PARTIAL)
    assert part.status_code == 400 and part.headers["HX-Retarget"] == "#messages"
    assert part.text.startswith('<p class="message bad">')


def test_fifty_long_hostile_rows_stay_under_a_hundred_kilobytes(client: FlaskClient, post: Post) -> None:
    texts = ["{}", "{]", "no json", '{"a": 1,}'] * 15
    said = [{"role": "assistant", "content": text} for text in texts]
    lines = [
        {"id": f"<script>/{number}/764686752e2f-290d98ad0e68", "model": f"model-{number % 30}", "messages": said}
        for number in range(50)
    ]
    assert post("\n".join(map(json.dumps, lines)).encode(), "many.jsonl", home="direct").status_code == 201
    page = client.get("/sessions?limit=50").text
    assert page.count('<tr id="s-') == 50 and "<script>0" not in page
    assert len(page.encode()) <= 100_000


def test_a_strip_shows_every_response_or_says_how_many_a_mark_stands_for(
    client: FlaskClient, bring: Callable[..., None]
) -> None:
    bring("short", "{}", "x", BAD)
    bring("long", *["{}"] * 150, BAD, *["{}"] * 50)
    page = client.get("/sessions").text
    letters = {line["id"]: line["strip"] for line in client.get("/api/sessions").json["sessions"]}["short"]
    assert len(letters) == 3 and f'data-of="3">{marks(letters)}</a>' in page
    assert "7 responses per mark" in page and 'data-each="7" data-of="201"' in page


def test_a_mark_takes_the_gravest_letter() -> None:
    assert [responses_per_mark("c" * length, 3) for length in (0, 3, 4, 6, 7)] == [1, 1, 2, 2, 3]
    assert responses_per_mark("c" * CELLS) == 1 and marks("ccnr", 2) == "<i class=c></i><i class=r></i>"
    assert (gravest("ccsf"), gravest("nc"), gravest("")) == (3, 1, 0)
    assert marks_in_words("cfc") == "1 failed, 2 clean" and marks_in_words("") == "none"


def test_marks_for_several_responses_are_shaded_by_the_share_that_failed() -> None:
    letters = "c" * 200 + "f" + "c" * 199 + "fs" * 100 + "r" + "c" * 199
    assert failures(letters, 200) == [0, 1, 200, 0]
    assert marks(letters, 200) == "<i class=c></i><i class=q1></i><i class=q5></i><i class=r></i>"
    assert [shade(failed, 100) for failed in (0, 1, 2, 5, 6, 20, 21, 50, 51, 100)] == [0, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_a_mark_of_the_map_says_how_many_failed_of_how_many() -> None:
    cell = Cell(0, 416, "c" * 388 + "fs" * 6)
    assert cell_words(cell) == "turns 0–416: 12 of 400 responses failed, 3 %"
    assert cell_words(cell, True) == "turns 0–416: 12 of 400 responses recorded failures, 3 %"
    assert cell_words(Cell(3, 3, "")) == "turn 3"
    assert cell_words(Cell(3, 3, "f")) == "turn 3: failed"
    assert cell_words(Cell(3, 3, "e"), True) == "turn 3: JSON inside other text"


def test_every_link_of_the_list_leads_somewhere(client: FlaskClient, bring: Callable[..., None]) -> None:
    bring("a/b ?#&", BAD, "{}")
    bring("plain", BAD)
    links = links_of(client.get("/sessions?failed=1&q=call").text)
    for link in {link for link in links if link and not link.startswith(("#", "/selection", "/views", "/static"))}:
        assert client.get(link).status_code in (200, 302), link


def test_a_long_facet_is_cut_and_opens_by_its_address(client: FlaskClient, bring: Callable[..., None]) -> None:
    for number in range(12):
        bring(f"s{number}", "{}", model=f"model-{number:02}")
    short, whole = client.get("/sessions").text, client.get("/sessions?more=model").text
    assert "4 more</a>" in short and "model-11" not in short.split("<table")[0]
    assert "model-11" in whole.split("<table")[0] and "data-narrow" in whole
    chosen = client.get("/sessions?model=model-11").text
    assert 'aria-current="true"' in chosen.split('id="facet-model"')[1].split("</details>")[0]


def test_the_selection_comes_as_one_zip_with_a_name_each(client: FlaskClient, bring: Callable[..., None]) -> None:
    names = ["A", "a", "../up", "CON", "a/b"]
    for name in names:
        bring(name, BAD)
    answer = client.post("/selection/dumps", data={"ids": list(keys(client).values())})
    assert answer.mimetype == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.data)) as archive:
        files = archive.namelist()
        assert len({name.lower() for name in files}) == 5 and not any("/" in name or ".." in name for name in files)
        assert sorted(json.loads(archive.read(name))["session_id"] for name in files) == sorted(names)


def test_deleted_sessions_are_gone_until_undone(client: FlaskClient, bring: Callable[..., None]) -> None:
    bring("one", BAD)
    bring("two", BAD)
    chosen = keys(client)["one"]
    asked = client.post("/selection/delete", data={"ids": [chosen]})
    assert "Delete 1 session?" in asked.text and len(keys(client)) == 2
    page = client.post("/selection/deleted", data={"ids": [chosen]}, follow_redirects=True).text
    assert set(keys(client)) == {"two"} and client.get("/sessions/one").status_code == 404
    batch = re.search(r'name="batch" value="([^"]+)"', page)
    assert batch
    client.post("/selection/undo", data={"batch": batch[1]})
    assert set(keys(client)) == {"one", "two"}
    assert client.post("/selection/undo", data={"batch": "x"}).status_code == 400


def test_nothing_selected_is_refused(client: FlaskClient) -> None:
    for path in ("/selection/dumps", "/selection/label", "/selection/delete"):
        assert client.post(path, data={"ids": "nobody"}).status_code == 404
    assert client.get("/selection/compare").status_code == 404


def test_compared_sessions_part_where_their_texts_do(client: FlaskClient, bring: Callable[..., None]) -> None:
    bring("one", "same", "{}", "end")
    bring("two", "same", BAD)
    bring("three", "same", BAD)
    ids = keys(client)
    page = client.get("/selection/compare", query_string={"ids": [ids["one"], ids["two"], ids["three"]]}).text
    assert "turn 1 of the other" in page and "/sessions/two/turns/1" in page
    assert "none: all 2 turns are the same" in page


def test_a_view_is_saved_under_a_name_and_removed(client: FlaskClient) -> None:
    query = "failed=1&sort=failures"
    page = client.post("/views", data={"name": "worst", "query": query}, follow_redirects=True).text
    assert (
        "Saved as worst" in page and f'href="/sessions?{query.replace("&", "&amp;")}" aria-current="true">worst' in page
    )
    found = re.search(r"/views/(\d+)/remove", page)
    assert found
    again = client.post("/views", data={"name": "worst", "query": query}, follow_redirects=True).text
    assert "Saved as worst, in place of the one that" in again
    late = {"name": "worst", "query": "failed=1", "seen": "2026-01-01T00:00:00+00:00"}
    assert "another view of that name in the meantime" in client.post("/views", data=late, follow_redirects=True).text
    assert f'href="/sessions?{query.replace("&", "&amp;")}"' in client.get("/sessions").text, "kept"
    assert "Removed the view worst, which" in client.post(f"/views/{found[1]}/remove", follow_redirects=True).text
    unseen = client.post("/views", data={"name": "wor\u3164st", "query": ""}, follow_redirects=True)
    assert "Not saved" in unseen.text
    refused = client.post("/views", data={"name": "\n", "query": ""}, follow_redirects=True)
    assert "Not saved" in refused.text


def test_no_page_loads_more_than_sixty_kilobytes_of_our_css_and_javascript(
    client: FlaskClient, bring: Callable[..., None]
) -> None:
    bring("s", BAD)
    for path in ("/", "/sessions", "/responses", "/selection/compare", "/sessions/s", "/sessions/s/turns/0"):
        query = {"ids": keys(client).values()} if path == "/selection/compare" else {}
        page = client.get(path, query_string=query).text
        own = {link.partition("?")[0] for link in links_of(page) if re.match(r"/static/[^/]+\.(css|js)", link)}
        sizes = {name: (STATIC.parent / name.lstrip("/")).stat().st_size for name in own}
        assert sizes and sum(sizes.values()) <= 60_000, (path, sizes)


def test_answers_read_by_names_are_said_to_be(client: FlaskClient) -> None:
    body = json.dumps({"llm_output": "This is what it said.", "bot_reply": "And this is more of it."})
    problems = client.post("/api/dumps?filename=a.json", data=body).json["problems"]
    said = "no known shape: answers are read by the names `llm_output` (1), `bot_reply` (1); else use --map raw=…"
    assert said in [problem["reason"] for problem in problems]
    assert "2 read by name" in client.get("/sessions").text


def test_old_addresses_lead_to_the_rooms_with_their_query(make: Callable[..., Flask], client: FlaskClient) -> None:
    assert client.get("/failures").location == "/"
    answer = make(prefix="/tools").test_client().get("/tools/failures?q=a%20b&x=%C3%A9")
    assert (answer.status_code, answer.location) == (302, "/tools/?q=a+b&x=%C3%A9")


def test_every_room_keeps_the_window_and_the_parser(client: FlaskClient) -> None:
    query = "since=2026-11-01&under=direct"
    page = client.get(f"/labels/name?{query}").text
    kept = query.replace("&", "&amp;")
    for room in ("/", "/sessions", "/labels", "/profiles", "/dumps"):
        assert f'href="{room}?{kept}"' in page, room
    assert "since 2026-11-01" in page and "json.loads</summary>" in page


def test_a_parser_that_is_not_there_is_said_in_every_room_with_a_way_out(client: FlaskClient, post: Post) -> None:
    post(b'{"messages": [{"role": "assistant", "content": "{"}]}')
    for room in ("/?", "/sessions?", "/responses?", "/responses?by=model&", "/labels/list?", "/profiles?"):
        page = client.get(f"{room}under=%3Cnope%3E&since=2026-01-01").text
        assert "No parser is called <code>&lt;nope&gt;</code> here" in page, room
        form = page.partition('<form class="guide"')[2].partition("</form>")[0]
        assert "Read as your parser" in form and 'name="since"' in form and 'name="under"' not in form, room
        assert "/profiles/%3Cnope%3E" not in page, room
        assert "No parser is called" not in client.get(f"{room}under=fencepost").text, room


def test_sessions_say_whose_failures_they_show(client: FlaskClient, post: Post) -> None:
    post(b'{"messages": [{"role": "assistant", "content": "{"}]}')
    assert "Failures here are those of your parser." in client.get("/sessions?under=fencepost").text
    for address in ("/sessions", "/sessions?under=home", "/sessions?under=fencepost&verdict=failed"):
        assert "Failures here are those of" not in client.get(address).text
