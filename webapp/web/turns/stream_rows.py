"""The stream that a turn came in, as its page and the API show it: chunks, and what clients make of them."""

from __future__ import annotations

from typing import Any

from flask import request

from webapp.dumps.messages.stream_view import RULES, Reading, StreamView, stream_view
from webapp.extensions import db
from webapp.store.sessions import turns as store
from webapp.web.api.shapes import filled
from webapp.web.links import number_in

SHOWN = 40
"""chunks at a time"""
_NAIVE = "entry_a_chunk"
"""the rule by which nearly every streamed call differs"""


def of_turn(detail: store.TurnDetail) -> StreamView | None:
    """The stream that what a model wrote came in; None where it came whole."""
    turn = detail.turn
    if not turn.raw or turn.kind not in store.MODEL_KINDS:
        return None
    return stream_view(store.entry_of(db.session, turn), turn.raw)


def shown(detail: store.TurnDetail) -> dict[str, Any] | None:
    """The chunks that `?chunk=` asks for, which also opens them: from number `first` on, counted from 0."""
    view = of_turn(detail)
    if view is None:
        return None
    chunk = request.args.get("chunk", "")
    first = number_in(chunk) or 0
    by_reading: dict[Reading, list[str]] = {}
    for rule, reading in view.readings.items():
        by_reading.setdefault(reading, []).append(RULES[rule])
    return {
        "all": view.chunks,
        "first": min(first, max(0, len(view.chunks) - 1)),
        "most": SHOWN,
        "readings": by_reading,
        "is_read_otherwise": bool(view.readings.keys() - {_NAIVE}),
        "is_open": bool(chunk),
        "query": {name: value for name, value in request.args.items() if name not in ("chunk", "r")},
    }


def as_dict(detail: store.TurnDetail) -> dict[str, Any] | None:
    """As the API has it."""
    view = of_turn(detail)
    return None if view is None else filled("stream", view, chunks=len(view.chunks))
