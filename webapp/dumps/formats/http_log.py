"""Recorded HTTP exchanges with providers: a line each, HAR archives, nock's recordings and vcrpy's cassettes."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

from webapp.dumps import yaml_values
from webapp.dumps.base import Conversation, DumpHead, Entries, Format, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.documents import inner_list, objects, with_list
from webapp.dumps.messages.http import (
    HttpExchange,
    body_of,
    body_text,
    http_turns,
    is_recorded,
    of_models,
    recorded,
    speaks_of_models,
)
from webapp.dumps.messages.turns import event_turns
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import by_time
from webapp.dumps.spool import NO_TEXT, packed_text
from webapp.dumps.values import as_list, as_object, first_text, text, whole

_PLACES = ("uri", "url")
_REQUESTS = ("request", "request_body", "body")
_RESPONSES = ("response", "response_body", "response_text")
_STATUS = ("status", "status_code", "response_status", "response_status_code")
_TIMES = ("timestamp", "time", "started_at", "recorded_at")


class HttpLog(Format):
    shapes = 'HTTP exchanges {"method", "uri", "request", "response"} one a line'
    times = _TIMES
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        """Most of the samples: one exchange that is none does not refuse the whole log."""
        # bodies that are no text are read as JSON's formats read them
        written = any(isinstance(body_of(as_object(value.get("response"))), str) for value in head.objects)
        fits = [
            _is_exchange(value) or (written and is_recorded(value) and speaks_of_models(recorded(value)))
            for value in head.objects
        ]
        return 90 if any(fits) and 2 * sum(fits) >= len(fits) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
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
            plain=response == _RESPONSES[0],
        )
        return http_turns(http, conversation) or event_turns(text(entry.get("method")))


def _is_exchange(value: dict[str, Any]) -> bool:
    is_sent = isinstance(value.get("request_body"), str | dict) and "response_body" in value
    return is_sent or (first_text(value, *_PLACES) is not None and not value.keys().isdisjoint(_RESPONSES))


_REALTIME = re.compile(r'"type":\s*"response\.|"serverContent"|"choices"|"delta"')
_HAR_YAML = re.compile(r"(?:---\s*\n)?log:[ \t\r]*\n(?:[ \t][^\n]*\n){0,20}?[ \t]+entries:[ \t\r]*\n")


class Har(Format):
    called = "har"
    shapes = 'HAR archives {"log": {"entries": […]}}'
    times = ("startedDateTime",)

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "text":
            return 95 if _HAR_YAML.match(head.text) else 0
        log = head.document.get("log")
        if isinstance(log, dict):
            return 95 if isinstance(log.get("entries"), list) else 0
        return 90 if head.shape == "object" and head.mentions("log") and head.mentions("startedDateTime") else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield from by_time(_entries(source, head), lambda _: source.stem, lambda entry: entry.get("startedDateTime"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        return http_turns(_exchange(entry), conversation)


def _entries(source: Source, head: DumpHead) -> Entries:
    if head.shape == "text":
        entries: Entries = yaml_values.read(source.file, source.start, "log.entries")
    else:
        entries = objects(inner_list(source.text(), "log", "entries"), "log.entries")
    for entry in entries:
        if isinstance(entry, Problem) or speaks_of_models(_exchange(entry[1])):
            yield entry
        elif spoken_frames := sum(_is_spoken(frame) for frame in as_list(entry[1].get("_webSocketMessages"))):
            yield Problem(
                entry[0], f"a WebSocket received {spoken_frames:,} messages that may be a model's; they were left out"
            )


def _exchange(entry: dict[str, Any]) -> HttpExchange:
    request, response = as_object(entry.get("request")), as_object(entry.get("response"))
    content = as_object(response.get("content"))
    posted = as_object(request.get("postData"))
    body = posted.get("text", posted.get("textJSON"))  # as Cody's persister of Polly.js has it
    answer = body_text(content.get("text"), text(content.get("encoding")))
    is_part = "ABORTED" in (text(response.get("_error")) or "") or _is_cut(answer, whole(content.get("size")))
    return HttpExchange(text(request.get("url")) or "", body, answer, response.get("status"), is_part=is_part)


def _is_cut(answer: str | None, size: int | None) -> bool:
    """Whether a body of `size` bytes was much longer than what was kept of it."""
    return answer is not None and size is not None and 4 * size > 5 * len(answer.encode("utf-8", "surrogatepass"))


def _is_spoken(frame: Any) -> bool:
    """Whether what a WebSocket received holds words of a model, as OpenAI's and Google's realtime APIs send them."""
    data = as_object(frame).get("data")
    return as_object(frame).get("type") == "receive" and isinstance(data, str) and bool(_REALTIME.search(data))


class Nock(Declared):
    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        url = f"{text(entry.get('scope')) or ''}{text(entry.get('path')) or ''}"
        response = _unpacked(entry.get("response"))
        http = HttpExchange(url, entry.get("body"), response, entry.get("status"))
        is_embedding = "embedding" in url and not speaks_of_models(http)
        turns = [] if is_embedding else http_turns(http, conversation)
        return turns or event_turns(text(entry.get("method")))


def _unpacked(response: Any) -> Any:
    """A response that was compressed, or no text, is recorded as pieces of hex, in a list or not."""
    pieces = [response] if isinstance(response, str) else response
    if not isinstance(pieces, list) or not pieces or not all(isinstance(piece, str) for piece in pieces):
        return response
    try:
        data = b"".join(map(bytes.fromhex, pieces))
    except ValueError:
        return response
    unpacked = packed_text(data)
    return response if NO_TEXT in unpacked else unpacked


_LISTS = ("interactions", "http_interactions", "mappings")
"""vcrpy's, and Ruby's"""
_APART = re.compile(r"(?:\A|\n)requests:[ \t]*\r?\n\s*- (?s:.*?)\nresponses:[ \t]*\r?\n\s*- |\Arequests:[ \t]*\r?\n- ")
"""LangChain's cassettes, which list requests and responses apart"""
_YAML = re.compile(r"(?:\A|\n)((?:http_)?interactions|responses(?=:\s+- response:)):[ \t]*\r?\n\s*- ")
"""vcrpy's and Ruby's, and the recorder's of Python's `responses`"""


