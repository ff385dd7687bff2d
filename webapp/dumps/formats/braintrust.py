"""Braintrust's logs and experiments: spans, of which those of type llm hold what models were asked and answered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Source
from webapp.dumps.documents import with_list
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.messages.pieces import Piece, as_json, text_or_json
from webapp.dumps.messages.turns import each_filled, spent, text_turns, turns_of, with_once
from webapp.dumps.records import Problem, Turn
from webapp.dumps.sessions import entries_of
from webapp.dumps.spilled_entries import by_time
from webapp.dumps.times import first_moment
from webapp.dumps.values import as_list, as_object, first_id, first_text, text

_MODEL_SPANS = ("llm", "completion")


class Braintrust(Format):
    name = "braintrust"
    shapes = 'Braintrust\'s spans {"root_span_id", "span_attributes", "input", "output"} one a line, a list or {"data"}'
    id_key, id_name = "span_id", "span id"

    def sniff(self, head: DumpHead) -> int:
        spans = _listed(head) or head.objects
        return 93 if spans and all({"span_attributes", "root_span_id"} <= span.keys() for span in spans) else 0

    def sessions(self, source: Source, head: DumpHead) -> Iterator[SessionEntries | Problem]:
        entries = with_list(source, head, "data", needed="data")[1] if _listed(head) else entries_of(source, head)
        yield from by_time(entries, lambda span: first_id(span, "root_span_id") or source.stem, _start)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        attributes = as_object(entry.get("span_attributes"))
        kind, name = text(attributes.get("type")), text(attributes.get("name"))
        turns: list[PlacedTurn] = []
        if kind in _MODEL_SPANS:
            turns = _call(entry, conversation)
        elif kind == "tool" and entry.get("output") is not None:
            raw, path = text_or_json(entry["output"], ("output",))
            turns = turns_of([Piece("result", raw, path, name)], "tool", conversation)
        if entry.get("error"):
            raw, path = text_or_json(entry["error"], ("error",))
            turns = [*(placed for placed in turns if placed[0].raw is not None), (Turn(0, "error", raw=raw), path)]
        turns = turns or [(Turn(0, "event", role=kind), None)]
        when = first_moment(as_object(entry.get("metrics")), "start") or first_moment(entry, "created")
        parents = as_list(entry.get("span_parents"))
        return each_filled(turns, phase=name, sent_at=when, parent=text(parents[0]) if parents else None)


plugin = Braintrust()


def _listed(head: DumpHead) -> list[dict[str, Any]]:
    """The spans of a page of the API."""
    return [item for item in head.items.get("data", []) if isinstance(item, dict)] if head.shape == "object" else []


def _start(span: dict[str, Any]) -> Any:
    """When a span began, to sort by: pages of the API begin with the newest."""
    return as_object(span.get("metrics")).get("start") or span.get("created")


def _call(entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """What was asked anew, then the answer: a list of choices, a body, a message, or a text."""
    question, output = entry.get("input"), entry.get("output")
    metadata, counts = as_object(entry.get("metadata")), as_object(entry.get("metrics"))
    conversation.model = first_text(metadata, "model") or conversation.model
    request = (
        question if isinstance(question, dict) else {"messages" if isinstance(question, list) else "input": question}
    )
    path: tuple[str, ...] = ("output",)
    if isinstance(output, list) and any("message" in as_object(choice) for choice in output):
        output, path = {"choices": output}, ()
    elif isinstance(output, list) and any("type" in as_object(item) for item in output):
        output, path = {"output": output}, ()
    turns = exchange(request, output, ("input",), path, conversation)
    turns = [(turn, None if not place or place[0] == "choices" else place) for turn, place in turns]
    if output is not None and not any(turn.written_by_model for turn, _ in turns):
        answered = output if isinstance(output, str) else as_json(entry["output"])
        turns += text_turns(answered, path or None, "assistant", conversation)
    return with_once(turns, spent(counts))
