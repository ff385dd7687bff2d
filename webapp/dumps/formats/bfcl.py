"""BFCL's results: {"id", "result"} one a line: a text, calls {"function": arguments}, or lists of them by turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Path, Piece, text_or_json
from webapp.dumps.messages.turns import each_filled, spent, turns_of, with_once
from webapp.dumps.records import Turn
from webapp.dumps.values import id_text, whole

_ERROR = "Error during inference"
_KEYS = ("input_token_count", "output_token_count", "latency", "inference_log", "inference_input_log")
_DEEPEST = 10


class Bfcl(Format):
    name = "bfcl"
    shapes = 'BFCL\'s results {"id", "result", "input_token_count"} one a line'

    def sniff(self, head: DumpHead) -> int:
        have_ids = all("result" in item and item.keys() & {"id", "idx"} for item in head.objects)
        return 90 if head.objects and have_ids and any(map(_is_result, head.objects)) else 0

    def session_of(self, entry: dict[str, Any]) -> str | None:
        return None

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        turns = list(_answers(entry.get("result"), ("result",), conversation))
        counts = {"input": entry.get("input_token_count"), "output": entry.get("output_token_count")}
        single = {key: value for key, value in counts.items() if whole(value) is not None}
        name = id_text(entry.get("id")) or id_text(entry.get("idx"))
        return each_filled(with_once(turns, spent(single)), phase=name)


plugin = Bfcl()


def _is_result(value: dict[str, Any]) -> bool:
    has_id = "id" in value or "idx" in value
    return has_id and "result" in value and any(key in value for key in _KEYS)


def _answers(value: Any, at: Path, conversation: Conversation) -> Iterator[PlacedTurn]:
    """A text is an answer, an object holds calls, a list holds either, turn by turn."""
    if isinstance(value, str):
        if value.startswith(_ERROR):
            yield Turn(0, "error", raw=value, role="provider"), at
        else:
            yield from turns_of([Piece("text", value, at)], "assistant", conversation)
    elif isinstance(value, dict):
        for name, arguments in value.items():
            raw, path = text_or_json(arguments, (*at, name))
            call = {"name": name, "arguments": arguments}
            yield from turns_of([Piece("call", raw, path, name, None, call)], "assistant", conversation)
    elif isinstance(value, list) and len(at) < _DEEPEST:
        for index, inner in enumerate(value):
            yield from _answers(inner, (*at, index), conversation)
