"""Aider's log of what it sends and gets (--llm-history-file): each line begins with who says it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.messages.bodies import exchange
from webapp.dumps.records import Problem
from webapp.dumps.source import Cut, too_long

_SENT = re.compile(r"(TO LLM|LLM RESPONSE) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\s*$")
_LINE = re.compile(r"(SYSTEM|USER|ASSISTANT|TOOL|FUNCTION) ?(.*)$", re.S)
_RULE = "-------"
"""what stands before each message that is sent"""
_RESPONSE = "LLM RESPONSE"


class AiderLlm(Format):
    shapes = "Aider's log of requests and responses (TO LLM …, LLM RESPONSE …)"
    times = ("at",)

    def sniff(self, head: DumpHead) -> int:
        return 95 if head.shape == "text" and _SENT.match(head.text.lstrip().partition("\n")[0]) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _entries(source))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        response = entry.get("response")
        if response is None and "response" in entry:
            conversation.notes.append("a response without a line of the assistant's")
        return exchange(entry if "messages" in entry else None, response, (), ("response",), conversation)


plugin = AiderLlm()


def _entries(source: Source) -> Entries:
    """What was sent, and each response, in order."""
    sent, lines, first = None, list[str](), source.start
    for at, data in source.lines():
        if isinstance(data, Cut):
            yield Problem(f"byte {at}", too_long(at))
        line = source.decode(data, at)
        if match := _SENT.match(line):
            if sent is not None:
                yield f"byte {first}", _entry(sent, lines)
            sent, lines, first = match, [], at
        else:
            lines.append(line)
    if sent is not None:
        yield f"byte {first}", _entry(sent, lines)


def _entry(sent: re.Match[str], lines: list[str]) -> dict[str, Any]:
    messages = list(_messages(lines))
    if sent[1] != _RESPONSE:
        return {"at": sent[2], "messages": messages}
    answers = [message["content"] for message in messages if message["role"] == "assistant"]
    return {"at": sent[2], "response": "\n".join(answers) if answers else None}


def _messages(lines: list[str]) -> Iterator[dict[str, str]]:
    """The messages: one begins behind a rule, or where another speaks."""
    role, texts = "", list[str]()
    for line in lines:
        match = _LINE.match(line)
        if (match is None and line.rstrip() == _RULE) or (match is not None and match[1] != role):
            if texts:
                yield {"role": role.lower(), "content": "".join(texts).rstrip("\r\n")}
            role, texts = match[1] if match else "", []
        if match is not None:
            texts.append(match[2])
    if texts:
        yield {"role": role.lower(), "content": "".join(texts).rstrip("\r\n")}
