"""Text in Markdown that people paste: rendered by CommonMark, nothing but text comes out."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.exports import made
from webapp import markdown
from webapp.exports import base
from webapp.visible import visible

HOSTILE = [
    "![x](http://evil.example/a.png)",
    "<script>alert(1)</script>",
    "[click](javascript:alert(1))",
    "<img src=x onerror=y>",
    "a `code` **bold** _em_ ~~gone~~ &amp; &#60;",
    "# heading",
    "- item",
    "1. item",
    "23) item",
    "===",
    "| a | b |",
    "www.evil.example https://evil.example me@evil.example",
    "[a]: http://evil.example",
    "back\\slash \\` \\",
]
RENDER = MarkdownIt("commonmark")


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_is_shown_letter_by_letter(text: str) -> None:
    for around in ("{}", "Labelled by {}, today", "- **rule**: {} Turns 1."):
        rendered = RENDER.render(around.format(markdown.escaped(text)))
        shown = re.sub(r"</?(p|li|ul|strong)>|\n", "", rendered)
        ours = around.removeprefix("- ").replace("**", "")
        assert html.unescape(shown) == ours.format(text)
        assert not re.search(r"<(?!/?(p|li|ul|strong)>)", rendered)


@given(st.text(max_size=60))
def test_no_text_at_all_makes_a_tag(text: str) -> None:
    rendered = RENDER.render(f"by {markdown.escaped(text)}.")
    assert rendered.count("<") == 2 and visible(text).strip() in html.unescape(rendered).replace("\n", " ")


@pytest.mark.parametrize("text", HOSTILE)
def test_a_report_holds_no_link_image_or_tag(text: str) -> None:
    label = made.said(author=text, note=text, cause=text, judgement="wrong")
    turn = made.turn(made.BROKEN, who=text, model=text, recorded_failure=text, labels=(label,))
    view = made.replace(made.session(turn), id=text, says=text, models=(text,))
    report = b"".join(base.find("report", "sessions").pieces(view, made.ABOUT)).decode()
    rendered = re.sub(r"(?s)<(code)[^>]*>.*?</code>", "", RENDER.render(report))
    assert not re.search(r"<(a|img|script|h1|table)\b", rendered)
    assert rendered.count("<sub>") == 1
