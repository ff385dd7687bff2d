"""Signing in to an account, one's own page, the admins' page, and whose labels are whose."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient

from tests.web import pages
from tests.web.accounts.conftest import both
from webapp.config import Settings
from webapp.extensions import db
from webapp.store.accounts import accounts, api_tokens, audit
from webapp.store.models import AuditEntry
from webapp.web import peers

PASSWORD = "correct horse battery"
LABEL = {"judgement": "wrong", "expects": "one", "expected": [1]}
Make = Callable[..., Flask]


@pytest.fixture
def guarded(make: Make) -> Flask:
    app = make(accounts=True)
    people(app)
    return app


def people(app: Flask) -> None:
    with app.app_context(), db.engine.begin() as connection:
        for name, role in (("Ada", "admin"), ("Bo", "labeler"), ("Cy", "reader")):
            accounts.add(connection, name, role, password=PASSWORD)


def sign_in(app: Flask, name: str = "Ada", password: str = PASSWORD) -> FlaskClient:
    client = app.test_client()
    client.post("/login", data={"account": name, "password": password})
    return client


def bearer(app: Flask, name: str, *scopes: str) -> dict[str, str]:
    with app.app_context(), db.engine.begin() as connection:
        token = api_tokens.make(connection, accounts.find(connection, name).id, "ci", list(scopes))
    return {"Authorization": f"Bearer {token}"}


def test_name_and_password_let_in_and_go_on(guarded: Flask) -> None:
    client = guarded.test_client()
    assert client.get("/dumps").headers["Location"] == "/login?next=/dumps"
    wrong = client.post("/login?next=/dumps", data={"account": '"Ada"', "password": "nope"})
    assert wrong.status_code == 422 and "Wrong name or password." in wrong.text
    assert 'value="&#34;Ada&#34;"' in wrong.text and "nope" not in wrong.text
    answer = client.post("/login?next=/dumps", data={"account": "ada", "password": PASSWORD})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dumps")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie
    page = client.get("/dumps").text
    assert ">Ada</a>" in page and "Sign out" in page
    assert client.post("/logout").location == "/login"
    assert client.get("/dumps").status_code == 302


def test_without_any_account_nobody_comes_in(make: Make) -> None:
    client = make(accounts=True).test_client()
    assert "fencepost user add" in client.get("/login").text
    assert client.post("/login", data={"account": "", "password": ""}).status_code == 422
    assert client.post("/login", data={"token": ""}).status_code == 422
    assert client.get("/").status_code == 302 and client.get("/api/sessions").status_code == 401


def test_wrong_passwords_are_limited_for_each_account_whose_name_stays_in_the_form(guarded: Flask) -> None:
    client, form = guarded.test_client(), {"account": "Ada", "password": "nope"}
    answers = [client.post("/login", data=form) for _ in range(peers.WRONG + 1)]
    assert [answer.status_code for answer in answers] == [422] * peers.WRONG + [429]
    assert 'value="Ada"' in answers[0].text and "Wrong name or password." in answers[0].text
    assert "nope" not in answers[0].text
    assert client.post("/login", data={"account": "Ada", "password": PASSWORD}).status_code == 429
    assert client.post("/login", data={"account": "Bo", "password": PASSWORD}).status_code == 303


def test_a_cookie_is_worth_nothing_once_its_account_is_gone(guarded: Flask) -> None:
    client = sign_in(guarded, "Bo")
    assert client.get("/").status_code == 200
    sign_in(guarded).post(f"/accounts/{number(guarded, 'Bo')}/remove")
    assert client.get("/").status_code == 302


def number(app: Flask, name: str) -> int:
    with app.app_context(), db.engine.connect() as connection:
        return accounts.find(connection, name).id


def test_a_label_is_its_accounts_and_nobody_elses(guarded: Flask) -> None:
    admin = sign_in(guarded)
    assert admin.post("/api/dumps", data=pages.SESSION).status_code == 201
    client, path = sign_in(guarded, "Bo"), "/api/session/s/turns/1/label"
    assert client.put(path, json=LABEL).json["label"]["author"] == "Bo"
    refused = client.put(path, json=LABEL | {"author": "Ada"})
    assert refused.status_code == 422 and "signed in as Bo" in refused.json["error"]["message"]
    form = client.post("/sessions/s/turns/1/label", data={"judgement": "right", "author": "Ada"})
    assert form.status_code == 422
    named = client.post("/labels/name", data={"name": "Ada"})
    assert named.status_code == 422 and "signed in as Bo" in named.text
    headers = bearer(guarded, "Bo", "label")
    assert guarded.test_client().put(path, json=LABEL, headers=headers).json["label"]["author"] == "Bo"
    assert [label["author"] for label in admin.get("/api/labels").json["labels"]] == ["Bo"]
    shown = client.get("/sessions/s/turns/1").text
    assert 'name="author"' not in shown


def test_own_page_makes_shows_once_and_revokes_tokens(guarded: Flask) -> None:
    client = sign_in(guarded, "Bo")
    page = client.post("/account/tokens", data={"name": "<ci>", "scope": ["read", "label"]})
    match = re.search(r">(fencepost_[\w-]{43})<", page.text)
    assert match and "&lt;ci&gt;" in page.text and "never" in page.text
    assert match[1] not in client.get("/account").text
    headers = {"Authorization": f"Bearer {match[1]}"}
    assert guarded.test_client().get("/api/sessions", headers=headers).status_code == 200
    assert "never</span>" not in client.get("/account").text.partition("API tokens")[2].partition("</table>")[0]
    (action,) = re.findall(r'action="(/account/tokens/\d+/revoke)"', client.get("/account").text)
    assert sign_in(guarded, "Cy").post(action).status_code == 404
    client.post(action)
    assert guarded.test_client().get("/api/sessions", headers=headers).status_code == 401
    assert "You have no API token" in client.get("/account").text


@pytest.mark.parametrize("form", [{"name": "x"}, {"name": "", "scope": "read"}, {"name": "x", "scope": "admin"}])
def test_a_token_that_cannot_be_made_is_refused_in_words(guarded: Flask, form: dict[str, str]) -> None:
    page = sign_in(guarded, "Cy").post("/account/tokens", data=form)
    assert (
        page.status_code == 422 and 'role="alert" tabindex="-1" autofocus' in page.text
    )  # it is in view, wherever the form is
    assert f'value="{form.get("name", "")}"' in page.text


def test_another_password_takes_the_present_one_and_ends_other_logins(guarded: Flask) -> None:
    client, other = sign_in(guarded, "Bo"), sign_in(guarded, "Bo")
    new = {"password": PASSWORD + "!", "again": PASSWORD + "!"}
    for form in (new, new | {"present": "nope"}, {"present": PASSWORD, "password": "short", "again": "short"}):
        assert client.post("/account/password", data=form).status_code == 422
    assert client.post("/account/password", data=new | {"present": PASSWORD, "again": "x"}).status_code == 422
    assert client.post("/account/password", data=new | {"present": PASSWORD}).status_code == 303
    assert client.get("/account").status_code == 200 and other.get("/account").status_code == 302
    assert sign_in(guarded, "Bo").get("/").status_code == 302
    assert sign_in(guarded, "Bo", PASSWORD + "!").get("/").status_code == 200


def test_an_admin_adds_changes_and_removes_accounts(guarded: Flask) -> None:
    client = sign_in(guarded)
    added = client.post("/accounts", data={"name": "Di <b>", "role": "reader", "password": PASSWORD})
    assert added.status_code == 303 and "Di &lt;b&gt;" in client.get("/accounts").text
    assert client.post("/accounts", data={"name": "di <b>", "role": "reader"}).status_code == 422
    assert client.post("/accounts", data={"name": "Ed", "role": "reader", "password": "short"}).status_code == 422
    path = f"/accounts/{number(guarded, 'Di <b>')}"
    assert client.post(path, data={"role": "labeler", "password": PASSWORD + "!"}).status_code == 303
    assert sign_in(guarded, "Di <b>", PASSWORD + "!").post("/views", data={"name": "x", "here": "/"}).status_code < 400
    assert client.post(path, data={"role": "root"}).status_code == 422
    assert client.post("/accounts/99/remove").status_code == 404
    headers = bearer(guarded, "Bo", "read")
    (action,) = re.findall(r'action="(/accounts/tokens/\d+/revoke)"', client.get("/accounts").text)
    client.post(action)
    assert guarded.test_client().get("/api/sessions", headers=headers).status_code == 401


def test_a_scope_that_the_role_lost_is_shown_so(guarded: Flask) -> None:
    headers, view = bearer(guarded, "Bo", "read", "label"), {"name": "x"}
    client, program = sign_in(guarded), guarded.test_client()
    assert program.post("/views", data=view, headers=headers).status_code == 303
    client.post(f"/accounts/{number(guarded, 'Bo')}", data={"role": "reader"})
    assert "the role no longer has it" in client.get("/accounts").text
    assert program.post("/views", data=view, headers=headers).status_code == 403


def test_every_write_is_in_the_audit_log_with_its_object(guarded: Flask) -> None:
    client = sign_in(guarded)
    client.post("/dumps", data={"file": (io.BytesIO(pages.SESSION), "a.json")})
    client.put("/api/session/s/turns/1/label", json=LABEL)
    client.post("/sessions/s/turns/1/label", data={"judgement": "so-so"})
    client.post(f"/accounts/{number(guarded, 'Cy')}", data={"role": "labeler", "password": PASSWORD + "secret"})
    client.get("/"), client.post("/playground", data={"text": "{}"})
    headers = bearer(guarded, "Bo", "read", "label")
    guarded.test_client().post("/views", data={"name": "mine", "here": "/"}, headers=headers)
    page = client.get("/audit").text
    rows = [re.sub(r"<[^>]+>|\s+", " ", row) for row in page.partition("<tbody>")[2].split("</tr>")]
    acts = [re.sub(r" +", " ", row) for row in rows if row.strip()]
    assert [re.search(r"(?:\w+\.)+\w+", row.partition("127.0.0.1")[2])[0] for row in acts[:6]] == [  # type: ignore[index]
        "views.save",
        "accounts.change",
        "labels.turn.save",
        "labels.turn.put_api",
        "dumps.upload",
        "login.submit",
    ]
    assert "Bo" in acts[0] and "API token ci" in acts[0] and "name: mine" in acts[0]
    assert "account: Cy" in acts[1] and "role: labeler" in acts[1] and "secret" not in page
    assert "refused (422)" in acts[2] and "/api/session/s/turns/1/label" in acts[3] and "files: a.json" in acts[4]
    assert "account: Ada" in acts[5] and "done (303)" in acts[5]
    assert "labels.turn.put_api" not in client.get("/audit?by=Bo").text
    assert "login.submit" in client.get("/audit?by=Ada").text


def test_whose_view_was_removed_is_in_the_audit_log(guarded: Flask) -> None:
    headers = bearer(guarded, "Bo", "read", "label")
    guarded.test_client().post("/views", data={"name": "mine", "query": "?failed=1"}, headers=headers)
    client = sign_in(guarded)
    (remove,) = set(re.findall(r"/views/\d+/remove", client.get("/sessions").text))
    assert client.post(remove).status_code == 303
    page = re.sub(r"<[^>]+>|\s+", " ", client.get("/audit").text)
    assert "view: mine" in page and "saved_by: Bo" in page


def test_what_is_refused_fills_no_log(guarded: Flask) -> None:
    stranger, reader = guarded.test_client(), sign_in(guarded, "Cy")
    assert reader.post("/selection/deleted", data={"ids": "s"}).status_code == 403
    stranger.post("/selection/deleted")
    assert stranger.get("/login/oidc/finish?x").status_code == 404
    assert stranger.post("/login", data={"account": "Eve", "password": "nope"}).status_code == 422
    assert stranger.post("/login", headers={"Host": "elsewhere.example"}).status_code == 400
    assert stranger.post("/login", headers={"Origin": "https://elsewhere.example"}).status_code == 403
    with guarded.app_context(), db.engine.connect() as connection:
        assert [line.act for line in audit.page(connection)] == ["login.submit"]


@both
def test_the_audit_log_has_a_size_and_an_age(guarded: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MOST", 150)
    act = AuditEntry(author="Ada", via="command", peer="", act="a", object="b")
    with guarded.app_context(), db.engine.begin() as connection:
        for _ in range(400):
            audit.begin(connection, act)
        assert 150 <= len(audit.page(connection, limit=1000)) < 150 + audit._EVERY
        connection.execute(sa.update(AuditEntry).values(at=datetime.now(UTC) - audit.OLDEST - timedelta(days=1)))
        for _ in range(100):
            audit.begin(connection, act)
        assert len(audit.page(connection, limit=1000)) <= 100


def test_the_last_admin_stays_one(guarded: Flask) -> None:
    client, path = sign_in(guarded), f"/accounts/{number(guarded, 'Ada')}"
    for answer in (client.post(path, data={"role": "reader"}), client.post(f"{path}/remove")):
        assert answer.status_code == 422 and "the last admin" in answer.text
    client.post(f"/accounts/{number(guarded, 'Bo')}", data={"role": "admin"})
    assert client.post(path, data={"role": "reader"}).status_code == 303


def test_a_reader_is_told_so_in_place_of_forms(guarded: Flask) -> None:
    admin, reader, labeler = (sign_in(guarded, name) for name in ("Ada", "Cy", "Bo"))
    admin.post("/api/dumps", data=pages.SESSION)
    page, readers = admin.get("/dumps").text, reader.get("/dumps").text
    assert 'id="send"' in page and "does not import" not in page
    assert 'id="send"' not in readers and 'id="question"' not in readers and "does not import" in readers
    for path in ("/labels?at=s.1", "/sessions/s/turns/1"):
        assert "does not label" in reader.get(path).text and "does not label" not in labeler.get(path).text
    assert 'id="judge"' not in reader.get("/labels?at=s.1").text
    (_, readers), (_, labelers) = (
        one.get("/labels/causes").text.partition("</main>")[0].split("tree-of-causes") for one in (reader, labeler)
    )
    assert "extra-closing" in readers and "<details" not in readers and "<details" in labelers


def test_a_program_is_told_that_its_token_is_wrong(guarded: Flask) -> None:
    client, wrong = guarded.test_client(), {"Authorization": "Bearer fencepost_revoked"}
    answer = client.get("/api/sessions", headers=wrong)
    assert answer.status_code == 401 and "The token is wrong or was revoked." in answer.text
    assert "wrong" not in client.get("/api/sessions").text


def test_a_write_that_never_ended_stays_in_the_log(guarded: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    client = sign_in(guarded)

    def killed() -> None:
        raise SystemExit

    monkeypatch.setitem(guarded.view_functions, "views.save", killed)
    with pytest.raises(SystemExit):
        client.post("/views", data={"name": "mine"})
    assert "unknown: it never ended" in client.get("/audit").text


PROXY = {"accounts": True, "proxies": ("127.0.0.1/32", "10.0.0.0/8"), "proxy_header": "X-Remote-User"}


def test_a_trusted_proxy_says_who_asks(make: Make) -> None:
    app = make(**PROXY)
    people(app)
    client = app.test_client()
    assert client.get("/account", headers={"X-Remote-User": "Bo"}).status_code == 200
    for name in ("Eve", "Bo,Ada", "Ada, Bo"):
        assert client.get("/", headers={"X-Remote-User": name}).status_code == 403
    assert client.get("/").status_code == 302
    assert client.post("/selection/deleted", headers={"X-Remote-User": "Bo"}).status_code == 403


def test_nobody_else_is_believed(make: Make) -> None:
    app = make(**PROXY)
    people(app)
    headers = {"X-Remote-User": "Ada", "X-Forwarded-For": "127.0.0.1"}
    for peer in ("192.0.2.7", "::1", "11.0.0.1", ""):
        answer = app.test_client().get("/", headers=headers, environ_base={"REMOTE_ADDR": peer})
        assert answer.status_code == 302, peer
    off = make(accounts=True).test_client()
    assert off.get("/", headers=headers).status_code == 302


def test_a_newcomer_by_proxy_is_what_the_settings_say(make: Make) -> None:
    client = make(**PROXY, newcomers="reader").test_client()
    assert client.get("/", headers={"X-Remote-User": "José".encode().decode("latin-1")}).status_code == 200
    assert ">José</a>" in client.get("/", headers={"X-Remote-User": "José".encode().decode("latin-1")}).text
    assert client.post("/views", headers={"X-Remote-User": "New"}).status_code == 403


def test_guesses_count_by_the_address_that_the_proxy_names(make: Make) -> None:
    app = make(**PROXY)
    people(app)
    form = {"account": "Ada", "password": "nope"}

    def guess(forwarded: str) -> int:
        return app.test_client().post("/login", data=form, headers={"X-Forwarded-For": forwarded}).status_code

    assert [guess("6.6.6.6, 192.0.2.7, 10.1.1.1") for _ in range(peers.WRONG + 1)][-1] == 429
    assert guess("7.7.7.7, 192.0.2.7") == 429
    assert guess("192.0.2.8") == 422


def test_an_address_that_anybody_may_write_is_not_believed(make: Make) -> None:
    settings: Settings = make(**PROXY).config["SETTINGS"]
    assert peers.client_address(settings, "192.0.2.1", "203.0.113.9") == "192.0.2.1"
    assert peers.client_address(settings, "10.2.2.2", "") == "10.2.2.2"
    assert peers.client_address(settings, "::ffff:10.2.2.2", "1.1.1.1") == "1.1.1.1"


@both
def test_a_last_use_is_noted_once_nobody_else_writes(guarded: Flask) -> None:
    headers = bearer(guarded, "Ada", "read")
    with guarded.app_context(), db.engine.connect() as writer:
        if writer.dialect.name == "sqlite":
            writer.exec_driver_sql("BEGIN IMMEDIATE")
        assert guarded.test_client().get("/api/sessions", headers=headers).status_code == 200
        writer.rollback()
    guarded.test_client().get("/api/sessions", headers=headers)
    with guarded.app_context(), db.engine.connect() as connection:
        assert api_tokens.lines(connection)[0].used_at is not None