class Vcr(Format):
    called = "vcr"
    shapes = "cassettes of vcrpy (interactions of request and response, YAML or JSON)"

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "text":
            return 95 if _YAML.search(head.text) else 94 if _APART.search(head.text) else 0
        firsts = [head.first_of(key) for key in _LISTS]
        requests = [as_object(first.get("request")) for first in firsts if "response" in first]
        return 95 if any(request.keys() & {"uri", "url", "method"} for request in requests) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "text":
            match = _YAML.search(head.text)
            entries = yaml_values.read(source.file, source.start, match[1]) if match else _paired(source)
        else:
            key = next((key for key in _LISTS if key in head.items), _LISTS[0])
            _, entries = with_list(source, head, key)
        yield SessionEntries(source.stem, of_models(entries, recorded))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        return http_turns(recorded(entry), conversation)


def _paired(source: Source) -> Entries:
    """Requests with their responses, by their numbers; those without the other are named."""
    requests = list(yaml_values.read(source.file, source.start, "requests"))
    responses = yaml_values.read(source.file, source.start, "responses")
    for number, (request, response) in enumerate(zip_longest(requests, responses)):
        at = f"requests[{number}]"
        if isinstance(request, Problem) or isinstance(response, Problem):
            yield from (side for side in (request, response) if isinstance(side, Problem))
        elif request is None or response is None:
            yield Problem(at, f"a {'request' if response is None else 'response'} without the other side; skipped")
        else:
            yield at, {"request": request[1], "response": response[1]}


plugins = (HttpLog(), Har(), Nock("nock"), Vcr())
