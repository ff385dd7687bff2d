"""What providers' HTTP bodies say: OpenAI (both APIs), Anthropic, Google, Bedrock, Cohere, and who speaks like them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.decoding import json_or_none
from webapp.dumps.json_path import long_texts
from webapp.dumps.messages.langchain import generations_body, is_message, unwrapped
from webapp.dumps.messages.metadata import stop_of
from webapp.dumps.messages.pieces import Piece, block, content, pieces, said_item, text_or_json
from webapp.dumps.messages.printed import is_printed, unprinted
from webapp.dumps.messages.stream_kinds import is_event
from webapp.dumps.messages.streams import put_together
from webapp.dumps.messages.turns import Conversation, message_turns, spent, text_turns, turns_of, with_once
from webapp.dumps.records import MODEL_KINDS, Stop, Turn, changed, role_of
from webapp.dumps.values import are_messages, as_list, as_object, first_moment, first_text, is_speech, text

_MALFORMED = "MALFORMED_FUNCTION_CALL"
"""What Google says of a call that it could not read; of its text no more is left than the message."""
_BODY_OBJECTS = ("chat.completion", "text_completion", "response")
_ANSWERING = re.compile(r"answer|complet|respon|output|result|choice|candidate|generat|body", re.I)
"""in the keys of what should hold an answer: other lines of a log need no word"""
_TELLING = ("response", "tool_call", "error")
_SENT = {
    *("error", "errors", "status", "statusCode", "status_code", "success", "detail", "object"),
    *("message", "choices", "candidates", "generations", "output_text"),
    *("request_id", "finish_reason", "stop_reason", "stopReason", "timings"),
}
"""keys of what a server sends, rather than of what a model writes"""
_TIMES = ("created", "created_at", "createTime")
_LOOKED_AT = 4096
_ENVELOPE = re.compile(r'"(?:object|type|candidates)"\s*:')


_OF_ANSWER = {"usage", "finish_reason", "finish_reasons", "stop_reason"}
"""keys beside a content that programs keep of an answer"""


def is_answer(body: Any) -> bool:
    """Whether a body looks as if a model had answered in it."""
    return isinstance(body, dict) and not is_exam(body) and bool(_messages(body))


MODELS = ("model", "modelVersion", "modelId", "model_version", "model_id")
"""keys of bodies that name the model"""


def said_or_sent(request: Any, written: Any, body: Any) -> Any:
    """A text that stands where a response does: the body in it, or the text itself where a model wrote that JSON."""
    asked = as_object(request)
    is_asked = are_messages(request) or are_messages(asked.get("messages")) or isinstance(asked.get("prompt"), str)
    is_json = isinstance(written, str) and isinstance(body, dict | list) and json_or_none(written) == body
    if not is_asked or not is_json:
        return body
    return body if any(map(_is_sent, body if isinstance(body, list) else [body])) else written


def _is_sent(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    is_counted = isinstance(item.get("usage"), dict) or are_messages(item.get("messages"))
    return is_counted or not item.keys().isdisjoint(_SENT) or is_message(item) or is_answer(item)


def is_exam(value: dict[str, Any]) -> bool:
    """Whether its choices are those that a question leaves: texts, or objects with the letter of each."""
    choices = as_list(value.get("choices"))
    return any("label" in choice if isinstance(choice, dict) else isinstance(choice, str) for choice in choices)


def answer(body: Any, conversation: Conversation) -> list[Turn]:
    """The turns of a response body; none where no model speaks in it."""
    if isinstance(body, str):
        return said_turns(body, conversation)
    if isinstance(body, list) and any(map(is_event, body)):  # a stream's events
        return answer(put_together(body), conversation)
    if isinstance(body, list):  # several answers to one request
        return [placed for inner in body for placed in _one_of(inner, conversation)]
    if not isinstance(body, dict):
        return []
    if is_message(body):
        return answer({"role": "assistant", **unwrapped(body)}, conversation)
    if _has_generations(body):
        return answer(generations_body(body), conversation)
    messages, when, model = _messages(body), first_moment(body, *_TIMES), first_text(body, *MODELS)
    pairs = list(zip(messages, _stops(body, len(messages)), strict=True))
    turns = [
        placed
        for parts, why in [(parts, why) for parts, why in pairs if parts] or pairs[:1]
        for placed in turns_of(parts, "assistant", conversation, sent_at=when, stop=why, model=model)
    ]
    thought = next((turn for turn in turns if turn.stop is not None), None)
    if thought is not None and not any(turn.kind in MODEL_KINDS for turn in turns):  # reasoning alone, no answer
        turns.append(changed(thought, kind="response", raw=None, role="assistant", model=conversation.model))
    return [*with_once(turns, spent(_usage(body))), *_failed_choices(body)]


def _stops(body: dict[str, Any], messages: int) -> list[Stop | None]:
    """Why the model stopped, of each message of a body."""
    choices = as_list(body.get("choices")) or as_list(body.get("candidates"))
    if len(choices) == messages:
        return [stop_of(choice) for choice in choices]
    return [stop_of(body)] * messages


def _has_generations(body: dict[str, Any]) -> bool:
    """Whether this is LangChain's result: Cohere's older answers have generations with nothing but a text."""
    listed = as_list(body.get("generations"))
    return any(isinstance(item, list) or "message" in as_object(item) for item in listed)


def body_in(raw: str) -> dict[str, Any] | None:
    """The body that a text holds as it came from a provider, in its envelope; a model's own JSON has none."""
    is_object = raw.lstrip()[:1] == "{" and _ENVELOPE.search(raw, 0, _LOOKED_AT)
    body = as_object(json_or_none(raw)) if is_object else {}
    in_parts = any("parts" in as_object(as_object(one).get("content")) for one in as_list(body.get("candidates")))
    is_anthropics = body.get("type") == "message" and {"role", "model"} <= body.keys()
    return body if (body.get("object") in _BODY_OBJECTS or is_anthropics or in_parts) and is_answer(body) else None


