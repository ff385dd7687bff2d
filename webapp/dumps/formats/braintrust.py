"""Traces whose spans hold requests and answers: Braintrust's logs and experiments, and Weave's calls."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, Sessions, Source
from webapp.dumps.messages.bodies import exchange, is_answer
from webapp.dumps.messages.langchain import plain_messages
from webapp.dumps.messages.pieces import as_json, text_or_json
from webapp.dumps.messages.requests import as_request
from webapp.dumps.messages.turns import each_filled, error_turns, event_turns, result_turns, text_turns, with_usage
from webapp.dumps.sessions import by_time, page_entries
from webapp.dumps.values import as_list, as_object, first_id, first_moment, first_text, text

_MODEL_SPANS = ("llm", "completion")
_PAGES = ("data", "events")


class Braintrust(Format):
    shapes = 'Braintrust\'s spans {"root_span_id", "span_attributes", "input", "output"} one a line, a list or {"data"}'
    id_key, id_name = "span_id", "span id"

    def sniff(self, head: DumpHead) -> int:
        paged = [item for key in _PAGES for item in head.items.get(key, []) if isinstance(item, dict)]
        spans = (paged if head.shape == "object" else []) or head.objects
        return 93 if spans and all({"span_attributes", "root_span_id"} <= span.keys() for span in spans) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        entries = page_entries(source, head, *_PAGES)
        yield from by_time(entries, lambda span: first_id(span, "root_span_id") or source.stem, _started)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        attributes = as_object(entry.get("span_attributes"))
        kind, name = text(attributes.get("type")), text(attributes.get("name"))
        turns: list[PlacedTurn] = []
        if kind in _MODEL_SPANS:
            turns = _call(entry, conversation)
        elif kind == "tool" and entry.get("output") is not None:
            turns = result_turns(entry["output"], ("output",), conversation, name)
        if entry.get("error"):
            raw, path = text_or_json(entry["error"], ("error",))
            turns = [*(placed for placed in turns if placed[0].raw is not None), *error_turns(raw, path=path)]
        turns = turns or event_turns(kind)
        when = first_moment(as_object(entry.get("metrics")), "start") or first_moment(entry, "created")
        parents = as_list(entry.get("span_parents"))
        return each_filled(turns, phase=name, sent_at=when, parent=text(parents[0]) if parents else None)


def _started(span: dict[str, Any]) -> Any:
    """When a span began, to sort by: pages of the API begin with the newest."""
    return as_object(span.get("metrics")).get("start") or span.get("created")


def _call(entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """What was asked anew, then the answer: a list of choices, a body, a message, or a text."""
    question, output = entry.get("input"), entry.get("output")
    metadata, counts = as_object(entry.get("metadata")), as_object(entry.get("metrics"))
    conversation.model = first_text(metadata, "model") or conversation.model
    request = as_request(plain_messages(question))
    path: tuple[str, ...] = ("output",)
    if isinstance(output, list) and any("message" in as_object(choice) for choice in output):
        output, path = {"choices": output}, ()
    elif isinstance(output, list) and output and all(isinstance(item, list) for item in output):  # LangChain's
        output, path = {"generations": output}, ()
    elif isinstance(output, list) and any("type" in as_object(item) for item in output):
        output, path = {"output": output}, ()
    turns = exchange(request, output, ("input",), path, conversation)
    turns = [(turn, None if not place or place[0] in ("choices", "generations") else place) for turn, place in turns]
    if output is not None and not any(turn.written_by_model for turn, _ in turns):
        answered = output if isinstance(output, str) else as_json(entry["output"])
        turns += text_turns(answered, path or None, "assistant", conversation)
    return with_usage(turns, counts)


_OPERATION = re.compile(r"weave:///[^/]+/[^/]+/op/([^:]+)")
_ASKING = ("messages", "contents", "prompt", "input", "chat_history")


class Weave(Format):
    called = "weave"
    shapes = 'Weave\'s calls {"op_name", "trace_id", "inputs", "output"} one a line or a list'
    times = ("started_at",)
    id_key = "id"

    def sniff(self, head: DumpHead) -> int:
        return 93 if head.all_have("op_name", "trace_id", "inputs") else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return first_id(entry, "thread_id", "trace_id")

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        inputs, output = as_object(entry.get("inputs")), entry.get("output")
        match = _OPERATION.match(str(entry.get("op_name")))
        name = match[1] if match else text(entry.get("op_name"))
        turns: list[PlacedTurn] = []
        if is_answer(output) or ("model" in inputs and any(map(inputs.get, _ASKING))):
            turns = exchange(inputs, output, ("inputs",), ("output",), conversation)
            answered = any(turn.written_by_model for turn, _ in turns)
            if not answered and not entry.get("exception") and not conversation.notes:
                conversation.notes.append("a model was asked, and its output says nothing that is known")
        if reason := text(entry.get("exception")):
            turns += error_turns(reason, path=("exception",))
        if not turns:  # what an operation of the program took and gave, which its calls of a model say, too
            turns = event_turns(name)
        return each_filled(turns, phase=name, parent=text(entry.get("parent_id")))


plugins = (Braintrust(), Weave())
