"""Puts a failure that a tool's answer reports on the call that it answers, a little way back in the session."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.messages.calls import ID_KEYS
from webapp.dumps.records import Problem, Turn, changed
from webapp.dumps.turn_window import Slot, TurnWindow
from webapp.dumps.values import as_object

_LOOKED_AT = 400
_FAILED = re.compile(
    r"\b(error|fail\w*|invalid|malformed|could ?n.t|could not|cannot|can.t|unable|not valid|bad)\b", re.I
)
_PARSING = re.compile(r"json|pars(e|ing)|decod", re.I)
_ARGUMENTS = re.compile(r"\bargument|\btool[ _]?(call|use|input)|\bfunction[ _]?call|\bparameters\b", re.I)
_IDS = ("call_id", *ID_KEYS)


class CallFailures(TurnWindow):
    """Passes turns on in the order they came, with `failure` on calls whose answer says that they could not be read.

    An answer says so by a `failure` of its own, which its call takes over, or by a text as runtimes write it
    ("Error parsing arguments: …"), if the arguments are indeed no JSON object.
    """

    def __init__(self) -> None:
        super().__init__()
        self._calls: dict[str, Slot] = {}

    def put(self, turn: Turn | Problem) -> Iterator[Turn | Problem]:
        """Take a turn; gives those that leave for it."""
        slot = Slot(turn)
        if isinstance(turn, Turn) and turn.kind == "tool_call" and (name := call_id(turn.tool_calls)) is not None:
            slot.call = name
            self._calls[name] = slot
        elif isinstance(turn, Turn) and turn.kind == "tool_result" and turn.parent in self._calls:
            call_slot = self._calls[turn.parent]
            call = call_slot.turn
            if isinstance(call, Turn) and (reason := turn.failure or _unread_reason(turn.raw, call.raw)):
                call_slot.turn = changed(call, failure=call.failure or reason)
                slot.turn = changed(turn, failure=None)
        return self.push(slot)

    def leave(self, slot: Slot) -> Turn | Problem:
        if slot.call is not None and self._calls.get(slot.call) is slot:
            del self._calls[slot.call]
        return slot.turn


def call_id(calls: list[Any] | None) -> str | None:
    """The id that a tool call's answer will name, of a turn's `tool_calls`; None where it has none."""
    call = as_object(calls[0]) if calls else {}
    return next((call[key] for key in _IDS if isinstance(call.get(key), str)), None)


def _unread_reason(answer: str | None, arguments: str | None) -> str | None:
    """The answer, where it says that the arguments could not be read, and they are no JSON object indeed."""
    beginning = (answer or "")[:_LOOKED_AT]
    if not (_PARSING.search(beginning) and _ARGUMENTS.search(beginning) and _FAILED.search(beginning)):
        return None
    return None if _is_object(arguments) else answer


def _is_object(arguments: str | None) -> bool:
    try:
        return isinstance(json.loads(arguments or ""), dict)
    except (ValueError, RecursionError):
        return False
