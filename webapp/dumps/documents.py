"""One JSON document around a long list: what stands beside the list, wherever in the document it stands."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Any

from webapp import jsontext
from webapp.dumps.budget import BadDump
from webapp.dumps.decoding import kind_of
from webapp.dumps.head import DumpHead
from webapp.dumps.records import Entry, Problem
from webapp.dumps.source import Source, entry_or_problem
from webapp.dumps.stream import TAIL, DocumentMember, Item, ListStart, Part, trailing, walk
from webapp.dumps.values import as_list, as_object, id_text


def objects(parts: Iterable[Part], key: str) -> Iterator[Entry | Problem]:
    """The items under `key` that are objects; the others become problems."""
    for part in parts:
        if isinstance(part, Problem):
            yield part
        elif isinstance(part, Item) and part.key == key:
            yield entry_or_problem(part.at, part.value)


def nested(at: str, key: str, values: list[Any]) -> Iterator[Entry | Problem]:
    """The items of a list that stands under `key` of the entry at `at`."""
    return (entry_or_problem(f"{at}, {key}[{index}]", value) for index, value in enumerate(values))


def id_problem(at: str, value: Any, used: str) -> Iterator[Problem]:
    """What to say of an id that is no text."""
    if value is not None and not isinstance(value, str):
        yield Problem(at, f"expected a text, found {kind_of(value)}; the session is called {used!r}")


def joined_runs(
    entries: Iterable[Entry | Problem],
    joins: Callable[[dict[str, Any]], bool],
    key: str,
    ident: Callable[[dict[str, Any]], Any] = lambda value: None,
    least: int = 1,
) -> Iterator[Entry | Problem]:
    """The entries, with each run of those that `joins` and have the same `ident` as one: `{key: [entry, …]}`.

    It stands where the first stood. Runs that are shorter than `least` stay as they are.
    """

    def run_of(entry: Entry | Problem) -> tuple[Any] | None:
        return (ident(entry[1]),) if not isinstance(entry, Problem) and joins(entry[1]) else None

    for run, members in groupby(entries, run_of):
        if run is None:
            yield from members
            continue
        joined = [entry for entry in members if not isinstance(entry, Problem)]
        yield from joined if len(joined) < least else [(joined[0][0], {key: [value for _, value in joined]})]


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
        yield Problem(key, f"the log contains no list of {key}")


def members(source: Source, head: DumpHead, streamed: str, *, needed: str) -> dict[str, Any]:
    """The document's members but the list `streamed`.

    Head and tail usually show them all. Only where they do not show `needed`, or not where the list begins, and
    something may lie between, is the whole document walked once more.
    """
    beside, reached = _beside(walk(iter([head.text]), frozenset((streamed,))), streamed)
    if head.whole:
        return beside
    beside |= {key: value for key, value in trailing(source.tail(TAIL)).items() if key != streamed}
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
def as_lines(source: Source, head: DumpHead) -> Iterator[tuple[Source, list[Problem]]]:
    """A list's items one a line in a file aside, and what was wrong with others; lines are given as they are.

    A damaged item's line is empty, so that line `n` is item `n - 1`.
    """
    if head.shape != "array":
        yield source, []
        return
    problems: list[Problem] = []
    with tempfile.TemporaryFile() as lines:
        written = 0
        for part in walk(source.text(), frozenset()):
            if isinstance(part, Problem):
                problems.append(part)
            elif isinstance(part, Item):
                lines.write(b"\n" * (part.index - written) + jsontext.dumps(part.value).encode("ascii") + b"\n")
                written = part.index + 1
        yield Source(lines, source.filename), problems


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


def tree_entries(
    at: str, nodes: dict[str, Any], called: str, parent_key: str, children_key: str
) -> Iterator[Entry | Problem]:
    """The messages of a tree as entries, depth first, and what is wrong with it; `called` is the tree's own key."""
    yield from _missing_children(at, nodes, children_key)
    for ident, node in _depth_first(nodes, parent_key, children_key):
        yield entry_or_problem(f"{at}, {called}[{ident!r}]", node)


def _depth_first(nodes: dict[str, Any], parent_key: str, children_key: str) -> Iterator[tuple[str, Any]]:
    """The nodes of a tree by their ids, each before those below it, in the order of the children that it names."""
    below: dict[str | None, list[str]] = {}
    for ident, node in nodes.items():
        parent = id_text(as_object(node).get(parent_key))
        below.setdefault(parent if parent in nodes else None, []).append(ident)
    waiting, passed = list(reversed(below.get(None, []))), set[str]()
    while waiting:
        ident = waiting.pop()
        if ident in passed:
            continue
        passed.add(ident)
        node = nodes[ident]
        yield ident, node
        children = [name for child in as_list(as_object(node).get(children_key)) if (name := id_text(child)) in nodes]
        waiting.extend(reversed(list(dict.fromkeys([*(str(name) for name in children), *below.get(ident, [])]))))
    yield from ((ident, node) for ident, node in nodes.items() if ident not in passed)


def _missing_children(at: str, nodes: dict[str, Any], children_key: str) -> Iterator[Problem]:
    """What to say of messages that others name as those below them, and that are not there."""
    child_ids = (id_text(child) for node in nodes.values() for child in as_list(as_object(node).get(children_key)))
    missing = list(dict.fromkeys(name for name in child_ids if name is not None and name not in nodes))
    if missing:
        count = f"{len(missing):,} messages are" if len(missing) > 1 else "a message is"
        yield Problem(at, f"{count} not there that others name as what follows them ({missing[0][:80]!r})")
