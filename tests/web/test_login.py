"""Signing in: what the cookie holds and how long, wrong tokens, and signing out."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webapp.extensions import db
from webapp.store.accounts import accounts, api_tokens
from webapp.store.ingest.start import ingest_examples
from webapp.web import identity, peers
from webapp.web.identity import LIFE, ServerSessions

TOKEN = "a tökén that is long enough"
Make = Callable[..., Flask]


def sign_in(client: FlaskClient, **more: Any) -> Any:
    return client.post("/login", data={"token": TOKEN}, **more)


def test_a_stranger_does_not_read_that_examples_are_stored(make: Make) -> None:
    app = make(token=TOKEN)
    with app.app_context():
        ingest_examples(db.engine, app.config["SETTINGS"])
    client = app.test_client()
    assert "Demo." not in client.get("/login").text
    sign_in(client)
    assert "Demo." in client.get("/").text


def test_a_wrong_token_leaves_the_focus_in_its_field_and_says_so_of_it(make: Make) -> None:
    page = make(token=TOKEN).test_client().post("/login", data={"token": "wrong"}).text
    field = page.partition('<input id="token"')[2].partition(">")[0].split()
    assert {"autofocus", 'aria-invalid="true"', 'aria-describedby="wrong"'} <= set(field)


def test_the_cookie_holds_no_token_and_is_our_own(make: Make) -> None:
    app = make(token=TOKEN)
    header = sign_in(app.test_client(), headers={"Host": "localhost:5001"}).headers["Set-Cookie"]
    assert header.startswith("fencepost-5001=") and "HttpOnly" in header and "SameSite=Lax" in header
    serializer = ServerSessions().get_signing_serializer(app)
    held = serializer and serializer.loads(header.partition("=")[2].partition(";")[0])
    assert held and held["login"] and "long enough" not in str(held) and "Secure" not in header


def test_an_answer_that_comes_after_signing_out_brings_no_login_back(make: Make) -> None:
    client = make(token=TOKEN).test_client()
    sign_in(client)
    for path in ("/sessions", "/dumps", "/api/sessions", "/static/app.css"):
        answer = client.get(path)
        assert answer.status_code == 200 and "Set-Cookie" not in answer.headers, path
        answer.close()
    client.post("/logout")
    assert client.get("/").status_code == 302


def test_with_one_key_a_login_holds_on_two_machines(make: Make, tmp_path: Path) -> None:
    one, other = (
        make(token=TOKEN, data=tmp_path / name, secret_key="k" * 32).test_client() for name in ("one", "other")
    )
    name, _, value = sign_in(one).headers["Set-Cookie"].partition(";")[0].partition("=")
    third = make(token=TOKEN, data=tmp_path / "third").test_client()
    for client, status in ((other, 200), (third, 302)):
        client.set_cookie(name, value)
        assert client.get("/").status_code == status


def test_a_login_ends_after_a_day_and_belongs_to_one_token_and_key(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    app, key = make(token=TOKEN, secret_key="k" * 32), {"secret_key": "k" * 32}
    client, now = app.test_client(), time.time()
    name, _, value = sign_in(client).headers["Set-Cookie"].partition(";")[0].partition("=")
    assert LIFE == 24 * 3600

    def status(app: Flask, value: str) -> int:
        other = app.test_client()
        other.set_cookie(name, value)
        return other.get("/").status_code

    assert status(app, value) == status(make(token=TOKEN, **key), value) == 200
    assert status(make(token="another that is long enough", **key), value) == 302
    assert status(make(token=TOKEN, secret_key="l" * 32), value) == 302
    for broken in ("", "1", f"x{value[1:]}", value + "0", value.partition(".")[0]):
        assert status(app, broken) == 302
    for moved, expected in ((LIFE - 5, 200), (LIFE + 5, 302), (-3600, 302)):
        monkeypatch.setattr(time, "time", lambda moved=moved: now + moved)
        assert status(app, value) == expected


def test_a_token_beyond_ascii_works_as_utf_8(make: Make) -> None:
    client = make(token=TOKEN).test_client()
    sent = f"Bearer {TOKEN}".encode().decode("latin-1")
    assert client.get("/api/sessions", headers={"Authorization": sent}).status_code == 200
    assert client.get("/api/sessions", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_wrong_tokens_are_limited(make: Make) -> None:
    client = make(token=TOKEN).test_client()
    statuses = [client.post("/login", data={"token": f"{n}"}).status_code for n in range(peers.WRONG + 2)]
    assert statuses == [422] * peers.WRONG + [429] * 2
    answer = client.get("/api/sessions", headers={"Authorization": "Bearer guess"})
    assert answer.status_code == 429 and 0 < int(answer.headers["Retry-After"]) <= peers.WITHIN
    assert "Too many wrong tokens" in answer.json["error"]["message"]
    assert sign_in(client).status_code == 429  # by the right one too
    assert sign_in(client, environ_base={"REMOTE_ADDR": "192.0.2.7"}).status_code == 303


def test_who_guesses_waits_a_minute_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    guesses, now = peers.Guesses(), 1000.0
    monkeypatch.setattr(peers.time, "monotonic", lambda: now)
    for _ in range(peers.WRONG):
        assert guesses.charge("2001:db8::1", "") == 0
    assert guesses.charge("2001:db8::ffff", "") == peers.WITHIN  # one network
    assert guesses.charge("2001:db9::1", "") == guesses.charge("2001:db8::1", "ada") == 0
    for _ in range(peers.WRONG):  # as a server that listens on :: sees a peer of IPv4
        assert guesses.charge("::ffff:192.0.2.1", "") == 0
    assert guesses.charge("192.0.2.1", "") == peers.WITHIN and guesses.charge("::ffff:192.0.2.2", "") == 0
    now += peers.WITHIN
    assert guesses.charge("2001:db8::1", "") == 0


def test_of_many_guesses_at_once_ten_pass_and_no_more_names_help() -> None:
    guesses = peers.Guesses()
    with ThreadPoolExecutor(80) as threads:
        waits = list(threads.map(lambda _: guesses.charge("192.0.2.1", "ada"), range(80)))
    assert waits.count(0) == peers.WRONG
    names = [guesses.charge("192.0.2.1", f"account {number}") for number in range(80)]
    assert names.count(0) == peers.WRONG_OF_PEER - peers.WRONG


def test_of_many_passwords_at_once_ten_are_looked_at(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is sent while the one before is looked at: a guess counts before that."""
    app, looked_at = make(accounts=True), list[str]()

    def by_password(_: object, name: str, password: str) -> None:
        looked_at.append(name)
        if len(looked_at) < peers.WRONG + 2:
            app.test_client().post("/login", data={"account": name, "password": password})

    monkeypatch.setattr(identity.accounts, "by_password", by_password)
    app.test_client().post("/login", data={"account": "Ada", "password": "wrong"})
    assert len(looked_at) == peers.WRONG


