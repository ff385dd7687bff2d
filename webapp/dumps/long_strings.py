"""Every long string of a dump with its place, found without the dump's format: what a reading is checked against."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from webapp.dumps import msgpack, otlp_protobuf, parquet_rows, sqlite_tables
from webapp.dumps.archive_members import of_tar, of_zip
from webapp.dumps.entries import Entry
from webapp.dumps.head import look
from webapp.dumps.records import BadDump, Problem
from webapp.dumps.sessions import lines
from webapp.dumps.source import Source, opened
from webapp.dumps.spool import spool
from webapp.dumps.stream import DocumentMember, Item, walk
from webapp.dumps.yaml_items import items

_MOST_MEMBER = 16 * 1024**3
"""bytes of a member of an archive, as archives are read"""
_CLOSED = object()
"""bytes that hold no text"""
LONG = 200
"""Characters; a longer string is content, a shorter one may be a name or a setting."""
_PARAGRAPH = re.compile(r"\n\s*\n")

_CASSETTE = re.compile(r"(?:\A|\n)((?:http_)?interactions):[ \t]*\r?\n\s*- ")
_APART = re.compile(r"(?:\A|\n)requests:[ \t]*\r?\n\s*- (?s:.*?)\nresponses:[ \t]*\r?\n\s*- ")
"""a cassette that lists requests and responses apart"""
_SPEAKERS = re.compile(r"\s*TO LLM \d{4}-")
_SPEAKER = re.compile(r"(?:SYSTEM|USER|ASSISTANT|TOOL|FUNCTION) ")
"""Aider's log of requests, and what its lines begin with"""
_RECORD = re.compile(
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d"
    r"|(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\b"
)
"""how a record of a log begins"""
_COLON = re.compile(r"(?::|=>?|->)\s+")
_EVENT_FIELD = re.compile(r"(?:event|id|retry):|data:[ \t]*(.*)|:")


class LongString(NamedTuple):
    """A string of more than `LONG` characters, and where it stands."""

    at: str
    text: str


def long_strings(path: Path, filename: str) -> Iterator[LongString | Problem]:
    """The long strings of a dump; a `Problem` says of what they are not known, as of bytes without a text."""
    with opened(path, filename) as source:
        head = look(source)
        if head.shape in ("object", "array"):
            yield from _of_document(source)
        elif head.shape == "lines":
            yield from _of_entries(lines(source))
        elif head.shape == "text" and (cassette := _CASSETTE.search(head.text)):
            yield from _of_entries(items(source, cassette[1]))
        elif head.shape == "text" and _APART.search(head.text):
            for key in ("requests", "responses"):
                yield from _of_entries(items(source, key))
        elif head.shape == "text" and _SPEAKERS.match(head.text):
            yield from _of_marked_lines(source)
        elif head.shape == "text" and _RECORD.match(head.text):
            yield from _of_log(source)
        elif head.shape == "text":
            yield from _of_text(source)
        else:
            yield from _of_binary(source, head.shape)


def _of_entries(entries: Iterable[Entry | Problem]) -> Iterator[LongString | Problem]:
    for entry in entries:
        yield from (entry,) if isinstance(entry, Problem) else strings_of(entry[1], entry[0])


def _of_binary(source: Source, shape: str) -> Iterator[LongString | Problem]:
    """Archives by their members, Parquet and SQLite by their rows, protobuf as its JSON."""
    try:
        if shape in ("zip", "tar"):
            yield from _of_members(source, shape)
        elif shape == "parquet":
            rows = enumerate(parquet_rows.rows(source), start=1)
            yield from _of_entries((f"row {number}", row) for number, row in rows)
        elif shape == "sqlite":
            yield from _of_tables(source)
        elif shape == "protobuf":
            groups = otlp_protobuf.groups(source.file)
            yield from _of_entries(group if isinstance(group, Problem) else (at, group) for at, group in groups)
        else:
            yield Problem("the file", f"its strings are not compared: it is binary ({shape})")
    except BadDump as bad:
        yield Problem(bad.at, f"its strings are not compared: {bad.reason}")


