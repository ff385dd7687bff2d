"""Compares access tokens, and reads them out of a header."""

from __future__ import annotations

import hmac


def bearer(header: str) -> bytes | None:
    """The token of an `Authorization: Bearer …` header, which WSGI gives as Latin-1; None where it is none."""
    scheme, _, sent = header.partition(" ")
    return sent.strip().encode("latin-1", "replace") if scheme.lower() == "bearer" else None


def same(sent: bytes, token: str) -> bool:
    """Whether `sent` is `token` in UTF-8, in a time that says nothing of where they differ."""
    return hmac.compare_digest(sent, token.encode("utf-8", "surrogatepass"))
