"""Chat messages as OpenAI's and Anthropic's APIs have them: lists, {"messages"}, requests with responses, lines."""

from __future__ import annotations

from datetime import datetime
from itertools import chain
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, SessionEntries, Sessions, Source
from webapp.dumps.documents import id_problem, nested, whole_document, with_list
from webapp.dumps.known_tools import LEVELS
from webapp.dumps.messages.bodies import exchange, is_answer, unanswered
from webapp.dumps.messages.http import ASKING, is_body, parsed_body
from webapp.dumps.messages.langchain import is_message
from webapp.dumps.messages.named_texts import is_served
from webapp.dumps.messages.pieces import pieces
from webapp.dumps.messages.printed import is_printed
from webapp.dumps.messages.requests import request_message
from webapp.dumps.messages.turns import each_filled, error_turns, message_turns, role_of, spent
from webapp.dumps.programs import Program, by_message
from webapp.dumps.records import Problem, Turn
from webapp.dumps.session_keys import mentions_keys
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.values import as_list, as_object, first_moment, first_text, id_text, text, whole

_IDS = ("session_id", "conversation_id", "thread_id", "id", "custom_id")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function", "tool-call", "tool-response")
"""OpenAI's, and smolagents', and no others: other programs' messages have formats of their own."""
_ITEMS = (
    *("function_call", "function_call_output", "function_call_result", "custom_tool_call", "custom_tool_call_output"),
    *("mcp_call", "web_search_call", "file_search_call", "computer_call", "code_interpreter_call", "reasoning"),
)
"""Types of the Responses API's items that have no role."""
_FOREIGN = {"node_type", "parts", "info", "message"}
"""Keys of other programs' messages, which have formats of their own."""
_BODIES = ("response", "output", "completion", "result", "body", "answer", "chunks", "events", "stream")
"""Where people who log in ten lines keep the provider's body."""
_REQUESTS = ("request", "proxy_server_request")
_LOOKED_AT = 20
_TIMES = ("timestamp", "created_at", "created", "processed_time")
_TIMES_OR_DURATIONS = ("ts", "time", "datetime", "start_time", "startTime")
_DURATIONS_END = 2000
"""A number of seconds that is a time before this year is taken for a duration."""


class OpenAi(Format):
    shapes = 'OpenAI messages (a list, {"messages": […]}, {"request", "response"}, "choices"; JSON or one a line)'

    by_key = True

    def sniff(self, head: DumpHead) -> int:
        """How sure it is that these are messages, or exchanges, as OpenAI's and Anthropic's APIs have them."""
        if head.shape == "object":
            return _sniff_object(head)
        fitting = sum(_is_message(value) or _is_conversation(value) or _is_exchange(value) for value in head.objects)
        return 60 if head.objects and 2 * fitting >= len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" and ("messages" not in head.keys or _is_exchange(head.document)):
            yield SessionEntries(source.stem, whole_document(source))
        elif head.shape == "object":
            extra, entries = with_list(source, head, "messages", needed="session_id")
            yield _session("the document", extra, source.stem, entries)
        elif any(map(_is_conversation, head.objects)) and not any(map(is_body, head.objects)):
            yield from each_session(entries_of(source, head), source.stem, _conversation)
        elif head.shape != "lines" and self.session_key is None and not mentions_keys(head.text):
            yield SessionEntries(source.stem, entries_of(source, head))
        else:
            yield from super().sessions(source, head)

    def follows(self, entry: dict[str, Any]) -> bool:
        return "role" in entry or entry.get("type") in _ITEMS or role_of(entry) is not None

    def program_of(self, entry: dict[str, Any]) -> Program | None:
        return by_message(entry)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        return entry_turns(entry, conversation)


def _sniff_object(head: DumpHead) -> int:
    if _is_exchange(head.document):
        return 55
    if "messages" in head.items:
        messages = [item for item in head.items["messages"] if isinstance(item, dict)]
        if all(map(_is_message, messages)):
            return 60
        return 20 if any(_is_message(item) or is_message(item) for item in messages) else 0
    if "messages" in head.members:
        return 30
    return 40 if _is_message(head.members) and "content" in head.keys else 0


