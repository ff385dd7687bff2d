"""Texts that hold records, but none a line, written aside as JSON lines: CSV, YAML, indented JSON, lists in lists."""

from __future__ import annotations

import codecs
import csv
import io
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from typing import Any, BinaryIO

from webapp import jsontext
from webapp.dumps import yaml_values
from webapp.dumps.autogen_console import CONSOLE, spoken
from webapp.dumps.budget import MOST_CHARACTERS, current
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.printed import from_repr, printed_records
from webapp.dumps.messages.streams import is_event, wrapped_event
from webapp.dumps.records import BadDump, Problem, TooLarge
from webapp.dumps.source import NO_RECORD
from webapp.dumps.stream import Item, walk
from webapp.dumps.tnetstrings import FLOWS, flows
from webapp.dumps.values import as_list, as_object

_HEAD = 256 * 1024
_DOCUMENTS = re.compile(r"\s*\{[ \t]*\r?\n[\s\S]*?\n\}[ \t]*(?:\r?\n)+\{[ \t]*\r?\n")
_DOCUMENT_LISTS = re.compile(r"\s*\[[ \t]*\r?\n[\s\S]*?\n\][ \t]*(?:\r?\n)+\[[ \t]*\r?\n")
_LISTS = re.compile(r"\s*+\[\s*+(?:\[\s*+\{|\{.*\][ \t\r]*+\n\s*+\[\s*+\{)")
"""lists of objects, in a list or one a line"""
_TEXT_PAIRS = re.compile(r"\s*+\[\s*+\[\s*+\"(?:[^\"\\\\]|\\\\.){1,4000}+\"\s*+,\s*+(?:\"|null\s*+\])")
"""a list of pairs of texts, as Gradio keeps a chat"""
_YAML_DOCUMENT = re.compile(
    r"(?:---[ \t]*\r?\n|#[^\n]*\n|\s)*(?:[\w-]{1,60}:[ \t]+\S[^\n]*\n)*"
    r"(?!interactions|http_interactions|requests|responses)"
    r"[\w-]{1,60}:[ \t]*\r?\n[ \t]*- [\w\"'-]{1,60}:[ \t]"
)
_YAML = re.compile(r"(?:---[ \t]*\r?\n|#[^\n]*\n|\s)*- [\w\"'][\w \"'.-]{0,60}:(?:[ \t][^\n]*)?\r?\n  [ \t]*[\w\"'-]")
_PAPERS = (".md", ".rst", ".py", ".ipynb")
"""in which what Python prints is an example"""
_OF_CLASS = re.compile(r"[A-Z]\w{0,80}+\(\s{0,40}+\w{1,40}+=|^\w{1,40}+=(?:None|['\"\[])", re.M)
_OF_DICT = re.compile(r"\s*(?:[\[{(]\s*){1,3}'[^'\n]{1,60}': ")
_LOGGED = re.compile(r"^\[?\d{4}-\d\d-\d\d[T ]\d\d:|^\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\b", re.M)
_TELLING = {"choices", "candidates", "output", "author", "role", "type", "kind"}
"""keys that only records of a dialogue have beside what was said"""
_PAIRS = ({"event", "data"}, {"messages", "response"})
_MESSAGE = {"role", "type", "from", "sender", "author"}
_COLUMN = re.compile(r"[,;\t]?[\w\"'][^\r\n]{0,80}")
_LONGEST_NAME = 80
_FRAME = re.compile(r'\s*\{\s*"(?:[^"\n]{1,80}":\s*\{"0"\s*:|columns":\s*\[\s*")')
_FRAMED = {"columns", "index", "data", "ncols", "nrows", "_type", "column_types"}
"""how pandas writes its columns, or their names and its rows"""
_LISTED = {"messages", "conversation", "conversations", "chat", "chat_history", "history", "trajectory", "tool_calls"}
"""columns whose cells are lists, as texts"""
_OBJECTS = {"inputs", "outputs", "request_body", "response_body"}
_TELLING_CELLS = ("messages", "choices", "candidates", "generations", "parts")
_SPOKEN_BY = {"user", "assistant", "system", "developer", "tool", "function", "model", "human", "ai"}
"""columns whose cells are objects, and keys of such; another object may be an answer's own text"""
_SPEAKING = re.compile(
    r"prompt|question|query|inputs?|instruction|messages?|request|outputs?|completion|response|answer|result|generation"
    r"|content|text|role",
    re.I,
)
csv.field_size_limit(MOST_CHARACTERS)


