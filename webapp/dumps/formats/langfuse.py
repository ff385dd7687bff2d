"""Langfuse exports {trace, observations[]}: observations by start time, generations are responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entry, Format, PlacedTurn, Sessions, Source
from webapp.dumps.decoding import json_or_none, kind_of
from webapp.dumps.documents import nested, with_list
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.langchain import is_message, unwrapped
from webapp.dumps.messages.pieces import Piece, as_json, text_or_json
from webapp.dumps.messages.repetition import noted_answers
from webapp.dumps.messages.requests import as_request
from webapp.dumps.messages.turn_values import each_with, spent, unplaced, with_once
from webapp.dumps.messages.turns import event_turns, note_unknown_kind, result_turns, text_turns, turns_of
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import by_time, entries_of, page_entries
from webapp.dumps.values import as_list, as_object, first_id, moment, text

_BESIDE_ANSWERS = ("finish_reason", "finishReason", "usage_metadata", "usageMetadata", "stop_reason", "usage")
"""what a provider's body says beside its answer"""
_ITEMS = ("function_call", "reasoning", "custom_tool_call", "mcp_call")
"""types of the Responses API's items that are no messages"""
_TYPES = ("SPAN", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")
"""of observations in which no model answers"""
_UNDERSCORED = {
    "trace_id": "traceId",
    "session_id": "sessionId",
    "parent_observation_id": "parentObservationId",
    "start_time": "startTime",
    "status_message": "statusMessage",
    "provided_model_name": "model",
    "usage_details": "usageDetails",
    "cost_details": "costDetails",
    "total_cost": "totalCost",
}
_FIELDS = ("startTime", "traceId", "parentObservationId")


class Langfuse(Format):
    shapes = 'Langfuse exports {"trace", "observations": […]}'
    id_key, id_name = "id", "observation id"

    def sniff(self, head: DumpHead) -> int:
        if head.shape == "object":
            if head.first_of("data") and all(map(_is_observation, filter(None, map(as_object, head.items["data"])))):
                return 90
            if "trace" in head.keys and "observations" in head.items:
                return 95
            if head.first_of("observations").keys() & set(_FIELDS):
                return 90
            return 80 if "observations" not in head.keys and _is_observation(head.document) else 0
        whole = all("observations" in sample and "trace" in sample for sample in head.objects)
        return 95 if head.objects and (whole or all(map(_is_observation, head.objects))) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if head.shape == "object" and "observations" in head.keys:
            extra, entries = with_list(source, head, "observations", needed="trace")
            name = _session(as_object(extra.get("trace")), {}, source.stem)
            yield from _by_time(entries, lambda _: name, extra)
        elif head.any_has("observations"):
            for number, entry in enumerate(entries_of(source, head), start=1):
                yield from [entry] if isinstance(entry, Problem) else _export(f"{source.stem}-{number}", *entry)
        else:
            yield from _by_time(page_entries(source, head, "data"), lambda value: _session({}, value, source.stem), {})

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        entry = _renamed(entry)
        when, parent = moment(entry.get("startTime")), text(entry.get("parentObservationId"))
        return each_with(_observation(entry, conversation), sent_at=when, parent=parent)


plugin = Langfuse()


def _is_observation(value: dict[str, Any]) -> bool:
    renamed = _renamed(value)
    return "traceId" in renamed and "startTime" in renamed and isinstance(value.get("type"), str)


def _renamed(value: dict[str, Any]) -> dict[str, Any]:
    """An observation by the names of the API; exports to a bucket write `trace_id` and `start_time`."""
    if "trace_id" not in value or "start_time" not in value:
        return value
    return {_UNDERSCORED.get(key, key): inner for key, inner in value.items()}


def _export(stem: str, at: str, value: dict[str, Any]) -> Sessions:
    """One export of several in a file."""
    observations = value.pop("observations", None)
    name = _session(as_object(value.get("trace")), {}, stem)
    yield from _by_time(nested(at, "observations", as_list(observations)), lambda _: name, value)
    if not isinstance(observations, list):
        yield Problem(at, f"observations: expected a list, found {kind_of(observations)}; skipped")


def _session(trace: dict[str, Any], value: dict[str, Any], stem: str) -> str:
    return first_id(trace, "sessionId", "id") or first_id(value, "sessionId", "traceId") or stem


def _by_time(
    entries: Iterable[Entry | Problem], session_of: Callable[[dict[str, Any]], str], extra: dict[str, Any]
) -> Sessions:
    title = text(as_object(extra.get("trace")).get("name"))
    return by_time(
        entries, lambda value: session_of(_renamed(value)), lambda value: _renamed(value).get("startTime"), title, extra
    )


def _observation(value: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    if value.get("type") == "GENERATION":
        return _failed(_generation(value, conversation), value)
    if value.get("type") == "TOOL" and value.get("output") is not None:
        return result_turns(value["output"], ("output",), conversation, text(value.get("name")))
    if value.get("level") == "ERROR":
        return [_error(value)]
    if value.get("type") not in _TYPES:
        note_unknown_kind(value.get("type"), conversation)
    return event_turns(text(value.get("type")), phase=text(value.get("name")))


def _failed(turns: list[PlacedTurn], value: dict[str, Any]) -> list[PlacedTurn]:
    """A generation that failed ends with its error; where nothing was answered, there is no response."""
    if value.get("level") != "ERROR":
        return turns
    answered = [placed for placed in turns if placed[0].kind != "response" or placed[0].raw is not None]
    return [*answered, *each_with([_error(value)], phase=text(value.get("name")))]


def _error(value: dict[str, Any]) -> PlacedTurn:
    message = text(value.get("statusMessage"))
    return Turn(0, "error", raw=message), None if message is None else ("statusMessage",)


def _generation(value: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """What was asked anew, then what the model answered: a text, JSON text, a list or an object."""
    model, question = text(value.get("model")), _parsed(value.get("input"))
    request = _with_tools(as_request(question))
    conversation.model = model
    prompts = unplaced(exchange(request, None, (), (), conversation))
    if not prompts and question is not None and not isinstance(question, str):
        prompts = text_turns(as_json(question), None, "user", conversation)
    conversation.model = model or conversation.model  # else the one that the request names
    return [*prompts, *noted_answers(_answers(value, conversation), conversation)]


def _with_tools(request: Any) -> Any:
    """A request of LangChain's handler, which writes each tool behind the messages, as one of the role `tool`."""
    messages = as_list(as_object(request).get("messages"))
    tools = (one for one in messages if as_object(one).get("role") == "tool")
    behind = [one for one in tools if _declares(as_object(one.get("content")))]
    said = [one for one in messages if one not in behind]
    return {**request, "messages": said, "tools": [one["content"] for one in behind]} if behind else request


def _declares(content: dict[str, Any]) -> bool:
    return content.get("type") == "function" or {"name", "input_schema"} <= content.keys()


def _answers(value: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    raw, answered = value.get("output"), _parsed(value.get("output"))
    if isinstance(answered, dict) and is_message(answered) and "role" not in answered:
        answered, raw = {"choices": [{"message": unwrapped(answered)[0]}]}, None
    if isinstance(answered, list) and any(as_object(item).get("type") in _ITEMS for item in answered):
        answered = {"output": answered}
    elif isinstance(answered, list):
        answered = {"choices": [{"message": message} for message in answered]}
    calls = _calls(raw)
    turns = turns_of(calls, "assistant", conversation) if calls else []
    if isinstance(answered, dict):
        turns = exchange(None, answered, (), ("output",), conversation)
        turns = turns if isinstance(raw, dict) else unplaced(turns)
    if not any(turn.raw for turn, _ in turns):
        raw_text, path = text_or_json(raw, ("output",))
        if _is_body(answered) or (isinstance(answered, dict) and answered.keys() & set(_BESIDE_ANSWERS)):
            keys = ", ".join(repr(str(key)[:40]) for key in list(answered)[:12])
            conversation.notes.append(f"no answer is known in the output (its keys: {keys}); it is kept whole, as JSON")
        turns = turns_of([] if raw_text is None else [Piece("text", raw_text, path)], "assistant", conversation)
    usage = {**spent(value.get("usageDetails") or value.get("usage")), **_cost(value)}
    return each_with(with_once(turns, usage), phase=text(value.get("name")))


def _calls(raw: Any) -> list[Piece]:
    """The calls of Vercel's SDK, which writes a list of them, as JSON text, where the model said nothing else."""
    listed = json_or_none(raw) if isinstance(raw, str) and raw[:1] == "[" else raw
    if not isinstance(listed, list) or not listed or not all(map(_is_call, listed)):
        return []
    return [
        Piece.of_call(call.get("input", call.get("args")), (), call["toolName"], text(call.get("toolCallId")), call)
        for call in listed
    ]


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("toolName"), str) and bool({"input", "args"} & value.keys())


def _parsed(value: Any) -> Any:
    """What a JSON text of a request or an answer says; other texts stay as they are."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    body = json_or_none(value)
    return body if _is_body(body) else value


def _is_body(value: Any) -> bool:
    """Whether this is a provider's body, and not what a model wrote as JSON."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) and "role" in item for item in value)
    if not isinstance(value, dict):
        return False
    if value.get("object") == "response" or "role" in as_object(value.get("message")):
        return True
    return bool(value.keys() & {"role", "choices", "candidates", "messages", "contents"})


def _cost(value: dict[str, Any]) -> dict[str, Any]:
    costs = (as_object(value.get("costDetails")).get("total"), value.get("totalCost"), value.get("calculatedTotalCost"))
    return spent(None, next((cost for cost in costs if cost is not None), None))
