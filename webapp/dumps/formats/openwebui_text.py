"""Chats of Open WebUI saved as plain text: ### USER and ### ASSISTANT above each message."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.messages.turns import text_turns
from webapp.dumps.values import text

_HEADING = re.compile(r"(?:\A|\r?\n)### (USER|ASSISTANT|SYSTEM)\r?\n")


class OpenWebUiText(Format):
    shapes = "Open WebUI's chats as plain text (### USER, ### ASSISTANT)"
    surest = 75

    def sniff(self, head: DumpHead) -> int:
        first = _HEADING.match(head.text.lstrip("\ufeff")) if head.shape == "text" else None
        return 75 if first and "\n### ASSISTANT" in head.text.replace("\r", "") else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _messages(source))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        return text_turns(str(entry.get("content")), ("content",), text(entry.get("role")), conversation)


def _messages(source: Source) -> Entries:
    """What stands between the headings; Open WebUI ends each message with an empty line."""
    written = source.plain_text().lstrip("\ufeff")
    headings = list(_HEADING.finditer(written))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        end = len(written) if following is None else following.start()
        content = re.sub(r"(?:\r?\n){1,2}\Z", "", written[heading.end() : end])
        yield f"character {heading.start()}", {"role": heading[1].lower(), "content": content}


plugin = OpenWebUiText()
