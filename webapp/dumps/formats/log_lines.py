"""A program's log as text whose records name an answer: `2026-01-01 12:00:00 INFO llm response: {…}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, PlacedTurn, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.formats.named_answers import named_turns
from webapp.dumps.messages.bodies import answer, is_answer, said_turns
from webapp.dumps.messages.langchain import is_message
from webapp.dumps.messages.named_texts import NamedText, named_texts
from webapp.dumps.messages.printed import from_repr, printed_objects, unprinted
from webapp.dumps.messages.turns import each_filled, text_turns, unplaced
from webapp.dumps.records import Problem
from webapp.dumps.source import Cut, too_long
from webapp.dumps.unread import UnreadText, is_speech
from webapp.dumps.values import first_text, moment

_TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)")
_BEGIN = re.compile(
    rf"{_TIME.pattern}"
    r"|(?:\[|[IWEF]\d{4} )?\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d|\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\b"
    r"|\[\w{1,20}/(?:start|end|error)\]|(?:timestamp|time|ts)=['\"]?\d{4}"
)
"""how a record begins; lines that begin otherwise go on with the one before them"""
_SIDES = {
    "assistant": re.compile(
        r"(?<!HTTP )\b(?:responses?|completions?|outputs?|answers?|repl(?:y|ies)|generated|assistant)\b"
        r"(?:[^:={\"\n]{0,40}(?::|=>|->)|[ _]?(?:text|content|body|json)?\s?=)\s*",
        re.I,
    ),
    "user": re.compile(
        r"(?<!HTTP )\b(?:prompts?|requests?|questions?|quer(?:y|ies)|user|llm run with input)\b"
        r"(?:[^:={\"\n]{0,40}(?::|=>|->)|[ _]?(?:text|content|body|json)?\s?=)\s*",
        re.I,
    ),
}
_MODEL = re.compile(
    r"\b(?:llm|model|gpt|claude|gemini|openai|anthropic|assistant|ai|completions?|prompts?|agent|tokens|token ids)\b",
    re.I,
)
"""what shows that the response is a model's, not a server's"""
_COLOURS = re.compile(r"\x1b\[[\d;]*[A-Za-z]|(?<![\w\[])\[(?:\d{1,2};)*\d{1,2}m(?!s\])")
_SERVICE = re.compile(r"[\w.-]{1,60}-\d+ +\| (?=\S)")
"""what `docker compose logs` prints before each line"""
_QUOTED = re.compile(r"('(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|([\"'])[\s\S]*\2)(?=,?\s*(?:[\w.]{1,60}=|\Z))")
_FIELD = re.compile(
    r"(?<![\w.])([A-Za-z_][\w.]{0,60})(?:=|: )('(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|[^\s'\",]{1,200})(?=[,\s]|\Z)"
)
"""a field of a record, as logfmt and vLLM write it"""
_ELSEWHERE = re.compile(r"\s*\[(?!llm|chat)\w{1,20}/(?:start|end|error)\]")
"""a record of LangChain's about a chain or a tool, whose output is no model's"""
_INTRODUCED = re.compile(
    r"(?:.{0,120}?[\s\]):|-](?<!HTTP ))?(?:(?:the|raw|full|model|llm)[ _]){0,2}"
    r"(?P<side>responses?|completions?|answers?|replies|reply|output|prompts?|question|query)\s*(?::|=>?|->)\s*(?P<said>\S[\s\S]*)",
    re.I,
)
"""a record that introduces a text, whatever its logger is called"""
_STATUS = re.compile(
    r"<?(?:Response |HTTP/[\d.]+ )?\[?\d{1,3}\]?\b.{0,30}|(?:ok|done|none|null|true|false|success|<.{0,80})\W?", re.I
)
"""what servers say of responses"""
_CUT = re.compile(r"\{.*\"(?:\w*(?:response|completion|output|answer|reply)|choices)\"\s*:", re.I)
LINES = ("message", "msg", "log", "textPayload", "text")
LEVELS = {"level", "levelname", "severity", "stream", "record"}
"""where a program's log as JSON has its lines, and what it says beside them"""
_BESIDE = {"prompt", "completion", "request", "response", "messages", "input", "output", "question", "answer", "role"}
_SURE = 16
"""of such a log, which other formats may know better"""
_LOOKED_AT = 200
_LONG = 200
"""characters of a record from which on it is more than a line about what the program did"""


@dataclass(slots=True)
class _Record:
    """A record of the log with the number of its first line."""

    number: int
    lines: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def text(self) -> str:
        return "".join(self.lines).rstrip("\r\n")


