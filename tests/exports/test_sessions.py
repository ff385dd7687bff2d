"""A session as a Markdown report and as one HTML file: what was read, removed and inserted, hostile text as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tests.exports import made
from webapp.exports import base, textmarks
from webapp.parsing import parse

HOSTILE = '</pre><script>alert(1)</script>\u202e {"a": "```", "b": 1,}\x00\ud800'


def written(name: str, *turns) -> str:
    return b"".join(base.find(name, "sessions").pieces(made.session(*turns), made.ABOUT)).decode()


def test_marks_stand_in_the_text() -> None:
    drawn = textmarks.marked_text(made.BROKEN, parse(made.BROKEN)).split("\n")
    assert drawn[3] == '4 │ y"}}[-}}-]⟧'
    assert textmarks.marked_text('{"a": [1,],}', parse('{"a": [1,],}', "direct")) == '1 │ {"a": [1,▲],}'


def test_of_a_long_response_what_is_left_out_is_counted() -> None:
    raw = "line\n" * 500 + '{"a": 1,}'
    drawn = textmarks.marked_text(raw, parse(raw))
    assert "498 lines left out" in drawn and '501 │ ⟦{"a": 1[-,-]}⟧' in drawn and drawn.count("\n") < 140


def test_the_report_says_what_went_wrong_and_draws_it() -> None:
    report = written("report", made.turn(made.BROKEN))
    assert "extra_closer at" in report and "**lost tool call**" in report and "Turn 0: failed" in report
    assert "in production" not in report and "home profile" not in report


def test_the_report_of_very_many_failures_stops_and_says_so() -> None:
    report = written("report", *(made.turn(made.BROKEN, position=index) for index in range(60)))
    assert report.count("### Turn") == 50 and "Only the first 50" in report


@pytest.mark.parametrize("name", ["report", "html"])
def test_a_label_goes_along_with_its_history(name: str) -> None:
    event = {"action": "put", "author": "Ada", "happened_at": "2026-11-20T09:00", "said": {"judgement": "unsure"}}
    told = written(name, made.turn(made.BROKEN, labels=(made.said(made.MEANT, history=(event,)),)))
    assert "2026-11-20T09:00 Ada put unsure" in told and "four braces" in told


def test_no_backticks_of_a_response_end_the_reports_fence() -> None:
    report = written("report", made.turn(HOSTILE, home="direct", failed=True))
    (fence,) = {match.group(1) for match in re.finditer(r"^(`{3,})text$", report, re.MULTILINE)}
    assert fence == "````" and "⟨U+202E⟩" in report


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)


def test_the_page_marks_edits_and_runs_nothing() -> None:
    page = written("html", made.turn(made.BROKEN), made.turn(HOSTILE, position=1, home="direct"))
    tags = Tags()
    tags.feed(page)
    assert "script" not in tags.seen and {"mark", "del", "ins", "details"} <= set(tags.seen)
    assert "default-src 'none'" in page and "&lt;script&gt;" in page and "http" not in page.replace("http-equiv", "")
