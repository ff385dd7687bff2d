"""Line breaks of a template: spaces in tags and sentences, kept between elements and in verbatim text."""

from __future__ import annotations

import pytest
from flask import Flask


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("a sentence\n  over lines", "a sentence over lines"),
        ('<a class="x"\n  href="/">', '<a class="x" href="/">'),
        ("{{ 1 }}\n  and\n  {{ 2 }}", "1 and 2"),
        ("more\n  <b>lines</b>", "more <b>lines</b>"),
        ("<p>one</p>\n<p>two</p>", "<p>one</p>\n<p>two</p>"),
        ("<pre>one\n  two</pre> and\n  on", "<pre>one\n  two</pre> and on"),
        ("<textarea>\n{{ 'a\\n  b' }}</textarea>", "<textarea>\na\n  b</textarea>"),
    ],
)
def test_a_line_break_in_a_tag_or_a_sentence_is_a_space(app: Flask, template: str, text: str) -> None:
    assert app.jinja_env.from_string(template).render() == text
