"""What Claude Code's `/export` writes and its terminal shows: prompts after `>`, answers and calls after `⏺`."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.messages.turns import event_turns, result_turns, text_turns
from webapp.dumps.values import text

_MARK = re.compile(r"^(?P<mark>[>❯] |[⏺●] ?| {0,4}⎿ {0,2}|[✻✽✶∴] )", re.M)
_CALL = re.compile(r"(?P<name>[\w.:-]+(?: - [\w.:-]+)?)(?: \(MCP\))?\((?P<arguments>[\s\S]*)\)\s*")
_KINDS = {">": "prompt", "❯": "prompt", "⏺": "answer", "●": "answer", "⎿": "result"}
_BOX = re.compile(r"Claude Code(?: v\d|\s*[│─╮])")


class ClaudeExport(Format):
    shapes = "Claude Code's /export, a text (> prompt, ⏺ answer)"

    def sniff(self, head: DumpHead) -> int:
        if head.shape != "text":
            return 0
        kinds = {_KINDS.get(match["mark"].strip()) for match in _MARK.finditer(head.text)}
        own = "⏺" in head.text or _BOX.search(head.text)
        return 62 if own and {"prompt", "answer"} <= kinds else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _entries(source.plain_text()))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        kind, raw = entry.get("kind"), str(entry.get("text"))
        if kind == "result":
            return result_turns(raw, ("text",), conversation)
        if kind == "answer" and (called := _CALL.fullmatch(raw)):
            conversation.notes.append("a call of which this text shows an excerpt, not its arguments; kept as an event")
            return event_turns(called["name"], raw, ("text",))
        if kind in ("prompt", "answer"):
            return text_turns(raw, ("text",), "user" if kind == "prompt" else "assistant", conversation)
        return event_turns(text(kind), raw, ("text",))


plugin = ClaudeExport()


def _entries(written: str) -> Entries:
    """What stands between the marks, without the two columns that they take."""
    marks = list(_MARK.finditer(written))
    if before := written[: marks[0].start() if marks else len(written)].strip():
        yield "character 0", {"kind": "title", "text": before}
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(written)], strict=True):
        lines = written[mark.end() : end].rstrip().splitlines()
        said = "\n".join(line.rstrip().removeprefix("  ") for line in lines)
        if said.strip():
            yield f"character {mark.start()}", {"kind": _KINDS.get(mark["mark"].strip(), "note"), "text": said}
