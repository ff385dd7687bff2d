"""Records of texts that are no JSON: tables as CSV and as pandas writes them, AutoGen's console, mitmproxy's flows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

from webapp.dumps.budget import MOST_CHARACTERS, TooLarge, current
from webapp.dumps.decoding import Damage, Decoder, json_or_none, opened_literal
from webapp.dumps.messages.printed import printed_list
from webapp.dumps.records import Problem
from webapp.dumps.source import HEAD, Source
from webapp.dumps.spool import packed_text
from webapp.dumps.values import as_list, as_object, is_speech

_COLUMN = re.compile(r"[,;\t]?[\w\"'][^\r\n]{0,80}")
_LONGEST_NAME = 80
TABLE = re.compile(r"\.[ct]sv\b", re.I)
"""in names of files"""
FRAME = re.compile(r'\s*\{\s*"(?:[^"\n]{1,80}":\s*\{"0"\s*:|columns":\s*\[\s*")')
_FRAMED = {"columns", "index", "data", "ncols", "nrows", "_type", "column_types"}
"""how pandas writes its columns, or their names and its rows"""
_LISTED = {
    *("messages", "conversation", "conversations", "chat", "chat_history", "history", "trajectory", "tool_calls"),
    *("parts", "chatbot"),
}
"""columns whose cells are lists, as texts"""
_OBJECTS = {"inputs", "outputs", "request_body", "response_body"}
_TELLING_CELLS = ("messages", "choices", "candidates", "generations", "parts")
_SPOKEN_BY = {"user", "assistant", "system", "developer", "tool", "function", "model", "human", "ai"}
"""columns whose cells are objects, and keys of such; another object may be an answer's own text"""
_SPEAKING = re.compile(
    r"prompt|question|query|inputs?|instruction|messages?|request|outputs?|completion|response|answer|result|generation"
    r"|content|text|role|conversation|dialogu?e?|transcript|chat(?:bot)?|assistant"
    r"|respuesta|antwort|réponse|resposta|risposta|ответ|回答|답변",
    re.I,
)
csv.field_size_limit(MOST_CHARACTERS)


def frame_rows(source: Source) -> list[dict[str, Any]] | None:
    """The rows of what pandas writes by columns, each `{index: cell}`, or as {"columns", "data"}; None for others."""
    source.file.seek(source.start)
    value = json_or_none(source.file.read(MOST_CHARACTERS).decode("utf-8", "surrogateescape"))
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


def _separator(head: str, filename: str) -> str | None:
    """What parts the columns of a table whose first line names them, where its file or a column is called so."""
    first, newline, rest = head.lstrip("\ufeff").partition("\n")
    if not newline or "\0" in head or not rest.strip() or not _COLUMN.match(first) or head.lstrip()[:1] in "{[":
        return None
    is_called_so = TABLE.search(filename) is not None
    for separator in (",", "\t", ";"):
        rows = _first_rows(head, separator)
        widths = {len(row) for row in rows}
        if len(rows) > 1 and len(widths) == 1 and len(rows[0]) > 1 and _are_names(rows[0], is_called_so):
            return separator
    return None


def is_unnamed_table(head: str) -> bool:
    """Whether these are rows of as many cells, among them what somebody said, from the first line on."""
    rows = _first_rows(head, ",") if ',"' in head else []
    widths = {len(row) for row in rows}
    return len(rows) > 1 and len(widths) == 1 and widths != {1} and all(any(map(is_speech, row)) for row in rows)


def _first_rows(head: str, separator: str) -> list[list[str]]:
    """The header and the first rows; without the last where the head cuts it."""
    try:
        rows = list(islice(csv.reader(io.StringIO(head, newline=""), delimiter=separator), 6))
    except csv.Error:
        return []
    return [row for row in rows[: 5 if len(head) < HEAD or len(rows) > 5 else -1] if row]


def _are_names(header: list[str], is_called_so: bool) -> bool:
    """Whether these are names of columns and no sentence with commas; of what no table is called, one of a text."""
    is_json = any(mark in name for name in header for mark in '{"')
    named = [name for name in header if name]  # those that a spreadsheet adds have no name
    if is_json or len(set(named)) < len(named) or any(name != name.strip() or len(name) > 80 for name in named):
        return False
    words = [re.split(r"[\W_]+", name) for name in header]
    is_speaking = any(_SPEAKING.fullmatch(word) for name in words for word in name)
    return is_called_so or (max(map(len, words)) <= 4 and is_speaking)


