"""Finds what a logger wrote twice: the later twin points at the first, which takes over what only the later knew.

Windlass logs an agent's turn as `agent/agent` and as `turn_output/assistant`, a parse failure as
`validation_error/user` and as `validation_error/json_parse_error`, a tool result as `tool/tool_result` and as
`tool_result/tool` (FORMATS.md). Two entries of the same side are never twins: a model may say a thing twice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from webapp.dumps.records import Problem, Turn, changed
from webapp.dumps.turn_window import Side, Slot, TurnWindow

_PLACE = ("sounding", "phase", "round", "model", "answers")
_TAKEN_OVER = (
    *(*_PLACE[:4], "agent", "attempt", "sent_at", "tokens_in", "tokens_out", "tokens_reasoning", "cost"),
    *("tool_calls", "host"),
)

LAST_RESPONSE = -1
"""Stands in `Turn.answers` for the last response of the same sounding, else of all, until `Twins` knows which it is."""


class Twins(TurnWindow):
    """Passes turns on in the order they came, twins and answers linked."""

    def __init__(self) -> None:
        super().__init__()
        self._waiting: dict[Side, deque[Slot]] = {}
        self._last: dict[int | None, int] = {}

    def put(self, turn: Turn | Problem, side: Side | None) -> Iterator[Turn | Problem]:
        """Take a turn, whose `Side` says what it may be a twin of; gives those that leave for it."""
        if isinstance(turn, Turn) and turn.answers == LAST_RESPONSE:
            turn = changed(turn, answers=self._last.get(turn.sounding, self._last.get(None)))
        slot = Slot(turn)
        if side is not None and isinstance(turn, Turn):
            _pair(slot, turn, side, self._waiting)
        _remember(slot.turn, self._last)
        return self.push(slot)

    def leave(self, slot: Slot) -> Turn | Problem:
        if slot.side is not None:
            self._waiting[slot.side].popleft()
        return slot.turn


def _remember(turn: Turn | Problem, last: dict[int | None, int]) -> None:
    """`last` holds the entry of the last response of each sounding, and under None that of the whole session."""
    if isinstance(turn, Turn) and turn.kind == "response":
        entry = turn.entry if turn.duplicate_of is None else turn.duplicate_of
        last[None] = entry
        if turn.sounding is not None:
            last[turn.sounding] = entry


def _pair(slot: Slot, turn: Turn, side: Side, waiting: dict[Side, deque[Slot]]) -> None:
    """Link `turn` to the best turn that waits on the other side, or let it wait."""
    candidates = waiting.get((side[0], 1 - side[1]), deque())
    twin = _twin(turn, candidates)
    if twin is None:
        slot.side = side
        waiting.setdefault(side, deque()).append(slot)
        return
    candidates.remove(twin)
    twin.side = None
    first = twin.turn
    if isinstance(first, Turn):
        twin.turn = _completed(first, turn)
        slot.turn = changed(turn, duplicate_of=first.entry)


def _twin(turn: Turn, candidates: Iterable[Slot]) -> Slot | None:
    """The first that says exactly the same in the same place, else one whose text holds or is held by this one's."""
    near = [slot for slot in candidates if _same_place(slot.turn, turn)]
    text = _stripped(turn)
    if same := next((slot for slot in near if _stripped(slot.turn) == text), None):
        return same
    if turn.kind in ("response", "tool_call"):
        return None
    texts = [(slot, _stripped(slot.turn)) for slot in near] if text else []
    holding = next((slot for slot, first in texts if first and (first in text or text in first)), None)
    return holding or (near[0] if near and turn.kind == "error" else None)


def _same_place(first: Turn | Problem, later: Turn) -> bool:
    """No contradiction in where they stand; an error's twin answers the same response."""
    places = ((getattr(first, name, None), getattr(later, name)) for name in _PLACE)
    return all(before is None or after is None or before == after for before, after in places)


def _stripped(turn: Turn | Problem) -> str:
    return (turn.raw or "").strip() if isinstance(turn, Turn) else ""


def _completed(first: Turn, later: Turn) -> Turn:
    """The first of two twins with what only the later one knew."""
    missing = (name for name in _TAKEN_OVER if getattr(first, name) is None)
    values = {name: value for name in missing if (value := getattr(later, name)) is not None}
    return changed(first, **values) if values else first
