"""What providers' HTTP bodies say: OpenAI (both APIs), Anthropic, Google, Bedrock, Cohere, and who speaks like them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from webapp import jsontext
from webapp.dumps.base import text
from webapp.dumps.formats._chat import Path, Piece, block, content, pieces
from webapp.dumps.formats._turns import Found, Talk, message_turns, spent, turns_of, with_once
from webapp.dumps.times import moment

_SYSTEM = ("system", "systemInstruction", "system_instruction", "instructions", "preamble")
_MESSAGES = ("chat_history", "messages", "contents", "input", "prompt", "message")
_CALLS = ("function_call", "custom_tool_call", "tool_call", "mcp_call")


@dataclass(slots=True)
class Exchanges:
    """What later exchanges of a session need of earlier ones."""

    talk: Talk = field(default_factory=Talk)
    asked: list[str] = field(default_factory=list)
    """the messages of the last request, as JSON: the next one repeats them"""
    answered: set[int] = field(default_factory=set)
    """hashes of what was answered, which later requests repeat"""


def exchange(request: Any, response: Any, asked_at: Path, answered_at: Path, state: Exchanges) -> list[Found]:
    """A request's messages that the one before did not hold, then what was answered."""
    for key in ("response", "body"):  # OpenAI's batches wrap theirs as a body with its status
        if isinstance(response, dict) and isinstance(response.get(key), dict):
            response, answered_at = response[key], (*answered_at, key)
    state.talk.model = _model(response) or _model(request) or state.talk.model
    prompts = _new_prompts(request, asked_at, state)
    answers = answer(response, answered_at, state.talk)
    state.answered.update(hash(turn.raw) for turn, _ in answers if turn.raw)
    return [*prompts, *answers]


def is_answer(body: Any) -> bool:
    """Whether a body looks as if a model had answered in it."""
    return isinstance(body, dict) and bool(_answered(body, ()))


def answer(body: Any, at: Path, talk: Talk) -> list[Found]:
    """The turns of a response body; none where no model speaks in it."""
    if isinstance(body, str):
        return turns_of([Piece("text", body, at)], "assistant", talk)
    if not isinstance(body, dict):
        return []
    messages, when = _answered(body, at), _when(body)
    said = [message for message in messages if message] or messages[:1]
    return with_once([pair for one in said for pair in turns_of(one, "assistant", talk, **when)], spent(_usage(body)))


def _answered(body: dict[str, Any], at: Path) -> list[list[Piece]]:
    """What was said, one list for each message."""
    output = body.get("output")
    if isinstance(output, list):
        return [_item(item, (*at, "output", index)) for index, item in enumerate(output) if isinstance(item, dict)]
    if isinstance(output, dict) and isinstance(output.get("message"), dict):
        return [pieces(output["message"], (*at, "output", "message"))]
    for key, inner in (("choices", "message"), ("candidates", "content")):
        if isinstance(body.get(key), list):
            return [_choice(choice, inner, (*at, key, index)) for index, choice in enumerate(body[key])]
    if isinstance(body.get("message"), dict) and not isinstance(body.get("content"), list):
        return [pieces(body["message"], (*at, "message"))]
    if "role" in body or body.get("type") == "ai" or isinstance(body.get("content"), list | dict):
        return [pieces(body, at)]
    return [[Piece("text", body["text"], (*at, "text"))]] if isinstance(body.get("text"), str) else []


def _choice(choice: Any, inner: str, at: Path) -> list[Piece]:
    if not isinstance(choice, dict):
        return []
    if isinstance(choice.get(inner), dict):
        return pieces(choice[inner], (*at, inner))
    return content(choice.get("text"), (*at, "text"))


def _item(item: dict[str, Any], at: Path) -> list[Piece]:
    """An output item of the Responses API: a message, a call, or a thought."""
    return pieces(item, at) if "role" in item else list(block(item, at))


def _new_prompts(request: Any, at: Path, state: Exchanges) -> list[Found]:
    """The messages that the request before did not hold; answers among them were seen as responses."""
    prompts = list(_prompts(request, at, state.talk)) if isinstance(request, dict) else []
    written = [jsontext.dumps(value) for value, _ in prompts]
    same = next((n for n, pair in enumerate(zip(state.asked, written, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(state.asked), len(written)) if same is None else same
    again, before = bool(state.asked) and same == len(state.asked), set(state.asked)
    state.asked = written or state.asked
    found: list[Found] = []
    for text_of, (_, turns) in zip(written[same:], prompts[same:], strict=True):
        if text_of not in before:
            found.extend(_unseen(turns(), again, state))
    return found


def _unseen(made: list[Found], again: bool, state: Exchanges) -> list[Found]:
    """What of a request's message was not seen as an answer: where the request goes on from the last, no answer is new.

    Results of a provider's own tools stand within the answer and go with it.
    """
    wrote = [turn.kind in ("response", "tool_call") or turn.role == "thinking" for turn, _ in made]
    seen = [again or hash(turn.raw) in state.answered for turn, _ in made]
    whole = any(wrote) and all(known for known, by_model in zip(seen, wrote, strict=True) if by_model)
    return [pair for pair, by_model, known in zip(made, wrote, seen, strict=True) if not (known if by_model else whole)]


def _prompts(request: dict[str, Any], at: Path, talk: Talk) -> Iterator[tuple[Any, Callable[[], list[Found]]]]:
    """Each message of a request, and what makes turns of it."""
    for key in _SYSTEM:
        if request.get(key):
            yield request[key], partial(turns_of, content(request[key], (*at, key)), "system", talk)
    for key in _MESSAGES:
        value = request.get(key)
        if isinstance(value, str):
            yield value, partial(turns_of, content(value, (*at, key)), "user", talk)
        for index, message in enumerate(value if isinstance(value, list) else []):
            if isinstance(message, dict):
                yield message, partial(asked, message, (*at, key, index), talk)


def asked(message: dict[str, Any], path: Path, talk: Talk) -> list[Found]:
    """A message of a request. Google's may lack a role; items of the Responses API have a type instead."""
    if isinstance(message.get("message"), str) and "content" not in message:  # Cohere's older history
        role = {"CHATBOT": "assistant"}.get(str(message.get("role")), str(message.get("role")).lower())
        return turns_of([Piece("text", message["message"], (*path, "message"))], role, talk)
    if "role" in message:
        return message_turns(message, talk, path)
    kind = message.get("type")
    if isinstance(kind, str):
        return turns_of(_item(message, path), "assistant" if kind in (*_CALLS, "reasoning") else "user", talk)
    return message_turns({**message, "role": "user"}, talk, path)


def _model(body: Any) -> str | None:
    if not isinstance(body, dict):
        return None
    return next((body[key] for key in ("model", "modelVersion", "modelId") if text(body.get(key))), None)


def _usage(body: dict[str, Any]) -> Any:
    usage = body.get("usage") or body.get("usageMetadata") or body.get("usage_metadata") or body.get("meta")
    if isinstance(usage, dict) and isinstance(usage.get("tokens"), dict):
        return usage["tokens"]
    return usage


def _when(body: dict[str, Any]) -> dict[str, Any]:
    names = ("created", "created_at", "createTime")
    found = next((when for name in names if (when := moment(body.get(name)))), None)
    return {"sent_at": found} if found else {}
