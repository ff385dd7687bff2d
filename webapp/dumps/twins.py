"""Finds what a logger wrote twice: the later twin points at the first, which takes over what only the later knew.

Windlass logs an agent's turn as `agent/agent` and as `turn_output/assistant`, a parse failure as
`validation_error/user` and as `validation_error/json_parse_error`, a tool result as `tool/tool_result` and as
`tool_result/tool` (FORMATS.md). Two entries of the same side are never twins: a model may say a thing twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from webapp.dumps.records import Problem, Turn

LOOKAHEAD = 64
"""How many turns apart twins may stand, at most; soundings that run side by side interleave."""
MOST_TEXT = 8 * 1024 * 1024
"""Characters held back at most, whatever the count of turns."""

Side = tuple[str, int]
"""The kind of a pair, and which of its two sides."""

LAST_RESPONSE = -1
"""Stands in `Turn.answers` for the last response of the same sounding until `merged` knows which that is."""


@dataclass(slots=True)
class Slot:
    """A turn on its way through the window, and the side of a pair that it still waits for."""

    turn: Turn | Problem
    side: Side | None = None


def merged(turns: Iterable[tuple[Turn | Problem, Side | None]]) -> Iterator[Turn | Problem]:
    """The turns in the order they came, twins and answers linked; a turn's `Side` says what it may be a twin of."""
    window: deque[Slot] = deque()
    waiting: dict[Side, deque[Slot]] = {}
    last: dict[int | None, int] = {}
    held = 0
    for turn, side in turns:
        slot = Slot(turn if isinstance(turn, Problem) else _answering(turn, last))
        if side is not None and isinstance(slot.turn, Turn):
            _pair(slot, slot.turn, side, waiting)
        _remember(slot.turn, last)
        window.append(slot)
        held += _size(turn)
        while len(window) > LOOKAHEAD or held > MOST_TEXT:
            held -= _size(window[0].turn)
            yield _leave(window.popleft(), waiting)
    while window:
        yield _leave(window.popleft(), waiting)


def _answering(turn: Turn, last: dict[int | None, int]) -> Turn:
    """`LAST_RESPONSE` made an entry: of the same sounding, else outside soundings, else of the session."""
    if turn.answers != LAST_RESPONSE:
        return turn
    places = (turn.sounding, None) if turn.sounding in last else (None,)
    return replace(turn, answers=next((last[place] for place in places if place in last), None))


def _remember(turn: Turn | Problem, last: dict[int | None, int]) -> None:
    """`last` holds the entry of the last response of each sounding, and under None that of the whole session."""
    if isinstance(turn, Turn) and turn.kind == "response":
        entry = turn.entry if turn.duplicate_of is None else turn.duplicate_of
        last[None] = entry
        if turn.sounding is not None:
            last[turn.sounding] = entry


def _pair(slot: Slot, turn: Turn, side: Side, waiting: dict[Side, deque[Slot]]) -> None:
    """Link `turn` to the best turn that waits on the other side, or let it wait."""
    others = waiting.get((side[0], 1 - side[1]), deque())
    twin = _twin(turn, others)
    if twin is None:
        slot.side = side
        waiting.setdefault(side, deque()).append(slot)
        return
    others.remove(twin)
    twin.side = None
    first = twin.turn
    if isinstance(first, Turn):
        twin.turn = _completed(first, turn)
        slot.turn = replace(turn, duplicate_of=first.entry)


def _twin(turn: Turn, others: Iterable[Slot]) -> Slot | None:
    """The first that says exactly the same in the same place, else one whose text holds or is held by this one's."""
    near = [other for other in others if isinstance(other.turn, Turn) and _same_place(other.turn, turn)]
    for other in near:
        if isinstance(other.turn, Turn) and _stripped(other.turn) == _stripped(turn):
            return other
    if turn.kind == "response":
        return None
    for other in near:
        if isinstance(other.turn, Turn) and _holds(other.turn, turn):
            return other
    return near[0] if near and turn.kind == "error" else None


def _same_place(one: Turn, other: Turn) -> bool:
    """No contradiction in where they stand; an error's twin answers the same response."""
    pairs = (
        (one.sounding, other.sounding),
        (one.phase, other.phase),
        (one.round, other.round),
        (one.model, other.model),
        (one.answers, other.answers),
    )
    return all(left is None or right is None or left == right for left, right in pairs)


def _holds(one: Turn, other: Turn) -> bool:
    left, right = _stripped(one), _stripped(other)
    return bool(left and right) and (left in right or right in left)


def _stripped(turn: Turn) -> str:
    return (turn.raw or "").strip()


def _completed(first: Turn, later: Turn) -> Turn:
    """The first of two twins with what only the later one knew."""
    names = ("agent", "model", "phase", "sounding", "round", "attempt", "sent_at", "tokens_in", "tokens_out", "cost")
    known = {name: getattr(later, name) for name in names if getattr(first, name) is None}
    return replace(first, tool_calls=first.tool_calls or later.tool_calls, **known)


def _leave(slot: Slot, waiting: dict[Side, deque[Slot]]) -> Turn | Problem:
    if slot.side is not None:
        waiting[slot.side].popleft()
    return slot.turn


def _size(turn: Turn | Problem) -> int:
    return len(turn.raw or "") if isinstance(turn, Turn) else 0
