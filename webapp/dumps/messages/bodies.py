"""What providers' HTTP bodies say: OpenAI (both APIs), Anthropic, Google, Bedrock, Cohere, and who speaks like them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.json_texts import long_texts
from webapp.dumps.messages.pieces import Path, Piece, content, pieces
from webapp.dumps.messages.repetition import new_prompts, noted_answers
from webapp.dumps.messages.requests import said_item
from webapp.dumps.messages.turns import Conversation, PlacedTurn, spent, text_turns, turns_of, with_once
from webapp.dumps.times import first_moment
from webapp.dumps.values import as_object, first_text, text

_MALFORMED = "MALFORMED_FUNCTION_CALL"
"""What Google says of a call that it could not read; of its text no more is left than the message."""
_MODELS = ("model", "modelVersion", "modelId", "model_version")
_TIMES = ("created", "created_at", "createTime")


def exchange(
    request: Any, response: Any, request_at: Path, response_at: Path, conversation: Conversation
) -> list[PlacedTurn]:
    """A request's messages that the one before did not hold, then what was answered."""
    for key in ("response", "body"):  # OpenAI's batches wrap theirs as a body with its status
        if isinstance(response, dict) and isinstance(response.get(key), dict):
            response, response_at = response[key], (*response_at, key)
    conversation.model = first_text(response, *_MODELS) or first_text(request, *_MODELS) or conversation.model
    prompts = new_prompts(request, request_at, conversation)
    answers = noted_answers(answer(response, response_at, conversation), conversation)
    if prompts and not answers and isinstance(response, dict) and response is not request:
        conversation.notes.extend(_nothing_said(response))
    return [*prompts, *answers]


def _nothing_said(response: dict[str, Any]) -> Iterator[str]:
    """What to say of a response with texts of which none is known as an answer, unless it is an error or a refusal."""
    if response.keys() & {"error", "promptFeedback"} or not (paths := long_texts([response])):
        return
    keys = ", ".join(repr(str(key)[:40]) for key in list(response)[:12])
    yield f"no answer is known in the response (its keys: {keys}; texts at {', '.join(paths)})"


def is_answer(body: Any) -> bool:
    """Whether a body looks as if a model had answered in it."""
    return isinstance(body, dict) and bool(_messages(body, ()))


def answer(body: Any, at: Path, conversation: Conversation) -> list[PlacedTurn]:
    """The turns of a response body; none where no model speaks in it."""
    if isinstance(body, str):
        return text_turns(body, at, "assistant", conversation)
    if not isinstance(body, dict):
        return []
    messages, when = _messages(body, at), first_moment(body, *_TIMES)
    turns = [
        placed
        for parts in [parts for parts in messages if parts] or messages[:1]
        for placed in turns_of(parts, "assistant", conversation, sent_at=when)
    ]
    return with_once(turns, spent(_usage(body)))


def _messages(body: dict[str, Any], at: Path) -> list[list[Piece]]:
    """What was said, one list for each message."""
    output = body.get("output")
    if isinstance(output, list):
        return [said_item(item, (*at, "output", index)) for index, item in enumerate(output) if isinstance(item, dict)]
    if isinstance(output, dict) and isinstance(output.get("message"), dict):
        return [pieces(output["message"], (*at, "output", "message"))]
    for key, inner in (("choices", "message"), ("candidates", "content")):
        if isinstance(body.get(key), list):
            return [_choice(choice, inner, (*at, key, index)) for index, choice in enumerate(body[key])]
    if isinstance(body.get("message"), dict) and not isinstance(body.get("content"), list):
        return [pieces(body["message"], (*at, "message"))]
    if "role" in body or body.get("type") == "ai" or isinstance(body.get("content"), list | dict):
        return [pieces(body, at)]
    key = "response" if isinstance(body.get("done"), bool) else "text"  # Ollama's /api/generate, or a text alone
    return [[Piece("text", body[key], (*at, key))]] if isinstance(body.get(key), str) else []


def _choice(choice: Any, inner: str, at: Path) -> list[Piece]:
    if not isinstance(choice, dict):
        return []
    reason = choice.get("finishReason", choice.get("finish_reason"))
    if reason == _MALFORMED and not as_object(choice.get(inner)).get("parts"):
        written = text(choice.get("finishMessage"))
        raw = None if written is None else written.removeprefix("Malformed function call: ")
        return [Piece("call", raw, None, None, None, {"arguments": raw}, f"{_MALFORMED}: {written or ''}")]
    if isinstance(choice.get(inner), dict):
        return pieces(choice[inner], (*at, inner))
    return content(choice.get("text"), (*at, "text"))


def _usage(body: dict[str, Any]) -> Any:
    if "eval_count" in body:  # Ollama counts beside its answer
        return {"input": body.get("prompt_eval_count"), "output": body["eval_count"]}
    usage = body.get("usage") or body.get("usageMetadata") or body.get("usage_metadata") or body.get("meta")
    if isinstance(usage, dict) and isinstance(usage.get("tokens"), dict):
        return usage["tokens"]
    return usage
