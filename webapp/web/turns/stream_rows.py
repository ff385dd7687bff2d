"""The stream that a turn came in, as its page and the API show it: chunks, and what clients make of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import request

from webapp.dumps.messages.stream_view import RULES, Chunk, Reading, StreamView, stream_view
from webapp.extensions import db
from webapp.store.sessions import turns as store
from webapp.web.links import turn_url

SHOWN = 40
"""chunks at a time"""
_NAIVE = "entry_a_chunk"
"""the rule by which nearly every streamed call differs"""


@dataclass(frozen=True, slots=True)
class StreamRows:
    """`chunks` from number `first` on, counted from 0, of `total`; `readings` by the words of their rules."""

    chunks: list[Chunk]
    first: int
    total: int
    readings: list[tuple[list[str], Reading]]
    is_read_otherwise: bool
    is_open: bool
    address: str
    query: dict[str, str]

    def url(self, **changes: Any) -> str:
        """The page with other chunks, or with these characters marked."""
        return f"{self.address}?{urlencode(self.query | changes)}#stream"

    @property
    def before(self) -> int | None:
        return max(0, self.first - SHOWN) if self.first else None

    @property
    def after(self) -> int | None:
        return self.first + SHOWN if self.first + SHOWN < self.total else None


def of_turn(detail: store.TurnDetail) -> StreamView | None:
    """The stream that what a model wrote came in; None where it came whole."""
    turn = detail.turn
    if not turn.raw or turn.kind not in store.MODEL_KINDS:
        return None
    return stream_view(store.entry_of(db.session, turn), turn.raw)


def rows(detail: store.TurnDetail) -> StreamRows | None:
    """Those that `?chunk=` asks for, which also opens them."""
    view = of_turn(detail)
    if view is None:
        return None
    chunk = request.args.get("chunk", "")
    first = int(chunk) if chunk.isascii() and chunk.isdecimal() and len(chunk) < 10 else 0
    first = min(first, max(0, len(view.chunks) - 1))
    return StreamRows(
        view.chunks[first : first + SHOWN],
        first,
        len(view.chunks),
        _by_reading(view),
        bool(view.readings.keys() - {_NAIVE}),
        bool(chunk),
        turn_url(detail.session, detail.turn.position),
        {name: value for name, value in request.args.items() if name not in ("chunk", "r")},
    )


def _by_reading(view: StreamView) -> list[tuple[list[str], Reading]]:
    """Each reading with the words of the rules that come to it."""
    by_reading: dict[Reading, list[str]] = {}
    for rule, reading in view.readings.items():
        by_reading.setdefault(reading, []).append(RULES[rule])
    return [(words, reading) for reading, words in by_reading.items()]


def as_dict(detail: store.TurnDetail) -> dict[str, Any] | None:
    """As the API has it."""
    view = of_turn(detail)
    if view is None:
        return None
    return {
        "chunks": len(view.chunks),
        "read_otherwise": {
            rule: {"text": reading.text, "calls": [call._asdict() for call in reading.calls]}
            for rule, reading in view.readings.items()
        },
    }
