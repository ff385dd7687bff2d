"""What an entry, or its session, says beside its messages: what was declared, who served, and why the model stopped."""

from __future__ import annotations

from typing import Any

from webapp.dumps.messages.hosts import hosts_of, says_error
from webapp.dumps.messages.stops import stop_of
from webapp.dumps.messages.turn_values import PlacedTurn
from webapp.dumps.messages.turns import Conversation
from webapp.dumps.records import Stop, changed

_GOOD = ("complete", "tool_call")
_ASKING = ("prompt", "tool_result")


def _capped(turns: list[PlacedTurn]) -> list[PlacedTurn]:
    """An answer that has exactly as many tokens as it may have was cut, whatever else the log says of it."""
    caps = [turn.declared.get("max_tokens") for turn, _ in turns if turn.tokens_out and turn.declared]
    spent = [turn.tokens_out for turn, _ in turns if turn.tokens_out and turn.declared]
    if not caps or caps[0] != spent[0]:
        return turns
    return [
        (changed(turn, stop=Stop("length", turn.stop.said)), path)
        if turn.stop is not None and turn.stop.reason in _GOOD
        else (turn, path)
        for turn, path in turns
    ]


def told_beside(entry: dict[str, Any], turns: list[PlacedTurn], conversation: Conversation) -> list[PlacedTurn]:
    """`turns` of an entry with what stands beside them, where no request or body has said it.

    What the entry says is said of its answer alone, behind whatever it repeats of the conversation; what the session
    declares holds for all of it.
    """
    turns = _capped(turns)
    hosts, conversation.hosts = [*conversation.hosts, *hosts_of(entry)], []
    host = min(hosts or conversation.hosts_always, default=(0, None))[1]
    is_error = says_error(entry) if any(turn.kind == "tool_result" for turn, _ in turns) else None
    answers = [turn for turn, _ in turns if turn.written_by_model]
    why = stop_of(entry) if answers and not any(turn.stop for turn in answers) else None
    is_declared = any(turn.declared for turn, _ in turns)
    declared = None if is_declared else conversation.declared_beside
    everywhere = None if is_declared else conversation.declared_always
    if why is None and declared is None and everywhere is None and host is None and is_error is None:
        return turns
    asked = max((place for place, (turn, _) in enumerate(turns) if turn.kind in _ASKING), default=-1)
    told: list[PlacedTurn] = []
    for place, (turn, path) in enumerate(turns):
        is_answer = place > asked
        values: dict[str, Any] = {"declared": everywhere}
        if is_answer:
            values = {"declared": declared or everywhere, "stop": why, "host": turn.host or host}
        if turn.kind == "tool_result" and turn.is_error is None:
            turn = changed(turn, is_error=is_error)
        new = {name: value for name, value in values.items() if value is not None} if turn.written_by_model else {}
        told.append((changed(turn, **new) if new else turn, path))
    return told