def as_lines(file: BinaryIO, start: int, name: str) -> BinaryIO | None:
    """The records of the text in the `file` called `name` from byte `start` on, one a line, in a file aside.

    None for other dumps.
    """
    file.seek(start)
    head = file.read(_HEAD).decode("utf-8", "replace")
    if re.match(r'\s*"[\[{]', head) and not current().too_long(file.seek(0, 2) - start):  # JSON in JSON: LlamaIndex'
        file.seek(start)
        inner = json_or_none(json_or_none(file.read().decode("utf-8", "surrogateescape")) or "")
        if isinstance(inner, dict):
            return _written(iter([_line(inner)]))
    if _DOCUMENTS.match(head):
        return _written(_joined(file, start))
    if _DOCUMENT_LISTS.match(head):
        return _written(_of_lists(_values(_whole_lines(_joined(file, start)))))
    if _LISTS.match(head):
        return _written(_of_lists(_lists(file, start)))
    if _YAML.match(head) or _YAML_DOCUMENT.match(head):
        items = (item if isinstance(item, Problem) else item[1] for item in yaml_values.read(file, start))
        with suppress(BadDump):
            return _written(map(_line, chain([next(items)], items)))
    if _FRAME.match(head) and (rows := _frame(file, start)) is not None:
        return _written(map(_line, rows))
    if CONSOLE.match(head) and not current().too_long(file.seek(0, 2) - start):
        file.seek(start)
        return _written(map(_line, spoken(file.read().decode("utf-8", "surrogateescape"))))
    if FLOWS.match(head):
        return _written(map(_line, flows(file, start)))
    if _TEXT_PAIRS.match(head):
        return _written(map(_line, _text_pairs(_lists(file, start))))
    if not name.endswith(_PAPERS) and (printed := _printed(file, start, head)) is not None:
        return _written(map(_line, printed))
    separator = _separator(head)
    return None if separator is None else _written(_rows(file, start, separator))


def _printed(file: BinaryIO, start: int, head: str) -> list[Any] | None:
    """The records of a text in which Python printed objects that speak; None for others, and for a program's log."""
    if (
        not (_OF_CLASS.search(head) or _OF_DICT.match(head))
        or len(head) == _HEAD
        or _LOGGED.search(head)
        or json_or_none(head.partition("\n")[0]) is not None
    ):
        return None
    records = list(printed_records(head, _is_whole))
    if not any(isinstance(record, dict) and (record.keys() & _TELLING or _is_whole(record)) for record in records):
        return None
    return [record for record in records if not isinstance(record, str) or record.strip()]


def _text_pairs(values: Iterable[Any]) -> Iterator[Any]:
    """What was asked and answered, of lists of two texts; others as they are."""
    for value in values:
        is_pair = isinstance(value, list) and len(value) == 2 and all(isinstance(text, str | None) for text in value)
        yield {"prompt": value[0], "response": value[1]} if is_pair else value


def _frame(file: BinaryIO, start: int) -> list[dict[str, Any]] | None:
    """The rows of what pandas writes by columns, each `{index: cell}`, or as {"columns", "data"}; None for others."""
    file.seek(start)
    value = json_or_none(file.read(MOST_CHARACTERS).decode("utf-8", "surrogateescape"))
    if not isinstance(value, dict):
        return None
    if set(value) <= _FRAMED:
        names, rows = list(map(str, as_list(value.get("columns")))), as_list(value.get("data"))
        fit = _are_short(names) and all(isinstance(row, list) and len(row) == len(names) for row in rows)
        return [dict(zip(names, row, strict=True)) for row in rows] if fit and rows else None
    columns = [column.keys() if isinstance(column, dict) else None for column in value.values()]
    if len(columns) < 2 or columns[0] is None or any(column != columns[0] for column in columns):
        return None
    if not _are_short(list(value)):
        return None
    return [{name: column[index] for name, column in value.items()} for index in columns[0]]


def _are_short(names: list[str]) -> bool:
    """Whether columns are called as columns are: each row repeats their names."""
    return all(len(name) <= _LONGEST_NAME for name in names)


def _is_whole(value: dict[str, Any]) -> bool:
    """An event, of a stream or a framework, or a request with its response."""
    return is_event(value) or wrapped_event(value) is not None or any(pair <= value.keys() for pair in _PAIRS)


def _written(lines: Iterator[bytes]) -> BinaryIO:
    out = tempfile.TemporaryFile()  # noqa: SIM115 - who opened the dump closes it
    out.writelines(lines)
    return out


def _joined(file: BinaryIO, start: int) -> Iterator[bytes]:
    """Indented JSON objects, each of which ends with a line that is its brace: their lines as one."""
    file.seek(start)
    for line in file:
        yield line if line.rstrip() in (b"}", b"]") and not line[:1].isspace() else line.rstrip(b"\r\n") + b" "


def _line(record: Any) -> bytes:
    """A record as a line; what is none becomes a line that cannot be read, so that it is said where it stood."""
    if isinstance(record, Problem):
        record = f"{record.at}: {record.reason}"
    if isinstance(record, str):
        return NO_RECORD + " ".join(record.split()).encode("ascii", "replace") + b"\n"
    return jsontext.dumps(record).encode("ascii") + b"\n"


