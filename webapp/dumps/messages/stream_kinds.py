"""The kinds of streams that are known, by `streams.toml`: which events are of one, and where answers begin."""

from __future__ import annotations

import base64
import tomllib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.json_path import at, holds
from webapp.dumps.values import as_list, as_object, id_text

_MOST_BESIDE = 12
_SIGNS = {"type", "object", "event", "event_type", "contentBlockIndex"}
"""keys of which an event has one that can be nothing else"""


@dataclass(frozen=True, slots=True)
class Stream:
    """A kind of stream, as a table of `streams.toml` has it; tests are those of declared formats."""

    name: str
    is_: str
    """what one of its events passes"""
    sure: str | bool = ""
    """… what can be nothing else, and has one of the keys `_SIGNS`; True for all that is one"""
    others: str = ""
    """what all others pass where none is sure"""
    begins: str = ""
    """what begins an answer, where the event before does not"""
    ends: str = ""
    """what the last event of an answer passes"""
    ident: str = ""
    """where an event says which answer it belongs to"""
    each: str = ""
    """where it has its choices"""
    rows: str = ""
    of_each: str = ""
    """of the event, and of each choice"""
    anew: str = ""
    named: str = ""
    """what begins an item though one of that name was there, and where that name is"""
    under_names: tuple[str, ...] = ()
    """under which its events may stand, each alone in an object"""
    body: dict[str, Any] = field(default_factory=dict)
    """what a body has whatever the events say"""
    whole: bool = False
    """whether an answer that its events have whole counts before what came of it"""
    text: str = ""
    """where events have the text that is all that grows"""
    grows: bool = False
    """whether each of them may say again all that those before it said"""


def _declared(name: str, table: dict[str, Any]) -> Stream:
    about = {"is_" if key == "is" else key: value for key, value in table.items()}
    if "text" in table:
        written = f". < .\n{table['is']} ? {table['text']} + message.content"
        about |= {"ident": "id", "body": {"message": {}}, "rows": written}
    return Stream(name, **about)


_TABLES = tomllib.loads(Path(__file__).parents[1].joinpath("streams.toml").read_text("utf-8"))
_TEXTS = _TABLES.pop("texts")
STREAMS = [_declared(name, table) for name, table in (_TABLES | _TEXTS).items()]
_SURE = " or ".join(stream.is_ if stream.sure is True else stream.sure for stream in STREAMS if stream.sure)
_UNDER_NAMES = {name for stream in STREAMS for name in stream.under_names}


def stream_of(events: list[dict[str, Any]]) -> Stream | None:
    """The kind of stream that the first event is of that is known."""
    return next((stream for event in events for stream in STREAMS if holds(event, stream.is_)), None)


def is_event(value: Any) -> bool:
    """Whether this is an event of a provider's stream, and can be nothing else."""
    if not isinstance(value, dict):
        return False
    return bare(value) is not value or (not value.keys().isdisjoint(_SIGNS) and holds(value, _SURE))


def is_of(name: str, events: list[dict[str, Any]]) -> bool:
    """Whether all of them are events of the stream of that name."""
    stream = next(stream for stream in STREAMS if stream.name == name)
    return all(holds(event, stream.is_) for event in events)


def wrapped_event(value: Any) -> Any:
    """The event that an entry of a log holds beside when it came; None where it holds none."""
    members = value.values() if isinstance(value, dict) and len(value) <= _MOST_BESIDE else ()
    return next((inner for inner in members if is_event(inner)), None)


def bare(event: dict[str, Any]) -> dict[str, Any]:
    """An event of Amazon's that stands under its name, or as the bytes of a chunk, without that."""
    name = next(iter(event)) if len(event) == 1 else None
    if name == "chunk" and isinstance(written := as_object(event[name]).get("bytes"), str):
        with suppress(ValueError):
            inner = json_or_none(base64.b64decode(written).decode("utf-8", "replace"))
            return inner if isinstance(inner, dict) else event
    return {"event": name, **event[name]} if name in _UNDER_NAMES and isinstance(event[name], dict) else event


def is_end(event: dict[str, Any]) -> bool:
    """Whether a choice, or a candidate, of an event ends."""
    choices = map(as_object, [*as_list(event.get("choices")), *as_list(event.get("candidates"))])
    return any(choice.get("finish_reason") or choice.get("finishReason") for choice in choices)


def each_answer(events: list[dict[str, Any]], stream: Stream) -> list[list[int]]:
    """The places of each answer's events in order: by the ids that they have, else from one that begins an answer."""
    idents = [id_text(at(event, stream.ident)[0]) for event in events]
    ends = [is_end(event) or (bool(stream.ends) and holds(event, stream.ends)) for event in events]
    by_ident = _tell_apart(idents, ends)
    groups: dict[Any, list[int]] = {}
    current: Any = None
    ended = set[str]()
    for place, event in enumerate(events):
        choices = {str(as_object(choice).get("index") or 0) for choice in as_list(at(event, stream.each)[0])}
        if by_ident:
            current = idents[place] or current
        elif stream.each:  # where each event says that it ends, none does
            begins = holds(event, stream.begins) if stream.begins else not (place and ends[groups[current][0]])
            current, ended = (place, set()) if begins and not ended.isdisjoint(choices) else (current, ended)
        elif place and stream.begins:
            current = place if holds(event, stream.begins) and not holds(events[place - 1], stream.begins) else current
        elif place and ends[place - 1] and holds(event, stream.is_):
            current = place
        ended |= choices if ends[place] else set()
        groups.setdefault(current, []).append(place)
    if by_ident and None in groups:  # what comes before the first id belongs to it
        early = groups.pop(None)
        first = next(iter(groups))
        groups[first] = [*early, *groups[first]]
    return list(groups.values())


def _tell_apart(idents: list[Any], ends: list[bool]) -> bool:
    """Whether ids tell several answers apart: some servers give each chunk one of its own."""
    counts = Counter(ident for ident in idents if ident)
    return len(counts) > 1 and (max(counts.values()) > 1 or sum(ends) > 1)
