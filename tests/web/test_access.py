"""Who may ask for what: every route, with every method of it, by every kind of person and token."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.exceptions import MethodNotAllowed

from tests.web import pages
from tests.web.test_session_keys import UNSURE
from webapp.extensions import db
from webapp.store.accounts import accounts, api_tokens
from webapp.web import identity, rights

TOKEN = "a token that is long enough"
PASSWORD = "correct horse battery"
SECRET = "Do it."
"""what a stored turn says"""
OTHERS = pages.SESSION.replace(b'"s"', b'"s2"').replace(SECRET.encode(), b"canary-text")
"""what somebody sent under another name, byte for byte"""
READING_POSTS = {
    "guide.end",
    "homes.ask",
    "labels.name.tell",
    "playground.read",
    "selection.ask",
    "selection.download",
    "selection.export",
}
"""forms that are too long for an address: they answer, and keep nothing but a cookie"""
ALIKE = {"login.submit", "login.sign_out"}
"""what everybody may send"""
PUBLIC = {"static", "login.form", "oidc.begin", "oidc.finish", "health.alive", "health.ready", "palette.keys"}
Ask = tuple[str, str, str]


@pytest.fixture
def guarded(make: Callable[..., Flask]) -> Flask:
    """A server that asks for accounts, with a person of each role."""
    app = make(accounts=True, token=TOKEN)
    with app.app_context(), db.engine.begin() as connection:
        for role in accounts.ROLES:
            accounts.add(connection, role, role, password=PASSWORD)
    return app


@pytest.fixture
def stored(guarded: Flask) -> Flask:
    """The same with a session in it."""
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    assert guarded.test_client().post("/api/dumps", data=pages.SESSION, headers=bearer).status_code == 201
    return guarded


def signed_in(app: Flask, name: str) -> FlaskClient:
    client = app.test_client()
    assert client.post("/login", data={"account": name, "password": PASSWORD}).status_code == 303
    return client


def api_token(app: Flask, account: str, *scopes: str) -> dict[str, str]:
    with app.app_context(), db.engine.begin() as connection:
        token = api_tokens.make(connection, accounts.find(connection, account).id, "t", list(scopes))
    return {"Authorization": f"Bearer {token}"}


def asks(app: Flask) -> list[Ask]:
    """Endpoint, method and address of every route, with what is stored filled in."""
    return sorted(
        (rule.endpoint, method, re.sub(r"<([^>]*)>", lambda match: pages.FILLED.get(match[1], "1"), rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"OPTIONS", "HEAD"}
    )


def is_refused(answer: Any) -> bool:
    """Whether the request came no further than the guard."""
    to_login = answer.status_code == 302 and answer.headers["Location"].startswith("/login")
    return to_login or answer.status_code in (401, 403)


def let_in(app: Flask, client: FlaskClient, headers: dict[str, str], only: Callable[[Ask], bool]) -> set[Ask]:
    """The requests among `only` that come to their view; the views themselves do nothing here."""
    with pytest.MonkeyPatch.context() as patch:
        for endpoint in app.view_functions:
            patch.setitem(app.view_functions, endpoint, lambda **_: "here")
        chosen = [ask for ask in asks(app) if only(ask)]
        answers = {ask: client.open(ask[2], method=ask[1], headers=headers) for ask in chosen}
    assert {answer.status_code for answer in answers.values()} <= {200, 302, 401, 403, 404}
    return {ask for ask, answer in answers.items() if answer.text == "here"}


def every_row(app: Flask) -> dict[str, list[Any]]:
    """All that is stored but the notes about requests."""
    return pages.every_row(app, "audit_entry", "api_token", "compared")


def writes(ask: Ask) -> bool:
    return ask[1] != "GET" and ask[0] not in READING_POSTS | ALIKE


def test_every_route_has_one_right_and_every_right_a_route(app: Flask) -> None:
    unlisted = {rule.endpoint for rule in app.url_map.iter_rules()} - set(rights.RIGHT_OF)
    assert not unlisted, "give it a right in webapp/web/rights.py"
    assert set(rights.RIGHT_OF) <= {rule.endpoint for rule in app.url_map.iter_rules()}
    listed = [endpoint for endpoints in rights.ROUTES.values() for endpoint in endpoints.split()]
    assert sorted(listed) == sorted(set(listed))


def test_a_route_that_is_not_listed_is_for_nobody(make: Callable[..., Flask]) -> None:
    app = make(accounts=True, token=TOKEN)
    app.add_url_rule("/forgotten", "forgotten", lambda: SECRET, methods=["GET", "POST"])
    for method in ("GET", "POST"):
        answer = app.test_client().open("/forgotten", method=method, headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 403 and SECRET not in answer.text
        assert is_refused(app.test_client().open("/forgotten", method=method))


def test_a_stranger_comes_to_the_login_and_no_further(guarded: Flask) -> None:
    got = {endpoint for endpoint, *_ in let_in(guarded, guarded.test_client(), {}, lambda ask: True)}
    assert got == PUBLIC | ALIKE


@pytest.mark.parametrize("kind", ["person", "token"])
def test_a_reader_reads_everything_and_writes_nothing(guarded: Flask, kind: str) -> None:
    client = signed_in(guarded, "reader") if kind == "person" else guarded.test_client()
    headers = {} if kind == "person" else api_token(guarded, "admin", "read")
    own = {ask for ask in asks(guarded) if ask[0].startswith("account.") and kind == "person"}
    assert let_in(guarded, client, headers, writes) == {ask for ask in own if ask[1] == "POST"}
    read = let_in(guarded, client, headers, lambda ask: ask[1] == "GET")
    hidden = {"accounts.index", "audit.index"} | ({"account.show"} if kind == "token" else set())
    assert {ask[0] for ask in asks(guarded) if ask[1] == "GET"} - {ask[0] for ask in read} == hidden


def test_what_a_reader_may_send_is_kept_nowhere(stored: Flask) -> None:
    """The real views: each form with fields that would store something, if it did."""
    client, before = signed_in(stored, "reader"), every_row(stored)
    for endpoint, method, address in asks(stored):
        if endpoint in READING_POSTS and method == "POST":
            for fields in ({}, {"ids": "s", "at": "s.1", "name": "reader", "text": "{}", "queue": "chosen"}):
                assert client.post(address, data=fields, buffered=True).status_code < 500, endpoint
    assert {endpoint for endpoint, *_ in asks(stored)} >= READING_POSTS
    assert every_row(stored) == before


def test_a_reader_is_shown_no_form_that_would_be_refused(stored: Flask) -> None:
    client, routes = signed_in(stored, "reader"), stored.url_map.bind("localhost")
    held = accounts.ROLES["reader"] | {identity.OWN, rights.OPEN}
    for address in (*pages.addresses(stored), "/?failed=1", "/sessions?failed=1", "/labels?queue=sample&size=2&seed=9"):
        text = client.get(address, buffered=True).data.decode("latin-1")
        forms = re.findall(r"<form.*?</form>", text, re.DOTALL)
        forms = [form for form in forms if 'type="submit"' in form and "<fieldset disabled" not in form]
        posts = re.findall(r'<form[^>]*method="post"[^>]*\baction="([^"?#]*)|\bformaction="([^"?#]*)', "".join(forms))
        for path in {html.unescape(path or other) for path, other in posts}:
            with suppress(MethodNotAllowed):
                endpoint, _ = routes.match(path, method="POST")
                assert held.issuperset(rights.needed(endpoint)), (address, endpoint)


def test_an_ingest_token_sends_and_sees_nothing(stored: Flask) -> None:
    client, headers = stored.test_client(), api_token(stored, "admin", "ingest")
    seen = {ask[0] for ask in let_in(stored, client, headers, lambda ask: ask[1] == "GET")}
    assert seen == PUBLIC
    sent = {ask[0] for ask in let_in(stored, client, headers, writes)}
    assert {"dumps.upload_api", "traces.export"} <= sent
    assert sent == {endpoint for endpoint in rights.WRITES_ALONE if rights.RIGHT_OF[endpoint] == "ingest"}
    body = pages.SESSION.replace(b'"s"', b'"later"')
    assert client.post("/api/dumps", data=body, headers=headers).status_code == 201


def test_a_label_token_labels_without_reading_importing_or_deleting(guarded: Flask) -> None:
    client, headers = guarded.test_client(), api_token(guarded, "labeler", "label")
    answered = {ask[0] for ask in let_in(guarded, client, headers, lambda ask: True)}
    labels = {endpoint for endpoint in rights.WRITES_ALONE if rights.RIGHT_OF[endpoint] == "label"}
    assert answered == labels | PUBLIC | ALIKE and "labels.turn.put_api" in labels


@pytest.mark.parametrize(("account", "scope"), [("admin", "ingest"), ("labeler", "label")])
def test_a_token_that_may_only_write_sees_nothing_that_others_wrote(stored: Flask, account: str, scope: str) -> None:
    """Canaries in a text, files' names, a cause, a note and a view; the real views, every method."""
    canaries = planted(stored)
    client, headers = stored.test_client(), api_token(stored, account, scope)
    bodies = ({}, {"json": {"mapping": {"raw": "$.x"}, "dry_run": True}}, {"data": {"ids": "s", "at": "s.1"}})
    for endpoint, method, address in asks(stored):
        for body in bodies[:1] if method == "GET" else bodies:
            answer = client.open(address, method=method, headers=headers, buffered=True, **body)
            assert not [word for word in canaries if word in answer.text], (endpoint, method, body)
    again = client.post("/api/dumps?filename=mine.json", data=OTHERS, headers=headers)
    assert again.status_code == (200 if scope == "ingest" else 403)
    assert not [word for word in canaries if word in again.text]
    fields = {"judgement": "wrong", "cause": "mine"}
    answer = client.put("/api/session/s/turns/1/label", json=fields, headers=headers)
    assert answer.status_code == (200 if scope == "label" else 403)
    assert not [word for word in canaries if word in answer.text]


