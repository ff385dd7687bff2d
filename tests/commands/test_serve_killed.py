"""Servers that are killed with -9 and started again: nothing half there, nothing lost that was acknowledged."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from tests import forking
from tests.store.made import CALL, entry
from tests.until import until
from webapp.app import create_app
from webapp.config import Settings
from webapp.extensions import db
from webapp.store.models import Dump, Parse, Session, Task, Turn
from webapp.web import worker_process

SESSIONS, MANY, ENTRIES = 60, 200, 10
"""sessions of a file, those of one that takes a while, and the entries of each"""
STANDS_STILL = """
import sys
from webapp.cli import main
from webapp.store.ingest import dump_ingest

on_commit = dump_ingest.DumpIngest._committed

def wait(*about):
    on_commit(*about)
    print("stored", flush=True)
    sys.stdin.read()

dump_ingest.DumpIngest._committed = wait
main(prog_name="fencepost")
"""
"""The program, which stops within a dump, once the first sessions of it are stored."""


def lines(padding: str = "", sessions: int = SESSIONS) -> bytes:
    """Windlass lines, one session behind the other."""
    entries = (
        entry(f"{number} {CALL}{padding}", session_id=f"s{number // ENTRIES}", timestamp=float(number))
        for number in range(sessions * ENTRIES)
    )
    return b"".join(json.dumps(one).encode() + b"\n" for one in entries)


class Server:
    """`fencepost serve` in a process of its own, or a script that does so too."""

    def __init__(self, data: Path, code: str | None = None) -> None:
        words = ("serve", "--no-examples", "--port", "0")
        environ = {**os.environ, "FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": ""}
        if code is None:
            self.process = forking.command(*words, environ=environ)
        else:
            self.process = forking.script(code, *words, environ=environ, text=True)
        self.port = int(self.said(r"http://127.0.0.1:(\d+)")[1])

    def said(self, pattern: str) -> re.Match[str]:
        """Waits for a line in which this is found."""
        return next(found for line in self.process.stdout if (found := re.search(pattern, line)))

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, Any]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path)
    yield server
    server.kill()


@contextmanager
def started_again(data: Path) -> Iterator[Flask]:
    """The app as the next start makes it, once its worker has done what was left."""
    app = create_app(Settings(data=data, database=f"sqlite:///{data / 'fencepost.sqlite3'}"))
    behind = worker_process.of(app)
    if (watcher := behind._watcher) is not None:
        watcher.join(120)
    with app.app_context():
        yield app
        db.engine.dispose()
    behind.close()


def whole() -> int:
    """The number of sessions, each of which has all its turns and parses."""
    turns = sa.select(sa.func.count()).select_from(Turn).where(Turn.session_id == Session.id).scalar_subquery()
    parses = sa.select(sa.func.count()).select_from(Parse).join(Turn, Turn.id == Parse.turn_id)
    own = parses.where(Turn.session_id == Session.id).correlate(Session).scalar_subquery()
    with db.engine.connect() as connection:
        found = connection.execute(sa.select(Session.turn_count, turns, own)).all()
    assert {tuple(row) for row in found} <= {(ENTRIES, ENTRIES, 2 * ENTRIES)}
    return len(found)


def states() -> list[str]:
    with db.engine.connect() as connection:
        return list(connection.scalars(sa.select(Dump.state)))


def test_a_file_that_was_taken_for_later_is_read_by_the_next_server(server: Server, tmp_path: Path) -> None:
    status, answer = server.ask("POST", "/api/dumps?background=1&filename=a.jsonl", lines())
    server.kill()
    assert status == 202
    with started_again(tmp_path) as app:
        job = app.test_client().get(answer["job"]["url"]).json["job"]
        assert (job["state"], job["result"]["sessions"]) == ("done", SESSIONS)
        assert (whole(), states()) == (SESSIONS, ["done"])


def test_a_file_that_was_being_read_is_read_on(tmp_path: Path) -> None:
    """Its sender had no answer yet; what is there is whole, and the rest comes too."""
    server = Server(tmp_path, STANDS_STILL)
    body = lines(" and so on" * 50)

    def send() -> None:
        with suppress(OSError, HTTPException):
            server.ask("POST", "/api/dumps?filename=a.jsonl", body)

    sender = threading.Thread(target=send)
    sender.start()
    server.said("stored")
    assert server.ask("GET", "/api/sessions?limit=1")[1]["total"]
    server.kill()
    sender.join()
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'fencepost.sqlite3'}")
    with engine.connect() as connection:
        stored = connection.scalar(sa.select(sa.func.count()).select_from(Session))
    engine.dispose()
    assert 0 < (stored or 0) < SESSIONS
    with started_again(tmp_path):
        assert (whole(), states()) == (SESSIONS, ["done"])


def test_half_a_body_leaves_nothing(server: Server, tmp_path: Path) -> None:
    body = lines()
    with socket.create_connection(("127.0.0.1", server.port)) as sender:
        head = f"POST /api/dumps?filename=a.jsonl HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        sender.sendall(head.encode() + body[: len(body) // 2])
        server.kill()
    with started_again(tmp_path) as app:
        assert (whole(), states()) == (0, [])
        assert app.test_client().post("/api/dumps?filename=a.jsonl", data=body).status_code == 201
        assert whole() == SESSIONS


def killed_command(server: Server, data: Path, words: list[str], state: Any) -> Any:
    """A command that is killed while `state` asks the database for "running" or "reading": what asks on behind it.

    Nobody starts it again, or the server.
    """
    environ = {**os.environ, "FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": ""}
    command = forking.command(*words, environ=environ)
    engine = sa.create_engine(f"sqlite:///{data / 'fencepost.sqlite3'}", poolclass=sa.NullPool)

    def one(query: Any) -> Any:
        with engine.connect() as connection:
            return connection.scalar(query)

    def wait(*states: str) -> str:
        return str(until(lambda: (seen := one(state)) in states and seen, lambda: one(state)))

    wait("running", "reading")
    command.kill()
    command.communicate()
    assert wait("running", "reading", "done") != "done", "it was to be killed over it"
    wait("done")
    return one


def test_a_replay_whose_command_was_killed_ends_behind_the_server(server: Server, tmp_path: Path) -> None:
    assert server.ask("POST", "/api/dumps?filename=a.jsonl", lines(sessions=MANY))[0] == 201
    state = sa.select(Task.state).where(Task.kind == "replay")
    one = killed_command(server, tmp_path, ["replay", "crewai"], state)
    assert one(sa.select(sa.func.count()).where(Parse.profile == "crewai")) == MANY * ENTRIES


def test_an_ingest_whose_command_was_killed_ends_behind_the_server(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(" and so on" * 50, MANY))
    one = killed_command(server, tmp_path, ["ingest", str(tmp_path / "a.jsonl")], sa.select(Dump.state))
    assert one(sa.select(sa.func.count()).select_from(Session)) == MANY