def _of_members(source: Source, shape: str) -> Iterator[LongString | Problem]:
    with tempfile.TemporaryDirectory(prefix="members-") as name:
        folder = Path(name)
        for member in of_zip(source.file, folder) if shape == "zip" else of_tar(source.file, folder):
            if isinstance(member, Problem):
                yield member
                continue
            with member.path.open("rb") as file:
                spooled = spool(file, folder, max_bytes=_MOST_MEMBER)
            for string in long_strings(spooled.path, member.name):
                place = f"{member.name[:80]}: {string.at}"
                yield string._replace(at=place) if isinstance(string, LongString) else replace(string, at=place)
            spooled.path.unlink(missing_ok=True)


def _of_tables(source: Source) -> Iterator[LongString | Problem]:
    """Texts of every row; of bytes the texts that they hold as JSON, text or msgpack."""
    with sqlite_tables.opened_tables(source) as tables:
        for table in tables.names:
            closed = 0
            for number, row in enumerate(tables.rows(table), start=1):
                opened_row = {key: _opened(value) for key, value in row.items()}
                closed += sum(value is _CLOSED for value in opened_row.values())
                yield from strings_of(opened_row, f"{table}, row {number}")
            if closed:
                yield Problem(f"table {table}", f"{closed:,} binary values are not compared: they contain no text")


def _opened(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        inner = msgpack.decoded_or_none(value)
        return _CLOSED if inner is None else inner


def _of_document(source: Source) -> Iterator[LongString | Problem]:
    try:
        for part in walk(source.text(), None):
            if isinstance(part, Problem):
                yield part
            elif isinstance(part, Item):
                yield from strings_of(part.value, part.at)
            elif isinstance(part, DocumentMember):
                yield from strings_of(part.key, "a key")
                yield from strings_of(part.value, part.key[:80])
    except BadDump as bad:
        yield Problem(bad.at, bad.reason)


def _of_text(source: Source) -> Iterator[LongString]:
    """Paragraphs of a plain text, by the number of the line that they begin at."""
    line, rest = 1, ""
    for piece in source.text():
        *whole, rest = _PARAGRAPH.split(rest + piece)
        for paragraph in whole:
            yield from _of_paragraph(f"paragraph {line}", paragraph)
            line += 1
    yield from _of_paragraph(f"paragraph {line}", rest)


def _of_marked_lines(source: Source) -> Iterator[LongString]:
    """Lines without the word for who says them, which stands before each."""
    for number, (at, data) in enumerate(source.lines(), start=1):
        spoken = _SPEAKER.sub("", source.decode(data, at).rstrip("\r\n"), count=1)
        if len(spoken) > LONG:
            yield LongString(f"line {number}", spoken)


def _of_log(source: Source) -> Iterator[LongString]:
    """The records of a log, by the numbers of their first lines: the strings of the JSON that they hold, else what
    they say behind the first colon.
    """
    first, record = 1, ""
    for number, (at, data) in enumerate(source.lines(), start=1):
        line = source.decode(data, at)
        if _RECORD.match(line):
            yield from _of_record(f"line {first}", record)
            first, record = number, ""
        record += line
    yield from _of_record(f"line {first}", record)


def _of_record(at: str, record: str) -> Iterator[LongString]:
    if (value := within(record[record.find("{") :].strip())) is not None:
        yield from strings_of(value, at)
    elif len(speech := _COLON.split(record.strip(), maxsplit=1)[-1]) > LONG:
        yield LongString(at, speech)


def _of_paragraph(at: str, paragraph: str) -> Iterator[LongString]:
    """The paragraph; of an event of a stream what it holds."""
    fields = [_EVENT_FIELD.match(line) for line in paragraph.splitlines() if line.strip()]
    texts = [field[1] for field in fields if field and field[1] is not None] if all(fields) else [paragraph]
    yield from (LongString(at, text) for text in texts if len(text) > LONG)


def strings_of(value: Any, at: str) -> Iterator[LongString]:
    """The long strings within a JSON value: members' values, items, and keys."""
    stack = [(at, value)]
    while stack:
        place, inner = stack.pop()
        if isinstance(inner, str):
            if len(inner) > LONG:
                yield LongString(place, inner)
        elif isinstance(inner, dict):
            stack.extend((f"{place}.{str(key)[:80]}", child) for key, child in reversed(inner.items()))
            stack.extend((f"{place}: a key", key) for key in inner if len(str(key)) > LONG)
        elif isinstance(inner, list):
            stack.extend((f"{place}[{index}]", child) for index, child in reversed(list(enumerate(inner))))


def within(text: str) -> Any:
    """The JSON value that a string holds; None where it holds none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
