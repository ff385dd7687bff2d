"""The events of a stream that was saved as text: each with its name and the JSON that it holds."""

from __future__ import annotations

from collections.abc import Iterator

from webapp.dumps.decoding import Damage, Decoder
from webapp.dumps.entries import Entry
from webapp.dumps.records import Problem
from webapp.dumps.source import Cut, Source, too_long

_DONE = ("", "[DONE]")


def sse_events(source: Source) -> Iterator[Entry | Problem]:
    """Each event as `{"event": name, "data": object}` with its line; damaged ones as problems."""
    name, decoder = "", Decoder()
    for number, (at, line) in enumerate(source.lines(), start=1):
        if isinstance(line, Cut):
            yield Problem(f"line {number}", too_long(at))
            continue
        field, _, value = source.decode(line, at).strip().partition(":")
        if field == "event":
            name = value.strip()
        if field != "data" or value.strip() in _DONE:
            continue
        try:
            data = decoder.loads(value.strip())
        except Damage as damage:
            yield Problem(f"line {number}", f"{damage.reason} (character {damage.at} of the event); skipped")
            continue
        if isinstance(data, dict):
            yield f"line {number}", {"event": name, "data": data}
