"""Responses in one text, below lines such as `=== response 3 ===`; named, also between lines of --- or ===."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.budget import current
from webapp.dumps.messages.turns import event_turns, text_turns
from webapp.dumps.records import Problem
from webapp.dumps.source import LONGEST_LINE, Cut, too_long
from webapp.dumps.values import text

_NAME = r"(?:response|output|completion|answer|reply|generation|sample|attempt)"
_HEADING = re.compile(
    rf"[ \t]*[=\-#*~<\[]{{1,80}}[ \t]*(?:(?:llm|model|raw|ai)[ _-])?{_NAME}"
    r"[ \t]*[#:]?[ \t]*\d+[ \t]*[:=\-#*~>\]]{0,80}\s*",
    re.I,
)
RULE = re.compile(r"[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,})\s*")
_MOST_BEFORE = 2000


class Separated(Format):
    shapes = "responses in one text below lines such as === response 3 ===; named, also between lines of --- or ==="

    def sniff(self, head: DumpHead) -> int:
        if head.shape != "text":
            return 0
        lines = head.text.splitlines(keepends=True)
        headings = [index for index, line in enumerate(lines) if _HEADING.fullmatch(line)]
        return 58 if len(headings) > 1 and len("".join(lines[: headings[0]]).strip()) <= _MOST_BEFORE else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _texts(source, _HEADING if self.sniff(head) else RULE))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if entry.get("before_first"):
            return event_turns("title", text(entry.get("text")), ("text",))
        return text_turns(str(entry.get("text")), ("text",), "assistant", conversation)


plugin = Separated()


def _texts(source: Source, mark: re.Pattern[str]) -> Entries:
    """What stands between the marks, without empty lines around it."""
    heading, first, section, size = "", 1, list[str](), 0
    for number, (at, data) in enumerate(source.lines(), start=1):
        if isinstance(data, Cut) or size + len(data) > current().characters(LONGEST_LINE):
            yield Problem(f"line {number}", too_long(at))
            continue
        line = source.decode(data, at)
        if mark.fullmatch(line):
            yield from _entry(heading, first, section, mark is _HEADING)
            heading, first, section, size = line.strip(), number, [], 0
        else:
            section.append(line)
            size += len(data)
    yield from _entry(heading, first, section, mark is _HEADING)


def _entry(heading: str, number: int, lines: list[str], is_headed: bool) -> Entries:
    written = "".join(lines).strip("\r\n").rstrip()
    if written.strip():
        entry: dict[str, Any] = {"heading": heading, "text": written}
        yield f"line {number}", entry if heading or not is_headed else {**entry, "before_first": True}
    elif heading and is_headed:
        yield Problem(f"line {number}", f"nothing stands below {heading[:80]!r}")
