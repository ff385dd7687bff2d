"""`webapp/web/errors.py`: a slash too many at the end of an address."""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask
from flask.testing import FlaskClient

from tests.web import pages


def test_it_leads_to_the_page_without_it(client: FlaskClient) -> None:
    for asked, location in [
        ("/help/", "/help"),
        ("/labels/?q=a%20b&x=%C3%A9", "/labels?q=a%20b&x=%C3%A9"),
        ("/help/api/", "/help/api"),
    ]:
        answer = client.get(asked)
        assert (answer.status_code, answer.headers["Location"]) == (308, location)


def test_every_page_has_it(client: FlaskClient) -> None:
    addresses = {address for address in pages.addresses(client.application) if address.startswith("/help")}
    assert addresses and {client.get(f"{address}/").status_code for address in addresses} == {308}


def test_what_is_no_page_stays_missing(client: FlaskClient) -> None:
    """The last one is the page of a session whose id is empty."""
    for asked in ["/nothing/", "/api/sessions/", "/v1/traces/", "/sessions/nobody/", "/sessions/"]:
        assert client.get(asked).status_code == 404


def test_it_leads_to_no_other_host_and_sends_no_form_twice(client: FlaskClient) -> None:
    assert client.post("/labels/", data={"x": "1"}).status_code == 404
    for asked in ("//example.org/", "/\\example.org/", "/%2F/example.org/help/"):
        assert not client.get(asked).headers.get("Location", "/help").startswith(("//", "/\\", "http://example"))


def test_a_prefix_is_kept(make: Callable[..., Flask]) -> None:
    assert make(prefix="/tools").test_client().get("/tools/help/").headers["Location"] == "/tools/help"
