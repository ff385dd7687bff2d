"""Tells dumps that are no text: zip and tar archives, OTLP in protobuf, Parquet and SQLite."""

from __future__ import annotations

import zipfile
from typing import Literal

from webapp.dumps import protobuf
from webapp.dumps.source import BLOCK, TAR, TAR_AT, ZIPS, Source

BinaryShape = Literal["zip", "tar", "protobuf", "parquet", "sqlite"]
_NAMES = 1000
PARQUET, SQLITE = b"PAR1", b"SQLite format 3\0"


def shape_of(source: Source) -> BinaryShape | None:
    """What kind of binary dump this is; None where it is text, or nothing known."""
    source.file.seek(source.start)
    block = source.file.read(BLOCK)
    if block.startswith(ZIPS):
        return "zip"
    if block[TAR_AT : TAR_AT + len(TAR)] == TAR:
        return "tar"
    if block.startswith(PARQUET):
        return "parquet"
    if block.startswith(SQLITE):
        return "sqlite"
    return "protobuf" if protobuf.is_otlp(source.file) else None


def names(source: Source) -> list[str]:
    """The names of a zip's first members; none where it is damaged."""
    try:
        with zipfile.ZipFile(source.file) as archive:
            return [info.filename for info in archive.infolist()[:_NAMES]]
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError):
        return []
