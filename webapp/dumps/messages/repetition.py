"""What a request says anew: growing requests repeat their histories, and what was answered stands in them again."""

from __future__ import annotations

from typing import Any

from webapp import jsontext
from webapp.dumps.decoding import json_or_none
from webapp.dumps.messages.histories import Aligned
from webapp.dumps.messages.pieces import Path
from webapp.dumps.messages.requests import RequestMessage, request_messages
from webapp.dumps.messages.turns import Conversation, PlacedTurn, each_filled
from webapp.dumps.records import Turn, changed
from webapp.jsontext import text_hash

_LONG = 20
"""Characters, without white space, from which a text that holds another is a repetition of it."""
_MOST_TEXT = 1024 * 1024
"""characters of an answer that are remembered to be compared loosely"""


def new_prompts(request: Any, at: Path, conversation: Conversation) -> list[PlacedTurn]:
    """The messages that no request before held at their place; answers that they repeat were seen as responses.

    An answer that stands in the history otherwise than it came is kept as an event, with a note; so is a history
    that was shortened. One that goes on from an earlier message is a branch.
    """
    messages = list(request_messages(request, at, conversation)) if isinstance(request, dict) else []
    if not messages:
        return []
    systems = next((n for n, message in enumerate(messages) if not message.is_system), len(messages))
    digests = [text_hash(message.identity) for message in messages]
    repeats = _Repeats(messages, conversation)
    aligned = conversation.histories.align(digests[:systems], digests[systems:], repeats.repeats_last)
    turns = [placed for index in aligned.new for placed in repeats.unseen(index, aligned)]
    conversation.request_branch, conversation.last_answers = aligned.branch, []
    if aligned.left_out > 0 and not conversation.shortened:
        conversation.shortened = True
        count = f"{aligned.left_out} message{'s' * (aligned.left_out != 1)}"
        conversation.notes.append(f"the request leaves out {count} of the one before: later ones are not named again")
    return each_filled(turns, sounding=aligned.branch)


def noted_answers(turns: list[PlacedTurn], conversation: Conversation) -> list[PlacedTurn]:
    """What the last request was answered, on its branch; later requests repeat it."""
    raws = [turn.raw for turn, _ in turns if turn.raw]
    conversation.answered.update(hashes := [echo_hash(raw) for raw in raws])
    conversation.histories.answer(hashes)
    conversation.last_answers += [_squeezed(raw) for raw in raws if len(raw) <= _MOST_TEXT]
    return each_filled(turns, sounding=conversation.request_branch, declared=conversation.declared)


def echo_hash(raw: str) -> int:
    """The same for a text and for what the next request makes of it: other white space, JSON written anew."""
    value = json_or_none(raw) if raw.lstrip()[:1] in ("{", "[") else None
    return text_hash(_squeezed(raw) if value is None else jsontext.dumps(value))


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
        return any(_is_by_model(turn) and turn.raw and echo_hash(turn.raw) in answers for turn, _ in turns)

    def unseen(self, index: int, aligned: Aligned) -> list[PlacedTurn]:
        """What of a new message is new. Results of a provider's own tools stand within the answer and go with it."""
        turns = self._messages[index].make()
        if index == aligned.echo_at and aligned.answers:
            self._expected, self._is_behind = aligned.answers, True
        if not any(_is_by_model(turn) for turn, _ in turns):
            self._is_behind = False
            if any(turn.kind == "prompt" for turn, _ in turns):
                self._expected = None
            return turns
        by_model = [turn for turn, _ in turns if _is_by_model(turn) and turn.role != "thinking" and turn.raw]
        new = [turn for turn in by_model if not self._is_known(turn, aligned)]
        if not new:
            return [] if self._is_behind or by_model else turns
        if not self._is_behind:
            return [placed for placed in turns if placed[0] not in by_model or placed[0] in new]
        self._conversation.notes.append(f"message {index} of the request repeats an answer in a different version")
        return [(changed(turn, kind="event", tool_calls=None), path) for turn, path in turns if turn in new]

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