def planted(app: Flask) -> tuple[str, ...]:
    """Words that other people's things hold, one of each kind."""
    words = ("canary-text", "canary-file", "canary-cause", "canary-note", "canary-view")
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    client = app.test_client()
    assert client.post("/api/dumps?filename=canary-file.json", data=OTHERS, headers=bearer).status_code == 201
    assert client.post("/api/dumps?filename=canary-file.x", data=b"canary-text", headers=bearer).status_code < 500
    label = {"judgement": "wrong", "cause": words[2], "note": words[3], "author": "Ada"}
    assert client.put("/api/session/s/turns/1/label", json=label, headers=bearer).status_code == 200
    assert client.post("/views", data={"name": words[4], "here": "/?model=m"}, headers=bearer).status_code == 303
    assert all(word in client.get("/api/labels/export?format=jsonl", headers=bearer).text for word in words[2:4])
    return (*words, SECRET)


def test_a_labeler_labels_and_neither_imports_nor_deletes(guarded: Flask) -> None:
    written = {ask[0] for ask in let_in(guarded, signed_in(guarded, "labeler"), {}, writes)}
    assert {"labels.save", "failure_actions.change", "runs.make", "views.save"} <= written
    assert not written & {"dumps.upload", "selection.delete", "homes.change", "accounts.add", "playground.save"}


