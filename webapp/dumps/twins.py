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

_PLACE = ("sounding", "phase", "round", "model", "answers")
_TAKEN_OVER = (*_PLACE[:4], "agent", "attempt", "sent_at", "tokens_in", "tokens_out", "cost", "tool_calls")

Side = tuple[str, int]
"""The kind of a pair, and which of its two sides."""

LAST_RESPONSE = -1
"""Stands in `Turn.answers` for the last response of the same sounding until `merged` knows which that is."""


@dataclass(slots=True, eq=False)
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
    """`LAST_RESPONSE` made an entry: of the last response of the same sounding, else of the whole session."""
    if turn.answers != LAST_RESPONSE:
        return turn
    return replace(turn, answers=last.get(turn.sounding, last.get(None)))


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
    near = [other for other in others if _same_place(other.turn, turn)]
    said = _stripped(turn)
    for other in near:
        if _stripped(other.turn) == said:
            return other
    if turn.kind in ("response", "tool_call"):
        return None
    for other in near:
        if _holds(other.turn, turn):
            return other
    return near[0] if near and turn.kind == "error" else None


def _same_place(one: Turn | Problem, other: Turn) -> bool:
    """No contradiction in where they stand; an error's twin answers the same response."""
    for name in _PLACE:
        left, right = getattr(one, name, None), getattr(other, name)
        if left is not None and right is not None and left != right:
            return False
    return True


def _holds(one: Turn | Problem, other: Turn) -> bool:
    left, right = _stripped(one), _stripped(other)
    return bool(left and right) and (left in right or right in left)


def _stripped(turn: Turn | Problem) -> str:
    return (turn.raw or "").strip() if isinstance(turn, Turn) else ""


def _completed(first: Turn, later: Turn) -> Turn:
    """The first of two twins with what only the later one knew."""
    known = {}
    for name in _TAKEN_OVER:
        if getattr(first, name) is None and (value := getattr(later, name)) is not None:
            known[name] = value
    return replace(first, **known) if known else first


def _leave(slot: Slot, waiting: dict[Side, deque[Slot]]) -> Turn | Problem:
    if slot.side is not None:
        waiting[slot.side].popleft()
    return slot.turn


def _size(turn: Turn | Problem) -> int:
    return len(turn.raw or "") if isinstance(turn, Turn) else 0
