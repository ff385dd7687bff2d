"""Gemini's chats as Google Takeout gives them, "My Activity": each prompt with its answer, whose text is HTML."""

from __future__ import annotations

from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, PlacedTurn, Sessions, Source
from webapp.dumps.messages.turns import event_turns, text_turns
from webapp.dumps.sessions import by_time, entries_of
from webapp.dumps.values import as_list, as_object, text

_APPS = ("Gemini", "Bard")
_PROMPTED = ("Prompted ", "Said ", "Asked ")
"""what stands before a prompt; in other languages the title is taken as it is"""


class GeminiTakeout(Format):
    shapes = 'Gemini\'s chats of Google Takeout [{"header": "Gemini Apps", "title", "time", "safeHtmlItem"}]'
    times = ("time",)

    def sniff(self, head: DumpHead) -> int:
        chats = [item for item in head.objects if str(item.get("header")).startswith(_APPS)]
        return 95 if head.shape in ("array", "lines") and any({"title", "time"} <= item.keys() for item in chats) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        """One session by time, since Takeout does not say which prompts belong together; its newest comes first."""
        yield from by_time(entries_of(source, head), lambda _: source.stem, lambda entry: entry.get("time"))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        title, items = text(entry.get("title")) or "", as_list(entry.get("safeHtmlItem"))
        begin = next((begin for begin in _PROMPTED if title.startswith(begin)), "")
        answers = [(index, raw) for index, item in enumerate(items) if (raw := text(as_object(item).get("html")))]
        if not answers and not begin:  # what was done without a model: feedback, an opened chat
            turns = event_turns(raw=title or None, path=("title",))
        else:
            turns = text_turns(title.removeprefix(begin), None if begin else ("title",), "user", conversation)
        for index, raw in answers:
            turns += text_turns(raw, ("safeHtmlItem", index, "html"), "assistant", conversation)
        if len(answers) < len(items):
            conversation.notes.append("an answer without its HTML")
        if answers and not conversation.answered:
            conversation.answered.add(0)
            conversation.notes.append("Takeout gives answers as HTML: these are not the model's own characters")
        return turns


plugin = GeminiTakeout()
