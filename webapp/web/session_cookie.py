"""The browser's session, signed in a cookie, and the secret key that signs it."""

from __future__ import annotations

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa
from flask import Flask, request
from flask.sessions import SecureCookieSessionInterface

from webapp.config import Settings
from webapp.store.db import database


class ServerSessions(SecureCookieSessionInterface):
    """A cookie of this server's own: browsers send cookies to every port of a host."""

    def get_cookie_name(self, app: Flask) -> str:
        settings = app.config["SETTINGS"]
        port = re.search(r":(\d{1,5})\Z", request.host)
        name = f"fencepost-{port[1]}" if port else "fencepost"
        if not settings.secure:
            return name
        return f"__Secure-{name}" if settings.prefix else f"__Host-{name}"  # browsers take it for the whole host alone


KEY_BYTES = 32


def secret_key(settings: Settings, engine: sa.Engine) -> bytes:
    """The key that was set; else PostgreSQL keeps one for all its machines, and each data folder one of its own."""
    if settings.secret_key is not None:
        return settings.secret_key.encode("utf-8", "surrogateescape")
    if engine.dialect.name == "postgresql":
        return database.shared_secret(engine, "secret_key", secrets.token_bytes(KEY_BYTES))
    return key_in(settings.data / "secret_key")


def key_in(path: Path) -> bytes:
    """The key kept in `path`, made at random on the first run and readable by its owner alone.

    It is linked into place whole, so that of two servers that start at once both read the same key. A key that a full
    disk or a hand left short is made anew, since anybody may guess it: who was signed in signs in again.
    """
    if path.exists() and path.stat().st_size < KEY_BYTES:
        path.unlink(missing_ok=True)
    if not path.exists():
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_bytes()
