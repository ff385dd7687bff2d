"""Signing in with an OpenID provider that runs on 127.0.0.1, honest and not."""

from __future__ import annotations

import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import pytest
import requests
from flask import Flask
from flask.testing import FlaskClient
from joserfc.jwk import RSAKey

from tests.web.accounts import provider
from tests.web.accounts.conftest import both
from tests.web.accounts.provider import CLIENT, SECRET, Provider
from webapp.extensions import db
from webapp.store.accounts import accounts, audit

Make = Callable[..., Flask]
BROWSER = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
"""what a browser sends that another site sent back"""


@pytest.fixture
def at_home() -> Iterator[Provider]:
    with provider.running() as running:
        yield running


@pytest.fixture
def guarded(make: Make, at_home: Provider) -> Flask:
    return serve(make, at_home)


def serve(make: Make, at_home: Provider, **changes: Any) -> Flask:
    oidc = {"oidc_issuer": at_home.issuer, "oidc_client": CLIENT, "oidc_secret": SECRET}
    return make(accounts=True, **({"newcomers": "reader"} | oidc | changes))


def sent_back(client: FlaskClient, target: str = "/dumps") -> str:
    """The address that the provider sends the browser back to."""
    begin = client.get("/login/oidc", query_string={"next": target})
    assert begin.status_code == 302, begin.text
    answer = requests.get(begin.headers["Location"], allow_redirects=False, timeout=60)
    parts = urllib.parse.urlsplit(answer.headers["Location"])
    return f"{parts.path}?{parts.query}"


def sign_in(client: FlaskClient, target: str = "/dumps") -> Any:
    return client.get(sent_back(client, target), headers=BROWSER)


def names(app: Flask) -> list[tuple[str, str]]:
    with app.app_context(), db.engine.connect() as connection:
        return [(line.name, line.role) for line in accounts.lines(connection)]


@both
def test_a_newcomer_signs_in_and_is_known_again(guarded: Flask, at_home: Provider) -> None:
    client = guarded.test_client()
    assert "/login/oidc" in client.get("/login").text and "makes one, as a reader." in client.get("/login").text
    answer = sign_in(client)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dumps")
    assert "HttpOnly" in answer.headers["Set-Cookie"] and names(guarded) == [("Ada", "reader")]
    assert ">Ada</a>" in client.get("/dumps").text and client.post("/views").status_code == 403
    at_home.claims = {"preferred_username": "Ada Lovelace"}
    assert sign_in(guarded.test_client()).status_code == 303 and names(guarded) == [("Ada", "reader")]
    with guarded.app_context(), db.engine.connect() as connection:
        line = audit.page(connection)[0]
    assert line.act == "oidc.finish" and line.detail == {"account": "Ada", "subject": f"{at_home.issuer} 7"}
    assert "code" not in line.object


def test_without_a_role_for_newcomers_an_admin_makes_the_account(make: Make, at_home: Provider) -> None:
    app = serve(make, at_home, newcomers="none")
    assert "fencepost user add NAME" in app.test_client().get("/login").text
    refused = sign_in(app.test_client())
    assert refused.status_code == 403 and f"{at_home.issuer} 7" in refused.text and names(app) == []
    with app.app_context(), db.engine.begin() as connection:
        accounts.add(connection, "Countess", "admin", subject=f"{at_home.issuer} 7")
    client = app.test_client()
    assert sign_in(client).status_code == 303 and client.get("/accounts").status_code == 200


def test_a_provider_gives_nobody_anothers_account(guarded: Flask) -> None:
    with guarded.app_context(), db.engine.begin() as connection:
        accounts.add(connection, "ADA", "admin", password="correct horse battery")
    client = guarded.test_client()
    answer = sign_in(client)
    assert answer.status_code == 403 and client.get("/").status_code == 302
    assert client.get("/").status_code == 302 and names(guarded) == [("ADA", "admin")]


HOUR = 3600
LIES: dict[str, dict[str, Any]] = {
    "another nonce": {"nonce": "guessed"},
    "another audience": {"aud": "another client"},
    "another audience, to which we passed it": {"aud": "another client", "azp": CLIENT},
    "another issuer": {"iss": "https://evil.example"},
    "expired": {"exp": int(time.time()) - HOUR, "iat": int(time.time()) - 2 * HOUR},
    "an empty subject": {"sub": ""},
}


def test_a_token_that_is_not_for_us_is_not_believed(guarded: Flask, at_home: Provider) -> None:
    for lie, claims in LIES.items():
        at_home.claims = claims
        client = guarded.test_client()
        answer = sign_in(client)
        assert answer.status_code == 403 and "You are not signed in" in answer.text, lie
        assert names(guarded) == [] and client.get("/").status_code == 302, lie


def test_a_token_that_lacks_something_is_not_believed(guarded: Flask, at_home: Provider) -> None:
    for missing in ("id_token", "sub", "nonce", "exp", "aud"):
        at_home.without = {missing}
        assert sign_in(guarded.test_client()).status_code == 403 and names(guarded) == [], missing


def test_a_token_that_another_key_signed_is_not_believed(guarded: Flask, at_home: Provider) -> None:
    at_home.key = RSAKey.generate_key(2048, {"kid": "1"})
    assert sign_in(guarded.test_client()).status_code == 403 and names(guarded) == []


def test_an_answer_belongs_to_the_browser_that_asked(guarded: Flask) -> None:
    client = guarded.test_client()
    address = sent_back(client)
    elsewhere = guarded.test_client().get(address, headers=BROWSER)
    assert elsewhere.status_code == 403 and "did not begin this sign-in" in elsewhere.text
    assert '<a href="/login">Sign in</a>' in elsewhere.text
    assert client.get(address, headers=BROWSER).status_code == 303
    assert client.get(address, headers=BROWSER).status_code == 403
    assert client.get("/login/oidc/finish?error=access_denied&error_description=<b>no").status_code == 403
    assert client.get("/login/oidc/finish").status_code == 403


def test_a_provider_that_is_another_or_broken_is_named(make: Make, at_home: Provider) -> None:
    app = serve(make, at_home, oidc_issuer=at_home.issuer + "/")
    assert "FENCEPOST_OIDC_ISSUER" in sign_in(app.test_client()).text and names(app) == []
    at_home.broken = True
    app = serve(make, at_home)
    for path in ("/login/oidc", "/login/oidc", "/login/oidc/finish?code=x&state=y"):
        assert app.test_client().get(path).status_code == 502


def test_it_leads_nowhere_else(guarded: Flask) -> None:
    assert sign_in(guarded.test_client(), "https://evil.example/").headers["Location"] == "/"


def test_it_is_off_by_default(make: Make) -> None:
    client = make(accounts=True).test_client()
    assert client.get("/login/oidc").status_code == client.get("/login/oidc/finish").status_code == 404
    assert "/login/oidc" not in client.get("/login").text


def test_a_slow_provider_holds_two_requests(guarded: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, asked = threading.Event(), []

    def slow(*_arguments: Any, **_more: Any) -> Any:
        asked.append(1)
        go_on.wait(300)
        raise requests.ConnectTimeout

    monkeypatch.setattr(requests.Session, "request", slow)
    with ThreadPoolExecutor(20) as threads:
        answers = as_completed([threads.submit(guarded.test_client().get, "/login/oidc") for _ in range(20)])
        assert {next(answers).result().status_code for _ in range(18)} == {503}
        go_on.set()
        assert [answer.result().status_code for answer in answers] == [502, 502]
    assert len(asked) == 2
