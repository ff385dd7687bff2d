"""How large a request's body may be, by its path: as it is sent, in bytes."""

from __future__ import annotations

from webapp.config import KILOBYTE, MEGABYTE, Settings

LOGIN = 4 * KILOBYTE
FORM = 1 * MEGABYTE
TEXT = 5 * MEGABYTE
"""of a playground's text, or of a label through the API"""
SPANS = 64 * MEGABYTE


def most_bytes(path: str, settings: Settings) -> int:
    """The largest body for `path`; forms are small, and only uploads may have what the settings say."""
    if path == "/login":
        return LOGIN
    if path in ("/dumps", "/api/dumps"):
        return settings.max_upload
    if path.startswith("/v1/"):
        return min(SPANS, settings.max_upload)
    if path.startswith(("/playground", "/api/")):
        return TEXT
    return FORM


def words(path: str, settings: Settings) -> str:
    """What to say to who sends more."""
    most = most_bytes(path, settings)
    if path in ("/dumps", "/api/dumps"):
        return (
            f"An upload may have {most // MEGABYTE:,} MB as it is sent (FENCEPOST_MAX_UPLOAD). Send it compressed, or"
            " read the file where the server runs: fencepost ingest FILE."
        )
    size = f"{most // MEGABYTE:,} MB" if most >= MEGABYTE else f"{most // KILOBYTE:,} KB"
    return f"The body of a request to this address may have {size}, no more."
