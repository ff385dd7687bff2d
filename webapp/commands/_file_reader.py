"""Reads one file for `fencepost ingest`: into the database or only to see what is in it, with a bar that shows it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import sqlalchemy as sa
from sqlalchemy import orm

from webapp.commands import _terminal
from webapp.commands._arguments import InputFile, open_log, size_of
from webapp.config import Settings
from webapp.dumps import reading
from webapp.dumps.answer_alarm import MissingAnswers
from webapp.dumps.budget import BadDump
from webapp.dumps.records import Problem, SessionStart, Turn, UnknownFormat
from webapp.dumps.session_keys import SessionKeys, told_key
from webapp.dumps.spool import Spooled, spool
from webapp.parsing.words import counted
from webapp.store.ingest.dump_files import NotKept
from webapp.store.ingest.result import IngestCounts, Progress
from webapp.store.ingest.start import IngestResult, describe, format_by, ingest, ingest_again, sniffed
from webapp.store.models import Dump
from webapp.store.sessions import dumps
from webapp.visible import visible

_PREVIEWED = 3


@dataclass(frozen=True, slots=True)
class DumpSurvey:
    """What a dump holds, where nothing is stored: `sessions` are ids; at most 200 problems are word for word."""

    format: str
    bytes: int
    sessions: list[str] = field(default_factory=list)
    turns: int = 0
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    session_keys: SessionKeys | None = None
    """what may name the sessions, where the format leaves a choice"""
    preview: list[dict[str, str]] = field(default_factory=list)
    """the kind and the beginning of the first turns"""
    not_in_log: list[str] | None = None


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file: stored, only seen, passed over for a reason, or the error (code, message, at)."""

    file: str
    ingested: IngestResult | None = None
    survey: DumpSurvey | None = None
    skipped: str | None = None
    speaks: bool = False
    """whether a file that was passed over seems to be dialogue"""
    error: dict[str, str | None] | None = None

    @property
    def content(self) -> IngestResult | DumpSurvey | None:
        return self.ingested or self.survey

    @property
    def not_in_log(self) -> list[str]:
        """The facts that no response of the file has."""
        about = self.ingested.dump if self.ingested else self.survey
        return (about.not_in_log if about else None) or []

    @property
    def figures(self) -> tuple[str, int, int, int]:
        """Its format, sessions, turns (of what is stored the new ones) and problems, those not word for word too."""
        if self.ingested is not None:
            dump = self.ingested.dump
            return dump.format or "", len(self.ingested.sessions), self.ingested.new_turns, dump.problem_count
        if self.survey is not None:
            return self.survey.format, len(self.survey.sessions), self.survey.turns, self.survey.problem_count
        return "", 0, 0, 0

    @property
    def problems(self) -> list[Problem]:
        return self.content.problems if self.content else []

    @property
    def lacks_answers(self) -> bool:
        """Whether a session of the file was read without an answer, or mostly empty."""
        return any(isinstance(problem, MissingAnswers) for problem in self.problems)