def test_an_admin_may_do_everything(guarded: Flask) -> None:
    client = signed_in(guarded, "admin")
    answered = {ask[0] for ask in let_in(guarded, client, {}, lambda ask: ask[0] != "login.sign_out")}
    assert set(rights.RIGHT_OF) - answered == {"login.sign_out"}
    assert client.post("/account/logins/end").status_code == 303 and is_refused(client.get("/"))


def test_no_token_makes_another_or_changes_a_password(guarded: Flask) -> None:
    headers = api_token(guarded, "admin", *accounts.RIGHTS)
    for bearer in (headers, {"Authorization": f"Bearer {TOKEN}"}):
        own = let_in(guarded, guarded.test_client(), bearer, lambda ask: ask[0].startswith("account."))
        assert own == set()


def test_the_servers_own_token_does_all_that_is_no_accounts(guarded: Flask) -> None:
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    answered = {ask[0] for ask in let_in(guarded, guarded.test_client(), bearer, lambda ask: True)}
    assert set(rights.RIGHT_OF) - answered == {name for name in rights.RIGHT_OF if name.startswith("account.")}


def test_another_sites_page_writes_nothing_by_a_cookie(guarded: Flask) -> None:
    client = signed_in(guarded, "admin")
    for _, method, address in asks(guarded):
        if method != "GET":
            answer = client.open(address, method=method, headers={"Sec-Fetch-Site": "cross-site"})
            assert answer.status_code == 403 and "another site" in answer.text


def test_every_answer_is_kept_out_of_caches_and_carries_the_headers(stored: Flask) -> None:
    client = signed_in(stored, "admin")
    for endpoint, method, address in asks(stored):
        if method == "GET" and endpoint in ("dumps.download", "sessions.index", "help.picture", "account.show"):
            headers = client.get(address, buffered=True).headers
            assert headers["Cache-Control"] == "no-store", endpoint
            assert headers["Content-Security-Policy"].startswith("default-src 'none';")


def test_without_a_login_every_route_but_those_of_accounts_is_for_everybody(app: Flask, client: FlaskClient) -> None:
    answered = {ask[0] for ask in let_in(app, client, {}, lambda ask: True)}
    assert answered == {name for name in rights.RIGHT_OF if not name.startswith(rights.OF_ACCOUNTS)}
    assert client.get("/accounts").status_code == client.post("/accounts").status_code == 404
    assert client.get("/").status_code == 200


def test_a_reader_sees_what_stands_beside_forms_that_are_hidden(stored: Flask) -> None:
    """Votes, merged causes, who set a parser, and what was found in a log that waits for its key."""
    for name, judgement in (("labeler", "right"), ("admin", "wrong")):
        label = {"judgement": judgement, "note": f"said by {name}"}
        address = "/api/session/s/turns/1/label"
        assert signed_in(stored, name).put(address, json=label).status_code in (200, 201), name
    admin, reader = signed_in(stored, "admin"), signed_in(stored, "reader")
    admin.post("/labels/causes", data={"name": "mine", "group": "braces"})
    admin.post("/labels/causes", data={"name": "extra-closing", "into": "mine"})
    assert admin.post("/dumps", data={"file": (io.BytesIO(UNSURE), "log.jsonl")}).status_code < 400
    votes = reader.get("/labels/disagreements").text
    assert "said by labeler" in votes and "said by admin" in votes and 'name="whose"' not in votes
    assert re.search(r"holds\s+extra-closing", reader.get("/labels/causes").text)
    assert "writes this format uses this parser" in reader.get("/sessions/s").text
    assert "Change it" not in reader.get("/homes").text and "Change it" in admin.get("/homes").text
    held = reader.get("/dumps").text
    assert "Which key names their session?" in held and "Ingest</button>" not in held
