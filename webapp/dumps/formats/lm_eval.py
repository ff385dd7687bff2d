"""lm-evaluation-harness' samples (samples_*.jsonl): {"doc_id", "arguments", "resps"}, once for each filter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn
from webapp.dumps.messages.pieces import Path
from webapp.dumps.messages.turns import each_with, event_turns, text_turns
from webapp.dumps.values import as_list, as_object, id_text, text


@dataclass(slots=True)
class _Samples(Conversation):
    first: dict[tuple[str | None, int], int] = field(default_factory=dict)
    """the entry in which a document's answers came first; each filter repeats them"""


class LmEval(Format):
    shapes = 'lm-eval\'s samples {"doc_id", "arguments", "resps", "filter"} one a line'
    session_field = None
    conversation_type = _Samples

    def sniff(self, head: DumpHead) -> int:
        return 94 if head.all_have("doc_id", "resps", "arguments") else 0

    def read_entry(self, entry: dict[str, Any], conversation: _Samples) -> list[PlacedTurn]:
        turns = _prompt(entry, conversation)
        for outer, listed in enumerate(as_list(entry.get("resps"))):
            for index, raw in enumerate(listed if isinstance(listed, list) else [listed]):
                if isinstance(raw, str):
                    path: Path = ("resps", outer, index) if isinstance(listed, list) else ("resps", outer)
                    turns += text_turns(raw, path, "assistant", conversation)
        if not any(turn.kind == "response" for turn, _ in turns):  # likelihoods of given answers
            if not any(isinstance(number, float | int) for number in _flat(entry.get("resps"))):
                conversation.notes.append("neither an answer nor a likelihood under 'resps'")
            return [*turns, *event_turns("likelihood")]
        key = (id_text(entry.get("doc_id")), hash(tuple(turn.raw for turn, _ in turns)))
        first = conversation.first.setdefault(key, conversation.entry)
        return turns if first == conversation.entry else each_with(turns, duplicate_of=first)


plugin = LmEval()


def _flat(value: Any) -> Iterator[Any]:
    """What lists within lists hold."""
    for inner in as_list(value):
        yield from _flat(inner) if isinstance(inner, list) else (inner,)


def _prompt(entry: dict[str, Any], conversation: _Samples) -> list[PlacedTurn]:
    arguments = as_object(as_object(entry.get("arguments")).get("gen_args_0"))
    if raw := text(arguments.get("arg_0")):
        return text_turns(raw, ("arguments", "gen_args_0", "arg_0"), "user", conversation)
    listed = as_list(next(iter(as_list(entry.get("arguments"))), None))
    prompts = [raw for raw in listed[:1] if isinstance(raw, str)]
    return [placed for raw in prompts for placed in text_turns(raw, ("arguments", 0, 0), "user", conversation)]