def _is_message(value: dict[str, Any]) -> bool:
    """A message with a role that is known, and something that can be read where there is something at all."""
    if value.get("type") in _ITEMS:
        return True
    if value.get("role") not in _ROLES or value.keys() & _FOREIGN or str(value.get("type")).endswith("Message"):
        return False
    return not value.get("content") or any(piece.kind != "unread" for piece in pieces(value))


def _is_conversation(value: dict[str, Any]) -> bool:
    messages = value.get("messages")
    if not isinstance(messages, list) or _is_exchange(value):
        return False
    objects = [message for message in messages[:_LOOKED_AT] if isinstance(message, dict)]
    return not objects or any(_is_message(message) or is_message(message) for message in objects)


def _is_exchange(value: dict[str, Any]) -> bool:
    """A whole response, alone or with its request."""
    if any(is_body(value.get(key)) for key in _BODIES):
        return True
    if isinstance(as_object(value.get("output")).get("message"), dict) and "stopReason" in value:  # Bedrock's Converse
        return True
    if as_object(value.get("message")).get("role") == "assistant" and "finish_reason" in value:  # Cohere's
        return True
    if (
        ("choices" in value and not value.keys() & {"question", "answer"})  # of an exam
        or value.get("object") == "interaction"
        or ("custom_id" in value and isinstance(value.get("result"), dict))
    ):
        return True
    if "response" in value and value.keys() & {"request", "messages", "input", "custom_id"}:
        request, response = value.get("request"), value["response"]
        asks = not isinstance(request, dict) or bool(request.keys() & {"model", "input", "body", *ASKING})
        return not is_served(request, response) and (asks or not isinstance(response, dict) or is_answer(response))
    return isinstance(value.get("output"), list) and "model" in value


def _session(at: str, extra: dict[str, Any], fallback: str, entries: Entries) -> SessionEntries:
    ident = next((extra[key] for key in _IDS if extra.get(key) is not None), None)
    name = id_text(ident)
    name = fallback if name is None else name
    return SessionEntries(name, chain(id_problem(at, ident, name), entries), text(extra.get("title")), extra=extra)


def _conversation(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries | Problem:
    """One conversation a line, or an item of a list: each is a session."""
    if not _is_conversation(value):
        return Problem(at, "expected an object with a list of messages; skipped")
    return _session(at, value, fallback, nested(at, "messages", value.pop("messages")))


def entry_turns(value: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """What an entry says: a message, an item of the Responses API, or a request with its response."""
    if "role" in value or role_of(value) is not None:
        return _message(value, conversation)
    if value.get("type") in _ITEMS:
        return request_message(value, conversation)
    return _exchange(value, conversation)


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


def _message(value: dict[str, Any], conversation: Conversation) -> list[Turn]:
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


def _exchange(value: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """A request's new messages, then what was answered; either may be the entry itself."""
    key = next((key for key in _BODIES if is_body(value.get(key))), "response")
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


_ANTHROPIC_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "document")


class Anthropic(OpenAi):
    called = "anthropic"
    shapes = 'Anthropic messages (a list, {"messages", "system"}, {"request", "response"}; JSON or one a line)'
    times = ("timestamp", "created_at")

    def sniff(self, head: DumpHead) -> int:
        """Above OpenAI's score, and only where something stands that OpenAI does not have."""
        return 70 if super().sniff(head) and any(map(_is_anthropic, head.objects)) else 0


def _is_anthropic(value: dict[str, Any]) -> bool:
    """Blocks that only Anthropic has, or a message or request as only its API writes them."""
    for key in ("request", "response", "result", "message"):
        if isinstance(value.get(key), dict) and _is_anthropic(value[key]):
            return True
    if value.get("type") == "message" and "role" in value and ("stop_reason" in value or "model" in value):
        return "output" not in value
    messages = value.get("messages")
    if isinstance(messages, list):
        with_system = isinstance(value.get("system"), str | list) or "anthropic_version" in value
        return with_system or any(_is_anthropic(message) for message in messages if isinstance(message, dict))
    blocks = [block for block in as_list(value.get("content")) if isinstance(block, dict)]
    images = (block for block in blocks if block.get("type") == "image" and isinstance(block.get("source"), dict))
    return any(block.get("type") in _ANTHROPIC_BLOCKS for block in blocks) or any(images)


plugins = (OpenAi(), Anthropic())
