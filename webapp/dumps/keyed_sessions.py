"""The entries of a log grouped by the key that names their session, which is chosen among those that they have."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.decoding import Decoder
from webapp.dumps.documents import Place, as_lines, whole_document
from webapp.dumps.head import DumpHead
from webapp.dumps.records import Problem
from webapp.dumps.session_keys import MOST_KEYS, NO_KEY, OPTION, KeyChoice, SessionKeys, chosen, named_by, rank_of
from webapp.dumps.sessions import Runs, SessionEntries, lines, lines_of, object_of
from webapp.dumps.source import Source

Follows = Callable[[dict[str, Any]], bool]
"""Whether an entry that names no session belongs to the one before it, as a message does; a request stands alone."""
_NOTHING, _FOLLOWER, _ALONE = 0, 1, 2


@dataclass(slots=True)
class _Column:
    """A key over all lines: the number of the name that each has, from 1, and 0 for none."""

    numbers: array[int] = field(default_factory=lambda: array("L"))
    names: dict[str, int] = field(default_factory=dict)
    entries: int = 0

    def put(self, line: int, name: str) -> None:
        self.numbers.extend([0] * (line + 1 - len(self.numbers)))
        if not self.numbers[line]:
            self.numbers[line] = self.names.setdefault(name, len(self.names) + 1)
            self.entries += 1


@dataclass(slots=True)
class LineKeys:
    """Where each line begins, what it is, and the keys that lines have."""

    places: array[int] = field(default_factory=lambda: array("Q"))
    kinds: bytearray = field(default_factory=bytearray)
    columns: dict[str, _Column] = field(default_factory=dict)

    def report(self, given_key: str | None) -> SessionKeys:
        choices = [KeyChoice(key, column.entries, len(column.names)) for key, column in self.columns.items()]
        key = (given_key if given_key in self.columns else None) if given_key else chosen(choices)
        without = len(self.without(key)) if key is not None else 0
        sessions = len(self.columns[key].names) + bool(without) if key is not None else 1
        return SessionKeys(key, given_key is not None, self.entries, sessions, without, choices)

    @property
    def entries(self) -> int:
        return len(self.kinds) - self.kinds.count(_NOTHING)

    def without(self, key: str) -> list[int]:
        """The lines that stand alone and do not have `key`."""
        numbers = self.columns[key].numbers
        return [n for n, kind in enumerate(self.kinds) if kind == _ALONE and not (n < len(numbers) and numbers[n])]

    def runs(self, key: str, rest: str) -> Runs:
        """The lines of each session; those that stand alone and name none are in the session `rest`."""
        column = self.columns[key]
        names = list(column.names)
        index: Runs = {}
        current: str | None = None
        run_of: str | None = None
        early = 0
        for line, kind in enumerate(self.kinds):
            number = column.numbers[line] if line < len(column.numbers) else 0
            name = names[number - 1] if number else rest if kind == _ALONE else current
            if name is None:
                early += 1
                continue
            runs = index.setdefault(name, array("Q"))
            if name == run_of:
                runs[-1] += 1
            else:
                runs.extend((self.places[line - early], line - early + 1, early + 1))
            current, run_of, early = name, name, 0
        return index


def line_keys(source: Source, given_key: str | None, follows: Follows) -> LineKeys:
    """Look at every line once."""
    keys, decoder = LineKeys(), Decoder()
    for number, (at, data) in enumerate(source.lines()):
        keys.places.append(at)
        value = object_of(source, decoder, data, at)
        keys.kinds.append(_NOTHING if value is None else _FOLLOWER if follows(value) else _ALONE)
        for key, name in () if value is None else named_by(value, given_key):
            if key in keys.columns or len(keys.columns) < MOST_KEYS:
                keys.columns.setdefault(key, _Column()).put(number, name)
    return keys


def session_keys(source: Source, head: DumpHead, given_key: str | None, follows: Follows) -> SessionKeys:
    """The keys of a dump's entries, and the one that `keyed` takes."""
    with as_lines(source, head) as (recoded, _, _):
        return line_keys(recoded, given_key, follows).report(given_key)


def keyed(
    source: Source, head: DumpHead, given_key: str | None, follows: Follows
) -> Iterator[SessionEntries | Problem]:
    """A dump's entries by the key `given_key`, else by the one that is chosen; one session where there is none."""
    if head.shape == "object":
        yield _only(source, given_key)
        return
    with as_lines(source, head) as (recoded, problems, place):
        yield from problems
        keys = line_keys(recoded, given_key, follows)
        report = keys.report(given_key)
        if given_key not in (None, NO_KEY) and report.key is None:
            yield Problem("the log", f"no entry has the session key {str(given_key)[:200]!r}; all are one session")
        if not report.entries:
            yield from (entry for entry in lines(recoded, place) if isinstance(entry, Problem))
        elif report.key is None:
            yield SessionEntries(source.stem, lines(recoded, place))
        else:
            yield from _named_sessions(recoded, source.stem, keys, report.key, place or "line {}".format)


def _only(source: Source, given_key: str | None) -> SessionEntries:
    """The document as the only entry of its session."""
    entries = list(whole_document(source))
    values = [entry[1] for entry in entries if not isinstance(entry, Problem)]
    keys = [] if given_key == NO_KEY else [pair for value in values for pair in named_by(value, given_key)]
    key, name = min(
        keys, key=lambda pair: -1 if pair[0] == given_key else rank_of(pair[0]), default=(None, source.stem)
    )
    return SessionEntries(name, entries, extra={} if key is None else {OPTION: key})


def _named_sessions(
    source: Source, rest: str, keys: LineKeys, key: str, place: Place
) -> Iterator[SessionEntries | Problem]:
    if without := keys.without(key):
        count = f"{len(without):,} {'entry names' if len(without) == 1 else 'entries name'} no {key}"
        yield Problem(place(without[0] + 1), f"{count}; in the session {rest[:200]!r}")
    for name, places in keys.runs(key, rest).items():
        yield SessionEntries(name, lines_of(source, places, place), extra={OPTION: key})
