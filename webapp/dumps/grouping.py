"""Groups the lines of a JSONL dump by session, interleaved ones too, remembering no more than places."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import Any

from webapp.dumps.base import Entry, entry_or_problem
from webapp.dumps.decoding import Damage, Decoder
from webapp.dumps.records import Problem
from webapp.dumps.source import Cut, Source, too_long

SessionOf = Callable[[dict[str, Any]], str | None]
Place = Callable[[int], str]
"""What a line is called, by its number from 1."""
Runs = dict[str, "array[int]"]
"""For each session its runs of lines as triples: byte of the first line, its number (from 1), count of lines."""


def lines(source: Source, place: Place = "line {}".format) -> Iterator[Entry | Problem]:
    """Every line's object in order; empty lines are left out, others that are no object become problems."""
    decoder = Decoder()
    for number, (at, data) in enumerate(source.lines(), start=1):
        if data.strip():
            yield from _line(source, decoder, data, at, place(number))


def by_session(
    source: Source, session_of: SessionOf, place: Place = "line {}".format
) -> Iterator[tuple[str, Iterator[Entry | Problem]]]:
    """Each session's id with its lines, in the order of their beginnings.

    A line that names no session belongs to the one before it; if there is none, to one called as the file. Where
    no line holds an object there is no session.
    Each session's lines must be taken before the next session is asked for.
    """
    for name, runs in _index(source, session_of).items():
        yield name, _lines_of(source, runs, place)


def _index(source: Source, session_of: SessionOf) -> Runs:
    index: Runs = {}
    current: str | None = None
    number, objects, decoder = 0, 0, Decoder()
    for number, (at, data) in enumerate(source.lines(), start=1):
        value = _object(source, decoder, data, at)
        objects += value is not None
        name = None if value is None else session_of(value)
        if name is not None and name != current:
            runs = index.setdefault(name, array("Q"))
            runs.extend((source.start, 1, number) if current is None else (at, number, 1))
            current = name
        elif current is not None:
            index[current][-1] += 1
    if current is None and objects:
        index[source.stem] = array("Q", (source.start, 1, number))
    return index


def _object(source: Source, decoder: Decoder, data: bytes, at: int) -> dict[str, Any] | None:
    if isinstance(data, Cut) or not data.strip():
        return None
    try:
        value = decoder.loads(source.decode(data, at))
    except Damage:
        return None
    return value if isinstance(value, dict) else None


def _lines_of(source: Source, runs: array[int], place: Place) -> Iterator[Entry | Problem]:
    decoder = Decoder()
    for first in range(0, len(runs), 3):
        at, number, count = runs[first : first + 3]
        for offset in range(count):
            data, end = source.line(at)
            if data.strip():
                yield from _line(source, decoder, data, at, place(number + offset))
            at = end


def _line(source: Source, decoder: Decoder, data: bytes, at: int, place: str) -> Iterator[Entry | Problem]:
    if isinstance(data, Cut):
        yield Problem(place, too_long(at))
        return
    try:
        value = decoder.loads(source.decode(data, at))
    except Damage as damage:
        cut = "" if data.endswith(b"\n") else "; the dump may be cut here"
        yield Problem(place, f"{damage.reason} (character {damage.at} of the line); skipped{cut}")
        return
    yield from decoder.repeats(place)
    yield entry_or_problem(place, value)
