"""Saved mappings: ways to read JSON of somebody's own, under names; the `content` has paths by the fields of a turn."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from webapp.config import Settings
from webapp.dumps import reading
from webapp.dumps.budget import BadDump
from webapp.dumps.mappings import BadMapping, paths_of
from webapp.dumps.records import Problem, SessionStart, Turn, UnknownFormat
from webapp.refusals import NotThere
from webapp.store import saved
from webapp.store.db import database
from webapp.store.ingest import dump_files
from webapp.store.models import SavedItem
from webapp.visible import is_seen

KIND = "mapping"
LONGEST_NAME = 128
LONGEST_PATH = 1000
SAMPLE = 1024 * 1024
MOST_TURNS = 12
MOST_RECORDS = 60
MOST_PROBLEMS = 3


class NoSuchMapping(NotThere):
    """No mapping is saved under that name or number."""


def save(engine: sa.Engine, name: str, fields: Mapping[str, str]) -> str:
    """Save `fields` under `name`, over what was saved under it before; the name. Raises `BadMapping`, for that too."""
    name = name.strip()
    if not name or len(name) > LONGEST_NAME or "=" in name or not is_seen(name):
        raise BadMapping(f"a mapping's name is one line of 1 to {LONGEST_NAME} characters without =")
    if any(len(path) > LONGEST_PATH for path in fields.values()):
        raise BadMapping(f"a path is at most {LONGEST_PATH} characters long")
    paths_of(fields)
    with database.writing(engine) as connection:
        saved.put(connection, KIND, name, fields)
    return name


def find(connection: sa.Connection, name: str | int) -> SavedItem:
    """The mapping saved under that name, or number; raises `NoSuchMapping`."""
    mapping = saved.find(connection, KIND, name)
    if mapping is None:
        raise NoSuchMapping(f"no mapping is called {str(name)[:200]!r}")
    return mapping


def delete(engine: sa.Engine, number: int) -> SavedItem:
    """Forget a mapping, and say what it was; dumps that were read by it keep theirs. Raises `NoSuchMapping`."""
    with database.writing(engine) as connection:
        mapping = find(connection, number)
        saved.remove(connection, number, KIND)
    return mapping


class Preview(NamedTuple):
    """A session's start is before its turns in the records; `problems` and `error` are what was wrong on the way."""

    records: list[SessionStart | Turn]
    problems: list[Problem]
    error: str | None


def preview(path: Path, filename: str, fields: Mapping[str, str], *, whole: bool) -> Preview:
    """Read the first `MOST_TURNS` turns at `path`, where only its beginning is unless it is `whole`."""
    records: list[SessionStart | Turn] = []
    problems: list[Problem] = []
    try:
        for record in islice(reading.read(path, filename, mapping=fields), MOST_RECORDS):
            if isinstance(record, Problem):
                problems.append(record)
            else:
                records.append(record)
            if sum(isinstance(record, Turn) for record in records) >= MOST_TURNS:
                break
    except (BadMapping, UnknownFormat, BadDump) as error:
        return Preview(records, problems, str(error))
    return Preview(records, problems if whole else problems[:MOST_PROBLEMS], None)


@contextmanager
def beginning(settings: Settings, sha256: str) -> Iterator[tuple[Path, bool]]:
    """The first `SAMPLE` bytes of a kept dump in a file, to its last whole line, and whether that is all of it."""
    with dump_files.open_kept(settings, sha256) as source:
        data = source.read(SAMPLE)
        whole = not source.read(1)
    if not whole and data.rfind(b"\n") > 0 and data.lstrip()[:1] == b"{":
        data = data[: data.rfind(b"\n") + 1]
    with tempfile.NamedTemporaryFile(prefix="sample-", dir=dump_files.incoming(settings.data)) as file:
        file.write(data)
        file.flush()
        yield Path(file.name), whole
