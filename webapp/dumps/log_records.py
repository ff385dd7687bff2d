"""The records of a text, as of a program's log, also in JSON lines: each with the lines that go on with it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp import jsontext
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.named_texts import named_texts
from webapp.dumps.programs import BEGIN, LEVELS, LINES, TIME
from webapp.dumps.records import Problem
from webapp.dumps.source import Cut, DumpHead, Source, too_long
from webapp.dumps.values import first_text

_COLOURS = re.compile(r"\x1b\[[\d;]*[A-Za-z]|(?<![\w\[])\[(?:\d{1,2};)*\d{1,2}m(?!s\])")
_SERVICE = re.compile(r"(?:[\w.-]{1,60}-\d+ +\| |\[pod/[\w./-]{1,200}\] )(?=\S)")
"""what `docker compose logs` and `kubectl logs --prefix` print before each line"""
_BESIDE = {"prompt", "completion", "request", "response", "messages", "input", "output", "question", "answer", "role"}
_LOOKED_AT = 200


@dataclass(slots=True)
class TextRecord:
    """Lines of a text that belong together, with the number of the first and the byte at which it begins."""

    number: int
    at: int
    lines: list[str] = field(default_factory=list)
    size: int = 0
    is_cut: bool = False
    """whether no more of it is held than one item may have"""

    @property
    def text(self) -> str:
        return "".join(self.lines).rstrip("\r\n")


def text_records(
    source: Source, begins: Callable[[str], Any], plain: Callable[[str], str] = str
) -> Iterator[TextRecord | Problem]:
    """Each line that `begins` a record, made `plain`, with those that go on with it; so are those before the first."""
    record: TextRecord | None = None
    most = source.budget.characters()
    for number, (at, data) in enumerate(source.lines(), start=1):
        line = None if isinstance(data, Cut) else plain(source.decode(data, at))
        if line is not None and (record is None or begins(line)):
            if record is not None:
                yield record
            record = TextRecord(number, at)
        if line is None or record is None:
            yield Problem(f"line {number}", too_long(at))
            continue
        if record.is_cut or record.size + len(data) > most:
            if not record.is_cut:
                yield Problem(f"line {number}", f"{too_long(at)}, as is the rest of its record")
            record.is_cut = True
            continue
        record.lines.append(line)
        record.size += len(data)
    if record is not None:
        yield record


def _line_key(record: dict[str, Any]) -> str | None:
    """Under which the line of a log stands that was written as JSON, with its level beside it."""
    if not record.keys() & LEVELS or record.keys() & _BESIDE:
        return None
    return next((key for key in LINES if isinstance(record.get(key), str)), None)


def _plain(line: str) -> str:
    """A line out of JSON, without what colours it on a terminal; some logs have lost the sign before it."""
    line = _SERVICE.sub("", line)
    value = json_or_none(line) if line[:1] == "{" else None
    if isinstance(value, dict) and value.keys() & LEVELS:
        fields = {name: inner for name, inner in value.items() if name not in LINES}
        if "prompt" in fields or speaks(fields):
            return f"{_when(value)} {jsontext.dumps(fields)}\n"
    if isinstance(value, dict) and (key := _line_key(value)):
        value_ = value[key]
        begins = key != "log" or speaks(json_or_none(value_) if value_[:1] == "{" else None)  # Docker's, a line each
        line = f"{_when(value)} {value_}\n" if begins and not BEGIN.match(value_) else value_
    return _COLOURS.sub("", line) if "[" in line else line


_NAMED = re.compile(r"\A((?:trce|dbug|info|warn|fail|crit): [^\n]{1,200}\[\d+\])\s*\n\s+")
"""the line above what .NET logs, which says of which class it is"""


def as_line(record: str) -> str:
    """A record with its line behind the name of its logger, where that stands above it."""
    return _NAMED.sub(r"\1 ", record, count=1)


def _when(record: dict[str, Any]) -> str:
    """The time of a record as JSON, else a word with which records begin, too."""
    when = first_text(record, "asctime", "timestamp", "time", "@timestamp", "ts")
    return when if when and TIME.match(when) else "INFO"


def first_records(head: DumpHead) -> list[str]:
    """The records of the first lines."""
    first = "\n".join(head.text.lstrip("\r\n").split("\n")[:_LOOKED_AT]).encode("utf-8", "surrogateescape")
    records = log_records(Source(io.BytesIO(first), head.filename))
    return [record.text for record in records if isinstance(record, TextRecord)]


def log_records(source: Source, also: Callable[[str], Any] = BEGIN.match) -> Iterator[TextRecord | Problem]:
    """The records of a program's log; a line that `also` begins one does."""
    return text_records(source, lambda line: BEGIN.match(line) or also(line), _plain)


def speaks(value: Any) -> bool:
    """Whether a model answers in it, by the names of its keys."""
    return isinstance(value, dict) and any(named_text.side == "assistant" for named_text in named_texts(value))
