"""Turns of one session with what later ones say of them: twins, errors and answers that a call could not be read."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from webapp.dumps.messages.calls import ID_KEYS
from webapp.dumps.records import MODEL_KINDS, Problem, Turn, changed
from webapp.dumps.values import as_object, id_text

LOOKAHEAD = 64
"""How many turns are held back at most."""
MOST_TEXT = 8 * 1024 * 1024
"""Characters held back at most, whatever the count of turns."""

Side = tuple[str, int]
"""The kind of a pair, and which of its two sides."""
SidedTurns = Iterator[tuple[Turn | Problem, Side | None]]


@dataclass(slots=True, eq=False)
class Slot:
    """A turn on its way through the window; `side` and `call` say what it still waits for."""

    turn: Turn | Problem
    side: Side | None = None
    call: str | None = None

    size: int = 0
    """characters of its text, as it came"""


_LOOKED_AT = 400
_FAILED = re.compile(r"\b(?:error|fail\w*|invalid|malformed|could ?n.t|could not|cannot|can.t|unable|not valid|bad)\b")
_PARSING = re.compile(r"json|pars(?:e|ing)|decod")
_ARGUMENTS = re.compile(r"\bargument|\btool[ _]?(?:call|use|input)|\bfunction[ _]?call|\bparameters\b")
_IDS = ("call_id", *ID_KEYS)


def call_id(calls: list[Any] | None) -> str | None:
    """The id that a tool call's answer will name, of a turn's `tool_calls`; None where it has none."""
    call = as_object(calls[0]) if calls else {}
    return next((call[key] for key in _IDS if isinstance(call.get(key), str)), None)


def _unread_reason(answer: str | None, arguments: str | None) -> str | None:
    """The answer, where it says that the arguments could not be read, and they are no JSON object indeed."""
    beginning = (answer or "")[:_LOOKED_AT].lower()
    if not (_PARSING.search(beginning) and _ARGUMENTS.search(beginning) and _FAILED.search(beginning)):
        return None
    return None if _is_object(arguments) else answer


def _is_object(arguments: str | None) -> bool:
    try:
        return isinstance(json.loads(arguments or ""), dict)
    except (ValueError, RecursionError):
        return False


_PLACE = ("sounding", "phase", "round", "model", "answers")
_TAKEN_OVER = (
    *(*_PLACE[:4], "agent", "attempt", "sent_at", "tokens_in", "tokens_out", "tokens_reasoning", "cost"),
    *("tool_calls", "host"),
)

LAST_RESPONSE = -1
"""Stands in `Turn.answers` for the last response of the same sounding, else of all, until `TurnWindow` knows it."""


class TurnWindow:
    """Passes turns on in the order they came, with what later ones say of them: see `put`."""

    def __init__(self) -> None:
        self._slots: deque[Slot] = deque()
        self._size = 0
        self._calls: dict[str, Slot] = {}
        self._waiting: dict[Side, deque[Slot]] = {}
        self._last: dict[int | None, int] = {}

    def put(self, turn: Turn | Problem, side: Side | None = None) -> Iterator[Turn | Problem]:
        """Take a turn; gives those that leave for it.

        Its `Side` says what it may be a twin of: twins are linked, as is an error with the last response. An answer
        that its call could not be read says so by a `failure` of its own, which the call takes over, or by a text as
        runtimes write it ("Error parsing arguments: …"), if the arguments are indeed no JSON object.
        """
        slot = Slot(turn)
        if isinstance(turn, Turn):
            if turn.answers == LAST_RESPONSE:
                slot.turn = turn = changed(turn, answers=self._last.get(turn.sounding, self._last.get(None)))
            if side is not None:
                _pair(slot, turn, side, self._waiting)
            _remember(slot.turn, self._last)
            self._mark(slot)
        self._slots.append(slot)
        slot.size = len(turn.raw or "") if isinstance(turn, Turn) else 0
        self._size += slot.size
        while len(self._slots) > LOOKAHEAD or self._size > MOST_TEXT:
            yield self._leave()

    def _mark(self, slot: Slot) -> None:
        """Note a call, or the failure that an answer says of its call."""
        turn = slot.turn
        if not isinstance(turn, Turn):
            return
        if turn.kind == "tool_call" and (name := call_id(turn.tool_calls)) is not None:
            slot.call = name
            self._calls[name] = slot
        elif turn.kind == "tool_result" and turn.parent in self._calls:
            call_slot = self._calls[turn.parent]
            call = call_slot.turn
            if isinstance(call, Turn) and (reason := turn.failure or _unread_reason(turn.raw, call.raw)):
                call_slot.turn = changed(call, failure=call.failure or reason)
                slot.turn = changed(turn, failure=None)

    def _leave(self) -> Turn | Problem:
        slot = self._slots.popleft()
        self._size -= slot.size
        if slot.side is not None:
            self._waiting[slot.side].popleft()
        if slot.call is not None and self._calls.get(slot.call) is slot:
            del self._calls[slot.call]
        return slot.turn

    def rest(self) -> Iterator[Turn | Problem]:
        """All that is held back still."""
        while self._slots:
            yield self._leave()


def linked(turns: SidedTurns) -> Iterator[Turn | Problem]:
    """The turns of one session, each with what later ones say of it."""
    window = TurnWindow()
    for turn, side in turns:
        yield from window.put(turn, side)
    yield from window.rest()


def _remember(turn: Turn | Problem, last: dict[int | None, int]) -> None:
    """`last` holds the entry that a model wrote last in each sounding, and under None that of the whole session."""
    if isinstance(turn, Turn) and turn.kind in MODEL_KINDS:
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


class RepeatedIds:
    """The ids of a session's entries so far, as hashes, so that a million of them are some 60 MB."""

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def again(self, at: str, name: str, value: Any) -> Iterator[Problem]:
        """A problem where the id `value`, called `name`, stood in an entry before; both are kept."""
        if not (ident := id_text(value)):
            return
        if (digest := hash((name, ident))) in self._hashes:
            yield Problem(at, f"the {name} {ident[:200]!r} occurs twice in the session; both are kept")
        self._hashes.add(digest)
