"""Guards: hosts, origins, headers, the token and the secret key."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webapp.config import MEGABYTE
from webapp.extensions import db
from webapp.store.accounts import accounts
from webapp.web.identity import key_in


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:5001", "[::1]:5001"])
def test_this_machine_s_names_are_answered(client: FlaskClient, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_another_host_name_is_refused(client: FlaskClient) -> None:
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400


def test_an_unsafe_method_from_another_site_is_refused(client: FlaskClient) -> None:
    for headers in [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "ftp://localhost"},
    ]:
        answer = client.post("/api/dumps", data=b"[]", headers=headers)
        assert answer.status_code == 403
        assert "another site" in answer.json["error"]["message"]


def test_our_own_pages_and_scripts_are_let_in(client: FlaskClient) -> None:
    for headers in [{}, {"Sec-Fetch-Site": "same-origin"}, {"Origin": "http://localhost"}]:
        assert client.post("/api/dumps", data=b"", headers=headers).status_code == 422


FOLLOWED = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
OTHERS = [
    {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
    {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
]


def test_a_link_from_another_site_to_a_page_is_followed(client: FlaskClient) -> None:
    for path in ["/", "/labels", "/playground?t=abc"]:
        for site in ["cross-site", "same-site"]:
            assert client.get(path, headers={"Sec-Fetch-Site": site, **FOLLOWED}).status_code != 403


def test_another_sites_page_can_embed_nothing(client: FlaskClient) -> None:
    for path in ["/", "/static/app.css", "/api/session/x/export?format=report&redact=(.*)*(.*)*x$"]:
        for headers in OTHERS:
            for site in ["cross-site", "same-site"]:
                answer = client.get(path, headers={"Sec-Fetch-Site": site, **headers})
                assert answer.status_code == 403 and "another site" in answer.text


def test_another_sites_link_downloads_nothing_from_the_api(client: FlaskClient) -> None:
    assert client.get("/api/sessions", headers={"Sec-Fetch-Site": "cross-site", **FOLLOWED}).status_code == 403


def test_reading_for_another_origin_is_refused_without_fetch_metadata_too(client: FlaskClient) -> None:
    assert client.get("/api/sessions", headers={"Origin": "https://evil.example"}).status_code == 403


def test_every_answer_carries_the_headers(client: FlaskClient) -> None:
    for path in ["/", "/dumps", "/nothing", "/api/sessions"]:
        headers = client.get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none';")
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_no_template_holds_an_inline_style_script_or_foreign_address() -> None:
    root = Path(__file__).resolve().parents[2]
    for template in (root / "templates").rglob("*.html"):
        text = template.read_text()
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\bsrc=)|https?://|\|\s*safe", text), template


def test_login_goes_on_to_the_session_that_was_asked_for(make: Callable[..., Flask]) -> None:
    app, bearer = make(token="s3cret"), {"Authorization": "Bearer s3cret"}
    for name in ("s1", "a/b"):
        turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "{}"}]
        body = json.dumps({"id": name, "messages": turns})
        assert app.test_client().post("/api/dumps", data=body, headers=bearer).status_code == 201
    for path in ("/sessions/s1", "/sessions/a%2Fb?from=0", "/sessions/s1/turns/1?profile=fencepost"):
        client = app.test_client()
        form = client.get(path).headers["Location"]
        landing = client.post(form, data={"token": "s3cret"}).headers["Location"]
        assert unquote(landing) == unquote(path)
        assert client.get(landing).status_code == 200


def test_the_secret_key_is_random_kept_and_private(tmp_path: Path, app: Flask) -> None:
    path = tmp_path / "key"
    path.touch()  # as a start leaves it that was killed there
    key = key_in(path)
    assert len(key) == 32 and key_in(path) == key == path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert app.config["SECRET_KEY"] != key


@pytest.mark.parametrize(("path", "megabytes"), [("/v1/traces", 64), ("/api/session/s/home", 5), ("/api/dumps", 1024)])
def test_what_is_said_to_be_larger_than_its_route_takes_is_refused_unread(
    client: FlaskClient, path: str, megabytes: int
) -> None:
    for size, is_refused in ((megabytes * MEGABYTE, False), (megabytes * MEGABYTE + 1, True)):
        sent = {"CONTENT_LENGTH": str(size), "CONTENT_TYPE": "application/json"}
        answer = client.open(path, method="PUT" if "home" in path else "POST", environ_overrides=sent)
        assert (answer.status_code == 413) is is_refused


def test_an_upload_over_the_limit_is_refused_in_words(make: Callable[..., Flask]) -> None:
    client = make(max_upload=1024 * 1024).test_client()
    answer = client.post("/api/dumps?filename=big.json", data=b" " * (1024 * 1024 + 1))
    assert answer.status_code == 413
    assert "FENCEPOST_MAX_UPLOAD" in answer.json["error"]["message"]


ELSEWHERE = ["//[evil", "//evil.example", "https://evil.example/", "/\\evil.example", "/a\r\nX-Evil: 1", "javascript:x"]


def test_no_redirect_leads_elsewhere_or_breaks(make: Callable[..., Flask]) -> None:
    plain, guarded = make(), make(token="a-token-of-sixteen", accounts=True)
    with guarded.app_context(), db.engine.begin() as connection:
        accounts.add(connection, "Ada", "reader", password="correct horse battery")
    for target in (*ELSEWHERE, "/a\nb", "/\x00", "\ud800"):
        login = f"/login?next={quote(target, errors='surrogatepass', safe='')}"
        asks: list[tuple[Flask, str, dict[str, str]]] = [
            (guarded, login, {"token": "a-token-of-sixteen"}),
            (guarded, login, {"account": "Ada", "password": "correct horse battery"}),
        ]
        if target.isascii():  # a form holds no lone surrogate
            asks += [
                (plain, "/labels/name", {"name": "Ada", "next": target}),
                (plain, "/views", {"name": "v", "query": target}),
            ]
        for app, path, form in asks:
            answer = app.test_client().post(path, data=form)
            location = answer.headers["Location"]
            about = ascii((path, target))
            assert answer.status_code == 303 and location.isprintable() and "X-Evil" not in answer.headers, about
            assert location.startswith("/") and not location.startswith(("//", "/\\")), about
