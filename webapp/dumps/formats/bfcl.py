"""Results of BFCL, whose answers are texts, or calls by their names, turn by turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Path, Piece
from webapp.dumps.messages.turns import (
    each_filled,
    error_turns,
    event_turns,
    text_turns,
    turns_of,
    with_usage,
)
from webapp.dumps.values import id_text, whole

_ERROR = "Error during inference"
_KEYS = {"input_token_count", "output_token_count", "latency", "inference_log", "inference_input_log"}
_SCORED = "model_result_raw"
"""what a score file calls the result of an item that was judged wrong"""
_DEEPEST = 10


class Bfcl(Format):
    shapes = 'BFCL\'s results {"id", "result", "input_token_count"} one a line'
    session_field = None

    def sniff(self, head: DumpHead) -> int:
        results = [item for item in head.objects if "accuracy" not in item]  # the first line of a score file
        if results and all(_SCORED in item for item in results):
            return 90
        have_ids = all("result" in item and item.keys() & {"id", "idx"} for item in head.objects)
        return 90 if have_ids and any(not _KEYS.isdisjoint(item) for item in head.objects) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        key = _SCORED if _SCORED in entry else "result"
        if (key in entry and entry[key] is None) or _holds_null(entry.get(key)):
            conversation.notes.append(f"null is under {key!r} where a model's answer should")
        turns = list(_answers(entry.get(key), (key,), conversation)) or event_turns()
        counts = {"input": entry.get("input_token_count"), "output": entry.get("output_token_count")}
        single = {name: total for name, value in counts.items() if (total := _total(value)) is not None}
        name = id_text(entry.get("id")) or id_text(entry.get("idx"))
        return each_filled(with_usage(turns, single), phase=name)


def _holds_null(value: Any) -> bool:
    """Whether a list, or one within it, has null for an answer."""
    return isinstance(value, list) and any(inner is None or _holds_null(inner) for inner in value)


def _total(value: Any) -> int | None:
    """A count, or the sum of those of several turns and steps."""
    if not isinstance(value, list):
        return whole(value)
    counts = [count for inner in value if (count := _total(inner)) is not None]
    return sum(counts) if counts else None


def _answers(value: Any, at: Path, conversation: Conversation) -> Iterator[PlacedTurn]:
    """A text is an answer, an object holds calls, a list holds either, turn by turn."""
    if isinstance(value, str):
        failed = value.startswith(_ERROR)
        yield from error_turns(value, "provider", at) if failed else text_turns(value, at, "assistant", conversation)
    elif isinstance(value, dict):
        if not value:
            conversation.notes.append("an empty object where a call should be")
        for name, arguments in value.items():
            call = {"name": name, "arguments": arguments}
            piece = Piece.of_call(arguments, (*at, name), name, None, call)
            yield from turns_of([piece], "assistant", conversation)
    elif isinstance(value, list) and len(at) < _DEEPEST:
        for index, inner in enumerate(value):
            yield from _answers(inner, (*at, index), conversation)


plugin = Bfcl()