def test_a_right_one_is_no_guess() -> None:
    guesses = peers.Guesses()
    for _ in range(3 * peers.WRONG):
        assert guesses.charge("192.0.2.1", "ada") == 0
        guesses.refund("192.0.2.1", "ada")


def test_strangers_lock_nobody_out(make: Make) -> None:
    """By tokens where there is none to guess, and from so many addresses that one count of all would be full."""
    app = make(accounts=True)
    with app.app_context(), db.engine.begin() as connection:
        number = accounts.add(connection, "Ada", "admin", password="correct horse battery")
        token = api_tokens.make(connection, number, "ci", ["read"])
    client, right = app.test_client(), {"account": "Ada", "password": "correct horse battery"}
    for peer in range(peers.WRONG_OF_PEER + peers.WRONG):
        assert sign_in(client, environ_base={"REMOTE_ADDR": f"198.51.100.{peer}"}).status_code in (422, 429)
    for _ in range(peers.WRONG + 1):
        wrong = client.post("/login", data={**right, "password": "x"}, environ_base={"REMOTE_ADDR": "198.51.100.1"})
    assert wrong.status_code == 429
    assert client.post("/login", data=right).status_code == 303
    bearer, guess = {"Authorization": f"Bearer {token}"}, {"Authorization": "Bearer guess"}
    for _ in range(peers.WRONG + 1):
        wrong = client.get("/api/sessions", headers=guess, environ_base={"REMOTE_ADDR": "198.51.100.1"})
    assert wrong.status_code == 429
    answer = app.test_client().get("/api/sessions", headers=bearer, environ_base={"REMOTE_ADDR": "198.51.100.1"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("path", "size"), [("/login", 5_000), ("/labels", 1_100_000), ("/playground", 5_300_000), ("/views", 1_100_000)]
)
def test_a_form_has_a_limit_of_its_route(make: Make, path: str, size: int) -> None:
    answer = make().test_client().post(path, data="a=&" * (size // 3), content_type="application/x-www-form-urlencoded")
    assert answer.status_code == 413 and "no more" in answer.text
