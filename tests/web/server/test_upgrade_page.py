"""While a start upgrades the database, every request is answered, and afterwards the pages are there."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.ports import free_port
from webapp.config import Settings
from webapp.store.db import database
from webapp.store.db.upgrading import Progress
from webapp.web.server import upgrade_page

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 120.0


@pytest.fixture
def old(tmp_path: Path) -> str:
    """The URL of a database that is one revision old."""
    url = f"sqlite:///{tmp_path / 'store.sqlite3'}"
    engine = database.connect(url)
    database.migrate(engine)
    with engine.begin() as connection:
        for column in ("kind", "selection"):
            connection.exec_driver_sql(f"ALTER TABLE job DROP COLUMN {column}")
        database.set_revision(connection, "0017")
    engine.dispose()
    return url


def ask(port: int, path: str, method: str = "GET") -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, b"a=1" if method == "POST" else None)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()
    finally:
        connection.close()


def first_answer(port: int, path: str) -> tuple[int, http.client.HTTPMessage, str]:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return ask(port, path)
        except ConnectionError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


@contextmanager
def served(url: str, data: Path, port: int) -> Iterator[None]:
    environ = {**os.environ, "FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": url}
    command = [sys.executable, "-m", "webapp", "serve", "--no-examples", "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE)


def test_a_server_that_upgrades_says_so_and_then_serves(old: str, tmp_path: Path) -> None:
    engine, port = database.connect(old), free_port()
    lock = ExitStack()
    lock.enter_context(database.writing(engine))  # holds up the upgrade
    with lock, served(old, tmp_path, port):
        status, headers, page = first_answer(port, "/sessions/one")
        assert status == 503 and headers["Retry-After"] == "5" and headers["Cache-Control"] == "no-store"
        assert f"from revision 0017 to {database.HEAD}" in page and 'http-equiv="refresh"' in page
        assert json.loads(ask(port, "/healthz")[2]) == {"status": "ok"}
        assert (ask(port, "/healthz")[0], ask(port, "/readyz")[0]) == (200, 503)
        for method, path in (("GET", "/api/sessions?limit=1"), ("POST", "/v1/traces")):
            status, _, text = ask(port, path, method)
            assert (status, json.loads(text)["error"]["code"]) == (503, "upgrading")
        assert ask(port, "/", "HEAD")[::2] == (503, "")
        lock.close()
        until = time.monotonic() + PATIENCE
        while (answer := first_answer(port, "/readyz"))[0] != 200 and time.monotonic() < until:
            time.sleep(0.05)
        assert answer[0] == 200 and "Fencepost" in ask(port, "/")[2]
        assert database.revision(engine) == database.HEAD
    engine.dispose()


def test_the_page_says_how_many_rows_are_done(old: str, tmp_path: Path) -> None:
    port = free_port()
    with upgrade_page.shown(Settings(data=tmp_path, database=old), "127.0.0.1", port) as on_upgrade:
        assert "rows" not in ask(port, "/")[2]
        on_upgrade(Progress("0016", 1200, 5000))
        assert "1,200 of 5,000 rows for revision 0016" in ask(port, "/")[2]


def test_nothing_is_shown_where_nothing_is_upgraded(tmp_path: Path) -> None:
    port = free_port()
    settings = Settings(data=tmp_path, database=f"sqlite:///{tmp_path / 'new.sqlite3'}")
    with upgrade_page.shown(settings, "127.0.0.1", port), pytest.raises(ConnectionError):
        ask(port, "/")


def test_a_taken_address_is_an_error(old: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = Settings(data=tmp_path, database=old)
        with pytest.raises(OSError), upgrade_page.shown(settings, "127.0.0.1", taken.getsockname()[1]):
            pass
