"""The first look at a dump: its beginning, closely enough to tell its format and what stands around its long list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any, Literal

from webapp.dumps import otlp_protobuf, parquet_rows, sqlite_tables
from webapp.dumps.archive_members import opened_zip
from webapp.dumps.budget import BadDump
from webapp.dumps.decoding import Damage, Decoder
from webapp.dumps.records import Problem
from webapp.dumps.source import BLOCK, CHUNK, HEAD, TAR, TAR_AT, ZIPS, Cut, DumpHead, Shape, Source, too_long
from webapp.dumps.stream import CUT, TAIL, DocumentMember, Item, ListStart, trailing, walk

SAMPLES = 5
_LIST = re.compile(
    r"""\[\s*(?:[\[{"\],]|-?\d*\.?\d+(?:[eE][-+]?\d+)?\s*[,\]]|(?:true|false|null|NaN|Infinity)\s*[,\]]|\Z)"""
)
"""how a list begins, and a record of a log, as `[2026-01-01 …`, does not"""
MOST_PASSED = 20
"""How many damaged items, or lines, of a dump whose first is longer than the head are passed to find a sound one."""

_BinaryShape = Literal["zip", "tar", "protobuf", "parquet", "sqlite"]
_MOST_NAMES = 1000
_PARQUET, _SQLITE = b"PAR1", b"SQLite format 3\0"


def look(source: Source) -> DumpHead:
    """Read the head (and the tail) of `source`."""
    if (binary_shape := _binary_shape(source)) is not None:
        return _binary_head(source, binary_shape)
    text = "".join(source.text(limit=HEAD))
    start = text.lstrip()
    shape: Shape = "text"
    if not start:
        shape = "empty"
    elif start[0] == "{" or _LIST.match(start):
        shape = "lines" if _are_lines(source, text) else "object" if start[0] == "{" else "array"
    elif _has_lines(text):
        shape = "lines"
    led = shape == "lines" and (start[0] not in "{[" or start[1:2].isupper())  # as "[USER] hello"
    head = DumpHead(source.filename, text, shape, whole=len(text) < HEAD // 4, led=led)
    if shape == "lines":
        head.lines = list(_first_values(text)) or list(islice(_later_lines(head, source), 1))
    elif shape in ("object", "array"):
        _gather(head, iter([text]))
        if not head.whole and not any(head.items.values()):
            _gather(head, source.text(), source.budget.characters())
        if shape == "object":
            head.members = {**head.members, **({} if head.whole else trailing(source.tail(TAIL)))}
    return head


def _binary_head(source: Source, shape: _BinaryShape) -> DumpHead:
    head = DumpHead(source.filename, "", shape)
    if shape == "zip":
        head.names = _zip_names(source)
    if shape == "parquet":
        try:
            head.items[""] = list(islice(parquet_rows.rows(source), SAMPLES))
        except BadDump as bad:
            head.unread = Problem(bad.at, bad.reason)
    if shape == "sqlite":
        head.names, head.items, head.unread = sqlite_tables.look(source, SAMPLES)
    return head


def _gather(head: DumpHead, chunks: Iterator[str], most: int | None = None) -> None:
    """Fill in what `chunks` show; where all of the dump is at hand, up to a list's last sample or `most` characters."""
    remaining, passed = most or 0, 0
    for part in walk(chunks, None):
        if isinstance(part, Problem) and (most or (head.whole and part.reason.endswith(CUT))):
            head.unread, passed = head.unread or part, passed + 1
            if passed > MOST_PASSED:
                return
        if isinstance(part, Item) and most and len(head.items[part.key]) == SAMPLES:
            return
        if isinstance(part, Item | DocumentMember) and most and (remaining := remaining - len(repr(part.value))) < 0:
            return
        if isinstance(part, DocumentMember):
            head.members.setdefault(part.key, part.value)
        elif isinstance(part, ListStart):
            head.items.setdefault(part.key, [])
        elif isinstance(part, Item) and len(head.items[part.key]) < SAMPLES:
            head.items[part.key].append(part.value)


def _later_lines(head: DumpHead, source: Source) -> Iterator[Any]:
    """The lines' values, where the first is longer than the head; what is wrong with that one is noted."""
    decoder = Decoder()
    for number, (at, data) in enumerate(islice(source.lines(), MOST_PASSED), start=1):
        if isinstance(data, Cut):
            head.unread = head.unread or Problem(f"line {number}", too_long(at))
            continue
        with suppress(Damage):
            yield decoder.loads(source.decode(data, at))


def _first_values(text: str) -> Iterator[Any]:
    decoder = Decoder()
    lines = [line for line in text.split("\n")[:50] if line.strip()]
    for line in lines[:SAMPLES]:
        with suppress(Damage):
            yield decoder.loads(line)


def _has_lines(text: str) -> bool:
    """Whether there are objects, one a line, behind something else: from the first on they are half of the lines."""
    decoder, kinds = Decoder(), list[bool]()
    for line in text.split("\n")[:50]:
        if line.strip() and not line[:1].isspace() and (kinds or line[:1] == "{"):
            with suppress(Damage):
                kinds.append(isinstance(decoder.loads(line), dict))
                continue
            kinds.append(False)
    return 2 * sum(kinds) >= len(kinds) > 0 and any(kinds)


def _are_lines(source: Source, text: str) -> bool:
    """Whether the first line is a JSON value of its own and another line follows."""
    line, newline, rest = text.lstrip().partition("\n")
    if not newline:
        return _long_lines(source)
    if not rest.strip():
        return False
    try:
        Decoder().loads(line)
    except Damage:
        return rest.lstrip()[:1] in ("{", "[") and line.rstrip().endswith(("}", "]")) and len(line) > 1
    return True


def _long_lines(source: Source) -> bool:
    """Whether a first line longer than the head ends as a value does, before another one begins; nothing is held."""
    source.file.seek(source.start)
    last = b""
    while piece := source.file.read(CHUNK):
        if (at := piece.find(b"\n")) >= 0:
            ending = (last + piece[:at]).rstrip()[-1:]
            following = (piece[at:] + source.file.read(CHUNK)).lstrip()[:1]
            return ending in (b"}", b"]") and following in (b"{", b"[")
        last = piece[-8:]
    return False


def _binary_shape(source: Source) -> _BinaryShape | None:
    """What kind of binary dump this is; None where it is text, or nothing known."""
    source.file.seek(source.start)
    block = source.file.read(BLOCK)
    if block.startswith(ZIPS):
        return "zip"
    if block[TAR_AT : TAR_AT + len(TAR)] == TAR:
        return "tar"
    if block.startswith(_PARQUET):
        return "parquet"
    if block.startswith(_SQLITE):
        return "sqlite"
    return "protobuf" if otlp_protobuf.is_otlp(source.file) else None


def _zip_names(source: Source) -> list[str]:
    """The names of a zip's first members; none where it is damaged."""
    with suppress(BadDump), opened_zip(source) as archive:
        return [info.filename for info in archive.infolist()[:_MOST_NAMES]]
    return []
