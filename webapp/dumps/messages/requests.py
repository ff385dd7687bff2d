"""The messages of a request body, whichever provider's, and what a request says anew: growing ones repeat histories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from webapp import jsontext
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.histories import Aligned
from webapp.dumps.messages.langchain import is_message, unwrapped
from webapp.dumps.messages.pieces import content, said_item
from webapp.dumps.messages.turns import Conversation, each_filled, message_turns, note_once, text_turns, turns_of
from webapp.dumps.records import Turn, changed
from webapp.dumps.values import as_list

_SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions", "preamble")
_SYSTEM_ROLES = ("system", "developer")
_MESSAGES = ("chat_history", "messages", "contents", "input", "prompt", "prompts", "message", "inputText", "inputs")
_CALLS = ("function_call", "custom_tool_call", "tool_call", "mcp_call")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_PASSING = ("cache_control", "signature", "annotations", "id", "status", *_THOUGHTS, "reasoning_content")
"""what one request says of a message and the next one does not"""


@dataclass(frozen=True, slots=True)
class RequestMessage:
    """A message of a request: what it comes to, whether it is a system prompt, and what makes turns of it."""

    identity: str
    is_system: bool
    make: Callable[[], list[Turn]]


def request_messages(request: dict[str, Any], conversation: Conversation) -> Iterator[RequestMessage]:
    """Each message of a request, system prompts that stand beside them first."""
    for key in _SYSTEM:
        if value := request.get(key):
            make = partial(turns_of, content(value), "system", conversation)
            yield RequestMessage(identity({"role": "system", "content": value}), True, make)
    for key in _MESSAGES:
        value = request.get(key)
        listed = list(_each(value))
        for message in listed or [value]:
            if isinstance(message, str):  # the older completions take several prompts at once
                make = partial(text_turns, message, "user", conversation)
                yield RequestMessage(identity({"role": "user", "content": message}), False, make)
            elif isinstance(message, dict) and listed:
                make = partial(request_message, message, conversation)
                yield RequestMessage(identity(message), message.get("role") in _SYSTEM_ROLES, make)


def _each(listed: Any) -> Iterator[Any]:
    """The messages of a list, also where it lists those of each prompt, as LangChain does."""
    for item in as_list(listed):
        yield from item if isinstance(item, list) else (item,)


def identity(message: dict[str, Any]) -> str:
    """What a message comes to, as text: the same however its content is wrapped, and whatever is noted beside it."""
    fields = {key: _plain(value) for key, value in message.items() if key not in _PASSING and value is not None}
    if isinstance(fields.get("message"), str) and "content" not in fields:  # Cohere's older history
        fields["content"] = fields.pop("message")
    if isinstance(role := fields.get("role"), str):
        fields["role"] = role.lower()
    return jsontext.dumps(dict(sorted(fields.items(), key=lambda pair: str(pair[0]))))


def _plain(value: Any) -> Any:
    """A content without marks of caches and without thoughts; one block of text is that text."""
    if not isinstance(value, list):
        return value
    blocks = [_unmarked(inner) for inner in value if not (isinstance(inner, dict) and inner.get("type") in _THOUGHTS)]
    only = blocks[0] if len(blocks) == 1 else None
    is_text = isinstance(only, dict) and only.keys() <= {"type", "text"} and isinstance(only.get("text"), str)
    return only["text"] if is_text and only is not None else blocks


def _unmarked(value: Any) -> Any:
    return {key: inner for key, inner in value.items() if key != "cache_control"} if isinstance(value, dict) else value


def request_message(message: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """A message of a request. Google's may lack a role; items of the Responses API have a type instead."""
    if is_message(message):
        return message_turns(unwrapped(message), conversation)
    if "role" in message:
        return message_turns(message, conversation)
    kind = message.get("type")
    if isinstance(kind, str):
        role = "assistant" if kind in _CALLS else "thinking" if kind == "reasoning" else "user"
        return turns_of(said_item(message), role, conversation)
    return message_turns({**message, "role": "user"}, conversation)


_LONG = 20
"""Characters, without white space, from which a text that holds another is a repetition of it."""
_MOST_TEXT = 1024 * 1024
"""characters of an answer that are remembered to be compared loosely"""


