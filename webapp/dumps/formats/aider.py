"""Aider: its chat history in Markdown, and its log of what it sends and gets (--llm-history-file)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, SessionEntries, Sessions, Source
from webapp.dumps.log_records import text_records
from webapp.dumps.messages.exchanges import exchange
from webapp.dumps.messages.framing import with_plain_ends
from webapp.dumps.messages.turns import event_turns, text_turns
from webapp.dumps.records import Entry, Problem, Turn
from webapp.dumps.source import Cut, too_long
from webapp.dumps.values import number, text, whole

_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_MODEL = re.compile(r"(?:Main model|Models?):\s+([^\s,]+)")
_TOKENS = re.compile(r"Tokens: ([\d.,]+)(k?) sent,.*?([\d.,]+)(k?) received(?:\. Cost: \$([\d.]+))?")
_MARKED = ("#### ", "> ")
_END = "  "
"""what Aider ends its own lines with, and a model hardly ever one that begins as they do"""
_NOTES = ("> Tokens: ", "> Commit ", "> Applied edit to ")


class Aider(Format):
    shapes = "Aider (.aider.chat.history.md) (# aider chat started at …)"

    def sniff(self, head: DumpHead) -> int:
        return 95 if head.shape == "text" and _START.match(head.text.lstrip().partition("\n")[0]) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        """Each start of the program is a session; its lines are read as they are asked for."""
        for number_, (at, started) in enumerate(_starts(source), start=1):
            name = f"{source.stem or 'aider'}/{started or number_}"
            yield SessionEntries(name, _entries(source, at, _are_ended(head.text)), extra={"started": started})

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        raw, kind = text(entry.get("text")) or "", entry.get("kind")
        if kind == "note":
            if match := _MODEL.search(raw):
                conversation.model = match[1]
            return event_turns("aider", raw, **_spent(raw))
        role = "user" if kind == "prompt" else "assistant"
        return text_turns(raw, role, conversation)


def _starts(source: Source) -> Iterator[tuple[int, str | None]]:
    """The byte at which each session begins, and when it was; the file's beginning is one, whatever it holds."""
    began = False
    for at, line in source.lines():
        match = _START.match(line.decode("utf-8", "replace")) if line.startswith(b"# aider chat") else None
        if match or (not began and line.strip()):
            began = True
            yield at, match[1] if match else None


def _are_ended(written: str) -> bool:
    """Whether most lines of prompts and notes end as Aider ends them; editors take spaces at the end away."""
    marked = [line for line in written.splitlines() if line.startswith(_MARKED)]
    return bool(marked) and 2 * sum(line.endswith(_END) for line in marked) >= len(marked)


def _entries(source: Source, start: int, ended: bool) -> Entries:
    """The prompts, notes and answers from byte `start` up to the next session."""
    kind, lines, first, at = "answer", list[str](), 0, start
    while True:
        data, end = source.line(at)
        line = source.decode(data, at)
        starts = _START.match(line)
        if isinstance(data, Cut):
            yield Problem(f"byte {at}", too_long(at))
        next_kind = _next_kind(line, kind, lines) if ended else _kind(line)
        if (next_kind != kind and line.strip()) or not data or (starts and at > start):
            yield from _entry(first, kind, lines)
            lines, first, kind = [], at, next_kind
        if not data or (starts and at > start):
            return
        if not starts:
            lines.append(line)
        at = end


def _kind(line: str) -> str:
    return "prompt" if line.startswith("#### ") else "note" if line.startswith("> ") else "answer"


def _next_kind(line: str, kind: str, lines: list[str]) -> str:
    """What a line is where Aider's own end as they should: quotes and headings of an answer are the answer's.

    The message of a commit is a note of several lines, of which the first alone is marked.
    """
    if kind == "note" and _is_open(lines) and not line.startswith(_MARKED):
        return "note"
    within_answer = kind == "answer" and any(line_before.strip() for line_before in lines)
    is_answer = not _is_ended(line) and not line.startswith(_NOTES)
    return "answer" if within_answer and is_answer else _kind(line)


def _is_ended(line: str) -> bool:
    return line.rstrip("\r\n").endswith(_END)


def _is_open(note: list[str]) -> bool:
    """Whether the message of a commit, which began in this note, goes on."""
    for line in reversed(note):
        if _is_ended(line) or line.startswith("> "):
            return not _is_ended(line) and line.startswith("> Commit ")
    return False


def _entry(at: int, kind: str, lines: list[str]) -> Iterator[Entry]:
    """The lines as one entry, without what marks them; nothing where they are empty."""
    mark = {"prompt": "#### ", "note": "> "}.get(kind, "")
    if mark:
        words = "\n".join(line.removeprefix(mark).rstrip() for line in lines if line.strip())
    else:
        words = with_plain_ends("".join(lines)).strip("\r\n")
    if words.strip():
        yield f"byte {at}", {"kind": kind, "text": words}


def _spent(note: str) -> dict[str, Any]:
    """What a note says was sent and received, in tokens, and the cost of the request in dollars."""
    match = _TOKENS.search(note)
    if match is None:
        return {}
    sent, received = (_count(match[place], match[place + 1]) for place in (1, 3))
    return {"tokens_in": sent, "tokens_out": received, "cost": number(match[5]) if match[5] else None}


def _count(digits: str, thousands: str) -> int | None:
    value = number(digits.replace(",", "").rstrip("."))
    return None if value is None else whole(round(value * (1000 if thousands else 1)))


_SENT = re.compile(r"(TO LLM|LLM RESPONSE) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\s*$")
_LINE = re.compile(r"(SYSTEM|USER|ASSISTANT|TOOL|FUNCTION) ?(.*)$", re.S)
_RULE = "-------"
"""what stands before each message that is sent"""
_RESPONSE = "LLM RESPONSE"


class AiderLlm(Format):
    called = "aider_llm"
    shapes = "aider --llm-history-file FILE (TO LLM …, LLM RESPONSE …)"
    times = ("at",)

    def sniff(self, head: DumpHead) -> int:
        return 95 if head.shape == "text" and _SENT.match(head.text.lstrip().partition("\n")[0]) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _sent_entries(source))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        response = entry.get("response")
        if response is None and "response" in entry:
            conversation.notes.append("a response without a line of the assistant's")
        return exchange(entry if "messages" in entry else None, response, conversation)


def _sent_entries(source: Source) -> Entries:
    """What was sent, and each response, in order."""
    for record in text_records(source, _SENT.match):
        if isinstance(record, Problem):
            yield record
        elif sent := _SENT.match(record.lines[0]):
            messages = list(_messages(record.lines[1:]))
            answers = [message["content"] for message in messages if message["role"] == "assistant"]
            response = {"response": "\n".join(answers) if answers else None}
            yield f"byte {record.at}", {"at": sent[2], **(response if sent[1] == _RESPONSE else {"messages": messages})}


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


plugins = (Aider(), AiderLlm())
