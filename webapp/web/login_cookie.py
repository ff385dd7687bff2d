"""The cookies of those who signed in, and the secret key that signs them."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from itsdangerous import BadData, URLSafeTimedSerializer

from webapp.config import Settings
from webapp.store.db import database

LIFE = 24 * 3600
"""seconds until a browser has to sign in again"""


def cookie_name(host: str, settings: Settings) -> str:
    """A name of this server's own: browsers send cookies to every port of a host."""
    port = re.search(r":(\d{1,5})\Z", host)
    name = f"fencepost-login-{port[1]}" if port else "fencepost-login"
    if not settings.secure:
        return name
    return f"__Secure-{name}" if settings.prefix else f"__Host-{name}"  # which browsers take for the whole host alone


@dataclass(frozen=True, slots=True)
class Cookie:
    """What a browser shows who signed in: a value, signed for a day. Another key, or another `use`, makes it void."""

    key: bytes
    use: bytes

    def value(self, payload: Any) -> str:
        return str(self._serializer().dumps(payload))

    def read(self, value: str) -> Any:
        """What was said; None where we did not sign it, or it is older than a day."""
        try:
            return self._serializer().loads(value, max_age=LIFE)
        except (BadData, ValueError):
            return None

    def _serializer(self) -> URLSafeTimedSerializer:
        return URLSafeTimedSerializer(self.key, self.use, signer_kwargs={"digest_method": hashlib.sha256})


def of_token(key: bytes, token: str) -> Cookie:
    """Of who gave the server's token: it says when that was alone. The token itself is not in it."""
    return Cookie(key, b"fencepost login\0" + token.encode("utf-8", "surrogatepass"))


def of_account(key: bytes) -> Cookie:
    """Of who signed in to an account: it says its number and stamp, of which another one ends it."""
    return Cookie(key, b"fencepost account")


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