def said_turns(raw: str, conversation: Conversation, role: str | None = "assistant") -> list[Turn]:
    """A text as the turn of `role`; of a body, or of what Python prints of an SDK's object, what it says.

    Where that cannot be read it is the text, with a note.
    """
    if role == "assistant" and (body := body_in(raw)) is not None:
        return answer(body, conversation)
    if role == "assistant" and is_printed(raw):
        body = unprinted(raw)
        if body is not None and role_of(body) not in (None, "assistant"):
            return message_turns(unwrapped(body), conversation)
        if body is not None:
            body = unwrapped(body) if is_message(body) else body
            body = {"role": "assistant", **body} if body.keys() & {"content", "parts"} else body
            body = {"text": body["output"]} if isinstance(body.get("output"), str) else body
        turns = [] if body is None else answer(body, conversation)
        if any(turn.raw for turn in turns):
            return turns
        words = "is what Python prints of an object, and is kept as text (log its model_dump_json() instead)"
        conversation.notes.append(f"the answer {words}")
    return text_turns(raw, role, conversation)


def _failed_choices(body: dict[str, Any]) -> Iterator[Turn]:
    """The errors that OpenRouter writes into its choices, and why Google blocked a prompt."""
    if blocked := first_text(body.get("promptFeedback"), "blockReasonMessage", "blockReason"):
        yield Turn(0, "error", raw=blocked, role="provider")
    for choice in as_list(body.get("choices")):
        if isinstance(error := as_object(choice).get("error"), dict):
            raw = first_text(error, "message") or text_or_json(error)
            yield Turn(0, "error", raw=raw, role="provider")


def _one_of(value: Any, conversation: Conversation) -> list[Turn]:
    """One of several answers, or one message of those that a run added."""
    if isinstance(value, dict) and "role" in value and "usage" not in value:
        return message_turns(value, conversation)
    return [] if isinstance(value, list) else answer(value, conversation)


def _messages(body: dict[str, Any]) -> list[list[Piece]]:
    """What was said, one list for each message."""
    output = body.get("output")
    if body.get("object") == "interaction" and isinstance(body.get("steps"), list):  # Google's newer API
        return [_step(as_object(step)) for step in body["steps"]]
    if isinstance(output, list) and output and all(isinstance(piece, str) for piece in output):
        choices = [as_object(json_or_none(piece)) for piece in output if piece[:1] == "{"]  # LiteLLM's, each a text
        if len(choices) == len(output) and all("message" in choice for choice in choices):
            return [_choice(choice, "message") for choice in choices]
        return [[Piece("text", "".join(output))]]  # Replicate's predictions hold the pieces of one text
    if isinstance(output, list):
        return [said_item(item) for item in output if isinstance(item, dict)]
    if isinstance(output, dict) and isinstance(output.get("message"), dict):
        return [pieces(output["message"])]
    if any(isinstance(as_object(item).get("type"), str) for item in as_list(body.get("outputs"))):  # Google's newer API
        return [[piece for item in body["outputs"] for piece in block(item)]]
    for key, inner in (("choices", "message"), ("candidates", "content")):
        if isinstance(body.get(key), list):
            return [_choice(choice, inner) for choice in body[key]]
    if isinstance(body.get("message"), dict) and not isinstance(body.get("content"), list):
        return [pieces(body["message"])]
    is_wrapped = isinstance(body.get("content"), str) and bool(body.keys() & _OF_ANSWER)
    if "role" in body or body.get("type") == "ai" or isinstance(body.get("content"), list | dict) or is_wrapped:
        return [pieces(body)]
    key = "response" if isinstance(body.get("done"), bool) else "text"  # Ollama's /api/generate, or a text alone
    return [[Piece("text", body[key])]] if isinstance(body.get(key), str) else _bare(body)


def _step(step: dict[str, Any]) -> list[Piece]:
    """What a step of an interaction says; what the user said is the request's."""
    if str(step.get("type")).startswith("user"):
        return []
    has_parts = step.get("type") in ("model_output", "message") and "content" in step
    return content(step["content"]) if has_parts else list(block(step))


