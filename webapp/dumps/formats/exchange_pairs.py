"""What was sent and what came back, under whatever names: {"req", "resp"}, {"in", "out"}, {"call", "result"}."""

from __future__ import annotations

from typing import Any, NamedTuple

from webapp.dumps.base import BadEntry, Conversation, DumpHead, Format
from webapp.dumps.decoding import json_or_none
from webapp.dumps.formats.openai import failure_turns
from webapp.dumps.messages.bodies import is_answer, unanswered
from webapp.dumps.messages.http import HttpExchange, http_turns, is_body, parsed_body
from webapp.dumps.messages.langchain import is_message
from webapp.dumps.messages.named_texts import KEYED, is_served
from webapp.dumps.messages.turns import each_filled, filled, spent, with_once
from webapp.dumps.records import Turn
from webapp.dumps.values import are_messages, as_list, as_object, first_moment, first_text

_REQUESTS = (
    *("request", "req", "request_body", "requestBody", "request_json", "llm_request", "llm_input", "sent", "call"),
    *("messages", "payload", "params", "kwargs", "body", "input", "inputs", "in", "query", "question", "prompt"),
    "modelInput",
)
_RESPONSES = (
    *("response", "resp", "res", "response_body", "responseBody", "response_json", "llm_response", "llm_output"),
    *("received", "reply", "result", "return", "completion", "output", "outputs", "out", "answer"),
    *("original_response", "generated_text", "predict", "prediction", "model_output", "modelOutput"),
    *("responses", "completions", "generations", "samples", "content"),
)
_USUAL = ("response", "output", "completion", "result", "body", "answer")
_BODY_KEYS = {
    *("choices", "candidates", "message", "output", "done", "content", "generations"),
    *("results", "outputs", "generation", "completion"),
}
_TIMES = ("timestamp", "ts", "time", "created_at", "created", "started_at", "start_time")


class Sides(NamedTuple):
    """Where in an entry the request and the response stand; `within` leads to what holds both."""

    within: tuple[str, ...]
    request: str
    response: str


class ExchangePairs(Format):
    shapes = 'a request and its response under any names {"req", "resp"} (or "in", "out"; "call", "result"), one a line'
    surest = 73
    by_key = True

    def sniff(self, head: DumpHead) -> int:
        if head.shape not in ("lines", "array", "object", "parquet"):
            return 0
        best = max(map(_score, head.objects), default=0)
        fitting = sum(_sides(value) is not None for value in head.objects)  # a call that failed has no response
        return best if 2 * fitting >= len(head.objects) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        sides = _sides(entry)
        if sides is None:
            raise BadEntry("no request with its response is here")
        holder = entry[sides.within[0]] if sides.within else entry
        request, response = holder[sides.request], holder.get(sides.response)
        http = HttpExchange("", _as_body(request), response, plain=isinstance(response, str))
        turns = http_turns(http, conversation)
        if not any(turn.written_by_model for turn in turns):
            turns = [placed for placed in turns if placed.raw is not None or placed.kind == "prompt"]
            if failures := failure_turns(holder, sides.response, conversation):
                conversation.notes.clear()
            turns += failures
            unanswered(holder, turns, conversation)
        turns = with_once(turns, {} if isinstance(response, dict) else spent(holder.get("usage") or holder))
        when = first_moment(holder, *_TIMES) or first_moment(entry, *_TIMES)
        turns = each_filled(turns, sent_at=when)
        model = first_text(holder, "model", "model_name") or first_text(entry, "model", "model_name")
        return [filled(turn, model=model) if turn.written_by_model else turn for turn in turns]


plugin = ExchangePairs()


def _sides(value: dict[str, Any]) -> Sides | None:
    """The request and the response of an entry, or of the object that it wraps them in."""
    wrapped = [((key,), inner) for key, inner in value.items() if isinstance(inner, dict)]
    for within, holder in [((), value), *wrapped]:
        request = next((key for key in _REQUESTS if holder.get(key)), None)
        response = next((key for key in _RESPONSES if key in holder and key != request), None)
        response = response or ("message" if isinstance(holder.get("message"), dict) else None)
        if request is not None and (response is not None or holder.get("error")):
            return Sides(within, request, response or _RESPONSES[0])
    return None


def _score(value: dict[str, Any]) -> int:
    """What openai.py reads as it stands is left to it: it knows fewer names, and more of them."""
    sides = _sides(value)
    if sides is None or "role" in value or (value.keys() & KEYED and sides.response in ("answer", "result", "output")):
        return 0
    holder = value[sides.within[0]] if sides.within else value
    request, response = holder[sides.request], holder.get(sides.response)
    if _is_strong(response):
        return 45 if _is_usual(sides, request) else 73
    has_prompt = isinstance(request, str) or are_messages(request) or are_messages(as_object(request).get("messages"))
    if is_served(request, response):
        return 0
    if isinstance(response, str) and response and has_prompt and not sides.within:
        return 61 if are_messages(request) and sides.response != "response" else 38
    if _are_texts(response) and has_prompt and not sides.within:
        return 61
    return 0


def _is_usual(sides: Sides, request: Any) -> bool:
    if sides.within or sides.response not in _USUAL:
        return False
    is_object = isinstance(json_or_none(request) if isinstance(request, str) else request, dict)
    return sides.request == "request" or (sides.request in ("messages", "input", "prompt") and not is_object)


def _is_strong(response: Any) -> bool:
    """Whether this is what a provider answered, as it came, as text, or in a stream's pieces."""
    messages = [as_object(item).get("message") for item in as_list(response)]
    if is_body(response) or is_message(response) or are_messages(messages):
        return True
    body = parsed_body(response) if isinstance(response, dict | list) else None
    return isinstance(body, dict) and bool(body.keys() & _BODY_KEYS) and is_answer(body)


def _are_texts(value: Any) -> bool:
    """Several answers to one request, as samplers keep them."""
    return bool(as_list(value)) and all(isinstance(item, str) and item for item in value)


def _as_body(request: Any) -> Any:
    """A request as a body: a text that is no JSON is the prompt, a list are the messages."""
    if isinstance(request, list):
        return {"messages": request}
    return {"prompt": request} if isinstance(request, str) and parsed_body(request) is None else request
