"""Alpaca data sets: {"instruction", "input", "output"}, one an item or a line; each is a session."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.messages.pieces import Path
from webapp.dumps.messages.turns import each_with, text_turns
from webapp.dumps.sessions import each_session, entries_of
from webapp.dumps.values import as_list, first_id, text

_ANSWERS = {"output": None, "response": None, "chosen": 1, "rejected": 2}
"""where answers stand, with the branch of those of which one was preferred"""


class Alpaca(Format):
    shapes = 'Alpaca data sets [{"instruction", "input", "output"}]'

    def sniff(self, head: DumpHead) -> int:
        fitting = sum(isinstance(item.get("instruction"), str) and _is_answered(item) for item in head.objects)
        return 90 if fitting and 2 * fitting >= len(head.objects) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield from each_session(entries_of(source, head), source.stem, _session)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        turns: list[PlacedTurn] = []

        def add(raw: Any, at: Path | None, role: str, branch: int | None = None) -> None:
            if isinstance(raw, str) and (raw or role == "assistant"):
                turns.extend(each_with(text_turns(raw, at, role, conversation), sounding=branch))

        add(entry.get("system"), ("system",), "system")
        for index, pair in enumerate(as_list(entry.get("history"))):
            for place, role in enumerate(("user", "assistant")):
                if isinstance(pair, list) and place < len(pair):
                    add(pair[place], ("history", index, place), role)
        if entry.get("history") is not None and not isinstance(entry["history"], list):
            conversation.notes.append("a history that is no list; it was left out")
        for key in _ANSWERS:
            if entry.get(key) and not isinstance(entry[key], str) and not _are_texts(entry[key]):
                conversation.notes.append(f"what stands under {key!r} is neither a text nor texts; it was left out")
        instruction, more = text(entry.get("instruction")), text(entry.get("input"))
        both = instruction is not None and more is not None
        prompt = f"{instruction}\n{more}" if both else instruction or more
        add(prompt, None if both else ("instruction",) if instruction else ("input",), "user")
        if not _is_answered(entry):
            conversation.notes.append(f"no answer under any of {', '.join(_ANSWERS)}")
        if ("chosen" in entry) != ("rejected" in entry):
            conversation.notes.append("of 'chosen' and 'rejected' one is missing")
        for key, branch in _ANSWERS.items():
            add(entry.get(key), (key,), "assistant", branch)
            for index, raw in enumerate(as_list(entry.get(key))):  # answers of which the first was preferred
                add(raw, (key, index), "assistant", index)
        return turns


plugin = Alpaca()


def _session(fallback: str, at: str, value: dict[str, Any]) -> SessionEntries:
    return SessionEntries(first_id(value, "id") or fallback, [(at, value)])


def _is_answered(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(key), str) or _are_texts(value.get(key)) for key in _ANSWERS)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
