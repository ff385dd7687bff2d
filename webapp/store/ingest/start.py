"""Takes a dump in: its bytes are kept, its sessions stored each whole or not at all, its problems listed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import installation
from webapp.config import Settings
from webapp.dumps import budget, reading
from webapp.dumps.budget import BadDump, Budget, LeftToWorker
from webapp.dumps.mappings import MAPPED, paths_of
from webapp.dumps.records import UnknownFormat
from webapp.dumps.session_keys import told_key
from webapp.dumps.spool import Spooled, spool
from webapp.store import derive, files
from webapp.store.db import database, locks
from webapp.store.db.ids import batched
from webapp.store.homes import changes
from webapp.store.ingest import dump_files
from webapp.store.ingest.dump_ingest import DumpIngest
from webapp.store.ingest.result import MOST_PROBLEMS as MOST_PROBLEMS
from webapp.store.ingest.result import IngestResult as IngestResult
from webapp.store.ingest.result import Progress, problem_of
from webapp.store.ingest.result import describe as describe
from webapp.store.models import Dump, Session, Turn
from webapp.store.sessions import deletion
from webapp.store.sessions.dumps import find, line, named_sessions
from webapp.store.write import rows, stored_turns
from webapp.store.write.parser import UNKNOWN
from webapp.store.write.session_state import is_known


def ingest(
    engine: sa.Engine,
    settings: Settings,
    stream: BinaryIO,
    *,
    filename: str,
    format: str | None = None,  # noqa: A002
    home: str | None = None,
    known_only: bool = False,
    mapping: Mapping[str, str] | None = None,
    watch: Progress | None = None,
    by_request: bool = False,
    leaves_rows: bool = False,
) -> IngestResult:
    """Store the sessions of `stream`; of what came `by_request`, read now or by the worker, packed items are limited.

    With `leaves_rows` it raises `LeftToWorker`, with the spooled file, where a library is to make rows of it.

    `home` is the profile that the sessions' own program used, over what the log says. Raises `BadDump` and
    `UnknownFormat` after all that could be read is stored and the dump is noted as failed; the same bytes are
    tried again then, and where the process died over them. Whoever brings bytes that are being read waits.
    With `known_only` a dump that no format recognises, an empty one too, raises `UnknownFormat` and leaves no trace.
    `mapping` reads any JSON, or names the key of sessions (see `webapp.dumps.read`); it raises `BadMapping` where it
    is none. `watch` is told how far it is and may stop it: then `Stopped` is raised, and what was stored by then
    stays, as with a full disk, which is `DiskFull`.
    """
    watch = watch or Progress()
    format = format_by(mapping, format)  # noqa: A001
    with files.full_disk_in_words():
        spooled = spool(watch.file(stream), dump_files.incoming(settings.data), max_bytes=settings.max_dump)
    is_strict = by_request and spooled.packed is not None
    try:
        with (
            locks.wait_for(engine, settings.data, spooled.sha256, watch.moved),
            files.full_disk_in_words(),
            budget.reading(Budget(spooled.packed or spooled.bytes, is_strict=is_strict, leaves_rows=leaves_rows)),
        ):
            before = _read_before(engine, spooled.sha256)
            again = before if before and mapping is not None and before.mapping != dict(mapping) else None
            if before and not again and (result := _found(engine, before.id)) is not None:
                return _with_home(engine, result, home)
            if known_only and format is None:
                format = sniffed(spooled, filename)  # noqa: A001
            return _read(DumpIngest(engine, settings, spooled, filename, format, home, again, mapping, watch), home)
    except LeftToWorker as left:
        left.path = spooled.path.rename(spooled.path.with_name(f"job-{spooled.path.name}"))
        raise
    finally:
        spooled.path.unlink(missing_ok=True)


def ingest_again(
    engine: sa.Engine,
    settings: Settings,
    ident: str | int,
    *,
    format: str | None = None,  # noqa: A002
    home: str | None = None,
    mapping: Mapping[str, str] | None = None,
    watch: Progress | None = None,
) -> IngestResult:
    """Read a kept dump (its number or sha256) with today's formats: sessions grow, or get a new revision.

    A session whose entries are read as they are stored is left alone; one that a format now reads otherwise becomes
    a new revision beside the old, which keeps its labels. The format is the one that recognises the dump today, else
    the one that read it before, with the mapping and the home profile told then. Raises `NoSuchDump`,
    `dump_files.NotKept`, and as `ingest` does: a dump that was read before then stays noted as it was.
    """
    watch = watch or Progress()
    with orm.Session(engine) as db:
        dump = find(db, ident)
    format = format_by(mapping, format)  # noqa: A001
    with (
        locks.wait_for(engine, settings.data, dump.sha256, watch.moved),
        files.full_disk_in_words(),
    ):
        spooled = dump_files.unpacked(settings, dump.sha256, dump.bytes)
        try:
            mapping = mapping or (dump.mapping if format is None else None)
            format = format or _todays_format(spooled, dump)  # noqa: A001
            arguments = (engine, settings, spooled, dump.filename, format, home or dump.home, dump)
            return _read(DumpIngest(*arguments, mapping, watch), home)
        finally:
            spooled.path.unlink(missing_ok=True)


def ingest_examples(engine: sa.Engine, settings: Settings) -> None:
    """Ingest every example that ships with Fencepost; those that are stored already change nothing."""
    for path in sorted(installation.resource("examples").glob("*.json*")):
        with path.open("rb") as stream:
            ingest(engine, settings, stream, filename=path.name)


def _read(reading: DumpIngest, home: str | None) -> IngestResult:
    """What became of a dump; what only another mapping made of it before is hidden, but for what has labels."""
    result, before = reading.run(), reading.again
    if before is not None and reading.mapping and reading.mapping != before.mapping:
        with orm.Session(reading.engine) as db:
            deletion.replace_reading(db, before.id, result.keys)
    return _with_home(reading.engine, result, home)


def _with_home(engine: sa.Engine, result: IngestResult, home: str | None) -> IngestResult:
    """What was ingested, once all its sessions have the home profile that was told now, also those from before."""
    if home is None or home == UNKNOWN or not is_known(home):
        return result
    changed = changes.tell(engine, result.keys, home, {"dump": str(result.dump.id)})
    if result.dump.home == home:
        return replace(result, changed=changed)
    with database.writing(engine) as connection:
        connection.execute(sa.update(Dump).where(Dump.id == result.dump.id).values(home=home[:64]))
        return replace(result, changed=changed, dump=line(connection, result.dump.id))


def format_by(mapping: Mapping[str, str] | None, name: str | None) -> str | None:
    """The format to read by: the mapping's, where it says how; raises `BadMapping`."""
    if mapping is None or told_key(mapping) is not None:
        return name
    paths_of(mapping)
    return MAPPED