def _lists(file: BinaryIO, start: int) -> Iterator[Any]:
    """The items of a list, or the values of lines; what is wrong with others as texts."""
    file.seek(start)
    if (first := file.readline(MOST_CHARACTERS)).rstrip().endswith(b"]") and file.read(_HEAD).strip():
        yield from _values(chain([first], _from(file, start + len(first))))
        return
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for part in walk((decoder.decode(piece) for piece in _pieces(file, start)), frozenset()):
        if isinstance(part, Problem | Item):
            yield part if isinstance(part, Problem) else part.value


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Lines out of their pieces."""
    line = list[bytes]()
    for piece in pieces:
        line.append(piece)
        if piece.endswith(b"\n"):
            yield b"".join(line)
            line.clear()
    yield b"".join(line)


def _values(lines: Iterable[bytes]) -> Iterator[Any]:
    for line in filter(bytes.strip, lines):
        value = json_or_none(line.decode("utf-8", "surrogateescape"))
        yield "not JSON" if value is None else value


def _from(file: BinaryIO, at: int) -> Iterator[bytes]:
    file.seek(at)
    yield from file


def _pieces(file: BinaryIO, at: int) -> Iterator[bytes]:
    file.seek(at)
    while piece := file.read(_HEAD):
        yield piece


def _of_lists(values: Iterable[Any]) -> Iterator[bytes]:
    """Lists of messages as one record each; the items of other lists one by one."""
    for value in values:
        objects = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
        if any(item.keys() & _MESSAGE for item in objects):
            yield _line({"messages": value})
        elif value is not None:
            yield from map(_line, value if isinstance(value, list) else [value])


def _separator(head: str) -> str | None:
    """What parts the columns of a table whose first line names them, one of which is called as texts of models are."""
    first, newline, rest = head.lstrip("\ufeff").partition("\n")
    if not newline or "\0" in head or not rest.strip() or not _COLUMN.match(first) or head.lstrip()[:1] in "{[":
        return None
    for separator in (",", "\t", ";"):
        rows = _first_rows(head, separator)
        widths = {len(row) for row in rows}
        if len(rows) > 1 and len(widths) == 1 and len(rows[0]) > 1 and _are_names(rows[0]):
            return separator
    return None


def _first_rows(head: str, separator: str) -> list[list[str]]:
    """The header and the first rows; without the last where the head cuts it."""
    try:
        rows = list(islice(csv.reader(io.StringIO(head, newline=""), delimiter=separator), 6))
    except csv.Error:
        return []
    return [row for row in rows[: 5 if len(head) < _HEAD or len(rows) > 5 else -1] if row]


def _are_names(header: list[str]) -> bool:
    """Whether these are names of columns and no sentence with commas, one of which a text of a model may be under."""
    if len(set(header)) < len(header) or not all(name == name.strip() and len(name) <= 80 for name in header):
        return False
    words = [re.split(r"[\W_]+", name) for name in header]
    return max(map(len, words)) <= 4 and any(_SPEAKING.fullmatch(word) for name in words for word in name)


def cell_value(name: str, cell: str) -> Any:
    """A cell's text; the list or object that it is in a column of such, or that are messages or a body of a model."""
    is_known = (cell[:1] == "{" and name in _OBJECTS) or (cell[:1] == "[" and name in _LISTED)
    value = (json_or_none(cell) or from_repr(cell)) if cell[:1] in ("{", "[") else None
    return (
        value if isinstance(value, dict | list) and (is_known or any(map(_tells, [value, *as_list(value)]))) else cell
    )


def _tells(value: Any) -> bool:
    """Whether it is a message, or holds lists of objects as calls of models do, or a request with its response."""
    if not isinstance(value, dict):
        return False
    if value.keys() >= {"request", "response"}:
        return _tells(value["request"]) or _tells(value["response"])
    listed = (as_list(value.get(key)) for key in _TELLING_CELLS)
    return value.get("role") in _SPOKEN_BY or any(any(map(as_object, items)) for items in listed)


def _rows(file: BinaryIO, start: int, separator: str) -> Iterator[bytes]:
    """The rows below the header as objects; a cell more than there are columns is called by its number."""
    file.seek(start)
    written = io.TextIOWrapper(file, "utf-8", "surrogateescape", newline="")
    try:
        rows = csv.reader(written, delimiter=separator)
        header = [name.strip() or f"column {number}" for number, name in enumerate(next(rows, []), start=1)]
        for count, row in enumerate(rows):
            current().check_records(count, f"row {count:,}")
            names = [*header, *(f"column {number}" for number in range(len(header) + 1, len(row) + 1))]
            if row:
                record = {name: cell_value(name, cell) for name, cell in zip(names, row, strict=False)}
                yield jsontext.dumps(record).encode("ascii") + b"\n"
    except TooLarge as larger:  # what came before is kept
        yield _line(f"{larger.at}: {larger.reason}")
    except csv.Error as error:
        yield f'{{"the table is damaged": {jsontext.dumps(str(error))}}}\n'.encode("ascii", "replace")
    finally:
        written.detach()
