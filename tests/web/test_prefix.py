"""A path prefix behind a proxy: all links, redirects, cookies and addresses are under it, whatever the proxy does."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web import pages
from webapp.config import BadSetting, Settings

PREFIX = "/tools/fencepost"
LEADING = {"href", "src", "action", "formaction", "poster"}
TOKEN = "a-token-of-enough-letters"


def links_of(page: str) -> list[str]:
    """The addresses of a page's attributes: those of HTML, of htmx, and any other that begins with a slash."""
    begins = (*LEADING, "hx-get", "hx-post", "data-", "value")
    return [value for name, value in pages.attributes(page) if name.startswith(begins) and re.match(r"/[\w/]", value)]


@pytest.fixture
def prefixed(make: Callable[..., Flask]) -> FlaskClient:
    client = make(prefix=PREFIX).test_client()
    sent = client.post(f"{PREFIX}/api/dumps?filename=a.json", data=pages.SESSION)
    assert sent.status_code == 201
    return client


def leading_elsewhere(text: str) -> list[str]:
    return [link for link in links_of(text) if not link.startswith((f"{PREFIX}/", f"{PREFIX}?"))]


def addresses(client: FlaskClient) -> Iterator[str]:
    yield from (address for address in pages.addresses(client.application) if address not in ("/healthz", "/readyz"))


def test_every_link_of_every_page_is_under_the_prefix(prefixed: FlaskClient) -> None:
    seen = 0
    for address in addresses(prefixed):
        answer = prefixed.get(PREFIX + address, buffered=True)
        if answer.mimetype == "text/html":
            assert leading_elsewhere(answer.text) == [], address
            seen += len(links_of(answer.text))
        if "Location" in answer.headers:
            assert answer.location.startswith(f"{PREFIX}/"), (address, answer.location)
    assert seen > 500


def test_a_proxy_may_take_the_prefix_off(prefixed: FlaskClient) -> None:
    without, behind = (prefixed.get(f"{prefix}/sessions/s/turns/1").data for prefix in ("", PREFIX))
    assert pages.timeless(without) == pages.timeless(behind)
    assert prefixed.get("/healthz").json == prefixed.get(f"{PREFIX}/healthz").json
    assert prefixed.get(PREFIX).status_code == 200 and prefixed.get(f"{PREFIX}ed/labels").status_code == 404


def test_an_id_with_a_slash_is_read_as_it_was_sent(prefixed: FlaskClient) -> None:
    prefixed.post("/api/dumps?filename=a.json", data=pages.SESSION.replace(b'"s"', b'"a/b"'))
    for variable, before in itertools.product(("REQUEST_URI", "RAW_URI"), ("", PREFIX, f"http://localhost{PREFIX}")):
        decoded = f"{before.removeprefix('http://localhost')}/api/session/a/b"
        answer = prefixed.get(decoded, environ_overrides={variable: f"{before}/api/session/a%2Fb?limit=1"})
        assert answer.json and answer.json["session"]["id"] == "a/b", (variable, before)


def test_redirects_and_cookies_are_under_the_prefix(make: Callable[..., Flask]) -> None:
    client = make(prefix=PREFIX, token=TOKEN).test_client()
    odd = client.get(f"{PREFIX}/sessions/a%252Fb%3Fc%20%C3%A9?q=%25%C3%A9")  # the id `a%2Fb?c é`
    assert parse_qs(urlsplit(odd.location).query) == {"next": [f"{PREFIX}/sessions/a%252Fb%3Fc%20%C3%A9?q=%25%C3%A9"]}
    sent_away = client.get(f"{PREFIX}/labels?queue=failed")
    assert sent_away.location == f"{PREFIX}/login?next=/tools/fencepost/labels?queue%3Dfailed"
    signed_in = client.post(sent_away.location, data={"token": TOKEN, "name": "Ada"})
    assert signed_in.location == f"{PREFIX}/labels?queue=failed"
    cookies = signed_in.headers.getlist("Set-Cookie")
    assert cookies and all(f"Path={PREFIX}" in cookie for cookie in cookies)
    assert client.get(signed_in.location).status_code == 200
    client.post(f"{PREFIX}/logout")
    assert client.get(signed_in.location).status_code == 302


