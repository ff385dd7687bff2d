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
from tests.forking import ForkedProcess
from tests.store.made import CALL, entry
from tests.until import until
from webapp.app import create_app
from webapp.config import Settings
from webapp.extensions import db
from webapp.store import tasks
from webapp.store.homes import trials
from webapp.store.models import Dump, Parse, Session, Task, Turn
from webapp.web import worker_process

SESSIONS, ENTRIES = 20, 10
STANDS_STILL = """
import pkgutil
import sys
from webapp.cli import main

owner, name, at = sys.argv[1:4]
del sys.argv[1:4]
holder, calls = pkgutil.resolve_name(owner), []
real = getattr(holder, name)

def wait(*about, **options):
    calls.append(1)
    if len(calls) == int(at):
        print("waiting", flush=True)
        sys.stdin.read()
    return real(*about, **options)

setattr(holder, name, wait)
main(prog_name="fencepost")
"""
"""The program, which stops before a call of one of its functions."""
SOME_ARE_STORED = ("webapp.store.ingest.dump_ingest:DumpIngest", "_write", "2")
SOME_ARE_PARSED = ("webapp.store.jobs.replays", "_parse", "1")


def lines(padding: str = "") -> bytes:
    """Windlass lines, one session behind the other."""
    entries = (
        entry(f"{number} {CALL}{padding}", session_id=f"s{number // ENTRIES}", timestamp=float(number))
        for number in range(SESSIONS * ENTRIES)
    )
    return b"".join(json.dumps(one).encode() + b"\n" for one in entries)


def started(data: Path, stops: tuple[str, ...], *words: str) -> ForkedProcess:
    environ = {**os.environ, "FENCEPOST_DATA": str(data), "FENCEPOST_DATABASE": ""}
    if stops:
        return forking.script(STANDS_STILL, *stops, *words, environ=environ, text=True)
    return forking.command(*words, environ=environ)


class Server:
    """`fencepost serve` in a process of its own, which may stop before a call."""

    def __init__(self, data: Path, *stops: str) -> None:
        self.process = started(data, stops, "serve", "--no-examples", "--port", "0")
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
    with app.app_context():

        def is_all_done() -> bool:
            behind.wake()
            with db.engine.connect() as connection:
                is_live = tasks.page(connection, live=True) or trials.are_lacking(connection)
                return not (is_live or connection.scalar(sa.select(Dump.id).where(Dump.state == "reading")))

        until(is_all_done)
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
    server = Server(tmp_path, *SOME_ARE_STORED)
    body = lines(" and so on" * 50)

    def send() -> None:
        with suppress(OSError, HTTPException):
            server.ask("POST", "/api/dumps?filename=a.jsonl", body)

    sender = threading.Thread(target=send)
    sender.start()
    server.said("waiting")
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


def killed_command(data: Path, words: tuple[str, ...], stops: tuple[str, ...], state: Any) -> Any:
    """A command that is killed over its work, which the server ends; what asks on behind it.

    `state` asks the database how far it is. Nobody starts the command again, or the server.
    """
    engine = sa.create_engine(f"sqlite:///{data / 'fencepost.sqlite3'}", poolclass=sa.NullPool)

    def one(query: Any) -> Any:
        with engine.connect() as connection:
            return connection.scalar(query)

    command = started(data, stops, *words)
    assert "waiting\n" in command.stdout
    assert one(state) in ("running", "reading")
    command.kill()
    command.communicate()
    until(lambda: one(state) == "done", lambda: one(state))
    return one


def test_a_replay_whose_command_was_killed_ends_behind_the_server(server: Server, tmp_path: Path) -> None:
    assert server.ask("POST", "/api/dumps?filename=a.jsonl", lines())[0] == 201
    state = sa.select(Task.state).where(Task.kind == "replay")
    one = killed_command(tmp_path, ("replay", "crewai"), SOME_ARE_PARSED, state)
    assert one(sa.select(sa.func.count()).where(Parse.profile == "crewai")) == SESSIONS * ENTRIES


@pytest.mark.usefixtures("server")
def test_an_ingest_whose_command_was_killed_ends_behind_the_server(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines(" and so on" * 50))
    words = ("ingest", str(tmp_path / "a.jsonl"))
    one = killed_command(tmp_path, words, SOME_ARE_STORED, sa.select(Dump.state))
    assert one(sa.select(sa.func.count()).select_from(Session)) == SESSIONS