class LogLines(Format):
    shapes = "a program's log as text, whose records name a model's response or hold its JSON on their line"
    surest = 55

    def sniff(self, head: DumpHead) -> int:
        if head.shape in ("lines", "object") and all(map(_line_key, head.objects)):
            return _SURE if _names_answers(_first_records(head)) else 0
        if head.shape != "text":
            return 0
        records = _first_records(head)
        if not records or not _BEGIN.match(records[0]):
            return 0
        return 55 if _names_answers(records) or _introduces(records) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _entries(source, not _names_answers(_first_records(head))))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
        if "objects" in entry:
            turns = [turn for printed in entry["objects"] for turn in said_turns(printed, None, conversation)]
        elif "side" in entry:
            turns = _said(entry, conversation)
        else:
            turns = [placed for named_text in named_texts(entry["json"]) for placed in _named(named_text, conversation)]
        match = _TIME.match(str(entry.get("before")))
        return each_filled(turns, sent_at=moment(match[1].replace(",", ".")) if match else None)


plugin = LogLines()


def _said(entry: dict[str, Any], conversation: Conversation) -> list[PlacedTurn]:
    """What stands behind a name: a provider's body as its messages, anything else as the text that was written."""
    body = json_or_none(entry["text"])
    if entry["side"] == "assistant" and isinstance(body, dict) and (is_answer(body) or "generations" in body):
        return unplaced(answer(body, (), conversation))
    prompts = body.get("prompts") if isinstance(body, dict) and entry["side"] == "user" else None
    if isinstance(prompts, list) and all(isinstance(prompt, str) for prompt in prompts):  # LangChain's
        return [turn for prompt in prompts for turn in text_turns(prompt, None, "user", conversation)]
    return said_turns(entry["text"], ("text",), conversation, entry["side"])


def _named(named_text: NamedText, conversation: Conversation) -> list[PlacedTurn]:
    if named_text.side == "too deep":
        conversation.notes.append(f"nested too deeply, not read: {'.'.join(map(str, named_text.path))[:200]}")
        return []
    return unplaced(named_turns(named_text, conversation))


def _line_key(record: dict[str, Any]) -> str | None:
    """Under which the line of a log stands that was written as JSON, with its level beside it."""
    if not record.keys() & LEVELS or record.keys() & _BESIDE:
        return None
    return next((key for key in LINES if isinstance(record.get(key), str)), None)


def _plain(line: str) -> str:
    """A line out of JSON, without what colours it on a terminal; some logs have lost the sign before it."""
    value = json_or_none(line) if line[:1] == "{" else None
    if isinstance(value, dict) and (key := _line_key(value)):
        value_ = value[key]
        when = first_text(value, "asctime", "timestamp", "time")
        goes_on = key == "log" or _BEGIN.match(value_)  # Docker's, a line each
        line = value_ if goes_on else f"{when if when and _TIME.match(when) else 'INFO'} {value_}\n"
    line = _SERVICE.sub("", line)
    return _COLOURS.sub("", line) if "[" in line else line


def _first_records(head: DumpHead) -> list[str]:
    """The records of the first lines."""
    records: list[str] = []
    for line in map(_plain, head.text.split("\n")[:_LOOKED_AT]):
        if not records or _BEGIN.match(line):
            records += [line] if line.strip() or records else []
        else:
            records[-1] += f"\n{line}"
    return records


def _names_answers(records: list[str]) -> bool:
    return any(map(_answers, map(_entry, records)))


def _introduces(records: list[str]) -> bool:
    """Whether records introduce what was asked and what was answered."""
    entries = [entry for record in records if (entry := _introduced(record)) is not None]
    return {"user", "assistant"} <= {entry["side"] for entry in entries}


def _introduced(record: str) -> dict[str, Any] | None:
    """A record as what stands before and behind the word that introduces a text."""
    match = _INTRODUCED.match(record)
    if match is None or _STATUS.fullmatch(match["said"].strip()):
        return None
    side = "user" if match["side"].lower().startswith(("prompt", "que")) else "assistant"
    return {"before": record[: match.start("said")], "side": side, "text": match["said"]}


