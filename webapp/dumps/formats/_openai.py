"""What OpenAI entries say: messages, or requests with responses (chat completions and the Responses API)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from webapp.dumps.base import Context, Entry, text
from webapp.dumps.formats import _turns
from webapp.dumps.formats._openai_message import Found, Path, State, message_turns, turn_of
from webapp.dumps.formats._turns import role_of
from webapp.dumps.records import Problem, Turn


def turns(entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
    """The turns of a session's entries: messages, or exchanges of a request and its response."""
    state = State(model=text(context.get("model")))
    count = 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        yield from _numbered(count, entry[1], _turns_of(entry[1], state))
        count += 1


def _turns_of(value: dict[str, Any], state: State) -> list[Found]:
    if "role" not in value and role_of(value) is not None:
        return _langchain(value, state)
    found = message_turns(value, state) if "role" in value else _exchange(value, state)
    return found or [(Turn(0, "event"), None)]


def _langchain(value: dict[str, Any], state: State) -> list[Found]:
    """A message of LangChain's, whose role is its `type`."""
    talk, told = _turns.Talk(state.model, state.tools), value.get("response_metadata")
    model = text(told.get("model_name")) if isinstance(told, dict) else None
    return _turns.message_turns(value, talk, once=_turns.spent(value.get("usage_metadata")), model=model)


def _numbered(count: int, source: dict[str, Any], found: list[Found]) -> Iterator[Turn]:
    """Number the entry's turns; the first carries the entry, with None where its own text stands."""
    for index, (turn, path) in enumerate(found):
        if index:
            yield replace(turn, entry=count)
        elif path is None:
            yield replace(turn, entry=count, source=source)
        else:
            _take_out(source, path)
            yield replace(turn, entry=count, source=source, raw_at=path)


def _take_out(value: Any, path: Path) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = None


def _exchange(value: dict[str, Any], state: State) -> list[Found]:
    """A request's new messages, then what was answered. The texts stay in the entry as well."""
    request = value.get("request", value)
    response = value.get("response", value)
    state.model = text(_get(response, "model")) or text(_get(request, "model")) or state.model
    found = [turn for message in _asked(request, state) for turn in message_turns(message, state)]
    found.extend(turn for message in _answered(response) for turn in _item_turns(message, state))
    return [(turn, None) for turn, _ in found]


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _asked(request: Any, state: State) -> list[dict[str, Any]]:
    """The messages of a request that the one before did not hold; answers among them were seen as responses."""
    messages = _get(request, "messages")
    if messages is None:
        messages = _get(request, "input")
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    messages = messages if isinstance(messages, list) else []
    written = [json.dumps(message, sort_keys=True) for message in messages]
    same = next((n for n, pair in enumerate(zip(state.asked, written, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(state.asked), len(written)) if same is None else same
    again = bool(state.asked) and same == len(state.asked)
    state.asked = written
    new = [message for message in messages[same:] if isinstance(message, dict)]
    return [message for message in new if not (again and message.get("role") == "assistant")]


def _answered(response: Any) -> list[dict[str, Any]]:
    """The messages of a response: `choices` of a chat completion, `output` of the Responses API, or a bare text."""
    if isinstance(response, str):
        return [{"role": "assistant", "content": response}]
    output = _get(response, "output")
    if isinstance(output, list):
        return [item for item in output if isinstance(item, dict)]
    choices = _get(response, "choices")
    if isinstance(choices, list):
        usage, created = _get(response, "usage"), _get(response, "created")
        found = [_get(choice, "message") for choice in choices]
        own = [message for message in found if isinstance(message, dict)]
        return [{"usage": usage, "created": created, **message} for message in own]
    return [response] if isinstance(response, dict) and "role" in response else []


def _item_turns(item: dict[str, Any], state: State) -> list[Found]:
    """The turns of a message, or of an output item of the Responses API."""
    kind = item.get("type")
    if kind == "function_call":
        arguments = item.get("arguments")
        raw = arguments if isinstance(arguments, str) else None
        name = text(item.get("name"))
        return [(turn_of(item, "tool_call", "assistant", state, raw=raw, agent=name, tool_calls=[item]), None)]
    if kind == "reasoning":
        return [(turn_of(item, "event", "reasoning", state), None)]
    return message_turns(item, state)
