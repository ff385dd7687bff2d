"""HTTP exchanges with providers, one a line: OpenAI, Anthropic, Google, Bedrock, Cohere, Ollama; streams too."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.http import HttpExchange, body_of, http_turns, is_recorded, recorded, speaks_of_models
from webapp.dumps.messages.turns import each_filled, error_turns, event_turns, unplaced
from webapp.dumps.sessions import document_session
from webapp.dumps.values import as_object, first_moment, first_text, text

_PLACES = ("uri", "url")
_REQUESTS = ("request", "request_body", "body")
_RESPONSES = ("response", "response_body", "response_text")
_STATUS = ("status", "status_code", "response_status", "response_status_code")
_INVOCATION = (("input", "inputBodyJson"), ("output", "outputBodyJson"))
_TIMES = ("timestamp", "time", "started_at", "recorded_at")


class HttpLog(Format):
    shapes = 'HTTP exchanges {"method", "uri", "request", "response"} one a line'
    times = _TIMES
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        """Most of the samples: one exchange that is none does not refuse the whole log."""
        if _is_invocation(head.first_of("events")):
            return 90
        # bodies that are no text are read as JSON's formats read them
        written = any(isinstance(body_of(as_object(value.get("response"))), str) for value in head.objects)
        fits = [
            _is_exchange(value) or (written and is_recorded(value) and speaks_of_models(recorded(value)))
            for value in head.objects
        ]
        return 90 if any(fits) and 2 * sum(fits) >= len(fits) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.first_of("events"):
            return iter([document_session(source, head, "events", needed="events")])
        return super().sessions(source, head)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        opened = _opened(entry)
        if opened is not entry:
            return unplaced(_invoked(opened, conversation))
        if _is_invocation(entry):
            return _invoked(entry, conversation)
        if is_recorded(entry):
            return http_turns(recorded(entry), conversation)
        request = next((key for key in _REQUESTS if isinstance(entry.get(key), dict)), None)
        request = request or next((key for key in _REQUESTS if isinstance(entry.get(key), str)), _REQUESTS[0])
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
        return http_turns(http, conversation) or event_turns(text(entry.get("method")))


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
    return "modelId" in value and any(key in as_object(value.get(holder)) for holder, key in _INVOCATION)


def _invoked(entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    request, response = (as_object(entry.get(holder)).get(key) for holder, key in _INVOCATION)
    url, (request_at, response_at) = f"/model/{entry['modelId']}/", _INVOCATION
    http = HttpExchange(url, request, response, request_at=request_at, response_at=response_at)
    turns = http_turns(http, conversation)
    if failure := text(entry.get("errorCode")):
        turns += error_turns(failure, "provider", ("errorCode",))
    return each_filled(turns or event_turns(), sent_at=first_moment(entry, *_TIMES))


def _is_exchange(value: dict[str, Any]) -> bool:
    has_address = any(isinstance(value.get(key), str) for key in _PLACES)
    if _is_invocation(value) or (isinstance(value.get("request_body"), str | dict) and "response_body" in value):
        return True
    return has_address and any(key in value for key in _RESPONSES)
