"""Weave's calls, which hold requests and answers."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.bodies import exchange, is_answer
from webapp.dumps.messages.turns import each_filled, error_turns, event_turns
from webapp.dumps.values import as_object, first_id, text

_OPERATION = re.compile(r"weave:///[^/]+/[^/]+/op/([^:]+)")
_ASKING = ("messages", "contents", "prompt", "input", "chat_history")


class Weave(Format):
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


plugin = Weave()
