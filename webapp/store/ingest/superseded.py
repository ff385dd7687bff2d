"""Lets a file that is sent again as it grows stay one dump: the longer one takes the shorter one's place."""

from __future__ import annotations

import hashlib
from pathlib import Path

import sqlalchemy as sa

from webapp.dumps.spool import Spooled
from webapp.store.models import Dump

_PIECE = 1024 * 1024


def former(connection: sa.Connection, spooled: Spooled, filename: str, format: str | None) -> tuple[int, str] | None:  # noqa: A002
    """The dump (id, sha256) of the same name and format that this one begins with, byte for byte."""
    query = sa.select(Dump.id, Dump.sha256, Dump.bytes).where(
        Dump.format == format, Dump.filename == filename, Dump.bytes < spooled.bytes, Dump.state == "done"
    )
    for row in connection.execute(query.order_by(Dump.id.desc()).limit(10)).all():
        if _beginning(spooled.path, row.bytes) == row.sha256:
            return row.id, row.sha256
    return None


def _beginning(path: Path, size: int) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while size > 0 and (piece := file.read(min(size, _PIECE))):
            digest.update(piece)
            size -= len(piece)
    return digest.hexdigest()
