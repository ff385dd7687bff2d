"""Tables as texts: rows of CSV and what pandas writes as records, each cell with the JSON that it holds."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from webapp.dumps.budget import MOST_CHARACTERS, current
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.printed import from_repr
from webapp.dumps.records import Problem, TooLarge
from webapp.dumps.source import HEAD, Source
from webapp.dumps.values import as_list, as_object

_COLUMN = re.compile(r"[,;\t]?[\w\"'][^\r\n]{0,80}")
_LONGEST_NAME = 80
FRAME = re.compile(r'\s*\{\s*"(?:[^"\n]{1,80}":\s*\{"0"\s*:|columns":\s*\[\s*")')
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
    return [row for row in rows[: 5 if len(head) < HEAD or len(rows) > 5 else -1] if row]


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


def table_rows(source: Source, head: str) -> Iterator[Any] | None:
    """The rows of a table whose first line names its columns; None for other texts."""
    separator = _separator(head)
    return None if separator is None else _rows(source, separator)


def _rows(source: Source, separator: str) -> Iterator[Any]:
    """The rows below the header as objects; a cell more than there are columns is called by its number."""
    source.file.seek(source.start)
    written = io.TextIOWrapper(source.file, "utf-8", "surrogateescape", newline="")
    try:
        rows = csv.reader(written, delimiter=separator)
        header = [name.strip() or f"column {number}" for number, name in enumerate(next(rows, []), start=1)]
        for count, row in enumerate(rows):
            current().check_records(count, f"row {count:,}")
            names = [*header, *(f"column {number}" for number in range(len(header) + 1, len(row) + 1))]
            if row:
                yield {name: cell_value(name, cell) for name, cell in zip(names, row, strict=False)}
    except TooLarge as larger:  # what came before is kept
        yield Problem(larger.at, larger.reason)
    except csv.Error as error:
        yield {"the table is damaged": str(error)}
    finally:
        written.detach()
