"""HTTP exchanges with providers: bodies unpacked and put together, and the turns of a request and its response."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from webapp import jsontext
from webapp.dumps.decoding import json_or_none
from webapp.dumps.json_path import at
from webapp.dumps.messages.bodies import is_answer, said_or_sent
from webapp.dumps.messages.exchanges import exchange
from webapp.dumps.messages.metadata import asked_at
from webapp.dumps.messages.stream_kinds import is_end
from webapp.dumps.messages.streams import MOST_STREAM, answers, chunks, parsed_body
from webapp.dumps.messages.turns import Conversation, each_filled, each_with
from webapp.dumps.records import Entries, Problem, Stop, Turn
from webapp.dumps.spool import NO_TEXT, packed_text
from webapp.dumps.values import BINARY, as_list, as_object, first_text, text, whole

_MODEL = re.compile(r"/(?:model/([^/?]+)/|models/([^/?:]+):)")
"""where Bedrock and Google have the model: in the address"""
ASKING = ("messages", "contents", "prompt", "chat_history", "input", "message")
_WHERE = ("uri", "url", "urlPath", "urlPattern", "urlPathPattern", "urlPathTemplate")
_BODIES = ("body", "body_raw", "content", "text", "json", "data", "jsonBody")
_STATUS = ("status", "status_code", "statusCode")
"""where recorders have a request's address, a body, and a response's status"""


_LINE = re.compile(r"^(?:data:[ \t]*)?(\{[^\r\n]*)", re.M)
_IDENT = re.compile(r'"id"\s*:\s*"([^"]+)".{0,300}?chat\.completion\.chunk')
"""what may be the answer that a chunk says it belongs to"""
_CHUNK = re.compile(r'"object"\s*:\s*"chat\.completion\.chunk"')
_ENDS = {
    re.compile(r'"type"\s*:\s*"message_start"'): re.compile(r'"(?:message_stop|error|stop_reason)"\s*[,:}](?!\s*null)'),
    re.compile(r'"type"\s*:\s*"response\.created"'): re.compile(
        r'"(?:response\.(?:completed|failed|incomplete|cancelled|done)|error)"\s*[,:}](?!\s*null)'
    ),
    re.compile('"token",'): re.compile(r'\[DONE\]|"(?:type|event)"\s*:\s*"(?!token")|"error"'),
    _CHUNK: re.compile(r'\[DONE\]|"(?:finish_reason|error)"\s*:(?!\s*null)'),
    re.compile(r'\A\s*\{"messageStart"'): re.compile(r'"messageStop"|Exception"'),
    re.compile(r'\A\s*data:[^\n]*"candidates"'): re.compile(r'"(?:finishReason|blockReason|error)"\s*:(?!\s*null)'),
    re.compile(r'\A\s*\{"model":[^\n]*"done":\s*false'): re.compile(r'"done":\s*true|"error"\s*:(?!\s*null)'),
}
"""what ends a stream, by what stands in its beginning"""
_LEFT_OUT = re.compile(r"(?:\.\.\.|…|truncated[^\n{}]{0,60})\s*\Z", re.I)
"""what a recorder writes that kept the beginning of a body"""


@dataclass(frozen=True, slots=True)
class HttpExchange:
    """A request and its response, their bodies as they came: text, JSON, or None."""

    url: str
    request: Any
    response: Any
    status: Any = None
    plain: bool = False
    """whether a response that is neither JSON nor a stream is what a model said"""
    is_part: bool = False
    """whether it says that its recorder kept a part of the response, or that the reader left before the end"""


def is_recorded(value: dict[str, Any]) -> bool:
    """Whether an entry holds a response with its body, and an address or a status."""
    request, response = as_object(value.get("request")), as_object(value.get("response"))
    bodies = (*_BODIES, "body_segments", "bodyBase64")
    is_served = first_text(request, *_WHERE) is not None or any(whole(response.get(key)) for key in _STATUS)
    return is_served and any(response.get(key) is not None for key in bodies)


def recorded(entry: dict[str, Any]) -> HttpExchange:
    """The exchange of such an entry."""
    request, response = as_object(entry.get("request")), as_object(entry.get("response"))
    status = next((response[key] for key in _STATUS if response.get(key) is not None), None)
    code = whole(status.get("code") if isinstance(status, dict) else status)
    url = first_text(request, *_WHERE) or first_text(response, *_WHERE) or ""
    return HttpExchange(url, body_of(request), body_of(response), code)


def body_of(holder: dict[str, Any]) -> Any:
    """The body of a request or a response: as it was parsed, as text, or as the base64 of bytes."""
    if holder.get("parsed_body") is not None:
        return holder["parsed_body"]
    if isinstance(segments := holder.get("body_segments"), list):  # google-genai's replays
        in_bytes = body_text(jsontext.dumps(as_list(holder.get("byte_segments"))), "base64")
        return segments[0] if len(segments) == 1 else segments or in_bytes or None
    if packed := first_text(holder, "base64Body", "bodyBase64"):  # WireMock's, and of who records bytes
        return body_text(packed, "base64")
    wanted = at(holder, "bodyPatterns[*].equalToJson|bodyPatterns[*].equalTo")[0]  # of a request, as WireMock has it
    body = next((holder[key] for key in _BODIES if key in holder), wanted)
    if isinstance(body, dict) and BINARY not in body:
        if isinstance(body.get("base64_string"), str):
            return body_text(body["base64_string"], "base64")
        body = body["text"] if {"text", "charset"} <= body.keys() else body.get("string", body)  # Charles'
    if isinstance(body, dict) and isinstance(body.get(BINARY), str):
        return body_text(body[BINARY], "base64")
    return body


def body_text(value: Any, encoding: str | None = None) -> str | None:
    """A body as text: base64 (in pieces too, as Polly.js writes it) and what is compressed in it taken off."""
    if isinstance(value, str) and encoding == "base64":
        pieces = json_or_none(value) if value[:1] == "[" else [value]
        texts = [piece for piece in pieces if isinstance(piece, str)] if isinstance(pieces, list) else []
        try:
            return packed_text(b"".join(base64.b64decode(piece) for piece in texts))
        except (binascii.Error, ValueError):
            return None
    return value if isinstance(value, str) else None


def speaks_of_models(http: HttpExchange) -> bool:
    """Whether a model was asked, or answered: most of what a browser or a test fetched is of other things."""
    request, response = parsed_body(http.request), parsed_body(http.response)
    if any(isinstance(as_object(item).get("generated_text"), str) for item in as_list(response)):  # Hugging Face's
        return True
    if is_answer(response):
        return not isinstance(response, dict) or "embedding" not in jsontext.dumps(response.get("data"))[:2000]
    has_question = isinstance(request, dict) and any(request.get(key) for key in ASKING)
    return has_question and not (isinstance(response, dict) and "data" in response)


def stream_faults(body: str) -> tuple[list[str], int]:
    """Errors that a stream's events tell, and how many of its `data:` lines with an object cannot be read."""
    errors, damaged = list[str](), 0
    for match in _LINE.finditer(body):
        value = json_or_none(match[1])
        damaged += value is None and body.lstrip()[:1] not in ("{", "[")
        inner = as_object(value)
        error = inner.get("error") or as_object(inner.get("response")).get("error")
        error = error or (inner if inner.get("event") == "error" else None)  # Dify's
        if error:
            message = as_object(error).get("message") or error
            errors.append(message if isinstance(message, str) else jsontext.dumps(message))
    return errors, damaged


