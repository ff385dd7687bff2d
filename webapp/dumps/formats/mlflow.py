"""MLflow's traces: {"info", "data": {"spans"}} or {"spans"}, whose attributes are JSON texts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import nested
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.langchain import generations_body
from webapp.dumps.messages.pieces import speaks, text_or_json
from webapp.dumps.messages.repetition import noted_answers
from webapp.dumps.messages.turn_values import each_filled, each_with, unplaced, with_usage
from webapp.dumps.messages.turns import error_turns, event_turns, note_unknown_kind, result_turns, text_turns
from webapp.dumps.records import Problem
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.spans.attributes import id_hex
from webapp.dumps.values import as_list, as_object, first_id, moment, text

_MODELS = ("CHAT_MODEL", "LLM")
_TYPES = (
    *("CHAIN", "AGENT", "TOOL", "RETRIEVER", "PARSER", "EMBEDDING", "RERANKER", "MEMORY", "UNKNOWN", "WORKFLOW"),
    *("TASK", "GUARDRAIL", "EVALUATOR"),
)
"""the other types that MLflow has, whose outputs are no answers of a model"""
_TYPE, _OUTPUTS = "mlflow.spanType", "mlflow.spanOutputs"
_SESSION = "mlflow.trace.session"


class MlFlow(Format):
    shapes = 'MLflow\'s traces {"info", "data": {"spans": […]}}'

    def sniff(self, head: DumpHead) -> int:
        return 94 if head.objects and all(map(_is_trace, head.objects)) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield from each_session(entries_of(source, head), source.stem, _session)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        turns = _span(entry, conversation)
        status = as_object(entry.get("status"))
        code = status.get("code", entry.get("status_code"))
        is_failed = "ERROR" in str(code)
        _note_unread(entry, is_failed, conversation)
        if is_failed:
            message = text(status.get("message")) or text(entry.get("status_message"))
            turns = [placed for placed in turns if placed[0].raw is not None]
            turns += error_turns(message, path=("status", "message"))
        parent = id_hex(entry.get("parent_span_id", entry.get("parent_id")), 8)
        return each_with(each_filled(turns, phase=text(entry.get("name")), parent=parent), sent_at=_started(entry))


plugin = MlFlow()


def _is_trace(value: dict[str, Any]) -> bool:
    spans = as_object(value.get("data")).get("spans", value.get("spans"))
    first = next((span for span in as_list(spans) if isinstance(span, dict)), {})
    return any(str(key).startswith("mlflow.") for key in as_object(first.get("attributes")))


def _session(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries | Problem:
    holder = value["data"] if isinstance(value.get("data"), dict) else value
    spans = holder.pop("spans", None)
    if not isinstance(spans, list):
        return Problem(at, "no list of spans; skipped")
    info = as_object(value.get("info"))
    metadata = as_object(info.get("trace_metadata", info.get("request_metadata")))
    name = first_id(metadata, _SESSION) or first_id(info, "trace_id", "request_id") or fallback
    spans.sort(key=lambda span: when.timestamp() if (when := _started(span)) else 0.0)
    return SessionEntries(name, nested(at, "spans", spans), extra=value)


def _started(span: Any) -> datetime | None:
    return moment(as_object(span).get("start_time_unix_nano", as_object(span).get("start_time")))


def _span(span: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    attributes = as_object(span.get("attributes"))
    kind, inputs, answered = (_attribute(attributes, f"mlflow.span{name}") for name in ("Type", "Inputs", "Outputs"))
    if kind in _MODELS:
        request = inputs if isinstance(inputs, dict) else {"input": inputs}
        body = generations_body(answered) if isinstance(answered, dict) else None
        turns = exchange(request, body, (), (), conversation)
        if not isinstance(answered, dict) and answered is not None:
            answers = text_turns(text_or_json(answered, ())[0] or "", None, "assistant", conversation)
            turns += noted_answers(answers, conversation)
        return with_usage(unplaced(turns), _attribute(attributes, "mlflow.chat.tokenUsage"))
    if kind == "TOOL" and answered is not None:
        return result_turns(answered, (), conversation, text(span.get("name")))
    return event_turns(text(kind))


def _note_unread(span: dict[str, Any], is_failed: bool, conversation: Conversation) -> None:
    """Note a span of no known type that gave something, and one of a model that gave nothing."""
    attributes = as_object(span.get("attributes"))
    kind, answered = _attribute(attributes, _TYPE), _attribute(attributes, _OUTPUTS)
    if kind in _MODELS and answered is None and not is_failed:
        keys = ", ".join(repr(str(key)[:40]) for key in attributes)
        conversation.notes.append(f"the span of a model has no {_OUTPUTS!r} (its attributes: {keys})")
    elif not isinstance(kind, str) and (answered is not None or speaks(span.get("attributes", span))):
        conversation.notes.append(f"a span without a known {_TYPE!r}; what it says is kept as an event")
    elif isinstance(kind, str) and kind not in (*_MODELS, *_TYPES) and answered is not None:
        note_unknown_kind(kind, conversation)


def _attribute(attributes: dict[str, Any], key: str) -> Any:
    """What an attribute says, which is written as JSON text."""
    value = attributes.get(key)
    if not isinstance(value, str):
        return value
    parsed = json_or_none(value)
    return value if parsed is None and value.strip() != "null" else parsed
