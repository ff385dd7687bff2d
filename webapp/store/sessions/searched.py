"""A page of the list where something is searched for: the sessions with the newest matches, under the other filters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import sqlalchemy as sa

from webapp.store import search
from webapp.store.db.dialect import contains
from webapp.store.index import order
from webapp.store.index.bit_sliced_index import Bits
from webapp.store.index.state import State
from webapp.store.models import Session

MOST_COUNTED = 100
"""Sessions that are counted exactly; of a word that more have it is said that there are more."""
_FEW = 12
"""where one session in so many is in view, or fewer, search goes from one to the next"""
_ORDER = "match"


@dataclass(frozen=True, slots=True)
class Matching:
    """The sessions that match, as slots: all of them, or with `open_ended` the newest ones."""

    slots: Bits
    open_ended: bool
    by_id: bool = False
    """nothing has the words: the text is looked for within ids"""
    hits: search.Hits = field(default_factory=dict)
    """their matches, as `search.walk` has them, and `following` the `after` of those behind them"""
    following: int | None = None


@dataclass(frozen=True, slots=True)
class Hits:
    """The sessions of one page in order, up to three matches of each, and the next cursor."""

    ids: list[int]
    matches: dict[int, list[search.Match]]
    next: str | None


def matching(connection: sa.Connection, state: State, text: str, view: Bits, most: int = 0) -> Matching:
    """The sessions that match, whatever other filters there are; where these are many, those in `view`.

    Of many at least `most`, where there are so many.
    """
    most = max(most, MOST_COUNTED)
    hits, following = search.walk(connection, text, allowed=_allowed(state, state.alive), most=most)
    if not hits and following is None:
        return Matching(state.slots(_with_id(connection, text)), open_ended=False, by_id=True)
    if following is not None and view != state.alive:
        hits, following = search.walk(connection, text, allowed=_allowed(state, view), most=most)
    return Matching(state.slots(hits), following is not None, hits=hits, following=following)


def page(
    connection: sa.Connection, state: State, text: str, matching: Matching, view: Bits, after: str | None, limit: int
) -> Hits:
    """The matches behind `after` in `view`, the newest session first. Raises `BadCursor`."""
    below = None if after is None else order.decoded(after, _ORDER, 1)[0]
    if matching.by_id:
        return _by_id(state, view, below, limit)
    if below is None:
        hits, following = _first(connection, state, text, matching, view, limit)
    else:
        hits = search.find(connection, text, allowed=_allowed(state, view), after=below, limit=limit)
        following = hits.next
    matches: dict[int, list[search.Match]] = defaultdict(list)
    for match in hits.matches:
        matches[match.session_id].append(match)
    cursor = None if following is None else order.encoded(_ORDER, [following])
    return Hits(list(matches), dict(matches), cursor)


def _first(
    connection: sa.Connection, state: State, text: str, matching: Matching, view: Bits, limit: int
) -> tuple[search.Found, int | None]:
    """The first page, of what was found already, and where the next one begins."""
    allowed = _test(state, view)
    ids = [number for number in matching.hits if allowed(number)]
    page_ids = ids[:limit]
    following = page_ids[-1] if len(ids) > limit else matching.following
    return search.show(connection, text, {number: matching.hits[number] for number in page_ids}), following


def _allowed(state: State, view: Bits) -> search.Allowed:
    """What search may find: ids where they are few, which it skips through, else a test."""
    if len(view) * _FEW > len(state.alive):
        return _test(state, view)
    return sorted(state.ids(view))


def _test(state: State, view: Bits) -> Callable[[int], bool]:
    def allowed(session_id: int) -> bool:
        slot = state.slot(session_id)
        return slot is not None and slot in view

    return allowed


def _with_id(connection: sa.Connection, text: str) -> list[int]:
    """The newest sessions whose id has `text` within it."""
    query = sa.select(Session.id).where(contains(Session.external_id, text.strip()), Session.deleted_at.is_(None))
    return list(connection.scalars(query.order_by(Session.id.desc()).limit(MOST_COUNTED)))


def _by_id(state: State, view: Bits, below: int | None, limit: int) -> Hits:
    ids = [number for number in sorted(state.ids(view), reverse=True) if below is None or number < below]
    following = order.encoded(_ORDER, [ids[limit - 1]]) if len(ids) > limit else None
    return Hits(ids[:limit], {}, following)
