"""AI Studio's saved prompts: {"chunkedPrompt": {"chunks": [{"role", "text"}]}}, one conversation a file."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.entries import nested
from webapp.dumps.messages.pieces import Piece, block, content
from webapp.dumps.messages.turns import each_filled, error_turns, turns_of
from webapp.dumps.records import Problem
from webapp.dumps.sessions import entries_of
from webapp.dumps.values import as_list, as_object, first_text, id_text, text, whole

_RAN = ("executableCode", "codeExecutionResult")
"""code that the model wrote, and what came of it, beside the text of a chunk"""


class AiStudio(Format):
    shapes = 'AI Studio\'s prompts {"chunkedPrompt": {"chunks": […]}}'
    times = ("createTime",)

    def sniff(self, head: DumpHead) -> int:
        fitting = [isinstance(as_object(item.get("chunkedPrompt")).get("chunks"), list) for item in head.objects]
        return 95 if fitting and all(fitting) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        for number, entry in enumerate(entries_of(source, head), start=1):
            if isinstance(entry, Problem):
                yield entry
                continue
            at, value = entry
            chunks = list(as_list(as_object(value.pop("chunkedPrompt", None)).get("chunks")))
            system = value.get("systemInstruction")
            if written := text(system) or first_text(system, "text"):
                chunks.insert(0, {"role": "system", "text": written})
            name = id_text(value.get("id")) or (source.stem if head.shape == "object" else f"{source.stem}-{number}")
            yield SessionEntries(name, nested(at, "chunks", chunks), first_text(value, "displayName"), extra=value)

    def conversation(self, context: Any) -> Conversation:
        return Conversation(first_text(context.get("runSettings"), "model"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        role = {"model": "assistant"}.get(str(entry.get("role")), text(entry.get("role")))
        raw = text(entry.get("text"))
        piece = Piece("thinking" if entry.get("isThought") is True else "text", raw, ("text",))
        parts = [piece] if raw else content(entry.get("parts"), ("parts",))
        parts += [ran for key in _RAN if key in entry for ran in block({key: entry[key]}, ())]
        turns = turns_of(parts, role, conversation)
        if failure := text(entry.get("errorMessage")):
            error = error_turns(failure, text(entry.get("finishReason")), ("errorMessage",))
            turns = [*(turns if parts else ()), *error]
        return each_filled(turns, tokens_out=whole(entry.get("tokenCount")) if role == "assistant" else None)


plugin = AiStudio()
