"""HTTP exchanges with providers, one a line: OpenAI, Anthropic, Google, Bedrock, Cohere, Ollama; streams too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.http import HttpExchange, body_of, http_turns, is_recorded, recorded, speaks_of_models
from webapp.dumps.messages.turns import each_filled, unplaced
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import document_session
from webapp.dumps.times import first_moment
from webapp.dumps.values import as_object, first_text, text

_PLACES = ("uri", "url")
_REQUESTS = ("request", "request_body", "body")
_RESPONSES = ("response", "response_body", "response_text")
_STATUS = ("status", "status_code", "response_status", "response_status_code")
_INVOCATION = (("input", "inputBodyJson"), ("output", "outputBodyJson"))
_TIMES = ("timestamp", "time", "started_at", "recorded_at")


class HttpLog(Format):
    name = "http_log"
    shapes = 'HTTP exchanges {"method", "uri", "request", "response"} one a line'

    by_key = True
    grows = True

    def sniff(self, head: DumpHead) -> int:
        """Most of the samples: one exchange that is none does not refuse the whole log."""
        if head.first_of("events") and _is_invocation(_opened(head.first_of("events"))):
            return 90
        written = any(isinstance(body_of(as_object(value.get("response"))), str) for value in head.objects)
        fitting = sum(_is_exchange(value) or (written and _is_recorded(value)) for value in head.objects)
        return 90 if fitting and 2 * fitting >= len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Iterator[SessionEntries | Problem]:
        if head.first_of("events"):
            return iter([document_session(source, head, "events", needed="events")])
        return super().sessions(source, head)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        opened = _opened(entry)
        if opened is not entry:
            return unplaced(_invoked(opened, conversation))
        request = next((key for key in _REQUESTS if isinstance(entry.get(key), dict)), None)
        request = request or next((key for key in _REQUESTS if isinstance(entry.get(key), str)), _REQUESTS[0])
        if _is_invocation(entry):
            return _invoked(entry, conversation)
        if is_recorded(entry):
            turns = http_turns(recorded(entry), conversation) or [(Turn(0, "event"), None)]
            return each_filled(turns, sent_at=first_moment(entry, *_TIMES))
        response = next((key for key in _RESPONSES if entry.get(key) is not None), _RESPONSES[0])
        http = HttpExchange(
            url=first_text(entry, *_PLACES) or "",
            request=entry.get(request),
            response=entry.get(response),
            status=next((entry[key] for key in _STATUS if isinstance(entry.get(key), int)), entry.get("status")),
            request_at=(request,),
            response_at=(response,),
            plain=response == _RESPONSES[0],
        )
        turns = http_turns(http, conversation) or [(Turn(0, "event", role=text(entry.get("method"))), None)]
        return each_filled(turns, sent_at=first_moment(entry, *_TIMES))


plugin = HttpLog()


def _opened(value: dict[str, Any]) -> dict[str, Any]:
    """The entry that CloudWatch holds as text in an event of its own."""
    message = value.get("message")
    if isinstance(message, str) and message.startswith("{") and "ModelInvocationLog" in message[:500]:
        return as_object(json_or_none(message)) or value
    return value


def _is_invocation(value: dict[str, Any]) -> bool:
    """An entry of Bedrock's model invocation log."""
    value = _opened(value)
    bodies = ((value.get("input"), "inputBodyJson"), (value.get("output"), "outputBodyJson"))
    return "modelId" in value and any(isinstance(holder, dict) and key in holder for holder, key in bodies)


def _invoked(entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    bodies = [(holder, as_object(entry.get(holder)).get(key)) for holder, key in _INVOCATION]
    places = [(holder, key) for holder, key in _INVOCATION]
    url = f"/model/{entry['modelId']}/"
    http = HttpExchange(url, bodies[0][1], bodies[1][1], request_at=places[0], response_at=places[1])
    turns = http_turns(http, conversation)
    if failure := text(entry.get("errorCode")):
        turns.append((Turn(0, "error", raw=failure, role="provider"), ("errorCode",)))
    return each_filled(turns or [(Turn(0, "event"), None)], sent_at=first_moment(entry, *_TIMES))


def _is_exchange(value: dict[str, Any]) -> bool:
    has_address = any(isinstance(value.get(key), str) for key in _PLACES)
    if _is_invocation(value):
        return True
    if isinstance(value.get("request_body"), str | dict) and "response_body" in value:
        return True
    return has_address and any(key in value for key in _RESPONSES)


def _is_recorded(value: dict[str, Any]) -> bool:
    """Bodies that are no text are read as JSON's formats read them."""
    return is_recorded(value) and speaks_of_models(recorded(value))
