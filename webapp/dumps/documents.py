"""A dump's entries, of a list that is never held as a whole, what stands beside it, and the sessions they are of."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from webapp import jsontext
from webapp.dumps import parquet_rows
from webapp.dumps.budget import BadDump
from webapp.dumps.decoding import kind_of
from webapp.dumps.records import Entries, Entry, Problem
from webapp.dumps.session_keys import NO_KEY, OPTION, Follows, SessionKeys, entry_keys, named_by, rank_of
from webapp.dumps.sessions import SessionEntries, Sessions, spilled
from webapp.dumps.source import DumpHead, Source, entry_or_problem, lines
from webapp.dumps.stream import DocumentMember, Item, ListStart, Part, walk


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
    passes: Callable[[dict[str, Any]], bool] = lambda value: False,
    ends: Callable[[dict[str, Any]], bool] = lambda value: False,
) -> Iterator[Entry | Problem]:
    """The entries, with each run of those that `joins` and have the same `ident` as one: `{key: [entry, …]}`.

    It stands where the first stood. Runs that are shorter than `least` stay as they are; what `passes` between the
    members of one stands behind it. One that `ends` a run is its last.
    """

    def ended(run: list[Entry]) -> list[Entry]:
        return run if len(run) < least else [(run[0][0], {key: [value for _, value in run]})]

    run, waiting, last = list[Entry](), list[Entry](), None
    for entry in entries:
        if run and not isinstance(entry, Problem) and passes(entry[1]):
            waiting.append(entry)
        elif not isinstance(entry, Problem) and joins(entry[1]):
            if (same := ident(entry[1])) != last:
                yield from ended(run)
                run = []
            run.append(entry)
            last = same
            if ends(entry[1]):
                yield from (*ended(run), *waiting)
                run, waiting = [], []
        else:
            yield from (*ended(run), *waiting, entry)
            run, waiting = [], []
    yield from (*ended(run), *waiting)


def with_list(source: Source, head: DumpHead, key: str) -> tuple[dict[str, Any], Iterator[Entry | Problem]]:
    """A document's members but the list under `key`, and that list's entries. Raises `BadDump` where it has none."""
    if key in head.members:
        raise BadDump(f"{key}: expected a list, found {kind_of(head.members[key])}", key)
    if key not in head.items and head.whole:
        raise BadDump(f"{key} missing: expected a list under the key {key!r}", key)
    beside: dict[str, Any] = {}
    for part in walk(source.text(), frozenset((key,))):  # to its end: what stands behind the list is beside it, too
        if isinstance(part, DocumentMember) and part.key != key:
            beside.setdefault(part.key, part.value)
    return beside, objects(_listed(walk(source.text(), frozenset((key,))), key), key)


def _listed(parts: Iterator[Part], key: str) -> Iterator[Part]:
    """Pass the parts on; say where there is no list under `key`."""
    reached = False
    for part in parts:
        reached = reached or isinstance(part, ListStart)
        yield part
    if not reached:
        yield Problem(key, f"the log contains no list of {key}")


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


SessionOf = Callable[[dict[str, Any]], str | None]


def entries_of(source: Source, head: DumpHead) -> Entries:
    """A dump's entries in order: the items of a list, the document itself, or its lines."""
    if head.shape == "array":
        return objects(walk(source.text(), frozenset()), "")
    if head.shape == "parquet":
        return ((f"row {number}", row) for number, row in enumerate(parquet_rows.rows(source)))
    return whole_document(source) if head.shape == "object" else lines(source)


def page_entries(source: Source, head: DumpHead, *keys: str) -> Entries:
    """The items of a page of an API: of an object's list under the first of `keys`; else the dump's entries."""
    key = next((key for key in keys if head.shape == "object" and key in head.items), None)
    return entries_of(source, head) if key is None else with_list(source, head, key)[1]


def grouped(source: Source, head: DumpHead, session_of: SessionOf) -> Sessions:
    """A dump's entries by session, in the order of their beginnings; where there is none, what is wrong with them.

    An entry that names no session belongs to the one before it; if there is none, to one called as the file. Each
    session's entries must be taken before the next session is asked for.
    """
    if head.shape == "object":
        entries = list(whole_document(source))
        values = [entry[1] for entry in entries if not isinstance(entry, Problem)]
        yield SessionEntries(session_of(values[-1]) or source.stem, entries)
        return
    yield from apart(entries_of(source, head), session_of, source.stem)


def keyed(source: Source, head: DumpHead, given_key: str | None, follows: Follows) -> Sessions:
    """A dump's entries by the key `given_key`, else by the one that is chosen; one session where there is none."""
    if head.shape == "object":
        yield _only(source, given_key)
        return
    keys = entry_keys(entries_of(source, head), partial(named_by, given_key=given_key), follows)
    key = keys.report(given_key).key
    if given_key not in (None, NO_KEY) and key is None:
        yield Problem("the log", f"no entry has the session key {str(given_key)[:200]!r}; all are one session")
    if key is None and keys.entries:
        yield SessionEntries(source.stem, entries_of(source, head))
        return
    column = None if key is None else keys.columns[key]
    if column and column.without:
        count = f"{column.without:,} {'entry names' if column.without == 1 else 'entries name'} no {key}"
        yield Problem(column.first_without, f"{count}; in the session {source.stem[:200]!r}")

    def session(value: dict[str, Any]) -> str | None:
        name = next((name for own_key, name in named_by(value, given_key) if own_key == key), None)
        return source.stem if name is None and not follows(value) else name

    yield from apart(entries_of(source, head), session, source.stem, {OPTION: key})


def apart(entries: Entries, session_of: SessionOf, stem: str, extra: dict[str, Any] | None = None) -> Sessions:
    """The entries by the session that each names; what names none, and a problem, stays with what came before it."""
    with spilled() as aside:
        current, count = "", 0
        for entry in entries:
            if isinstance(entry, Problem):
                aside.put(current, 0, entry.at, entry.reason)
            else:
                current, count = session_of(entry[1]) or current, count + 1
                aside.put(current, 0, *entry)
        aside.rename({"": next(filter(None, aside.names), stem)})
        for name, kept in aside.sessions():
            of_session = (_as_it_came(*one) for one in kept)
            if count:
                yield SessionEntries(name, of_session, extra=extra or {})
            else:
                yield from (entry for entry in of_session if isinstance(entry, Problem))


def _as_it_came(at: str, value: Any) -> Entry | Problem:
    return Problem(at, value) if isinstance(value, str) else (at, value)


def _only(source: Source, given_key: str | None) -> SessionEntries:
    """The document as the only entry of its session."""
    entries = list(whole_document(source))
    values = [entry[1] for entry in entries if not isinstance(entry, Problem)]
    keys = [] if given_key == NO_KEY else [pair for value in values for pair in named_by(value, given_key)]
    key, name = min(
        keys, key=lambda pair: -1 if pair[0] == given_key else rank_of(pair[0]), default=(None, source.stem)
    )
    return SessionEntries(name, entries, extra={} if key is None else {OPTION: key})


def session_keys(source: Source, head: DumpHead, given_key: str | None, follows: Follows) -> SessionKeys:
    """The keys of a dump's entries, and the one that `keyed` takes."""
    names_of = partial(named_by, given_key=given_key)
    return entry_keys(entries_of(source, head), names_of, follows).report(given_key)
