"""The patterns page draws every component that it promises."""

from __future__ import annotations

from flask.testing import FlaskClient


def test_every_section_is_there_and_hostile_texts_are_text(client: FlaskClient) -> None:
    page = client.get("/patterns").text
    for name in ("marks", "words", "forms", "messages", "states", "filters", "rows", "findings", "debugger"):
        assert f'data-pattern="{name}"' in page, name
    assert "15 responses per mark" in page and "<b>&\"'" not in page and "\u202e" not in page
