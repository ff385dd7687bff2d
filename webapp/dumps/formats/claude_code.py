"""Claude Code: transcripts, whose lines share a message's id and whose sidechains are branches, and its `/export`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, SessionEntries, Sessions, Source
from webapp.dumps.declared import Declared
from webapp.dumps.declared_rules import Declaring, repeated
from webapp.dumps.documents import grouped
from webapp.dumps.messages.framing import COLOURS
from webapp.dumps.messages.turns import (
    each_with,
    event_turns,
    message_turns,
    result_turns,
    spent,
    text_turns,
)
from webapp.dumps.records import Kind, Turn, changed
from webapp.dumps.values import as_object, first_text, id_text, moment, text

_NO_MODEL = "<synthetic>"
"""the model of what Claude Code itself says in the assistant's place"""
_REMEMBERED = 100_000
"""How many messages are remembered; what is logged again is logged again soon."""


@dataclass(slots=True)
class _Transcript(Declaring):
    counted: dict[str, dict[str, Any]] = field(default_factory=dict)
    """how much of each message's usage was counted"""
    chains: dict[str, int] = field(default_factory=dict)
    """the sidechain that a line, or an agent, belongs to"""
    chain_count: int = 0


class ClaudeCode(Declared):
    conversation_type = _Transcript

    def sniff(self, head: DumpHead) -> int:
        is_wrapped = head.first_of("loglines").keys() >= {"type", "message"}  # as Claude Code on the web gives it
        return 95 if is_wrapped else super().sniff(head)

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        if "loglines" in head.items:
            return super().sessions(source, head)
        return grouped(source, head, partial(_session, stem=source.stem))

    def read_entry(self, entry: dict[str, Any], conversation: _Transcript) -> list[Turn]:  # type: ignore[override]
        line = _of_subagent(entry)
        about = {
            "sent_at": moment(line.get("timestamp")),
            "parent": text(line.get("parentUuid")),
            "sounding": _chain(line, conversation),
        }
        if not isinstance(message := line.get("message"), dict):  # a summary, a system note, a snapshot of files
            return each_with(super().read_entry(line, conversation), **about)
        return repeated(_line(line, message, about, conversation), text(message.get("id")), conversation)


def _session(line: dict[str, Any], stem: str) -> str | None:
    """The session of a line; a subagent's file, `agent-<id>.jsonl`, names its parent's and is one of its own."""
    name, agent = id_text(line.get("sessionId")), text(line.get("agentId"))
    return f"{name}/{agent}" if name and agent and stem.rpartition("/")[2] == f"agent-{agent}" else name


def _of_subagent(line: dict[str, Any]) -> dict[str, Any]:
    """The line of a subagent that a progress line carries; else the line itself."""
    data = as_object(line.get("data"))
    inner = data.get("message")
    if line.get("type") != "progress" or not isinstance(inner, dict) or not isinstance(inner.get("message"), dict):
        return line
    beside = {"agentId": data.get("agentId") or line.get("parentToolUseID"), "isSidechain": True}
    return {"timestamp": line.get("timestamp"), **inner, **beside}


def _line(value: dict[str, Any], message: dict[str, Any], about: dict[str, Any], transcript: _Transcript) -> list[Turn]:
    """The turns of a line that holds a message."""
    role = text(message.get("role")) or text(value.get("type"))
    once = _spent(message, value, transcript)
    model = text(message.get("model")) or text(value.get("model"))
    turns = message_turns({**message, "role": role}, transcript, once=once, model=model, **about)
    is_refusal = value.get("isApiErrorMessage") is True
    if model == _NO_MODEL or is_refusal:  # what Claude Code says in the model's place
        kind: Kind = "error" if is_refusal else "event"
        return [changed(turn, kind=kind, model=None) for turn in turns]
    return turns


def _spent(message: dict[str, Any], value: dict[str, Any], transcript: _Transcript) -> dict[str, Any]:
    """The usage of a message, the first time that it comes; then by how much it grew, as a message that streams says.

    What came from a cache is not in it: it stays in the entry.
    """
    name = text(message.get("id")) or first_text(value, "requestId", "uuid")
    if name is None or not isinstance(message.get("usage"), dict):
        return {}
    if len(transcript.counted) > _REMEMBERED:
        transcript.counted.clear()
    now = spent(message["usage"], value.get("costUSD"))
    before = transcript.counted.get(name, {})
    transcript.counted[name] = {**before, **{key: max(before.get(key, 0), now[key]) for key in now}}
    return {key: now[key] - before.get(key, 0) for key in now if key not in before or now[key] > before[key]}


def _chain(value: dict[str, Any], transcript: _Transcript) -> int | None:
    """The number of the sidechain that a line belongs to, from 1; None on the main chain."""
    if value.get("isSidechain") is not True:
        return None
    names = [name for key in ("agentId", "parentUuid") if (name := text(value.get(key)))]
    chain = next((transcript.chains[name] for name in names if name in transcript.chains), None)
    if chain is None:
        transcript.chain_count += 1
        chain = transcript.chain_count
    for key in ("uuid", "agentId"):
        if name := text(value.get(key)):
            transcript.chains[name] = chain
    return chain


