"""What was asked and answered: a request with its response, wherever an entry has them, or a message alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from webapp.dumps.json_path import long_texts
from webapp.dumps.known_tools import LEVELS
from webapp.dumps.messages.beside import hosts_of
from webapp.dumps.messages.bodies import BODY_OBJECTS, answer
from webapp.dumps.messages.declarations import declared_in
from webapp.dumps.messages.printed import is_printed
from webapp.dumps.messages.requests import new_prompts, noted_answers, request_message
from webapp.dumps.messages.streams import is_body, parsed_body
from webapp.dumps.messages.turns import (
    Conversation,
    each_filled,
    error_turns,
    message_turns,
    role_of,
    spent,
)
from webapp.dumps.records import Turn
from webapp.dumps.values import as_list, as_object, first_moment, first_text, text, whole

_MODELS = ("model", "modelVersion", "modelId", "model_version")
_ASKING = {"messages", "contents", "prompt", "input"}
_TALKING = {"messages", "contents"}
"""keys of requests that want an answer, though all that they say was said before"""
_ANSWERING = re.compile(r"answer|complet|respon|output|result|choice|candidate|generat|body", re.I)
"""in the keys of what should hold an answer: other lines of a log need no word"""
_SAYING = {"content", "choices", "candidates", "message", "generations"}
"""what a body has that is one itself, though it has a response beside it: the Vercel SDK's"""
_TELLING = ("response", "tool_call", "error")
_REQUESTS = ("request", "proxy_server_request")
_TIMES = ("timestamp", "created_at", "created", "processed_time")
_TIMES_OR_DURATIONS = ("ts", "time", "datetime", "start_time", "startTime")
_DURATIONS_END = 2000
"""A number of seconds that is a time before this year is taken for a duration."""
BODIES = ("response", "output", "completion", "result", "body", "answer", "chunks", "events", "stream")
"""Where people who log in ten lines keep the provider's body."""
ITEMS = (
    *("function_call", "function_call_output", "function_call_result", "custom_tool_call", "custom_tool_call_output"),
    *("mcp_call", "web_search_call", "file_search_call", "computer_call", "code_interpreter_call", "reasoning"),
)
"""Types of the Responses API's items that have no role."""


def exchange(request: Any, response: Any, conversation: Conversation) -> list[Turn]:
    """A request's messages that the one before did not hold, then what was answered."""
    for key in ("response", "body"):  # OpenAI's batches wrap theirs as a body with its status
        if isinstance(response, dict) and isinstance(response.get(key), dict) and not response.keys() & _SAYING:
            response = response[key]
    if isinstance(request, dict) and isinstance(request.get("body"), dict) and not request.keys() & _ASKING:
        request = request["body"]  # gateways log the address and headers beside it
    first = response[0] if isinstance(response, list) and response else response
    conversation.model = first_text(first, *_MODELS) or first_text(request, *_MODELS) or conversation.model
    if isinstance(request, dict) and request:
        conversation.declares(conversation.declared_beside or declared_in(request))
    elif request is None and as_object(first).get("object") == "response":  # it tells what it was asked for
        conversation.declares(declared_in(first))
    conversation.hosts = [*hosts_of(first), *hosts_of(request)]
    prompts = new_prompts(request, conversation)
    answers = noted_answers(answer(response, conversation), conversation)
    is_asked = bool(prompts) or (isinstance(request, dict) and bool(request.keys() & _TALKING))
    if is_asked and not answers and response is not request:
        conversation.notes.extend(_nothing_said(response))
    return [*prompts, *answers]


def _nothing_said(response: Any) -> Iterator[str]:
    """What to say of a response of which nothing is known as an answer, unless it is an error, a refusal, a count."""
    paths = long_texts([response]) if isinstance(response, dict | list) else []
    if isinstance(response, list) and paths:
        yield f"no answer is known in the response, which is a list (texts at {', '.join(paths)})"
    if not isinstance(response, dict) or not response or response.keys() & {"error", "promptFeedback"}:
        return
    if paths or not _is_count(response):
        yield f"no answer is known in the response ({_shape(response, paths)})"


def _shape(holder: dict[str, Any], paths: list[str]) -> str:
    """The keys of an object, and where its longest texts stand."""
    keys = ", ".join(repr(str(key)[:40]) for key in list(holder)[:12])
    return f"its keys: {keys}{'; texts at ' if paths else ''}{', '.join(paths)}"


def _is_count(response: dict[str, Any]) -> bool:
    """Whether it says how many tokens there are, or lists vectors or judgements."""
    return bool(response.keys() & {"data", "results"}) or any("token" in str(key).lower() for key in response)


