"""The playground tries findings of one's own on the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from webapp.findings import own, rulebook


@pytest.fixture(autouse=True)
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    path = tmp_path / "own.toml"
    path.write_text("[[finding]]\nname='markup'\ntext='<b>'\n[[finding]]\nname='tool'\nin='$.tool'\npattern='^exec$'\n")
    monkeypatch.setenv(own.VARIABLE, str(path))
    for cached in (own.configured, rulebook.rules):
        cached.cache_clear()
    yield
    monkeypatch.delenv(own.VARIABLE)
    for cached in (own.configured, rulebook.rules):
        cached.cache_clear()


def test_it_says_which_stand_in_the_text_and_where(client: FlaskClient) -> None:
    page = client.post("/playground", data={"text": 'x {"tool": "exec"}'}).text
    assert "Your findings: 1 of 2 match this text" in page
    assert "<code>exec</code> in the value, offset" in page
    assert "<code>&lt;b&gt;</code> does not match" in page
    assert "Your findings" not in client.get("/playground").text