_SHOWN = r"[─═]{8}| {0,2}⏵⏵ | {0,2}[A-Z][^\n]*\(ctrl\+[or] to expand\)[ \t\r]*$"  # rules, a footer, calls in short
_MARK = re.compile(rf"^(?P<mark>[>❯] |[⏺●✦] ?|! (?=[^\n]*\n {{0,4}}⎿)| {{0,4}}⎿ {{0,2}}|[✻✽✶∴※] |(?={_SHOWN}))", re.M)
_OF_CODEX = re.compile(r"^(?P<mark>› |• |  └ (?!─)|[■⚠] )", re.M)
_CODEX = re.compile(r"^(?:│ >_ OpenAI Codex |  └ (?:Read|List|Search) |[^\n]{0,200} \d+% (?:context )?left\b)", re.M)
_BOXED = re.compile(
    r"^ ?(?:[╭╰]─+[╮╯]|│ {1,2}(?P<mark>> |(?=[✓✔✗xo⊷?-]  ))?(?P<said>[^\n]{0,400}?) *│)[ \t]*\r?$", re.M
)
"""a line of a box, in which Gemini CLI draws prompts and calls"""
_CALL = re.compile(r"(?P<name>[\w.:-]+(?: - [\w.:-]+)?)(?: \(MCP\))?\((?P<arguments>[\s\S]*)\)\s*")
_KINDS = {**dict.fromkeys(">❯›", "prompt"), **dict.fromkeys("⏺●✦•", "answer"), **dict.fromkeys("⎿└", "result")}
_NAMED_CALL = re.compile(r"[\w -]{1,60}(?: \(MCP\))?")
_CODEX_CALL = re.compile(r"(?:Ran|Explored|Called|Searched|Viewed|Waited|Updated Plan)\b[\s\S]*")
_EDIT = re.compile(r"(?:Edited|Added|Deleted) [^\n]* \(\+\d+ -\d+\)[\s\S]*|Explored|Updated Plan")
_FOOTER = re.compile(r"[^\n]*\n\s*\n(?>[^\n]*? · )[^\n]*")
"""what Codex suggests to ask, above the line at the end"""
_EXCERPT = "a call of which this text shows an excerpt, not its arguments; kept as an event"
_BOX = re.compile(r"Claude Code(?: v\d|\s*[│─╮])")


class ClaudeExport(Format):
    called = "claude_export"
    shapes = "Claude Code's /export, a text (> prompt, ⏺ answer)"

    def sniff(self, head: DumpHead) -> int:
        if head.shape != "text":
            return 0
        written, mark = _drawn(head.text)
        marks = [(found.start(), _KINDS.get(found["mark"].strip())) for found in mark.finditer(written)]
        kinds = [kind for _, kind in marks]
        is_export = mark is _OF_CODEX or "⏺" in written or _BOX.search(written) or "result" in kinds
        if not is_export or "answer" not in kinds:
            return 0
        is_whole = "prompt" in kinds or not written[: marks[0][0]].strip()
        in_fence = len(re.findall("^ *```", written[: marks[kinds.index("answer")][0]], re.M)) % 2
        return 62 if is_whole and not in_fence else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _entries(source.plain_text()))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        kind, raw = entry.get("kind"), str(entry.get("text"))
        if kind == "result":
            return result_turns(raw, conversation)
        if kind == "answer" and (called := _CALL.fullmatch(raw)):
            conversation.notes.append(_EXCERPT)
            return event_turns(called["name"], raw)
        if kind == "call":
            conversation.notes.append(_EXCERPT)
            return event_turns(raw, raw)
        if kind in ("prompt", "answer"):
            return text_turns(raw, "user" if kind == "prompt" else "assistant", conversation)
        return event_turns(text(kind), raw)


def _drawn(written: str) -> tuple[str, re.Pattern[str]]:
    """What a terminal showed, without boxes where Gemini drew them, and what marks who speaks in it."""
    written = COLOURS.sub("", written)
    if _CODEX.search(written):
        return written, _OF_CODEX
    if not re.search("^✦ ", written, re.M):
        return written, _MARK
    signs = {None: "", "> ": "> ", "": "  ⎿ "}
    return _BOXED.sub(lambda line: "" if line["said"] is None else signs[line["mark"]] + line["said"], written), _MARK


def _entries(shown: str) -> Entries:
    """What stands between the marks, without the two columns that they take."""
    written, mark_of = _drawn(shown)
    marks = list(mark_of.finditer(written))
    if before := written[: marks[0].start() if marks else len(written)].strip():
        yield "character 0", {"kind": "title", "text": before}
    kinds = [_KINDS.get(mark["mark"].strip(), "note") for mark in marks]
    ends = [*(mark.start() for mark in marks[1:]), len(written)]
    for mark, end, kind, following in zip(marks, ends, kinds, [*kinds[1:], ""], strict=True):
        lines = written[mark.end() : end].rstrip().splitlines()
        said = "\n".join(line.rstrip().removeprefix("  ") for line in lines)
        if said.strip():
            yield f"character {mark.start()}", {"kind": _kind(kind, following, said, mark_of), "text": said}


def _kind(kind: str, following: str, said: str, mark: re.Pattern[str]) -> str:
    """What it is that was said: a call, of which a terminal shows an excerpt, is no answer, a suggestion no prompt."""
    is_codex = mark is _OF_CODEX
    if kind == "answer":
        is_call = following == "result" and (_CODEX_CALL if is_codex else _NAMED_CALL).fullmatch(said)
        return "call" if is_call or (is_codex and _EDIT.fullmatch(said)) else kind
    return "note" if is_codex and kind == "prompt" and not following and _FOOTER.fullmatch(said) else kind


plugins = (ClaudeCode("claude_code"), ClaudeExport())
