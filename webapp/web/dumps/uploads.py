"""Takes files out of requests: small ones are read at once, larger ones become jobs."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import IO, Any, BinaryIO, TypedDict, cast
from urllib.parse import quote

from flask import Request as FlaskRequest
from flask import Response, current_app, jsonify, url_for
from werkzeug.exceptions import BadRequest

from webapp.dumps.budget import BadDump, Budget, LeftToWorker, reading
from webapp.dumps.reading import read, session_keys
from webapp.dumps.records import Turn, UnknownFormat
from webapp.dumps.session_keys import OPTION, SessionKeys
from webapp.dumps.source import ZIPS
from webapp.dumps.spool import HOLDING_MORE, LONGEST_MARK, spool
from webapp.extensions import db, wake
from webapp.store import files
from webapp.store.accounts.accounts import READ
from webapp.store.ingest import dump_files
from webapp.store.ingest.result import Progress, describe, problem_dict
from webapp.store.ingest.start import IngestResult, ingest
from webapp.store.jobs import imports, mappings
from webapp.store.models import Dump
from webapp.web.api.shapes import filled
from webapp.web.dumps.dump_rows import LOOKED_AT, RefusedUpload
from webapp.web.login import may

AT_ONCE = 2 * 1024 * 1024
"""bytes up to which a file is read within its request …"""
AT_ONCE_PACKED = 128 * 1024
"""… and where it is compressed or an archive, of which more comes out"""
PREVIEWED, MOST_SHOWN, MOST_LOOKED_THROUGH = 3, 300, 1000
"""turns and their code points that are shown before a file is stored, and the records looked through for them"""
_NO_KEYS = SessionKeys(None, told=False, entries=0, sessions=0, without=0)


class SpoolingRequest(FlaskRequest):
    """A request whose files are spooled beside the database: they are never in memory, and need not be moved."""

    @property
    def full_path(self) -> str:
        """The path and the query as a browser asks for them, with the prefix."""
        query = self.query_string.decode("latin-1")
        return quote(self.script_root + self.path, safe="/:@!$&'()*+,;=~") + (f"?{query}" if query else "")

    def _get_file_stream(self, *_: Any, **__: Any) -> IO[bytes]:
        folder = dump_files.incoming(current_app.config["SETTINGS"].data)
        with files.full_disk_in_words():
            return cast(IO[bytes], tempfile.NamedTemporaryFile(prefix="upload-", dir=folder))


class UploadOptions(TypedDict):
    format: str | None
    home: str | None
    mapping: dict[str, str] | None


def upload_options(values: Mapping[str, str]) -> UploadOptions:
    """From a query or a form: `format`, `home`, `session_key`, and `map`, a saved mapping's name.

    Answers 400 where it is none, and where a session key is told beside it.
    """
    name = values.get("map")
    mapping = None
    if name:
        with db.engine.connect() as connection:
            try:
                mapping = mappings.find(connection, name).content
            except mappings.NoSuchMapping as unknown:
                raise BadRequest(str(unknown)) from unknown
    if key := values.get("session_key", "").strip():
        if mapping is not None:
            raise BadRequest("The mapping already names the session: leave the session key empty.")
        mapping = {OPTION: key}
    return {"format": values.get("format") or None, "home": values.get("home") or None, "mapping": mapping}


Outcome = IngestResult | RefusedUpload | int
"""What became of a file: it was read, or refused, or is a job with this number."""


def ingest_upload(stream: IO[bytes], filename: str, how: UploadOptions) -> Outcome:
    """What became of a file; the number of the job that reads it where that is left to the worker."""
    watch, settings = Progress(), current_app.config["SETTINGS"]
    options: dict[str, Any] = {"filename": filename, "watch": watch, "by_request": True, "leaves_rows": True}
    try:
        return ingest(db.engine, settings, cast(BinaryIO, stream), **how, **options)
    except LeftToWorker as left:
        number = imports.ask(db.engine, settings, filename=filename, path=left.path, **how)
        wake()
        return number
    except (UnknownFormat, BadDump, files.DiskFull) as error:
        at = {"at": "byte 0"} if isinstance(error, UnknownFormat) else {}
        return RefusedUpload(filename, error.status, describe(error) | at, watch.dump)


def queue_upload(stream: IO[bytes], filename: str, how: UploadOptions, keys: dict[str, Any] | None = None) -> int:
    """Keep one file for the worker, or with `keys` until somebody says how it is read; gives the job's number."""
    settings = current_app.config["SETTINGS"]
    path = imports.own(settings, cast(BinaryIO, stream))
    number = imports.ask(db.engine, settings, filename=filename, path=path, keys=keys, **how)
    if keys is None:
        wake()
    return number


