"""Takes files out of requests: small ones are read at once, larger ones become jobs."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, BinaryIO, cast

import sqlalchemy as sa
from flask import Request as FlaskRequest
from flask import current_app, request
from werkzeug.exceptions import BadRequest, ClientDisconnected

from webapp.config import Settings
from webapp.dumps.records import BadDump, TooLarge, UnknownFormat
from webapp.dumps.spool import GZIP, ZSTD
from webapp.extensions import db
from webapp.store import full, jobs, kept, mappings
from webapp.store.ingest import Ingested, ingest
from webapp.store.progress import Progress
from webapp.web import background

AT_ONCE = 2 * 1024 * 1024
"""bytes up to which a file is read within its request …"""
AT_ONCE_PACKED = 128 * 1024
"""… and where it is compressed or an archive, of which more comes out"""
_PACKED = (GZIP, ZSTD, b"PK")
CUT = "The connection ended before the whole file had come; nothing of it was stored. Send it again."


class Request(FlaskRequest):
    """A request whose files are spooled beside the database: they are never in memory, and need not be moved."""

    def _get_file_stream(self, *_: Any, **__: Any) -> IO[bytes]:
        folder = kept.incoming(current_app.config["SETTINGS"].data)
        with full.in_words():
            return cast(IO[bytes], tempfile.NamedTemporaryFile(prefix="upload-", dir=folder))


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that could not be read, in the words and the status of the API; `dump` is the number of what was kept."""

    filename: str
    status: int
    code: str
    message: str
    at: str | None
    dump: int | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, "at": self.at}


@dataclass(frozen=True, slots=True)
class Asked:
    """How a request wants its files read."""

    format: str | None
    home: str | None
    mapping: dict[str, str] | None


def asked(given: Mapping[str, str]) -> Asked:
    """From a query or a form: `format`, `home`, and `map`, a saved mapping's name. Answers 400 where it is none."""
    name = given.get("map")
    mapping = None
    if name:
        with db.engine.connect() as connection:
            try:
                mapping = mappings.named(connection, name).fields
            except mappings.NoSuchMapping as unknown:
                raise BadRequest(str(unknown)) from unknown
    return Asked(given.get("format") or None, given.get("home") or None, mapping)


def take(stream: IO[bytes], filename: str, how: Asked) -> Ingested | Refused:
    """Ingest one file from a request."""
    engine, settings = _store()
    watch = Progress()
    told: dict[str, Any] = {"format": how.format, "home": how.home, "mapping": how.mapping, "watch": watch}
    try:
        return ingest(engine, settings, cast(BinaryIO, _Sent(stream)), filename=filename, **told)
    except UnknownFormat as error:
        return Refused(filename, 415, "unknown_format", str(error), "byte 0", watch.dump)
    except TooLarge as error:
        return Refused(filename, 413, "too_large", error.reason, error.at, watch.dump)
    except BadDump as error:
        return Refused(filename, 422, "bad_dump", error.reason, error.at, watch.dump)
    except full.DiskFull as error:
        return Refused(filename, 507, full.CODE, str(error), None, watch.dump)


def leave(stream: IO[bytes], filename: str, how: Asked) -> int:
    """Keep one file for the worker; gives the job's number."""
    engine, settings = _store()
    path = jobs.own(settings, cast(BinaryIO, _Sent(stream)))
    told = {"format": how.format, "home": how.home, "mapping": how.mapping}
    number = jobs.make(engine, settings, filename=filename, path=path, **told)  # type: ignore[arg-type]
    background.wake()
    return number


def is_small(stream: IO[bytes]) -> bool:
    """Whether a spooled file is read so fast that its sender can wait for it."""
    size = stream.seek(0, 2)
    stream.seek(0)
    packed = stream.read(4).startswith(_PACKED)
    stream.seek(0)
    return size <= (AT_ONCE_PACKED if packed else AT_ONCE)


class _Sent:
    """What a client sends, which may end early: then nothing of it is taken."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    @property
    def name(self) -> Any:
        return getattr(self._stream, "name", None)

    def flush(self) -> None:
        self._stream.flush()

    def read(self, size: int = -1) -> bytes:
        try:
            return self._stream.read(size)
        except ClientDisconnected as cut:
            raise BadRequest(CUT) from cut
        except OSError as cut:
            if full.is_full(cut):
                raise
            raise BadRequest(CUT) from cut


def _store() -> tuple[sa.Engine, Settings]:
    return db.engine, current_app.config["SETTINGS"]


def filename_of_query() -> str:
    return request.args.get("filename") or "upload"
