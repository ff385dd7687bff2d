"""The items of a list that lies deeper in a document, one at a time: the list under `outer`, then under `inner`."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.dumps.records import BadDump, Problem
from webapp.dumps.stream import Item, Part, walk


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
