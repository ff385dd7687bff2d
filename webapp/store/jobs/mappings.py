"""Saved mappings: ways to read JSON of somebody's own, under names."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import sqlalchemy as sa

from webapp import dumps as readers
from webapp.config import Settings
from webapp.dumps.formats.mapped import BadMapping
from webapp.dumps.records import BadDump, Problem, SessionStart, Turn, UnknownFormat
from webapp.store.db import database, dialect
from webapp.store.db.ids import short
from webapp.store.ingest import dump_files, kept_dumps
from webapp.store.ingest.start import mapped
from webapp.store.models import Mapping as Row
from webapp.visible import is_seen

LONGEST_NAME = 128
LONGEST_PATH = 1000
SAMPLE = 1024 * 1024
MOST_TURNS = 12
MOST_RECORDS = 60
MOST_PROBLEMS = 3


class NoSuchMapping(LookupError):
    """No mapping is saved under that name or number."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A mapping under its name; `fields` are paths by the fields of a turn."""

    id: int
    name: str
    fields: dict[str, str]
    made_at: datetime


def save(engine: sa.Engine, name: str, fields: Mapping[str, str]) -> Saved:
    """Save `fields` under `name`, over what was saved under it before. Raises `BadMapping`, for a bad name too."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or "=" in name or not is_seen(name):
        raise BadMapping(f"a mapping's name is one line of 1 to {LONGEST_NAME} characters without =")
    if any(len(path) > LONGEST_PATH for path in fields.values()):
        raise BadMapping(f"a path is at most {LONGEST_PATH} characters long")
    mapped(fields)
    values = {"name": name, "fields": dict(fields), "made_at": datetime.now(UTC)}
    with database.writing(engine) as connection:
        connection.execute(dialect.upsert(Row, values, ("name",)))
        return _found(connection, Row.name == name, name)


def named(connection: sa.Connection, name: str) -> Saved:
    """The mapping saved under `name`; raises `NoSuchMapping`."""
    return _found(connection, Row.name == short(name, LONGEST_NAME), name)


def find(connection: sa.Connection, number: int) -> Saved:
    """Raises `NoSuchMapping`."""
    return _found(connection, Row.id == number, str(number))


def every(connection: sa.Connection) -> list[Saved]:
    """All of them, by name."""
    return [Saved(*row) for row in connection.execute(_query.order_by(Row.name))]


def delete(engine: sa.Engine, number: int) -> None:
    """Forget a mapping; dumps that were read by it keep theirs."""
    with database.writing(engine) as connection:
        connection.execute(sa.delete(Row).where(Row.id == number))


_query = sa.select(Row.id, Row.name, Row.fields, Row.made_at)


def _found(connection: sa.Connection, where: sa.ColumnElement[bool], name: str) -> Saved:
    row = connection.execute(_query.where(where)).first()
    if row is None:
        raise NoSuchMapping(f"no mapping is called {name[:200]!r}")
    return Saved(*row)


@dataclass(frozen=True, slots=True)
class Preview:
    """The first turns of a dump by a mapping, a session's start before its turns, with what was wrong on the way."""

    records: list[SessionStart | Turn]
    problems: list[Problem]
    error: str | None = None


def preview(path: Path, filename: str, fields: Mapping[str, str], *, whole: bool) -> Preview:
    """Read the first `MOST_TURNS` turns at `path`, where only its beginning is unless it is `whole`."""
    records: list[SessionStart | Turn] = []
    problems: list[Problem] = []
    try:
        for record in islice(readers.read(path, filename, mapping=fields), MOST_RECORDS):
            if isinstance(record, Problem):
                problems.append(record)
            else:
                records.append(record)
            if sum(isinstance(record, Turn) for record in records) >= MOST_TURNS:
                break
    except (BadMapping, UnknownFormat, BadDump) as error:
        return Preview(records, problems, str(error))
    return Preview(records, problems if whole else problems[:MOST_PROBLEMS])


@contextmanager
def beginning(settings: Settings, sha256: str) -> Iterator[tuple[Path, bool]]:
    """The first `SAMPLE` bytes of a kept dump in a file, to its last whole line, and whether that is all of it."""
    with kept_dumps.open_kept(settings, sha256) as source:
        data = source.read(SAMPLE)
        whole = not source.read(1)
    if not whole and data.rfind(b"\n") > 0 and data.lstrip()[:1] == b"{":
        data = data[: data.rfind(b"\n") + 1]
    with tempfile.NamedTemporaryFile(prefix="sample-", dir=dump_files.incoming(settings.data)) as file:
        file.write(data)
        file.flush()
        yield Path(file.name), whole
