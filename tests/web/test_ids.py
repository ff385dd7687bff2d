"""A session id in a URL is one segment, whatever characters it holds."""

from __future__ import annotations

from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st
from werkzeug.routing import Map

from webapp.web.links import SessionIdConverter, hide_id, is_plain

CONVERTER = SessionIdConverter(Map())


def read(path: str, prefix: str, tail: str) -> str:
    hidden = hide_id(path)
    assert hidden is not None and hidden.startswith(prefix) and hidden.endswith(tail)
    return CONVERTER.to_python(hidden.removeprefix(prefix).removesuffix(tail))


def test_slashes_sent_as_they_are_belong_to_the_id() -> None:
    assert read("/api/session/a/b/dump", "/api/session/", "/dump") == "a/b"


def test_other_paths_are_left_alone() -> None:
    assert hide_id("/dumps") is None


@given(st.text())
def test_any_text_comes_back(external_id: str) -> None:
    encoded = quote(external_id.encode("utf-8", "surrogatepass"), safe="")
    assert read(f"/sessions/{encoded}/turns/1", "/sessions/", "/turns/1") == external_id


def test_only_plain_ids_are_linked_as_they_are() -> None:
    assert is_plain("ui_run_1") and is_plain("run:2025-12-02") and is_plain("x")
    assert not any(map(is_plain, ["", ".", "..", "a/b", "a b", "é", "%2e", ".hidden", "a..b"]))
