"""Chat messages as OpenAI's and Anthropic's APIs have them: lists, {"messages"}, requests with responses, lines."""

from __future__ import annotations

from itertools import chain
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, SessionEntries, Sessions, Source
from webapp.dumps.documents import entries_of, id_problem, nested, whole_document, with_list
from webapp.dumps.json_path import holds
from webapp.dumps.messages.bodies import is_answer, is_exam, is_served
from webapp.dumps.messages.exchanges import BODIES, ITEMS, entry_turns
from webapp.dumps.messages.http import ASKING
from webapp.dumps.messages.langchain import is_message
from webapp.dumps.messages.pieces import pieces
from webapp.dumps.messages.streams import is_body
from webapp.dumps.records import Problem, Turn, role_of
from webapp.dumps.session_keys import mentions_keys
from webapp.dumps.sessions import each_session
from webapp.dumps.values import as_list, id_text, text

_IDS = ("session_id", "conversation_id", "thread_id", "id", "custom_id")
_ROLES = ("system", "developer", "user", "assistant", "tool", "function", "tool-call", "tool-response")
"""OpenAI's, and smolagents', and no others: other programs' messages have formats of their own."""
_FOREIGN = {"node_type", "parts", "info", "message"}
"""Keys of other programs' messages, which have formats of their own."""
_LOOKED_AT = 20
_ANSWERED = (
    "output:object output.message:object stopReason or message:object message.role=assistant finish_reason"
    " or object=interaction or custom_id result:object or output:list model"
)
"""of Bedrock's Converse, Cohere's, Google's, Anthropic's batches, and OpenAI's responses"""


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
            extra, entries = with_list(source, head, "messages")
            yield _session("the document", extra, source.stem, entries)
        elif any(map(_is_conversation, head.objects)) and not any(map(_is_exchange, head.objects)):
            yield from each_session(entries_of(source, head), source.stem, _conversation)
        elif head.shape != "lines" and self.session_key is None and not mentions_keys(head.text):
            yield SessionEntries(source.stem, entries_of(source, head))
        else:
            yield from super().sessions(source, head)

    def follows(self, entry: dict[str, Any]) -> bool:
        return "role" in entry or entry.get("type") in ITEMS or role_of(entry) is not None

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        return entry_turns(entry, conversation)


def _sniff_object(head: DumpHead) -> int:
    if _is_exchange(head.document):
        return 55
    if "messages" in head.items:
        messages = [item for item in head.items["messages"] if isinstance(item, dict)]
        if all(map(_is_message, messages)):
            return 60 if messages else 3  # an API of another kind has a list of this name, too
        return 20 if any(_is_message(item) or is_message(item) for item in messages) else 0
    if "messages" in head.members:
        return 0 if isinstance(head.members["messages"], str | dict) else 30
    return 40 if _is_message(head.members) and "content" in head.keys else 0


def _is_message(value: dict[str, Any]) -> bool:
    """A message with a role that is known, and something that can be read where there is something at all."""
    if value.get("type") in ITEMS:
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
    if any(is_body(value.get(key)) for key in BODIES):
        return True
    is_asked = bool(value.keys() & {"question", "answer"}) or is_exam(value)
    if holds(value, _ANSWERED) or ("choices" in value and not is_asked):
        return True
    if "response" in value and value.keys() & {"request", "messages", "input", "custom_id"}:
        request, response = value.get("request"), value["response"]
        asks = not isinstance(request, dict) or bool(request.keys() & {"model", "input", "body", *ASKING})
        return not is_served(request, response) and (asks or not isinstance(response, dict) or is_answer(response))
    return False


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