def cell_value(name: str, cell: str) -> Any:
    """A cell's text; the list or object that it is in a column of such, or that are messages or a body of a model."""
    is_known = (cell[:1] == "{" and name in _OBJECTS) or (cell[:1] == "[" and name in _LISTED)
    value = opened_literal(cell)
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


def table_rows(source: Source, head: str) -> Iterator[Any] | None:
    """The rows of a table whose first line names its columns; None for other texts."""
    separator = _separator(head, source.filename)
    return None if separator is None else _rows(source, separator)


def _rows(source: Source, separator: str) -> Iterator[Any]:
    """The rows below the header as objects; a cell more than there are columns is called by its number."""
    source.file.seek(source.start)
    written = io.TextIOWrapper(source.file, "utf-8", "surrogateescape", newline="")
    try:
        rows = csv.reader(written, delimiter=separator)
        header = [name.strip() or f"column {number}" for number, name in enumerate(next(rows, []), start=1)]
        for count, row in enumerate(rows):
            current().check_records(count, "row")
            names = [*header, *(f"column {number}" for number in range(len(header) + 1, len(row) + 1))]
            if row:
                yield {name: cell_value(name, cell) for name, cell in zip(names, row, strict=False)}
    except TooLarge as larger:  # what came before is kept
        yield Problem(larger.at, larger.reason)
    except csv.Error as error:
        yield {"the table is damaged": str(error)}
    finally:
        written.detach()


CONSOLE = re.compile(
    r"^(?:-{5,} (?P<type>\w{1,60}) \((?P<source>[^()\n]{1,60})\) -{5,}"
    r"|(?P<name>[\w.-]{1,60}) \(to [\w.-]{1,60}\):)\r?\n",
    re.M,
)
"""how AutoGen prints who speaks"""
_RULE = re.compile(r"^-{80}\r?$", re.M)
_CALL = re.compile(
    r"^\*{5} Suggested (?:tool|function) call(?: \(([^()\n]*)\))?: (\S+) \*{5}\r?\n"
    r"Arguments: ?\r?\n((?:(?!\r?\n\*{5})[\s\S])*+)\r?\n\*{5,}\r?$",
    re.M,
)
_RESULT = re.compile(
    r"\*{5} Response from calling (?:tool|function) \(([^()\n]*)\) \*{5}\r?\n([\s\S]*?)(?:\r?\n\*{5,}|\Z)"
)


def spoken(written: str) -> Iterator[dict[str, Any]]:
    """What AutoGen prints of a chat, as its messages: names and, in the older way, whom they speak to."""
    marks = list(CONSOLE.finditer(written))
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        body = written[mark.end() : following.start() if following else len(written)].strip("\r\n")
        if mark["type"]:
            yield {"type": mark["type"], "source": mark["source"], "content": printed_list(body) or body}
            continue
        if not body and following:  # the name stands again below it, before a tool's result
            continue
        body = _RULE.split(body)[0].strip("\r\n")
        calls = [{"id": call[1], "function": {"name": call[2], "arguments": call[3]}} for call in _CALL.finditer(body)]
        result, is_user = _RESULT.match(body), re.match(r"user|human|admin", mark["name"], re.I)
        if result:
            yield {"role": "tool", "tool_call_id": result[1], "content": result[2]}
        else:
            content = {"name": mark["name"], "content": _CALL.sub("", body).strip("\r\n")}
            yield {"role": "user" if is_user else "assistant", **content, "tool_calls": calls}


AICHAT, _EIGHT = re.compile(r"^# CHAT:[^\n]*\[\d{4}-\d\d-\d\dT[^\n]*\n", re.M), re.compile(r"\r?\n-{8}\r?\n")
"""what aichat writes above what was asked and, below eight dashes, answered"""