def ends_early(body: str) -> bool:
    """Whether a stream begins an answer and says neither that it ends nor why not."""
    several = answers([event for _, event in chunks(body)]) if len(set(_IDENT.findall(body))) > 1 else []
    if len(several) > 1:
        said = (answer.events for answer in several if any(event.get("choices") for event in answer.events))
        return not all(any(is_end(event) or event.get("error") for event in events) for events in said)
    ends = next((ends for begins, ends in _ENDS.items() if begins.search(body)), None)
    return ends is not None and not ends.search(body)


def of_models(entries: Entries, exchange_of: Callable[[dict[str, Any]], HttpExchange]) -> Entries:
    """The entries in which a model was asked; where there are none, how many others there were."""
    requests, lines = 0, 0
    for entry in entries:
        if isinstance(entry, Problem) or speaks_of_models(exchange_of(entry[1])):
            requests += not isinstance(entry, Problem)
            yield entry
        else:
            lines += 1
    if lines and not requests:
        count = f"{lines:,} exchange{'s' * (lines != 1)}"
        yield Problem("the log", f"no model was asked, as far as is known: {count} passed over")


def http_turns(http: HttpExchange, conversation: Conversation) -> list[Turn]:
    """The turns of an exchange; what was put together has no place of its own in the entry."""
    match = _MODEL.search(http.url)
    conversation.model = unquote(match[1] or match[2]) if match else None
    request, response = parsed_body(http.request), parsed_body(http.response)
    if http.plain:
        response = http.response if response is None else said_or_sent(request, http.response, response)
    turns = exchange(request, response, conversation)
    conversation.hosts += asked_at(http.url)
    refused = isinstance(http.status, int) and not 200 <= http.status < 300
    if response is None and not (refused and http.response == "") and _asks(request):
        size = len(text(http.response) or "")
        lost = f"of {size:,} characters is neither JSON nor a known stream" if size else "holds no body"
        packed = NO_TEXT in (text(http.response) or "")
        lost += " (packed otherwise than by gzip, zstd or deflate, as by br?)" if packed else ""
        conversation.notes.append(f"a model was asked, and the response {lost}")
    if isinstance(http.status, int) and http.status >= 400:
        conversation.notes.clear()
    is_stream = isinstance(http.response, str) and len(http.response) <= MOST_STREAM and response is not http.response
    errors, damaged = stream_faults(http.response) if is_stream else ([], 0)
    if damaged and (response is not None or not _asks(request)):
        conversation.notes.append(f"{damaged} lines of the stream are cut or damaged; the others were read")
    if is_stream and response is not None and ends_early(http.response):
        conversation.notes.append("the stream ends before its answer does; what came of it was read")
        turns = turns if http.is_part or _is_part(http.response) else _dropped(turns)
    if not isinstance(http.status, int) or http.status < 400:
        turns += [Turn(0, "error", raw=error, role="provider") for error in errors]
    return _refused(turns, http.status, request, response)


