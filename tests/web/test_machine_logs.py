"""Agents' logs on the server's own machine: offered on a loopback server alone, and read on a click."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from webapp.extensions import db
from webapp.store.ingest.start import ingest_examples

URL = "/machine-logs"
Post = Callable[..., Any]


@pytest.mark.usefixtures("log")
def test_the_first_page_leads_to_them_and_a_click_reads_them(client: FlaskClient) -> None:
    assert f'hx-get="{URL}"' in client.get("/sessions").text
    assert "Look at 1 log of Claude Code" in client.get(URL).text
    answer = client.post(URL, data={"program": "Claude Code"}, follow_redirects=True)
    assert "1 log of this machine is being read." in answer.text and "s-1.jsonl" in answer.text


@pytest.mark.usefixtures("log")
def test_they_are_offered_beside_the_examples_and_where_logs_are_added(client: FlaskClient, app: Flask) -> None:
    with app.app_context():
        ingest_examples(db.engine, app.config["SETTINGS"])
    assert f'hx-get="{URL}"' in client.get("/").text
    assert f'hx-get="{URL}"' not in client.get("/sessions").text
    client.post(URL, data={"program": "Claude Code"})
    assert f'<a href="{URL}">' in client.get("/dumps").text


def test_logs_that_were_read_are_offered_again_once_they_have_changed(client: FlaskClient, log: Path) -> None:
    log.with_name("copied.jsonl").write_bytes(log.read_bytes())
    assert "Look at 2 logs of Claude Code" in client.get(URL).text
    client.post(URL, data={"program": ""})
    assert "All 2 logs of Claude Code are read or being read." in " ".join(client.get(URL).text.split())
    assert "No log there is unread." in client.post(URL, follow_redirects=True).text
    with log.open("a") as file:
        file.write("\n")
    page = " ".join(client.get(URL).text.split())
    assert "Look at 1 new or changed log of Claude Code" in page and "1 of 2 logs of Claude Code is read" in page


def test_a_log_that_was_read_under_another_name_is_known_by_what_is_in_it(
    client: FlaskClient, log: Path, post: Post
) -> None:
    post(log.read_bytes(), "other.jsonl")
    assert "The log of Claude Code is read" in " ".join(client.get(URL).text.split())


def test_where_there_are_none_it_says_what_it_looked_for(client: FlaskClient, log: Path) -> None:
    log.unlink()
    page = client.get(URL).text
    assert "No agents' logs on this machine" in page and "Claude Code, Codex" in page


def test_a_log_that_cannot_be_read_is_named(client: FlaskClient, log: Path) -> None:
    (log.parent / "gone.jsonl").symlink_to(log.parent / "nowhere.jsonl")
    assert "Not read: " in client.get(URL).text


@pytest.mark.usefixtures("log")
def test_nobody_from_elsewhere_sees_or_reads_them(client: FlaskClient, make: Callable[..., Flask]) -> None:
    elsewhere = ({"environ_base": {"REMOTE_ADDR": "192.0.2.7"}}, {"headers": {"X-Forwarded-For": "127.0.0.1"}})
    for how in elsewhere:
        assert (client.get(URL, **how).status_code, client.post(URL, **how).status_code) == (404, 404)
        assert URL not in client.get("/sessions", **how).text
    token = "a-token-of-sixteen"
    guarded = make(token=token).test_client()
    assert guarded.get(URL, headers={"Authorization": f"Bearer {token}"}).status_code == 404
