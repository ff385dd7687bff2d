"""The pages of the comparison: matrix, cells, a response side by side with what differs lit, and hostile values."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.web.pages import session
from tests.web.test_list import BAD
from webapp.extensions import db
from webapp.gate import judging
from webapp.parsing import parse
from webapp.store.jobs import replays
from webapp.store.models import Session
from webapp.web import compare_pages

Post = Callable[..., Any]
TWO = 'First {"a": 1, "b": "one two"} and then {"b": "<script>alert(1)</script>"}.'


@pytest.fixture
def stored(app: Flask, client: FlaskClient, post: Post, tmp_path: Path) -> FlaskClient:
    assert post(session("s", TWO, '{"a": 1}', "Nothing.", BAD, model="m")).status_code == 201
    with app.app_context():
        for name in ("direct", "master-before"):
            replays.replay(db.engine, app.config["SETTINGS"], name)
    assert post(session("later", "{}", model="m2"), "later.json").status_code == 201
    return client


def test_the_matrix_counts_and_leads_to_the_responses_of_each_cell(stored: FlaskClient) -> None:
    document = stored.get("/api/compare?a=master-before&b=fencepost").get_json()
    assert document["both_different"] == 1 and document["not_run_a"] == 1 and document["labels"] is None
    page = stored.get("/compare?a=master-before&b=fencepost").text
    assert "partly run" in page and "Run it over these" in page and "None of them has a final label" in page
    links = re.findall(r'<a href="(/compare\?[^"]*cell=(\w+)[^"]*)"[^>]*><b>(\d+)</b>', page)
    assert {cell for _, cell, _ in links} >= {"both_same", "both_different", "only_a", "only_b", "neither"}
    for link, cell, number in links:
        assert document[cell] == int(number)
        listed = stored.get(link.replace("&amp;", "&")).text
        assert len(re.findall("/turns/[0-9]+/compare", listed)) == int(number), cell
    assert "<script>alert" not in stored.get("/compare?a=master-before&b=fencepost&cell=both_different").text


def test_a_parser_that_is_not_here_any_more_leaves_a_page(stored: FlaskClient, app: Flask) -> None:
    with app.app_context(), db.engine.begin() as connection:
        connection.execute(sa.update(Session).values(home_profile="gone"))
    page = stored.get("/compare")
    assert page.status_code == 200 and ">json.loads</option>" in page.text


def test_filters_groups_and_wrong_values(stored: FlaskClient) -> None:
    page = stored.get("/compare?a=direct&b=fencepost&model=m&cell=only_b&by=model").text
    assert "model <b>m</b>" in page and ">2</b> m" in page.replace("\n", "")
    narrowed = stored.get("/compare?a=direct&b=fencepost&cell=only_b&by=model&value=nothing").text
    assert "/turns/" not in narrowed
    for query in ("a=nobody", "a=direct&cell=x", "a=direct&by=x", "a=direct&verdict=x"):
        assert stored.get(f"/compare?b=fencepost&{query}").status_code in (400, 404), query
    part = stored.get("/compare?a=direct&b=fencepost", headers={"HX-Request-Type": "partial"}).text
    assert part.lstrip().startswith('<div id="compare"')


def test_a_response_stands_side_by_side_with_what_differs_lit(stored: FlaskClient) -> None:
    page = stored.get("/sessions/s/turns/0/compare?a=master-before&b=fencepost&cell=both_different").text
    (title,) = re.findall(r"<h1>\s*(.*?)\s*</h1>", page, re.DOTALL)
    assert title == "The values differ first at [1]" and "<mark>" in page and "<script>alert" not in page
    assert 'href="/compare?a=master-before&amp;b=fencepost&amp;cell=both_different"' in page
    page = stored.get("/sessions/s/turns/0/compare?a=direct&b=fencepost").text
    assert "Only B reads a value" in page and '<div class="failed">' in page and '<div class="accepted">' in page
    assert "Both read the same values" in stored.get("/sessions/s/turns/1/compare?a=direct&b=fencepost").text
    assert "Neither reads a value" in stored.get("/sessions/s/turns/2/compare?a=direct&b=fencepost").text
    assert stored.get("/sessions/s/turns/99/compare?a=direct&b=fencepost").status_code == 404


def test_the_first_difference_is_lit_in_values_and_raw_text() -> None:
    raw = 'x {"a": 1, "b": {"c": ["one", "two"]}} y'
    a, b = parse(raw), parse(raw.replace("two", "twelve"))
    sides = compare_pages.compared(raw, a, b)
    assert sides["difference"] == judging.Difference((0, "b", "c", 1), "two", "twelve", at=2)
    assert sides["a"]["lit"] is not None and sides["a"]["lit"].of(raw) == '"two"'
    (lit,) = [line for line in sides["a"]["lines"] if line["lit_from"] is not None]
    assert lit["text"][: lit["lit_from"]] == '"tw' and lit["text"][lit["lit_from"] :] == 'o"'
    assert any("range" in piece.marks for line in sides["a"]["raw"].lines for piece in line.pieces)


@pytest.mark.parametrize(
    ("a", "b", "where", "missing"),
    [
        ([{"a": 1}], [{"a": 2}], "at [0].a", None),
        ([1], [1.0], None, None),
        ([True], [1], "at [0]", None),
        ([{"a": 1}], [{"b": 1}], "at [0].a", "b"),
        ([], [1], "at [0]", "a"),
        ([{"a b": [1, 2]}], [{"a b": [1]}], "at [0]['a b'][1]", "b"),
        (["abc"], ["abd"], "at [0], character 3", None),
        ([float("nan")], [float("nan")], None, None),
    ],
)
def test_a_difference_says_where_it_is(a: list[Any], b: list[Any], where: str | None, missing: str | None) -> None:
    difference = judging.first(a, b)
    assert (difference and difference.where, difference and difference.missing) == (where, missing)
