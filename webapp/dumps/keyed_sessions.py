"""The entries of a log grouped by the key that names their session, which is chosen among those that they have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.decoding import Decoder
from webapp.dumps.documents import as_lines, whole_document
from webapp.dumps.head import DumpHead
from webapp.dumps.records import Problem
from webapp.dumps.session_keys import MOST_KEYS, NO_KEY, OPTION, KeyChoice, SessionKeys, chosen, named_by, rank_of
from webapp.dumps.sessions import LineRuns, SessionEntries, lines, lines_of, object_of
from webapp.dumps.source import Source

Follows = Callable[[dict[str, Any]], bool]
"""Whether an entry that names no session belongs to the one before it, as a message does; a request stands alone."""


@dataclass(slots=True)
class _Column:
    """A key over all lines: the session of each by it; of those that stand alone without it the first, and a count."""

    lines: LineRuns
    names: set[str] = field(default_factory=set)
    entries: int = 0
    without: int = 0
    first_without: int = 0

    def put(self, at: int, number: int, name: str | None, *, alone: bool) -> None:
        self.lines.put(at, number, name, alone=alone)
        if name is not None:
            self.names.add(name)
            self.entries += 1
        elif alone:
            self.first_without = self.first_without or number
            self.without += 1


@dataclass(slots=True)
class LineKeys:
    """How many lines hold entries, and the keys that these have."""

    columns: dict[str, _Column] = field(default_factory=dict)
    entries: int = 0

    def report(self, given_key: str | None) -> SessionKeys:
        choices = [KeyChoice(key, column.entries, len(column.names)) for key, column in self.columns.items()]
        key = (given_key if given_key in self.columns else None) if given_key else chosen(choices)
        column = None if key is None else self.columns[key]
        without = column.without if column else 0
        sessions = len(column.names) + bool(without) if column else 1
        return SessionKeys(key, given_key is not None, self.entries, sessions, without, choices)


def line_keys(source: Source, given_key: str | None, follows: Follows, rest: str) -> LineKeys:
    """Look at every line once; what names no session and stands alone belongs to the session `rest`."""
    keys, decoder, nameless = LineKeys(), Decoder(), _Column(LineRuns(source.start, rest))
    for number, (at, data) in enumerate(source.lines(), start=1):
        value = object_of(source, decoder, data, at)
        keys.entries += value is not None
        alone = value is not None and not follows(value)
        names: dict[str, str] = {}
        for key, name in () if value is None else named_by(value, given_key):
            names.setdefault(key, name)
        for key in names:
            if key not in keys.columns and len(keys.columns) < MOST_KEYS:
                keys.columns[key] = deepcopy(nameless)
        for key, column in (*keys.columns.items(), ("", nameless)):
            column.put(at, number, names.get(key), alone=alone)
    return keys


def session_keys(source: Source, head: DumpHead, given_key: str | None, follows: Follows) -> SessionKeys:
    """The keys of a dump's entries, and the one that `keyed` takes."""
    with as_lines(source, head) as (recoded, _, _):
        return line_keys(recoded, given_key, follows, source.stem).report(given_key)


def keyed(
    source: Source, head: DumpHead, given_key: str | None, follows: Follows
) -> Iterator[SessionEntries | Problem]:
    """A dump's entries by the key `given_key`, else by the one that is chosen; one session where there is none."""
    if head.shape == "object":
        yield _only(source, given_key)
        return
    with as_lines(source, head) as (recoded, problems, place):
        yield from problems
        keys = line_keys(recoded, given_key, follows, source.stem)
        report = keys.report(given_key)
        if given_key not in (None, NO_KEY) and report.key is None:
            yield Problem("the log", f"no entry has the session key {str(given_key)[:200]!r}; all are one session")
        if not report.entries:
            yield from (entry for entry in lines(recoded, place) if isinstance(entry, Problem))
        elif report.key is None:
            yield SessionEntries(source.stem, lines(recoded, place))
        else:
            column = keys.columns[report.key]
            if column.without:
                count = f"{column.without:,} {'entry names' if column.without == 1 else 'entries name'} no {report.key}"
                at = (place or "line {}".format)(column.first_without)
                yield Problem(at, f"{count}; in the session {source.stem[:200]!r}")
            for name, runs in column.lines.runs.items():
                entries = lines_of(recoded, runs, place or "line {}".format)
                yield SessionEntries(name, entries, extra={OPTION: report.key})


def _only(source: Source, given_key: str | None) -> SessionEntries:
    """The document as the only entry of its session."""
    entries = list(whole_document(source))
    values = [entry[1] for entry in entries if not isinstance(entry, Problem)]
    keys = [] if given_key == NO_KEY else [pair for value in values for pair in named_by(value, given_key)]
    key, name = min(
        keys, key=lambda pair: -1 if pair[0] == given_key else rank_of(pair[0]), default=(None, source.stem)
    )
    return SessionEntries(name, entries, extra={} if key is None else {OPTION: key})
