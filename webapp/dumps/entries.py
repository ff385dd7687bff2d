"""Entries of a dump with their places, and the ids among them that come twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any

from webapp.dumps.decoding import kind_of
from webapp.dumps.records import Problem
from webapp.dumps.stream import Item, Part
from webapp.dumps.values import id_text
from webapp.text_hash import text_hash

Entry = tuple[str, dict[str, Any]]
"""An entry with its place in the dump ("entries[3]", "line 4")."""
Entries = Iterator[Entry | Problem]


def objects(parts: Iterable[Part], key: str) -> Iterator[Entry | Problem]:
    """The items under `key` that are objects; the others become problems."""
    for part in parts:
        if isinstance(part, Problem):
            yield part
        elif isinstance(part, Item) and part.key == key:
            yield entry_or_problem(part.at, part.value)


def entry_or_problem(at: str, value: Any) -> Entry | Problem:
    """`value` as an entry, or what is wrong with it."""
    if isinstance(value, dict):
        return at, value
    return Problem(at, f"expected an object, found {kind_of(value)}; skipped")


def nested(at: str, key: str, values: list[Any]) -> Iterator[Entry | Problem]:
    """The items of a list that stands under `key` of the entry at `at`."""
    return (entry_or_problem(f"{at}, {key}[{index}]", value) for index, value in enumerate(values))


def id_problem(at: str, value: Any, used: str) -> Iterator[Problem]:
    """What to say of an id that is no text."""
    if value is not None and not isinstance(value, str):
        yield Problem(at, f"expected a text, found {kind_of(value)}; the session is called {used!r}")


class RepeatedIds:
    """The ids of a session's entries so far, as hashes, so that a million of them are some 60 MB."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def again(self, at: str, name: str, value: Any) -> Iterator[Problem]:
        """A problem where the id `value`, called `name`, stood in an entry before; both are kept."""
        if not (ident := id_text(value)):
            return
        if (digest := text_hash(name, ident)) in self._hashes:
            yield Problem(at, f"the {name} {ident[:200]!r} occurs twice in the session; both are kept")
        self._hashes.add(digest)


def joined_runs(
    entries: Iterable[Entry | Problem],
    joins: Callable[[dict[str, Any]], bool],
    key: str,
    ident: Callable[[dict[str, Any]], Any] = lambda value: None,
) -> Iterator[Entry | Problem]:
    """The entries, with each run of those that `joins` and have the same `ident` as one: `{key: [entry, …]}`.

    It stands where the first stood.
    """

    def run_of(entry: Entry | Problem) -> tuple[Any] | None:
        return (ident(entry[1]),) if not isinstance(entry, Problem) and joins(entry[1]) else None

    for run, members in groupby(entries, run_of):
        if run is None:
            yield from members
        else:
            joined = [entry for entry in members if not isinstance(entry, Problem)]
            yield joined[0][0], {key: [value for _, value in joined]}
