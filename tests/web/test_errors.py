"""A slash too many at the end of an address; a file store that is away."""

from __future__ import annotations

import pytest
from flask.testing import FlaskClient

from webapp.store.files import StoreUnreachable
from webapp.store.ingest import dump_files


def test_it_leads_to_the_page(client: FlaskClient) -> None:
    assert {client.get(asked).status_code for asked in ("/help/", "/help/api/", "/tasks/", "/api/sessions/")} == {200}


def test_what_is_no_page_stays_missing(client: FlaskClient) -> None:
    """The last one is the page of a session whose id is empty."""
    for asked in ["/nothing/", "/sessions/nobody/", "/sessions/"]:
        assert client.get(asked).status_code == 404
    assert client.post("/labels/draw/x/").status_code == 404


def test_each_says_what_to_do_next(client: FlaskClient) -> None:
    """Only what names a session is looked for by the text of one; an address of a form is no page."""
    by_text = "To find a session by part of its id"
    assert by_text in client.get("/sessions/nobody").text
    for asked in ("/tasks/99", "/help/nothing", "/dumps/99"):
        assert by_text not in client.get(asked).text, asked
    refused = client.get("/selection/delete")
    assert refused.status_code == 405 and "go back to that page" in refused.text


def test_a_store_that_is_away_is_not_named(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    dump = client.post("/api/dumps?filename=a.txt", data=b"user: hi\nassistant: {}\n").json["dump"]["id"]

    def away(*_: object) -> None:
        raise StoreUnreachable("FENCEPOST_STORE s3://key@host/bucket, dumps: timed out")

    monkeypatch.setattr(dump_files, "open_kept", away)
    answer = client.get(f"/dumps/{dump}/file")
    assert answer.status_code == 503 and "file store cannot be reached" in answer.text and "s3://" not in answer.text