def queue_kept(dump: Dump, mapping: dict[str, str] | None) -> int:
    """Have the worker read a kept dump anew, by a mapping or with today's formats; gives the job's number."""
    settings = current_app.config["SETTINGS"]
    number = imports.ask(db.engine, settings, filename=dump.filename, dump_id=dump.id, size=dump.bytes, mapping=mapping)
    wake()
    return number


def keys_to_ask_about(stream: BinaryIO, filename: str, how: UploadOptions, *, is_wanted: bool) -> dict[str, Any] | None:
    """What may name the sessions of a file (`SessionKeys`) and its first turns (`preview`), by its beginning.

    None where nobody is to be asked: somebody is where keys give different numbers of sessions, or it `is_wanted`.
    What is wrong with the file is said when it is read.
    """
    if how["mapping"] is not None:
        return None
    incoming = dump_files.incoming(current_app.config["SETTINGS"].data)
    size, start = _size_and_start(stream)
    is_zip = start.startswith(ZIPS)  # its list of members stands at its end
    path = spool(stream, incoming, max_bytes=sys.maxsize if is_zip else LOOKED_AT, is_beginning=True).path
    try:
        with reading(Budget(size, is_strict=start.startswith(HOLDING_MORE), leaves_rows=True)):
            keys = session_keys(path, filename, format=how["format"], most=LOOKED_AT)
            asks = is_wanted or (keys is not None and not keys.is_sure)
            return asdict(keys or _NO_KEYS) | {"preview": _first_turns(path, filename, how)} if asks else None
    except (BadDump, UnknownFormat, LeftToWorker):
        return None
    finally:
        stream.seek(0)
        path.unlink(missing_ok=True)


def _first_turns(path: Path, filename: str, how: UploadOptions) -> list[dict[str, str]]:
    """The kinds and beginnings of the first turns that say something."""
    records = islice(read(path, filename, format=how["format"]), MOST_LOOKED_THROUGH)
    turns = (turn for turn in records if isinstance(turn, Turn) and (turn.raw or turn.kind != "event"))
    return [{"kind": turn.kind, "text": (turn.raw or "")[:MOST_SHOWN]} for turn in islice(turns, PREVIEWED)]


def is_small(stream: IO[bytes]) -> bool:
    """Whether a spooled file is read so fast that its sender can wait for it."""
    size, start = _size_and_start(stream)
    return size <= (AT_ONCE_PACKED if start.startswith(HOLDING_MORE) else AT_ONCE)


def _size_and_start(stream: IO[bytes]) -> tuple[int, bytes]:
    """Its bytes, and the first of them; it is read from its beginning afterwards."""
    size = stream.seek(0, 2)
    stream.seek(0)
    start = stream.read(LONGEST_MARK)
    stream.seek(0)
    return size, start


def queued(numbers: list[int]) -> tuple[Response, int]:
    """202, with each file's job and where to ask how far it is."""
    job_links = [{"id": number, "url": url_for("jobs.show_api", number=number)} for number in numbers]
    response = jsonify(job=job_links[0], **({"jobs": job_links} if len(job_links) > 1 else {}))
    response.headers["Location"] = job_links[0]["url"]
    return response, 202


def answer(sent: list[tuple[str, Outcome]]) -> tuple[Response, int]:
    """One file: its dump, or its error. Several: the first's, and `dumps` with each one's. 202 where one is a job."""
    if numbers := [result for _, result in sent if isinstance(result, int)]:
        return queued(numbers)
    refused = [result.status for _, result in sent if isinstance(result, RefusedUpload)]
    bodies = [_body(name, result) for name, result in sent if not isinstance(result, int)]
    if len(refused) == len(sent):
        return jsonify({**bodies[0], "dumps": bodies}), refused[0]
    first = next(body for body in bodies if "error" not in body)
    several = {"dumps": bodies} if len(sent) > 1 else {}
    is_new = any(isinstance(result, IngestResult) and result.created for _, result in sent)
    return jsonify({**first, **several}), 201 if is_new else 200


def _body(filename: str, result: IngestResult | RefusedUpload) -> dict[str, Any]:
    """Of a file that was there before, who may only write is told nothing that its first sender said."""
    if isinstance(result, RefusedUpload):
        dump = {} if result.dump is None else {"dump": {"id": result.dump}}
        return {"filename": filename, "error": result.error, **dump}
    may_read = may(READ)
    about: dict[str, Any] = {} if may_read else {"filename": filename}
    if not (may_read or result.created):
        return {"dump": filled("Dump", result.dump, **about, not_in_log=None), "sessions": [], "problems": []}
    problems = [problem_dict(problem) for problem in result.problems]
    return {"dump": filled("Dump", result.dump, **about), "sessions": result.sessions, "problems": problems}
