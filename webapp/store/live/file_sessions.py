"""Takes up a session that came as a file, so that it can grow by spans."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from webapp.dumps.records import Problem
from webapp.exports.session_dump import whole_entry
from webapp.store.live.reading import SPANS, row
from webapp.store.live.spans import Arrived, arrived
from webapp.store.models import LiveSpan
from webapp.store.models import Turn as StoredTurn
from webapp.store.write import row_values, rows

_AT_ONCE = 500
_find = sa.select(LiveSpan.entry).where(LiveSpan.session_id == sa.bindparam("session")).limit(1)
_find_entries = (
    sa.select(StoredTurn.entry, StoredTurn.ordinal, StoredTurn.source, StoredTurn.raw, StoredTurn.raw_at)
    .where(StoredTurn.session_id == sa.bindparam("session"))
    .order_by(StoredTurn.ordinal)
)


def is_adopted(connection: sa.Connection, session_id: int) -> bool:
    """Whether the session's spans are noted, as those of a session that came as a file are not."""
    return connection.scalar(_find, {"session": session_id}) is not None


def adopt(connection: sa.Connection, session_id: int) -> None:
    """Note the spans of a session that came as a file, so that it can grow; of a span that stands twice the first."""
    entry_turns = connection.execute(_find_entries, {"session": session_id}, execution_options={"yield_per": _AT_ONCE})
    listed: dict[tuple[bytes, bytes], row_values.Row] = {}
    for entry, group in groupby(entry_turns, key=lambda turn: turn.entry):
        turns = list(group)
        span = next(iter(_span(whole_entry(turns[0].source, turns[0].raw, turns[0].raw_at))), None)
        if isinstance(span, Arrived):
            values = row(session_id, span, entry, turns[0].ordinal, len(turns))
            listed.setdefault((span.trace, span.id), values)
    if listed:
        rows.insert(connection, SPANS, list(listed.values()))


def _span(entry: Any) -> Iterator[Arrived | Problem]:
    if isinstance(entry, dict) and isinstance(entry.get("span"), dict):
        scopes = [{"scope": entry.get("scope"), "spans": [entry["span"]]}]
        yield from arrived([("", {"resource": entry.get("resource"), "scopeSpans": scopes})])
