"""Streams that no provider is known for: what most of their events add, or the data of events that are no JSON."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from webapp.dumps.json_path import at, holds
from webapp.dumps.messages.assembly import joined
from webapp.dumps.messages.stream_kinds import stream_of

_EVENT = re.compile(r"(?:(?:data|event|id|retry)?:[^\n]*(?:\n|\Z))+")
_FIELDS = re.compile(r"^(data|event): ?([^\r\n]*)", re.M)
_LEAST = 2


def plain_stream(written: str) -> str | None:
    """The text that the data of server-sent events add up to, where these are no JSON, as Replicate's; else None."""
    if not _EVENT.match(written.lstrip()) or _EVENT.sub("", written).strip():
        return None
    by_name: dict[str, list[str]] = defaultdict(list)
    for event in _EVENT.findall(written):
        fields = _FIELDS.findall(event)
        data = "\n".join(piece for field, piece in fields if field == "data")
        by_name[next((name for field, name in fields if field == "event"), "")].append(data)
    pieces = [piece for piece in max(by_name.values(), key=len, default=[]) if piece != "[DONE]"]
    whole = "".join(pieces)
    is_json = any(piece.lstrip()[:1] in ("{", "[") for piece in pieces)
    return None if is_json or len(pieces) < _LEAST or not _SAID.search(whole) else whole


_ADDING = re.compile(r"token|delta|chunk|text|content|answer|completion|response|output", re.I)
"""names under which an event of a stream that nobody knows has what it adds, or by which its kind is called"""
_SAID = re.compile(r"\s|[{\u0080-]")
"""what is in a text or an object, and in no id"""
_DEEP = 3


def guessed_stream(events: list[Any]) -> tuple[str, str] | None:
    """Of a stream that nobody knows: the name under which most of its events add a text, and what these come to."""
    objects = [event for event in events if isinstance(event, dict)]
    grown: dict[str, list[str]] = defaultdict(list)
    for event in objects:
        for path, piece in _texts(event, "", 0):
            grown[path].append(piece)
    likely = {path: pieces for path, pieces in grown.items() if len(set(pieces)) > 1 and 3 * len(pieces) > len(objects)}
    best = max(likely, key=lambda path: len(likely[path]), default=None)
    if best is None or "user" in (event.get("role") for event in objects):
        return None
    whole = joined(likely[best], "last")
    return (best, whole) if _SAID.search(whole) else None


def _texts(event: dict[str, Any], at_: str, depth: int) -> Iterator[tuple[str, str]]:
    """What an event may add to an answer, and where it stands."""
    is_piece = any(_ADDING.search(str(event.get(key))) for key in ("type", "event"))
    for key, inner in event.items():
        if isinstance(inner, str) and (_ADDING.fullmatch(key) or (key == "data" and is_piece)):
            yield f"{at_}{key}", inner
        elif isinstance(inner, dict) and depth < _DEEP:
            yield from _texts(inner, f"{at_}{key}.", depth + 1)


_ASKED = {"prompt", "question", "query", "input", "inputs", "instruction", "messages"}
"""keys of a record that holds what was asked, too, and is no piece of an answer"""


def are_pieces(events: list[dict[str, Any]]) -> bool:
    """Whether these are the events of an answer none of which is all of it, nor sure to be of a stream."""
    stream = stream_of(events)
    others = "" if stream is None else stream.others or stream.ends
    if stream is None or not all(holds(event, stream.is_) or holds(event, others) for event in events):
        return False
    texts = (at(event, stream.text)[0] for event in events)
    are_texts = len(events) > 1 and not holds(events[0], stream.ends) and events[0].keys().isdisjoint(_ASKED)
    return bool(stream.others) or (are_texts and any(isinstance(piece, str) and _SAID.search(piece) for piece in texts))