def new_prompts(request: Any, conversation: Conversation) -> list[Turn]:
    """The messages that no request before held at their place; answers that they repeat were seen as responses.

    An answer that stands in the history otherwise than it came is kept as an event, with a note; so is a history
    that was shortened. One that goes on from an earlier message is a branch.
    """
    messages = list(request_messages(request, conversation)) if isinstance(request, dict) else []
    if not messages:
        return []
    systems = next((n for n, message in enumerate(messages) if not message.is_system), len(messages))
    digests = [hash(message.identity) for message in messages]
    repeats = _Repeats(messages, conversation)
    aligned = conversation.histories.align(digests[:systems], digests[systems:], repeats.repeats_last)
    turns = [placed for index in aligned.new for placed in repeats.unseen(index, aligned)]
    conversation.request_branch, conversation.last_answers = aligned.branch, []
    if aligned.left_out > 0:
        count = f"{aligned.left_out} message{'s' * (aligned.left_out != 1)}"
        words = f"the request leaves out {count} of the one before: later ones are not named again"
        note_once(words, conversation, "what requests leave out")
    return each_filled(turns, sounding=aligned.branch)


def noted_answers(turns: list[Turn], conversation: Conversation) -> list[Turn]:
    """What the last request was answered, on its branch; later requests repeat it."""
    raws = [turn.raw for turn in turns if turn.raw]
    conversation.answered.update(hashes := [echo_hash(raw) for raw in raws])
    conversation.histories.answer(hashes)
    conversation.last_answers += [_squeezed(raw) for raw in raws if len(raw) <= _MOST_TEXT]
    return each_filled(turns, sounding=conversation.request_branch, declared=conversation.declared)


def echo_hash(raw: str) -> int:
    """The same for a text and for what the next request makes of it: other white space, JSON written anew."""
    value = json_or_none(raw) if raw.lstrip()[:1] in ("{", "[") else None
    return hash(_squeezed(raw) if value is None else jsontext.dumps(value))


def _squeezed(raw: str) -> str:
    return "".join(raw.split())


def _is_by_model(turn: Turn) -> bool:
    return turn.kind in ("response", "tool_call") or turn.role == "thinking"


class _Repeats:
    """Which messages of a request repeat answers."""

    def __init__(self, messages: list[RequestMessage], conversation: Conversation) -> None:
        self._messages, self._conversation = messages, conversation
        self._expected: list[int] | None = None
        """what was answered and is not repeated yet; None before the place where it stands, and behind a prompt"""
        self._is_behind = False
        """whether nothing but repetitions came since"""

    def repeats_last(self, index: int) -> bool:
        """Whether a message repeats what the last request was answered."""
        notes = len(self._conversation.notes)
        turns = self._messages[index].make()
        del self._conversation.notes[notes:]
        answers = self._conversation.histories.answers
        return any(_is_by_model(turn) and turn.raw and echo_hash(turn.raw) in answers for turn in turns)

    def unseen(self, index: int, aligned: Aligned) -> list[Turn]:
        """What of a new message is new. Results of a provider's own tools stand within the answer and go with it."""
        turns = self._messages[index].make()
        if index == aligned.echo_at and aligned.answers:
            self._expected, self._is_behind = aligned.answers, True
        if not any(_is_by_model(turn) for turn in turns):
            self._is_behind = False
            if any(turn.kind == "prompt" for turn in turns):
                self._expected = None
            return turns
        by_model = [turn for turn in turns if _is_by_model(turn) and turn.role != "thinking" and turn.raw]
        new = [turn for turn in by_model if not self._is_known(turn, aligned)]
        if not new:
            return [] if self._is_behind or by_model else turns
        if not self._is_behind:
            return [placed for placed in turns if placed not in by_model or placed in new]
        self._conversation.notes.append(f"message {index} of the request repeats an answer in a different version")
        return [changed(turn, kind="event", tool_calls=None) for turn in turns if turn in new]

    def _is_known(self, turn: Turn, aligned: Aligned) -> bool:
        """Whether an answer says it: the one that is expected here; any, where the request goes on from none."""
        digest = echo_hash(turn.raw or "")
        if self._expected is not None and digest in self._expected:
            self._expected.remove(digest)
            return True
        if self._is_behind:
            return self._is_near(turn)
        return not aligned.extends and (digest in self._conversation.answered or self._is_near(turn))

    def _is_near(self, turn: Turn) -> bool:
        """Whether a text holds the last answer, or is held by it."""
        text = _squeezed(turn.raw or "")
        return turn.kind == "response" and any(
            min(len(text), len(answer)) >= _LONG and (text in answer or answer in text)
            for answer in self._conversation.last_answers
        )
