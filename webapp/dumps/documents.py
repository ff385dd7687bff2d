"""One JSON document around a long list: what stands beside the list, wherever in the document it stands."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from webapp import jsontext
from webapp.dumps import parquet_rows
from webapp.dumps.decoding import kind_of
from webapp.dumps.entries import Entry, objects
from webapp.dumps.head import DumpHead, trailing
from webapp.dumps.records import BadDump, Problem
from webapp.dumps.source import Source
from webapp.dumps.stream import DocumentMember, Item, ListStart, Part, walk

Place = Callable[[int], str]
"""What a line is called, by its number from 1."""


def with_list(
    source: Source, head: DumpHead, key: str, *, needed: str
) -> tuple[dict[str, Any], Iterator[Entry | Problem]]:
    """A document's members but the list under `key`, and that list's entries. Raises `BadDump` where it has none."""
    if key in head.members:
        raise BadDump(f"{key}: expected a list, found {kind_of(head.members[key])}", key)
    if key not in head.items and head.whole:
        raise BadDump(f"{key} missing: expected a list under the key {key!r}", key)
    beside = members(source, head, key, needed=needed)
    beside.pop(key, None)
    return beside, objects(_listed(walk(source.text(), frozenset((key,))), key), key)


def _listed(parts: Iterator[Part], key: str) -> Iterator[Part]:
    """Pass the parts on; say where there is no list under `key`."""
    reached = False
    for part in parts:
        reached = reached or isinstance(part, ListStart)
        yield part
    if not reached:
        yield Problem(key, f"the dump contains no list of {key}")


def members(source: Source, head: DumpHead, streamed: str, *, needed: str) -> dict[str, Any]:
    """The document's members but the list `streamed`.

    Head and tail usually show them all. Only where they do not show `needed`, or not where the list begins, and
    something may lie between, is the whole document walked once more.
    """
    beside, reached = _beside(walk(iter([head.text]), frozenset((streamed,))), streamed)
    if head.whole:
        return beside
    beside |= {key: value for key, value in trailing(source).items() if key != streamed}
    closes_with_list = "".join(source.tail(1000).split()).endswith("]}")  # the document's last member is one
    if reached and (needed in beside or closes_with_list):
        return beside
    return _beside(walk(source.text(), frozenset((streamed,))), streamed)[0]


def _beside(parts: Iterator[Part], streamed: str) -> tuple[dict[str, Any], bool]:
    """The members among the parts, the first of each name, and whether the streamed list was reached."""
    beside: dict[str, Any] = {}
    reached = False
    for part in parts:
        reached = reached or (isinstance(part, ListStart) and part.key == streamed)
        if isinstance(part, DocumentMember):
            beside.setdefault(part.key, part.value)
    return beside, reached


def whole_document(source: Source) -> Iterator[Entry | Problem]:
    """What is wrong with a document, then the document as one entry."""
    value: dict[str, Any] = {}
    for part in walk(source.text(), frozenset()):
        if isinstance(part, Problem):
            yield part
        elif isinstance(part, DocumentMember):
            value[part.key] = part.value
    yield "the document", value


@contextmanager
def as_lines(source: Source, head: DumpHead) -> Iterator[tuple[Source, list[Problem], Place | None]]:
    """A list's items, or a table's rows, one a line in a file aside; what was wrong with others; and their places.

    A damaged item's line is empty, so that line `n` is item `n - 1`. Lines are given as they are, without places.
    """
    if head.shape not in ("array", "parquet"):
        yield source, [], None
        return
    is_table = head.shape == "parquet"
    rows = (Item("", index, row) for index, row in enumerate(parquet_rows.rows(source) if is_table else ()))
    problems: list[Problem] = []
    with tempfile.TemporaryFile() as lines:
        written = 0
        for part in rows if is_table else walk(source.text(), frozenset()):
            if isinstance(part, Problem):
                problems.append(part)
            elif isinstance(part, Item):
                lines.write(b"\n" * (part.index - written) + jsontext.dumps(part.value).encode("ascii") + b"\n")
                written = part.index + 1
        yield Source(lines, source.filename), problems, lambda number: f"[{number - 1}]"


def inner_list(chunks: Iterator[str], outer: str, inner: str) -> Iterator[Part]:
    """The items of `{outer: {inner: [ … ]}}` as items of a list called "outer.inner"; what is around is passed over.

    Raises `BadDump` where the text begins as no JSON object does.
    """
    name = f"{outer}.{inner}" if outer else inner
    for part in walk(_from_member(chunks, outer) if outer else chunks, frozenset((inner,))):
        if isinstance(part, Item) and part.key == inner:
            yield Item(name, part.index, part.value)
        elif isinstance(part, Problem) and "follows the end" not in part.reason:
            yield Problem(part.at.replace(f"{inner}[", f"{name}["), part.reason)


def _from_member(chunks: Iterator[str], key: str) -> Iterator[str]:
    """The text from the object on that stands under `key`, which begins within the first piece of text."""
    first = next(chunks, "")
    at = first.find(f'"{key}"')
    start = first.find("{", at + 1) if at >= 0 else -1
    if start < 0:
        raise BadDump(f"no object under the key {key!r}", "byte 0")
    yield first[start:]
    yield from chunks