def asked_and_answered(written: str) -> Iterator[Any]:
    """What aichat's log says, a record each answer."""
    for record in AICHAT.split(written)[1:]:
        asked, *answered = _EIGHT.split(record.rstrip(), maxsplit=1)
        yield {"prompt": asked, "response": "".join(answered).removesuffix("--------").rstrip()}


GLUED = re.compile(r"\s*+\{(?:[^\n]*|[ \t\r]*+\n[\s\S]*?\n)\}\{\s*\"")
"""objects one behind the other, it seems"""


def glued(written: str) -> list[Any] | None:
    """Objects, the second of which begins where the first ends, and what cannot be read as a text; None for others."""
    decoder, values, at = Decoder(), list[Any](), 0
    while match := _NEXT.search(written, at):
        try:
            value, at = decoder.value(written, match.start())
        except Damage:
            return [*values, written[at:]] if len(values) > 1 else None
        values.append(value)
        if len(values) == 1 and not written.startswith("{", at):
            return None
    return values if len(values) > 1 else None


_NEXT = re.compile(r"\S")
FLOWS = re.compile(r"\d{1,9}:\d{1,6}:[a-z_]{1,30};")
_DEEPEST = 20
_MOST_DIGITS = 12


class Torn(ValueError):
    """What is no tnetstring, or ends before its length."""


def flows(source: Source) -> Iterator[dict[str, Any] | str]:
    """The exchanges in a file of flows, which are tnetstrings (`5:hello,`); what is wrong with the rest as a text."""
    file = source.file
    file.seek(source.start)
    count = 0
    while size := _size(file):
        current().check_records(count, "flow")
        count += 1
        if current().too_long(size) or len(data := file.read(size + 1)) <= size:
            yield f"flow {count:,} is cut, or too long"
            return
        try:
            flow, _ = _value(str(size).encode() + b":" + data, 0, 0)
        except (Torn, ValueError, TypeError, RecursionError):
            yield f"flow {count:,} is damaged"
            return
        if isinstance(flow, dict) and isinstance(flow.get("request"), dict):
            yield _exchange(flow)


def _size(file: BinaryIO) -> int:
    """The length that stands before the next value; 0 where there is none."""
    digits = b""
    while (byte := file.read(1)).isdigit() and len(digits) < _MOST_DIGITS:
        digits += byte
    return int(digits) if digits and byte == b":" else 0


def _value(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """The value that begins at `at`, and where it ends."""
    colon = data.find(b":", at, at + _MOST_DIGITS + 1)
    if colon < 0 or depth > _DEEPEST:
        raise Torn
    begin, end = colon + 1, colon + 1 + int(data[at:colon])
    if end >= len(data):
        raise Torn
    kind, inner = data[end : end + 1], data[begin:end]
    if kind in b"}]":
        return _many(data, begin, end, depth, is_dict=kind == b"}"), end + 1
    plain = {b",": lambda: inner, b";": lambda: inner.decode("utf-8", "surrogateescape"), b"#": lambda: int(inner)}
    scalars = {b"^": lambda: float(inner), b"!": lambda: inner == b"true", b"~": lambda: None}
    if kind not in plain | scalars:
        raise Torn
    return (plain | scalars)[kind](), end + 1


def _many(data: bytes, at: int, end: int, depth: int, is_dict: bool) -> dict[str, Any] | list[Any]:
    values = list[Any]()
    while at < end:
        value, at = _value(data, at, depth + 1)
        values.append(value)
    return dict(zip(values[::2], values[1::2], strict=False)) if is_dict else values


def _exchange(flow: dict[str, Any]) -> dict[str, Any]:
    """A flow as recorders write an exchange."""
    request, response = flow["request"], as_object(flow.get("response"))
    host, path = _plain(request.get("host")), _plain(request.get("path"))
    url = f"{_plain(request.get('scheme'))}://{host}{path}"
    request_fields = {"method": _plain(request.get("method")), "url": url, "body": _body(request)}
    return {"request": request_fields, "response": {"status": response.get("status_code"), "body": _body(response)}}


def _plain(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _body(message: dict[str, Any]) -> str:
    """The body of a message as text, unpacked where it is packed."""
    content = message.get("content") or b""
    return packed_text(content) if isinstance(content, bytes) else str(content)
