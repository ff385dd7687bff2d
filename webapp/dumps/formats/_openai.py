"""What OpenAI entries say: messages, items of the Responses API, or requests with their responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from webapp.dumps.base import Context, Entry, text, whole
from webapp.dumps.formats._bodies import Exchanges, asked, exchange
from webapp.dumps.formats._turns import Found, Talk, message_turns, numbered, role_of, spent
from webapp.dumps.records import Problem, Turn, changed
from webapp.dumps.times import moment

ITEMS = (
    *("function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "reasoning"),
    *("mcp_call", "web_search_call", "file_search_call", "computer_call", "code_interpreter_call"),
)
"""Types of the Responses API's items that have no role."""
_TIMES = ("timestamp", "created_at", "created")


def turns(entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
    """The turns of a session's entries: messages, or exchanges of a request and its response."""
    state, count = Exchanges(Talk(model=text(context.get("model")))), 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        value = entry[1]
        yield from numbered(count, value, _turns_of(value, state) or [(Turn(0, "event"), None)])
        count += 1


def _turns_of(value: dict[str, Any], state: Exchanges) -> list[Found]:
    if "role" in value or role_of(value) is not None:
        return _message(value, state.talk)
    if value.get("type") in ITEMS:
        return asked(value, (), state.talk)
    return _exchange(value, state)


def _message(value: dict[str, Any], talk: Talk) -> list[Found]:
    """A message, LangChain's too, whose model stands beside what its provider sent."""
    told = value.get("response_metadata")
    model = text(value.get("model")) or (text(told.get("model_name")) if isinstance(told, dict) else None)
    once = spent(value.get("usage") or value.get("usage_metadata"), value.get("cost"))
    about: dict[str, Any] = {"sent_at": _when(value), "phase": text(value.get("phase"))}
    about |= {key: whole(value.get(key)) for key in ("round", "attempt")}
    name = text(value.get("name"))
    found = message_turns(value, talk, once=once, model=model, **about)
    return [(turn if turn.agent or not name else changed(turn, agent=name), path) for turn, path in found]


def _exchange(value: dict[str, Any], state: Exchanges) -> list[Found]:
    """A request's new messages, then what was answered; either may be the entry itself."""
    at = {key: (key,) if key in value else () for key in ("request", "response")}
    request, response = value.get("request", value), value.get("response", value)
    found, when = exchange(request, response, at["request"], at["response"], state), _when(value)
    return [(turn if turn.sent_at or not when else changed(turn, sent_at=when), path) for turn, path in found]


def _when(value: dict[str, Any]) -> datetime | None:
    return next((found for name in _TIMES if (found := moment(value.get(name)))), None)