def unanswered(entry: dict[str, Any], turns: list[Turn], conversation: Conversation) -> None:
    """Note what an entry holds that should hold an answer and says none, no error and nothing else to be told."""
    if conversation.notes or any(map(_tells, turns)):
        return
    names_answers = any(_ANSWERING.search(key) and "token" not in key.lower() for key in map(str, entry))
    if not names_answers and entry.get("object") not in BODY_OBJECTS:
        return
    conversation.notes.append(f"no answer is known in it ({_shape(entry, long_texts([entry]))})")


def _tells(turn: Turn) -> bool:
    return turn.role == "thinking" or (turn.kind in _TELLING and (turn.raw is not None or turn.stop is not None))


def entry_turns(value: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """What an entry says: a message, an item of the Responses API, or a request with its response."""
    if "role" in value or role_of(value) is not None:
        return _said(value, conversation)
    if value.get("type") in ITEMS:
        return request_message(value, conversation)
    return _logged(value, conversation)


def failure_turns(value: dict[str, Any], key: str, conversation: Conversation) -> list[Turn]:
    """What is said instead of an answer: batches, and people's own logs, hold the error beside it or in its place."""
    inner = as_object(value.get(key))
    holders = (value, inner, as_object(inner.get("body")), as_object(value.get("result")))
    error = next((holder["error"] for holder in holders if holder.get("error")), None) or _told_failure(value)
    error = error or first_text(as_object(inner.get("promptFeedback")), "blockReasonMessage", "blockReason")  # Google's
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    if error is None:
        if key in value and value[key] is None:
            conversation.notes.append(f"no answer under {key!r}")
        return []
    return error_turns(error, first_text(error, "type", "code"))


def _told_failure(value: dict[str, Any]) -> str | None:
    """An error under a name of its own: LiteLLM's logs, and Vertex' batches, whose status is a sentence."""
    information = as_object(as_object(value.get("metadata")).get("error_information") or value.get("error_information"))
    if (ended := as_object(value.get("result")).get("type")) in ("expired", "canceled"):  # in Anthropic's batches
        return str(ended)
    status = text(value.get("status"))
    reason = first_text(value, "error_str") or first_text(information, "error_message")
    return reason or (status if status and " " in status and "processed_time" in value else None)


def _said(value: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """A message, LangChain's too, whose model stands beside what its provider sent."""
    model = text(value.get("model")) or text(as_object(value.get("response_metadata")).get("model_name"))
    once = spent(value.get("usage") or value.get("usage_metadata"), value.get("cost"))
    about: dict[str, Any] = {"sent_at": _sent_at(value), "phase": text(value.get("phase"))}
    about |= {key: whole(value.get(key)) for key in ("round", "attempt")}
    turns = message_turns(value, conversation, once=once, model=model, **about)
    return each_filled(turns, agent=text(value.get("name")))


def _sent_at(value: dict[str, Any]) -> datetime | None:
    if when := first_moment(value, *_TIMES) or first_moment(value.get("extra"), "timestamp"):  # mini-swe-agent's
        return when
    times = (first_moment(value, key) for key in _TIMES_OR_DURATIONS)
    return next((when for when in times if when is not None and when.year >= _DURATIONS_END), None)


def _logged(value: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """A request's new messages, then what was answered; either may be the entry itself."""
    key = next((key for key in BODIES if is_body(value.get(key))), "response")
    body = parsed_body(value.get(key)) if isinstance(value.get(key), str) else None
    response = value.get(key, value)
    request_key = next((name for name in _REQUESTS if value.get(name) is not None), None)
    if request_key is None and key not in value and isinstance(value.get("message"), str) and value.keys() & LEVELS:
        return []  # a line of the log that the calls stand in
    request = value if request_key is None else value[request_key]
    if is_printed(response):
        listed = [first_text(item, "text") or item for item in as_list(value.get("outputs"))]
        if outputs := [item for item in listed if isinstance(item, str)]:  # DSPy's history
            response = outputs
    if isinstance(request, str) and isinstance(written := parsed_body(request), dict):
        request = written
    if isinstance(as_object(value.get("result")).get("message"), dict) and key not in value:  # Anthropic's batches
        response = value["result"]["message"]
    turns = exchange(request, body or response, conversation)
    if not any(turn.written_by_model or (turn.stop and turn.tokens_out) for turn in turns):
        answers = [turn for turn in turns if turn.kind != "event" or turn.role == "thinking"]
        turns = [*answers, *failure_turns(value, key, conversation)]
        unanswered(value, turns, conversation)
    return each_filled(turns, sent_at=_sent_at(value))
