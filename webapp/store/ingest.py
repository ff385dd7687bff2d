"""Takes a dump in: its bytes are kept, its sessions stored each whole or not at all, its problems listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import BinaryIO

import sqlalchemy as sa
from sqlalchemy import orm

from webapp import dumps as readers
from webapp.config import Settings
from webapp.dumps.formats.mapped import plugin as _mapped
from webapp.dumps.records import BadDump, Problem, UnknownFormat
from webapp.dumps.spool import Spooled, spool
from webapp.store import deletion, full, kept
from webapp.store.dumps import DumpLine, find, line
from webapp.store.ingested import MOST_PROBLEMS, Ingested, describe
from webapp.store.intake import Intake, Progress
from webapp.store.models import Dump, DumpSession, Session
from webapp.store.progress import Progress as Watch

__all__ = ["MOST_PROBLEMS", "Ingested", "describe", "ingest", "ingest_again", "mapped", "sniffed"]


def ingest(
    engine: sa.Engine,
    settings: Settings,
    stream: BinaryIO,
    *,
    filename: str,
    format: str | None = None,  # noqa: A002
    home: str | None = None,
    progress: Progress | None = None,
    known_only: bool = False,
    mapping: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Ingested:
    """Store the sessions of `stream`; `progress` is called with the number of turns read so far.

    `home` is the profile that the sessions' own program used, over what the dump says. Raises `BadDump` and
    `UnknownFormat` after all that could be read is stored and the dump is noted as failed; the same bytes are
    tried again then, and where the process died over them. Whoever brings bytes that are being read waits.
    With `known_only` a dump that no format recognises, an empty one too, raises `UnknownFormat` and leaves no trace.
    `mapping` reads any JSON (see `webapp.dumps.read`); it raises `BadMapping` where it is none. `watch` is told how
    far it is and may stop it: then `Stopped` is raised, and what was stored by then stays, as with a full disk,
    which is `DiskFull`.
    """
    watch = watch or Watch()
    if mapping is not None:
        format = mapped(mapping)  # noqa: A001
    with full.in_words():
        spooled = spool(watch.file(stream), kept.incoming(settings.data), max_bytes=settings.max_dump)
    try:
        with kept.reading(settings.data, spooled.sha256, watch.moved), full.in_words():
            if (there := _already(engine, spooled.sha256)) is not None:
                return there
            if known_only and format is None:
                format = sniffed(spooled, filename)  # noqa: A001
            return Intake(
                engine, settings, spooled, filename, format, home, progress, mapping=mapping, watch=watch
            ).run()
    finally:
        spooled.path.unlink(missing_ok=True)


def ingest_again(
    engine: sa.Engine,
    settings: Settings,
    ident: str | int,
    *,
    format: str | None = None,  # noqa: A002
    home: str | None = None,
    progress: Progress | None = None,
    mapping: Mapping[str, str] | None = None,
    watch: Watch | None = None,
) -> Ingested:
    """Read a kept dump (its number or sha256) with today's formats: sessions grow, or get a new revision.

    A session whose entries are read as they are stored is left alone; one that a format now reads otherwise becomes
    a new revision beside the old, which keeps its labels. The format is the one that recognises the dump today, else
    the one that read it before, with the mapping and the home profile told then. Raises `NoSuchDump`,
    `kept.NotKept`, and as `ingest` does: a dump that was read before then stays noted as it was.
    """
    watch = watch or Watch()
    with orm.Session(engine) as db:
        dump = find(db, ident)
    if mapping is not None:
        format = mapped(mapping)  # noqa: A001
    with kept.reading(settings.data, dump.sha256, watch.moved), full.in_words():
        spooled = kept.unpacked(settings.data, dump.sha256)
        try:
            mapping = mapping or (_mapping_then(engine, dump) if format is None else None)
            format = format or _todays_format(spooled, dump)  # noqa: A001
            given = (engine, settings, spooled, dump.filename, format, home or dump.home, progress, dump)
            return Intake(*given, mapping, watch).run()
        finally:
            spooled.path.unlink(missing_ok=True)


def mapped(mapping: Mapping[str, str]) -> str:
    """The name of the format that reads by a mapping; raises `BadMapping` where this is none."""
    _mapped.by(mapping)
    return _mapped.name


def _mapping_then(engine: sa.Engine, dump: DumpLine) -> dict[str, str] | None:
    """The mapping that the dump was read by, which its sessions keep."""
    if dump.format != _mapped.name:
        return None
    if dump.mapping is not None:
        return dump.mapping
    query = sa.select(Session.extra).join(DumpSession, DumpSession.session_id == Session.id)
    with engine.connect() as connection:
        extra = connection.scalar(query.where(DumpSession.dump_id == dump.id).order_by(Session.id.desc()).limit(1))
    return (extra or {}).get("mapping")


def _todays_format(spooled: Spooled, dump: DumpLine) -> str:
    if dump.format == _mapped.name:
        return _mapped.name
    try:
        return readers.sniff(spooled.path, dump.filename)
    except UnknownFormat:
        if dump.format in readers.known_formats():
            return dump.format
        raise


def sniffed(spooled: Spooled, filename: str) -> str:
    """The format of a spooled dump; raises `UnknownFormat`, for an empty one too."""
    try:
        return readers.sniff(spooled.path, filename)
    except BadDump as empty:
        raise UnknownFormat(empty.reason) from empty


def _already(engine: sa.Engine, sha256: str) -> Ingested | None:
    with engine.connect() as connection:
        found = connection.scalar(sa.select(Dump.id).where(Dump.sha256 == sha256, Dump.state == "done"))
    if found is None or not deletion.bring_back(engine, found):
        return None
    with engine.connect() as connection:
        query = (
            sa.select(Session.external_id, Session.key)
            .join(DumpSession, DumpSession.session_id == Session.id)
            .where(DumpSession.dump_id == found)
            .order_by(Session.id)
        )
        links = connection.execute(query).all()
        dump = line(connection, found)
    problems = [Problem(**problem) for problem in dump.problems]
    return Ingested(dump, [row.external_id for row in links], [row.key for row in links], problems, False)