def _bare(body: dict[str, Any]) -> list[list[Piece]]:
    """What models on Bedrock answer in bodies of their own: Amazon's, Mistral's, Meta's, and Anthropic's older ones."""
    for key, inner in (("results", "outputText"), ("outputs", "text"), ("generations", "text")):
        listed = as_list(body.get(key))
        if listed and all(isinstance(as_object(item).get(inner), str) for item in listed):
            return [[Piece("text", item[inner])] for item in listed]
    bare = next((key for key in ("generation", "completion") if isinstance(body.get(key), str)), None)
    if isinstance(body.get("generated_text"), str):  # Hugging Face's
        return [[Piece("text", body["generated_text"])]]
    return [[Piece("text", body[bare])]] if bare is not None and "stop_reason" in body else []


def _choice(choice: Any, inner: str) -> list[Piece]:
    if not isinstance(choice, dict):
        return content(choice) if isinstance(choice, str | list) else []
    reason = choice.get("finishReason", choice.get("finish_reason"))
    if reason == _MALFORMED and not as_object(choice.get(inner)).get("parts"):
        written = text(choice.get("finishMessage"))
        raw = None if written is None else written.removeprefix("Malformed function call: ")
        return [Piece("call", raw, None, None, {"arguments": raw}, f"{_MALFORMED}: {written or ''}")]
    if isinstance(choice.get(inner), dict):
        return pieces(choice[inner])
    if isinstance(choice.get(inner), str | list):
        return content(choice[inner])
    if not isinstance(choice.get("text"), str) and (paths := long_texts([choice])):
        return [Piece("unread", f"a choice of no known shape (texts at {', '.join(paths)}); it was left out")]
    if choice.get(inner) or not choice.keys() & {inner, "text", "delta"}:
        keys = ", ".join(map(repr, choice))
        return [Piece("unread", f"a choice without a readable {inner} (its keys: {keys}); it was left out")]
    return content(choice.get("text"))


def _usage(body: dict[str, Any]) -> Any:
    if "eval_count" in body:  # Ollama counts beside its answer
        return {"input": body.get("prompt_eval_count"), "output": body["eval_count"]}
    usage = body.get("usage") or body.get("usageMetadata") or body.get("usage_metadata") or body.get("meta")
    if isinstance(usage, dict) and isinstance(usage.get("tokens"), dict):
        return usage["tokens"]
    return usage


def nothing_said(response: Any) -> Iterator[str]:
    """What to say of a response of which nothing is known as an answer, unless it is an error, a refusal, a count."""
    paths = long_texts([response]) if isinstance(response, dict | list) else []
    if isinstance(response, list) and paths:
        yield f"no answer is known in the response, which is a list (texts at {', '.join(paths)})"
    if not isinstance(response, dict) or not response or response.keys() & {"error", "promptFeedback"}:
        return
    counts = any("token" in str(key).lower() for key in response)
    if paths or not (counts or response.keys() & {"data", "results"}):  # which list vectors, or judgements
        yield f"no answer is known in the response ({_shape(response, paths)})"


def _shape(holder: dict[str, Any], paths: list[str]) -> str:
    """The keys of an object, and where its longest texts stand."""
    keys = ", ".join(repr(str(key)[:40]) for key in list(holder)[:12])
    return f"its keys: {keys}{'; texts at ' if paths else ''}{', '.join(paths)}"


def unanswered(entry: dict[str, Any], turns: list[Turn], conversation: Conversation) -> None:
    """Note what an entry holds that should hold an answer and says none, no error and nothing else to be told."""
    told = (turn for turn in turns if turn.kind in _TELLING and (turn.raw is not None or turn.stop is not None))
    if conversation.notes or any(told) or any(turn.role == "thinking" for turn in turns):
        return
    names_answers = any(_ANSWERING.search(key) and "token" not in key.lower() for key in map(str, entry))
    if not names_answers and entry.get("object") not in _BODY_OBJECTS:
        return
    conversation.notes.append(f"no answer is known in it ({_shape(entry, long_texts([entry]))})")


_SERVED = re.compile(
    r"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) \S+|(?:HTTP/[\d.]+ )?(?:[1-3]0|4[0-5]|5[01])\d(?: [\w /;=-]{0,60})?\Z"
)


def is_served(request: Any, response: Any) -> bool:
    """Whether this is a line about a page that a server gave: the first line of a request, or a status."""
    return any(isinstance(side, str) and _SERVED.match(side) for side in (request, response))


def is_again(turn: Turn, place: str, conversation: Conversation) -> bool:
    """Whether it was answered before, as an entry of another kind or another name in it says, too."""
    text, here = hash((turn.kind, turn.raw)), hash((turn.kind, turn.raw, place))
    is_known = text in conversation.answered and here not in conversation.answered
    if turn.kind == "response" and is_speech(turn.raw or "") and not is_known:
        conversation.answered |= {text, here}
    return is_known
