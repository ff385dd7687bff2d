"""The webhook: what is new is posted once, signed; what is refused is tried again, and said."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
import sqlalchemy as sa

from tests.store.made import BROKEN, CALL, Bring, entry, on_sqlite, windlass
from webapp.config import BadSetting, Settings
from webapp.store.jobs import failure_webhook

SECRET = "a secret of the operator's"
COMMA = '```json\n{"tool": "a", "arguments": {"b": 1,}}\n```'
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


class Receiver(HTTPServer):
    """Keeps what is posted and answers with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.posts = 200, list[tuple[dict[str, str], bytes]]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((dict(self.headers), body))
        if self.server.status == 0:
            self.wfile.write(b"this is no HTTP\r\n\r\n")
            return
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("Location", self.server.url)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def begun(bring: Bring) -> None:
    """A session of two days before: nothing is new in the first hour of all."""
    bring(windlass("first", [entry(CALL, timestamp=(NOW - timedelta(days=2)).timestamp())]))


@pytest.mark.usefixtures("begun")
def test_new_groups_are_posted_once_signed_and_retried(
    bring: Bring, engine: sa.Engine, settings: Settings, receiver: Receiver
) -> None:
    told = replace(settings, webhook=receiver.url, webhook_secret=SECRET)
    failure_webhook.deliver(engine, told, NOW)
    assert receiver.posts == []
    time = (NOW - timedelta(hours=1)).timestamp()
    bring(windlass("s", [entry(BROKEN, timestamp=time), entry(CALL, timestamp=time + 1)]))
    receiver.status = 503
    failure_webhook.deliver(engine, told, NOW)
    assert failure_webhook.trouble(engine, told) == "Alerts to the webhook: 1 not delivered yet (it answered 503)."
    failure_webhook.deliver(engine, told, NOW + timedelta(seconds=5))
    assert len(receiver.posts) == 1
    receiver.status = 302
    failure_webhook.deliver(engine, told, NOW + timedelta(seconds=40))
    receiver.status = 204
    failure_webhook.deliver(engine, told, NOW + timedelta(hours=1))
    failure_webhook.deliver(engine, told, NOW + timedelta(hours=2))
    assert len(receiver.posts) == 3 and failure_webhook.trouble(engine, told) is None
    headers, body = receiver.posts[-1]
    sent = json.loads(body)
    assert (sent["event"], sent["title"], sent["count"]) == ("new", "extra closing bracket — fenced, alone", 1)
    expected = failure_webhook.signature(SECRET, headers["X-Fencepost-Timestamp"], body)
    assert headers["X-Fencepost-Signature"] == expected


@on_sqlite
@pytest.mark.usefixtures("begun")
def test_an_answer_that_is_no_http_is_a_failed_try(
    bring: Bring, engine: sa.Engine, settings: Settings, receiver: Receiver
) -> None:
    told = replace(settings, webhook=receiver.url, webhook_secret=SECRET)
    bring(windlass("s", [entry(BROKEN, timestamp=(NOW - timedelta(hours=1)).timestamp())]))
    receiver.status = 0
    failure_webhook.deliver(engine, told, NOW)
    assert "1 not delivered yet (no answer: this is no HTTP" in (failure_webhook.trouble(engine, told) or "")


@on_sqlite
@pytest.mark.usefixtures("begun")
def test_what_was_taken_is_written_down_before_the_next_is_sent(
    bring: Bring, engine: sa.Engine, settings: Settings, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is killed between two alerts sends neither of them twice."""
    told = replace(settings, webhook=receiver.url, webhook_secret=SECRET)
    time = (NOW - timedelta(hours=1)).timestamp()
    bring(windlass("s", [entry(BROKEN, timestamp=time), entry(COMMA, timestamp=time + 1)]))
    post = failure_webhook._post
    monkeypatch.setattr(failure_webhook, "_post", lambda *about: post(*about) if not receiver.posts else sys.exit())
    with pytest.raises(SystemExit):
        failure_webhook.deliver(engine, told, NOW)
    monkeypatch.undo()
    failure_webhook.deliver(engine, told, NOW)
    titles = [json.loads(body)["title"] for _, body in receiver.posts]
    assert len(titles) == len(set(titles)) == 2


@on_sqlite
@pytest.mark.usefixtures("begun")
def test_nobody_there_is_given_up_in_the_end_and_said(bring: Bring, engine: sa.Engine, settings: Settings) -> None:
    told = replace(settings, webhook="http://127.0.0.1:9/", webhook_secret=SECRET)
    bring(windlass("s", [entry(BROKEN, timestamp=(NOW - timedelta(hours=1)).timestamp())]))
    for tries in range(failure_webhook.MOST_TRIES):
        failure_webhook.deliver(engine, told, NOW + timedelta(hours=2 * tries))
    assert failure_webhook.trouble(engine, told) == "Alerts to the webhook: 1 given up after 12 tries."


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"FENCEPOST_WEBHOOK": "file:///etc/passwd"}, "begins with http"),
        ({"FENCEPOST_WEBHOOK": "http://127.0.0.1/"}, "needs FENCEPOST_WEBHOOK_SECRET"),
        ({"FENCEPOST_WEBHOOK": "http://127.0.0.1/", "FENCEPOST_WEBHOOK_SECRET": "short"}, "16 characters"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(environ: dict[str, str], words: str) -> None:
    with pytest.raises(BadSetting, match=words):
        Settings.from_environment(environ)
