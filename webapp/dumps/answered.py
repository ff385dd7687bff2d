"""Puts a failure that a tool's answer reports on the call that it answers, a little way back in the session."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from webapp.dumps.records import Problem, Turn

LOOKAHEAD = 64
"""How many turns after its call an answer is still waited for."""
MOST_TEXT = 8 * 1024 * 1024
"""Characters held back at most, whatever the count of turns."""

_LOOKED_AT = 400
_FAILED = re.compile(
    r"\b(error|fail\w*|invalid|malformed|could ?n.t|could not|cannot|can.t|unable|not valid|bad)\b", re.I
)
_PARSING = re.compile(r"json|pars(e|ing)|decod", re.I)
_ARGUMENTS = re.compile(r"\bargument|\btool[ _]?(call|use|input)|\bfunction[ _]?call|\bparameters\b", re.I)
_IDS = ("id", "call_id", "tool_call_id", "toolUseId", "tool_use_id")


@dataclass(slots=True, eq=False)
class _Slot:
    turn: Turn | Problem
    call: str | None = None


def reported(turns: Iterable[Turn | Problem]) -> Iterator[Turn | Problem]:
    """The turns in the order they came, with `failure` on calls whose answer says that they could not be read.

    An answer says so by a `failure` of its own, which its call takes over, or by a text as runtimes write it
    ("Error parsing arguments: …"), if the arguments are indeed no JSON object.
    """
    window: deque[_Slot] = deque()
    calls: dict[str, _Slot] = {}
    held = 0
    for turn in turns:
        slot = _Slot(turn)
        if isinstance(turn, Turn):
            _enter(slot, turn, calls)
            held += len(turn.raw or "")
        window.append(slot)
        while len(window) > LOOKAHEAD or held > MOST_TEXT:
            left = window.popleft()
            held -= len(left.turn.raw or "") if isinstance(left.turn, Turn) else 0
            yield _leave(left, calls)
    while window:
        yield _leave(window.popleft(), calls)


def _enter(slot: _Slot, turn: Turn, calls: dict[str, _Slot]) -> None:
    if turn.kind == "tool_call" and (name := call_id(turn)) is not None:
        slot.call = name
        calls[name] = slot
    elif turn.kind == "tool_result" and turn.parent in calls:
        call = calls[turn.parent].turn
        if isinstance(call, Turn) and (reason := turn.failure or _says_unread(turn.raw, call.raw)):
            calls[turn.parent].turn = replace(call, failure=call.failure or reason)
            slot.turn = replace(turn, failure=None)


def _leave(slot: _Slot, calls: dict[str, _Slot]) -> Turn | Problem:
    if slot.call is not None and calls.get(slot.call) is slot:
        del calls[slot.call]
    return slot.turn


def call_id(turn: Turn) -> str | None:
    """The id that a tool call's answer will name; None where it has none."""
    call: Any = turn.tool_calls[0] if turn.tool_calls else None
    if not isinstance(call, dict):
        return None
    return next((call[key] for key in ("call_id", *_IDS) if isinstance(call.get(key), str)), None)


def _says_unread(answer: str | None, arguments: str | None) -> str | None:
    said = (answer or "")[:_LOOKED_AT]
    if not (_PARSING.search(said) and _ARGUMENTS.search(said) and _FAILED.search(said)) or _is_object(arguments):
        return None
    return answer


def _is_object(arguments: str | None) -> bool:
    try:
        return isinstance(json.loads(arguments or ""), dict)
    except (ValueError, RecursionError):
        return False