@dataclass(frozen=True, slots=True)
class FileReader:
    """How files are read: `engine` None stores nothing; `show` draws a bar where standard error is a terminal."""

    engine: sa.Engine | None
    settings: Settings
    format: str | None = None
    home: str | None = None
    show: bool = True
    mapping: Mapping[str, str] | None = None

    @property
    def _how(self) -> dict[str, Any]:
        return {"format": self.format, "home": self.home, "mapping": self.mapping}

    def read(self, file: InputFile, limit: int | None = None) -> FileResult:
        """Read one file, or only its first `limit` bytes; whatever is wrong with it is in the result."""
        name = file.label
        try:
            with open_log(file.path) as stream, _shown(name, self.show, limit or size_of(stream)) as progress:
                source = stream if limit is None else cast(BinaryIO, _Beginning(stream, limit))
                if self.engine is None:
                    return FileResult(name, survey=self._look(source, file, progress))
                about = {"filename": file.filename, "watch": progress, "known_only": not file.is_named, **self._how}
                ingested = ingest(self.engine, self.settings, source, **about)
                progress.tell(progress)
                return FileResult(name, ingested=ingested)
        except UnknownFormat as error:
            if not file.is_named:
                return FileResult(name, skipped=str(error).partition("\n")[0], speaks=error.speaks)
            return FileResult(name, error=describe(error))
        except (BadDump, OSError) as error:
            return FileResult(name, error=_said(error))

    def again(self, dump: Dump) -> FileResult:
        """Read a kept dump anew; whatever is wrong with it is in the result."""
        if self.engine is None:
            raise ValueError("nothing is stored here")
        name = f"{dump.filename} ({dump.sha256[:12]})"
        try:
            with _shown(name, self.show, None) as progress:
                ingested = ingest_again(self.engine, self.settings, dump.id, watch=progress, **self._how)
                return FileResult(name, ingested=ingested)
        except NotKept as error:
            return FileResult(name, error={"code": "not_kept", "message": str(error), "at": None})
        except (BadDump, UnknownFormat, OSError) as error:
            return FileResult(name, error=_said(error))

    def _look(self, stream: BinaryIO, file: InputFile, progress: Progress) -> DumpSurvey:
        with tempfile.TemporaryDirectory(prefix="fencepost-") as folder:
            spooled = spool(progress.file(stream), Path(folder), max_bytes=self.settings.max_dump)
            format_name = format_by(self.mapping, self.format)
            if format_name is None:
                if file.is_named:
                    format_name = reading.sniff(spooled.path, file.filename)
                else:
                    format_name = sniffed(spooled, file.filename)
            return _survey(spooled, file, format_name, self.mapping, progress)


def read_again(reader: FileReader, prefixes: Sequence[str]) -> Iterator[FileResult]:
    """What comes of each kept dump whose hash or file name begins with one of `prefixes`; of all where there are none.

    The newest come first: the longest dump of a session that grew says most, and the shorter ones then fit it.
    """
    if reader.engine is None:
        raise ValueError("kept logs are in the store")
    chosen: set[int] = set()
    with reader.engine.connect() as connection:
        for prefix in prefixes or ("",):
            dumps_found = dumps.beginning(connection, prefix)
            chosen.update(dumps_found)
            if not dumps_found and prefixes:
                message = "no log's hash or file name begins with this"
                yield FileResult(prefix, error={"code": "no_such_dump", "message": message, "at": None})
    for number in sorted(chosen, reverse=True):
        with orm.Session(reader.engine) as db:
            dump = dumps.find(db, number)
        yield reader.again(dump)


def _said(error: BadDump | UnknownFormat | OSError) -> dict[str, str | None]:
    if isinstance(error, BadDump | UnknownFormat):
        return describe(error)
    return {"code": "unreadable", "message": error.strerror or str(error), "at": None}


def _survey(
    spooled: Spooled, file: InputFile, format_name: str, mapping: Mapping[str, str] | None, progress: Progress
) -> DumpSurvey:
    """Raises `BadDump` where nothing can be read."""
    counts, sessions, preview, keys = IngestCounts(progress), list[str](), list[dict[str, str]](), None
    if spooled.problem is not None:
        counts.problem(spooled.problem)
    key = told_key(mapping)
    if mapping is None or key is not None:
        keys = reading.session_keys(spooled.path, file.filename, format=format_name, key=key)
    for record in reading.read(spooled.path, file.filename, format=format_name, mapping=mapping):
        if isinstance(record, SessionStart):
            sessions.append(record.external_id)
        elif isinstance(record, Turn):
            counts.turn(record)
            if (record.raw or record.kind != "event") and len(preview) < _PREVIEWED:
                preview.append({"kind": record.kind, "text": " ".join((record.raw or "(no text)")[:200].split())})
        else:
            counts.problem(record)
    return DumpSurvey(
        *(format_name, spooled.bytes, sessions, progress.turns, counts.problems, progress.problems),
        *(keys, preview, counts.carried.missing()),
    )


class _Beginning:
    """A stream of which no more than `limit` bytes are read."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream, self._left = stream, limit

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(piece)
        return piece


@contextmanager
def _shown(name: str, show: bool, size: int | None) -> Iterator[Progress]:
    """The progress of reading a file of so many bytes, which a bar shows on a terminal."""
    with _terminal.bar(visible(name), hidden=not show) as tell:
        yield Progress(
            lambda seen: tell(
                seen.read, seen.bytes or size, f"{counted(seen.turns, 'turn')} read" if seen.turns else ""
            )
        )