def _is_part(body: str) -> bool:
    """Whether a recorder may have left something out: it says so, or what it kept is of a round size.

    A program that writes chunks as objects, each by itself, may keep those alone that say something: no answer ends.
    """
    is_round = len(body) % 1000 == 0 or len(body) % 1024 == 0
    is_chosen = "data:" not in body and _CHUNK.search(body) and not _ENDS[_CHUNK].search(body)
    return is_round or bool(is_chosen) or _LEFT_OUT.search(body, max(0, len(body) - 100)) is not None


def _dropped(turns: list[Turn]) -> list[Turn]:
    """`turns` of which those that are the answer stopped as their stream ended."""
    asked = max((place for place, turn in enumerate(turns) if turn.kind in ("prompt", "tool_result")), default=-1)
    return [*turns[: asked + 1], *each_filled(turns[asked + 1 :], stop=Stop("dropped", "the stream ends"))]


def _asks(request: Any) -> bool:
    """Whether a model was asked for an answer: embeddings and the like have other keys."""
    return isinstance(request, dict) and any(request.get(key) for key in ASKING if key != "input")


def _refused(turns: list[Turn], status: Any, request: Any, response: Any) -> list[Turn]:
    """An exchange that the provider refused ends with its message, as an error."""
    if not isinstance(status, int) or status < 400:
        return turns
    error = as_object(response).get("error")
    reason = first_text(error, "message") or text(error) or first_text(response, "message") or text(response)
    turns = [placed for placed in turns if placed.kind != "response"]
    generation = first_text(error, "failed_generation")
    if generation is not None:  # Groq shows what the model wrote where that could not be read
        model = first_text(request, "model")
        answer = Turn(0, "response", raw=generation, role="assistant", model=model, failure=reason)
        turns.append(answer)
    return each_with([*turns, Turn(0, "error", raw=reason, role="provider")])