def test_one_is_led_to_no_other_program_of_the_host(make: Callable[..., Flask]) -> None:
    client = make(prefix=PREFIX, token=TOKEN).test_client()
    for path in ("/elsewhere", "/tools/fencepostal", "//evil.example", "/tools/fencepost//evil.example/../.."):
        answer = client.post(f"{PREFIX}/login", query_string={"next": path}, data={"token": TOKEN})
        assert answer.location.startswith(f"{PREFIX}/"), path


def test_cookies_behind_https_have_the_names_that_fit_their_path(make: Callable[..., Flask]) -> None:
    for prefix, begins in (("", "__Host-fencepost="), (PREFIX, "__Secure-fencepost=")):
        client = make(prefix=prefix, token=TOKEN, secure=True).test_client()
        answer = client.post(f"{prefix}/login", data={"token": TOKEN}, base_url="https://localhost")
        cookie = answer.headers["Set-Cookie"]
        assert cookie.startswith(begins) and "Secure" in cookie and f"Path={prefix or '/'}" in cookie
        assert client.get(prefix or "/", base_url="https://localhost").status_code == 200


@pytest.mark.parametrize(("secure", "scheme"), [(False, "http"), (True, "https")])
def test_addresses_in_feeds_and_reports_are_whole(make: Callable[..., Flask], secure: bool, scheme: str) -> None:
    client = make(prefix=PREFIX, secure=secure).test_client()
    client.post("/api/dumps?filename=a.json&home=direct", data=pages.SESSION)
    ours = f"{scheme}://localhost{PREFIX}/"
    feed = client.get(f"{PREFIX}/failures.atom").text
    assert set(re.findall(r'href="(\w+://[^/]+/\w+/\w+/)', feed)) == {ours}
    group = client.get(f"{PREFIX}/api/failures").json["failures"][0]["key"]
    for path in ("sessions/s/turns/1/markdown", f"failures/{group}?part=report", "api/session/s/export?format=report"):
        assert ours in client.get(f"{PREFIX}/{path}").text, path


def test_addresses_of_the_api_are_under_the_prefix(prefixed: FlaskClient) -> None:
    answer = prefixed.get(f"{PREFIX}/api/sessions").json
    assert answer["sessions"][0]["url"] == f"{PREFIX}/sessions/s"
    queued = prefixed.post(f"{PREFIX}/api/dumps?background=1&filename=b.json", data=pages.SESSION)
    assert queued.location == f"{PREFIX}{queued.json['job']['url'].removeprefix(PREFIX)}"


def test_no_request_chooses_the_prefix(make: Callable[..., Flask]) -> None:
    text = make().test_client().get("/", headers={"X-Forwarded-Prefix": "/evil", "X-Script-Name": "/evil"}).text
    assert "evil" not in text


@pytest.mark.parametrize("bad", ["fencepost", "/a/../b", "/a b", "/%61", "//x", "/a?b", "/."])
def test_a_prefix_that_is_no_plain_path_is_refused(bad: str) -> None:
    with pytest.raises(BadSetting, match="FENCEPOST_PREFIX must be a path"):
        Settings.from_environment({"FENCEPOST_PREFIX": bad})


def test_a_prefix_that_is_an_address_of_a_page_is_refused(make: Callable[..., Flask]) -> None:
    with pytest.raises(BadSetting, match="cannot begin with /sessions"):
        make(prefix="/sessions/mine")


def test_slashes_at_the_end_are_nothing(tmp_path: Any) -> None:
    given = {"FENCEPOST_DATA": str(tmp_path)}
    assert Settings.from_environment(given | {"FENCEPOST_PREFIX": "/x/"}).prefix == "/x"
    assert Settings.from_environment(given | {"FENCEPOST_PREFIX": "/"}).prefix == ""
