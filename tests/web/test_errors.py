"""A slash too many at the end of an address."""

from __future__ import annotations

from flask.testing import FlaskClient


def test_it_leads_to_the_page(client: FlaskClient) -> None:
    assert {client.get(asked).status_code for asked in ("/help/", "/help/api/", "/tasks/", "/api/sessions/")} == {200}


def test_what_is_no_page_stays_missing(client: FlaskClient) -> None:
    """The last one is the page of a session whose id is empty."""
    for asked in ["/nothing/", "/sessions/nobody/", "/sessions/"]:
        assert client.get(asked).status_code == 404
    assert client.post("/labels/draw/x/").status_code == 404
