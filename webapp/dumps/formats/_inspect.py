"""What the messages of an Inspect AI sample say: attachments resolved, tool errors, times and usage from its events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from webapp.dumps.base import Context, Entry, Seen, text
from webapp.dumps.formats._turns import Found, Talk, message_turns, numbered, spent
from webapp.dumps.records import Problem, Turn
from webapp.dumps.times import moment

_REFERENCES = ("attachment://", "tc://")
_PARSING = "parsing"
_DEEPEST = 60
"""levels of a message in which references are looked for"""


def turns(entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
    """The turns of a sample's messages; `context` is the sample without them, its log's `eval` under "log"."""
    attachments = context.get("attachments")
    attachments = attachments if isinstance(attachments, dict) else {}
    calls = _model_calls(context)
    log = context.get("log")
    told = log.get("eval") if isinstance(log, dict) else None
    talk, count = Talk(text(told.get("model")) if isinstance(told, dict) else None), 0
    seen = Seen("message id")
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        at, value = entry
        yield from seen.again(at, value.get("id"))
        found = _message(_resolved(value, attachments) if attachments else value, talk, calls)
        yield from numbered(count, value, [_in_place(pair, value) for pair in found])
        count += 1


def _message(value: dict[str, Any], talk: Talk, calls: dict[str, dict[str, Any]]) -> list[Found]:
    event = calls.get(str(value.get("id")), {})
    output = event.get("output")
    once = spent(output.get("usage")) if isinstance(output, dict) else {}
    when = moment(event.get("timestamp"))
    found = message_turns(value, talk, once=once, model=text(value.get("model")), sent_at=when)
    failure = _parsing_error(value)
    return [(replace(turn, failure=failure), path) for turn, path in found] if failure else found


def _parsing_error(value: dict[str, Any]) -> str | None:
    """What a tool message says of arguments that could not be parsed."""
    error = value.get("error")
    if value.get("role") != "tool" or not isinstance(error, dict) or error.get("type") != _PARSING:
        return None
    return f"{_PARSING}: {text(error.get('message')) or text(value.get('content')) or ''}"


def _model_calls(context: Context) -> dict[str, dict[str, Any]]:
    """The model events of a sample by the id of the message that they gave."""
    transcript = context.get("transcript")
    events = context.get("events") or (transcript.get("events") if isinstance(transcript, dict) else None)
    found: dict[str, dict[str, Any]] = {}
    for event in events if isinstance(events, list) else []:
        if isinstance(event, dict) and event.get("event") == "model" and (name := _message_id(event)):
            found.setdefault(name, event)
    return found


def _message_id(event: dict[str, Any]) -> str | None:
    try:
        return text(event["output"]["choices"][0]["message"]["id"])
    except (KeyError, IndexError, TypeError):
        return None


def _resolved(value: Any, attachments: dict[str, Any], level: int = 0) -> Any:
    """`value` with every text that is a reference replaced by what it refers to; `value` itself is not changed."""
    if level > _DEEPEST:
        return value
    if isinstance(value, str) and value.startswith(_REFERENCES):
        whole = attachments.get(value.partition("://")[2])
        return whole if isinstance(whole, str) else value
    if isinstance(value, list):
        return [_resolved(inner, attachments, level + 1) for inner in value]
    if isinstance(value, dict):
        return {key: _resolved(inner, attachments, level + 1) for key, inner in value.items()}
    return value


def _in_place(pair: Found, value: Any) -> Found:
    """A text that came from an attachment has no place in the entry, which keeps the reference."""
    turn, path = pair
    for step in path or ():
        value = value[step]
    return pair if path and value == turn.raw else (turn, None)