def _entry(record: str) -> dict[str, Any] | None:
    """A record as what stands before and behind the name of an answer or a prompt, or before and in its JSON."""
    if _ELSEWHERE.match(record):
        return None
    before, brace, rest = record.partition("{")
    if brace and _speaks(whole := json_or_none(brace + rest)) and _mark(before) is None:
        return {"before": before, "json": whole}
    if objects := _objects(record):
        return {"before": record[: objects[0][0]], "objects": [printed for _, printed in objects]}
    if _speaks(fields := _fields(record)):
        return {"before": record[:60], "json": fields}
    mark = _mark(record)
    if mark is None or not (rest := record[mark[1] :].lstrip("\r\n")).strip():
        return None
    text = _unquoted(rest) if record[mark[1] - 1] == "=" else rest
    return {"before": record[: mark[1]], "side": mark[0], "text": text}


def _unquoted(value: str) -> str:
    """What stands behind `=`, without the quotes around it; as Python's `repr` it is decoded."""
    if not (quoted := _QUOTED.match(value)):
        return value
    value = quoted[1]
    decoded = from_repr(value)
    return decoded if isinstance(decoded, str) else value[1:-1]


def _fields(record: str) -> dict[str, str]:
    """The quoted fields of a record, as logfmt and vLLM write them beside others, of a model's log."""
    matches = list(_FIELD.finditer(record))
    is_alone = len(matches) == 1 and record[matches[0].end() :].strip()
    quoted = [match for match in matches if match[2][0] in "'\"" and match[1] not in LINES]
    is_spoken = not is_alone and _MODEL.search(record.replace("_", " "))
    return {match[1]: _unquoted(match[2]) for match in quoted} if is_spoken else {}


def _objects(record: str) -> list[tuple[int, str]]:
    """The objects of SDKs, printed in a record, in which somebody speaks."""
    objects = [(at, printed, unprinted(printed)) for at, printed in printed_objects(record)]
    return [(at, printed) for at, printed, body in objects if is_answer(body) or is_message(body)]


def _mark(record: str) -> tuple[str, int] | None:
    """Who speaks behind the first name in a record, and where that begins."""
    first_line = record.partition("\n")[0]
    marks = [(match, side) for side, name in _SIDES.items() if (match := name.search(first_line))]
    match, side = min(marks, key=lambda pair: pair[0].start(), default=(None, ""))
    if match is None or not _MODEL.search(first_line[: match.end()]):
        return None
    return side, match.end()


def _speaks(value: Any) -> bool:
    return isinstance(value, dict) and any(named_text.side == "assistant" for named_text in named_texts(value))


def _answers(entry: dict[str, Any] | None) -> bool:
    return entry is not None and ("json" in entry or "objects" in entry or entry["side"] == "assistant")


def _entries(source: Source, by_words: bool) -> Entries:
    """The records that hold a prompt or an answer; last, how many there are that hold neither."""
    first, count = 0, 0
    for record in _records(source):
        if isinstance(record, Problem):
            yield record
        elif (entry := _entry(record.text) or (_introduced(record.text) if by_words else None)) is not None:
            yield f"line {record.number}", entry
            yield from _unread(record.number, _beside(record.text, entry.get("objects", ())))
        elif any(printed_objects(record.text)):
            words = "it holds what Python prints of an object, which is cut or says nothing that is known; left out"
            yield Problem(f"line {record.number}", f"{words} (log its model_dump_json() instead)")
        elif _CUT.search(record.text) and not _ELSEWHERE.match(record.text):
            yield Problem(f"line {record.number}", "it holds an answer in JSON that cannot be read; left out")
        else:
            yield from _unread(record.number, record.text)
            first, count = first or record.number, count + 1
    if count:
        records = f"{count:,} {'record holds' if count == 1 else 'records hold'}"
        yield Problem(f"line {first}", f"{records} no prompt or answer that is known, and were left out")


def _beside(record: str, objects: Sequence[str]) -> str:
    """What a record says beside the objects that are printed in it; nothing where there are none."""
    for printed in objects:
        record = record.replace(printed, "", 1)
    return record if objects else ""


def _unread(number: int, text: str) -> Iterator[UnreadText]:
    if len(text) > _LONG and is_speech(text):
        yield UnreadText(f"line {number}", f"the record ({len(text):,} characters) is in no turn")


def _records(source: Source) -> Iterator[_Record | Problem]:
    """Each record with the lines that go on with it."""
    record: _Record | None = None
    most = source.budget.characters()
    for number, (at, data) in enumerate(source.lines(), start=1):
        if isinstance(data, Cut) or (record is not None and record.size + len(data) > most):
            yield Problem(f"line {number}", too_long(at))
            continue
        line = _plain(source.decode(data, at))
        if record is None or _BEGIN.match(line):
            if record is not None:
                yield record
            record = _Record(number)
        record.lines.append(line)
        record.size += len(data)
    if record is not None:
        yield record