def _todays_format(spooled: Spooled, dump: Dump) -> str:
    if dump.format == MAPPED:
        return MAPPED
    try:
        return reading.sniff(spooled.path, dump.filename)
    except UnknownFormat:
        if dump.format in reading.known_formats():
            return str(dump.format)
        raise


def sniffed(spooled: Spooled, filename: str) -> str:
    """The format of a spooled dump; raises `UnknownFormat`, for an empty one too."""
    try:
        return reading.sniff(spooled.path, filename)
    except BadDump as empty:
        raise UnknownFormat(empty.reason) from empty


def _read_before(engine: sa.Engine, sha256: str) -> Dump | None:
    with engine.connect() as connection:
        dump_id = connection.scalar(sa.select(Dump.id).where(Dump.sha256 == sha256, Dump.state == "done"))
        return None if dump_id is None else line(connection, dump_id)


def _found(engine: sa.Engine, dump_id: int) -> IngestResult | None:
    """What is stored of a dump that came in again; None where some of it is gone for good."""
    if not deletion.bring_back(engine, dump_id):
        return None
    with engine.connect() as connection:
        dump, sessions = line(connection, dump_id), named_sessions(connection, dump_id)
    return IngestResult(dump, *sessions, [problem_of(problem) for problem in dump.problems], False)


SOURCE = "file"
_calls = (
    sa.select(Turn.id, Turn.declaration_id)
    .where(Turn.session_id == sa.bindparam("session"), Turn.kind == "tool_call", Turn.duplicate_of.is_(None))
    .order_by(Turn.id)
)


def tell_tools(engine: sa.Engine, keys: Iterable[str], tools: dict[str, Any]) -> int:
    """Hold the calls of these sessions whose own request names no tools against `tools`; how many calls these are."""
    with engine.connect() as connection:
        ids = list(connection.scalars(sa.select(Session.id).where(Session.key.in_(list(keys))).order_by(Session.id)))
    return sum(_tell_tools(engine, session_id, tools) for session_id in ids)


def _tell_tools(engine: sa.Engine, session_id: int, tools: dict[str, Any]) -> int:
    with database.writing(engine) as connection:
        turns: dict[int | None, list[int]] = defaultdict(list)
        for row in connection.execute(_calls, {"session": session_id}):
            turns[row.declaration_id].append(row.id)
        count, declarations = 0, stored_turns.declarations(connection)
        for number, of_declaration in turns.items():
            content = declarations(number) or {}
            if content.get("tools") is None or content.get("source") == SOURCE:
                declared = rows.declared({**content, **tools, "source": SOURCE})
                rows.store_declarations(connection, [declared] if declared else [])
                for batch in batched(of_declaration):
                    refers = sa.update(Turn).where(Turn.id.in_(batch)).values(declaration_id=declared and declared.id)
                    connection.execute(refers)
                count += len(of_declaration)
        if count:
            derive.derive(connection, [session_id])
        return count
