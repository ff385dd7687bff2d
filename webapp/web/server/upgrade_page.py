"""A page for the minutes in which a start upgrades the database: without it, nothing would answer."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import sqlalchemy as sa

from webapp.config import Settings
from webapp.store.db import database

if TYPE_CHECKING:
    from webapp.store.db.upgrading import Progress

_RELOADS = 5
"""seconds until the page loads itself once more"""
_PATIENCE = 10
"""seconds that a request may take to come in"""
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="{reloads}"><meta name="color-scheme" content="light dark">
<title>Upgrading · Fencepost</title>
<style>body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 4rem auto; padding: 0 1rem }}</style>
</head><body><h1>The database is being upgraded</h1><p>{message}</p>
<p>This page reloads itself every {reloads} seconds, and then shows what was asked for.</p></body></html>
"""


@contextmanager
def shown(settings: Settings, host: str, port: int) -> Iterator[Callable[[Progress], None]]:
    """Where the database is older than this program, answer every request with 503 until this ends.

    What it gives takes how far the upgrade is, for the page to say so.
    Nothing is shown on a port that is not known before (0). Raises `OSError` where the address cannot be bound.
    """
    revision = _older_revision(settings) if port else None
    if revision is None:
        yield lambda _: None
        return
    server = _UpgradeServer(host, port, revision)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server.go_on
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _older_revision(settings: Settings) -> str | None:
    """The database's revision where it is not the newest; None for an empty one, and where it cannot be reached."""
    with suppress(sa.exc.SQLAlchemyError, ModuleNotFoundError, OSError):  # the start itself says what is wrong
        engine = database.connect(settings.database)
        try:
            revision = database.revision(engine)
            return None if revision == database.HEAD else revision
        finally:
            engine.dispose()
    return None


class _UpgradeServer(ThreadingHTTPServer):
    def __init__(self, host: str, port: int, revision: str) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.revision = revision
        self.began = time.monotonic()
        self.progress: Progress | None = None
        super().__init__((host.strip("[]"), port), _Handler)

    def go_on(self, progress: Progress) -> None:
        """Say from now on how far the upgrade is."""
        self.progress = progress

    @property
    def message(self) -> str:
        seconds, progress = int(time.monotonic() - self.began), self.progress
        rows = f", {progress.done:,} of {progress.total:,} rows for revision {progress.revision}" if progress else ""
        return (
            f"Fencepost upgrades its database from revision {self.revision} to {database.HEAD}, which takes minutes if"
            f" it is large; so far {seconds} s{rows}. If it is interrupted, nothing is lost: the next start continues."
        )


class _Handler(BaseHTTPRequestHandler):
    timeout = _PATIENCE
    server: _UpgradeServer

    def do_GET(self) -> None:
        """Answer any request; the body of one that has one is not read."""
        message, path = self.server.message, self.path.partition("?")[0]
        if path.endswith("/healthz"):
            self._answer(200, "application/json", json.dumps({"status": "ok"}))
        elif path.endswith("/readyz"):
            self._answer(503, "application/json", json.dumps({"status": "not ready", "checks": {"database": message}}))
        elif "/api/" in path or "/v1/" in path:
            error = {"code": "upgrading", "message": message, "at": None}
            self._answer(503, "application/json", json.dumps({"error": error}))
        else:
            self._answer(503, "text/html; charset=utf-8", _PAGE.format(message=message, reloads=_RELOADS))

    do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET  # noqa: N815

    def _answer(self, status: int, kind: str, text: str) -> None:
        self.close_connection = True
        data = text.encode()
        self.send_response(status)
        headers = {"Content-Type": kind, "Content-Length": str(len(data)), "Cache-Control": "no-store"}
        if status == 503:
            headers["Retry-After"] = str(_RELOADS)
        for name, value in (headers | {"X-Content-Type-Options": "nosniff", "Connection": "close"}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing: the start's own log says that the database is upgraded."""

    def version_string(self) -> str:
        return "fencepost"
