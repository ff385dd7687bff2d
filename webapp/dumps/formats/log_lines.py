"""A program's log as text whose records name an answer: `2026-01-01 12:00:00 INFO llm response: {…}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none, opened_literal
from webapp.dumps.formats.by_names import named_turns
from webapp.dumps.labels import SAYS_NOTHING, labelled, labels_in
from webapp.dumps.log_records import as_line, first_records, log_records, speaks
from webapp.dumps.messages.bodies import answer, is_answer, said_turns
from webapp.dumps.messages.declarations import declared_in
from webapp.dumps.messages.langchain import is_message
from webapp.dumps.messages.named_texts import named_texts
from webapp.dumps.messages.printed import from_repr, is_printed, printed_objects, unprinted
from webapp.dumps.messages.requests import new_prompts, noted_answers, request_messages
from webapp.dumps.messages.turns import each_filled, note_once
from webapp.dumps.programs import BEGIN, LEVELS, LINES, TIME
from webapp.dumps.records import Problem, Turn
from webapp.dumps.unread import UnreadText
from webapp.dumps.values import as_object, is_speech, moment

_SIDES = {
    "assistant": re.compile(
        r"(?<!HTTP )(?<!['\"])\b(?:responses?|completions?|outputs?|answers?|repl(?:y|ies)|generated|assistant)\b"
        r"(?! (?:type|class|attributes|status|code|time|present|keys|headers|tokens?)\b)"
        r"(?:[^:={\"\n]{0,40}(?::|=>|->)|[ _]?(?:text|content|body|json)?\s?=)\s*",
        re.I,
    ),
    "user": re.compile(
        r"(?<!HTTP )(?<!['\"])\b(?:prompts?|requests?|questions?|quer(?:y|ies)|user|llm run with input)\b"
        r"(?:[^:={\"\n]{0,40}(?::|=>|->)|[ _]?(?:text|content|body|json)?\s?=)\s*",
        re.I,
    ),
}
_MODEL = re.compile(
    r"\b(?:llm|model|gpt|claude|gemini|openai|anthropic|assistant|ai|completions?|prompts?|agent|tokens|token ids"
    r"|user (?:input|question|message))\b",
    re.I,
)
"""what shows that the response is a model's, not a server's"""
_QUOTED = re.compile(r"('(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|([\"'])[\s\S]*\2)(?=,?\s*(?:[\w.]{1,60}=|\Z))")
_FIELD = re.compile(
    r"(?<![\w.])([A-Za-z_][\w.]{0,60})(?:=|: )('(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|[^\s'\",]{1,200})(?=[,\s]|\Z)"
)
"""a field of a record, as logfmt and vLLM write it"""
_MESSAGES = re.compile(r"\bmessages=(\[\{.*?\}\])(?=[,)]|$)")
"""what a call prints that it was given, as LiteLLM's log has it; its answers stand in records of their own"""
_ELSEWHERE = re.compile(r"\s*\[(?!llm|chat)\w{1,20}/(?:start|end|error)\]|.{0,80}haystack\.pipeline\.")
"""a record of LangChain's about a chain or a tool, whose output is no model's, or of Haystack's about a pipeline"""
_INTRODUCED = re.compile(
    r"(?:.{0,120}?[\s\]):|-](?<!HTTP ))?(?:(?:the|raw|full|model|llm)[ _]){0,2}"
    r"(?P<side>responses?|completions?|answers?|replies|reply|output|prompts?|question|query"
    r"|(?:assistant|agent|bot|model|llm) (?:answered|replied|responded|returned|said|says)"
    r"|ask(?:ing|ed) (?:the )?(?:model|llm|assistant|agent|bot)|user (?:asked|said|says))"
    r"\s*(?::|=>?|->)\s*(?P<said>\S[\s\S]*)",
    re.I,
)
"""a record that introduces a text, whatever its logger is called"""
_RULED = re.compile(
    r"[^\n]*\b(?P<side>prompt|question|query|response|completion|answer|reply|output)\b[^\n:]*:?[ \t]*\r?\n"
    r"[-=*_#]{5,}\r?\n(?P<said>[\s\S]*?)(?:\r?\n[-=*_#]{5,})?\s*",
    re.I,
)
"""a record whose line says what stands below it between rules"""
_PAIR = re.compile(
    r"(?:.{0,120}?[\s\]):|-])(?:input|prompt|question|query) ?: (?P<asked>[^|]+?) ?\| ?"
    r"(?:output|response|answer|reply|completion) ?:\s*(?P<said>\S[\s\S]*)",
    re.I,
)
"""what was asked and answered in one record; of a model where the log says that one was called"""
_CALLED = re.compile(r"/api/(?:generate|chat)\b|/chat/completions|/v1/(?:messages|responses)|:generateContent|\bLLM\b")
_STATUS = re.compile(
    r"<?(?:Response |HTTP/[\d.]+ )?\[?\d{1,3}\]?\b.{0,30}|(?:ok|done|none|null|true|false|success|<.{0,80})\W?", re.I
)
"""what servers say of responses"""
_COUNTED = re.compile(
    r"\b(?:bytes|chars|characters|length|len|tokens|size)\b[^\n:]{0,20}:\s*\d[\d,]*[^\n:]{0,40}:[ \t]*\r?\n", re.I
)
"""how long a text is, between its name and the line below which it stands"""
_WORDS_BEFORE = re.compile(r"\t|: | - |\] ")
_CUT = re.compile(r"\{.*\"(?:\w*(?:response|completion|output|answer|reply)|choices)\"\s*:", re.I)
_SURE = 16
"""of such a log, which other formats may know better"""
_LONG = 200
"""characters of a record from which on it is more than a line about what the program did"""


class LogLines(Format):
    shapes = "a program's log as text, whose records name a model's response or hold its JSON on their line"
    surest = 55

    def __init__(self, labels: re.Pattern[str] | None = None) -> None:
        """`labels` are those that a mapping names, of any text."""
        self.labels = labels

    def sniff(self, head: DumpHead) -> int:
        is_json = head.shape in ("lines", "object") and all(value.keys() & LEVELS for value in head.objects)
        if not (is_json or head.shape == "text") or (is_json and all(map(speaks, head.objects))):
            return 0  # records of calls alone, which other formats read
        records = first_records(head)
        if not is_json and not BEGIN.match((records or [""])[0]):
            return 0
        score = _SURE if is_json else self.surest
        return score if _names_answers(records) or _introduces(records) or labels_in(records) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        records = first_records(head)
        labels = self.labels or (None if _introduces(records) else labels_in(records))
        read: Callable[[str], Any] = partial(labelled, labels, is_named=bool(self.labels)) if labels else _introduced
        others = [read] if labels or not _names_answers(records) else []
        reads = others if self.labels else [_entry, *others]
        yield SessionEntries(source.stem, _entries(source, reads, labels.match if labels else BEGIN.match))

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        if "objects" in entry:
            turns = [turn for printed in entry["objects"] for turn in said_turns(printed, conversation)]
        elif "side" in entry:
            turns = each_filled(_said(entry, conversation), agent=entry.get("by"))
        else:
            turns = [
                placed for named_text in named_texts(entry["json"]) for placed in named_turns(named_text, conversation)
            ]
        answers = ["".join(str(turn.raw).split()) for turn in turns if turn.kind == "response"]
        if "side" in entry and answers and answers == conversation.last_answers:
            note_once("answers that a record before them holds, too, are read once", conversation)
            return []
        if entry.get("side") == "assistant":
            turns = noted_answers(turns, conversation)
        conversation.last_answers = answers if "json" in entry else []
        match = TIME.match(str(entry.get("before")))
        return each_filled(turns, sent_at=moment(match[1].replace(",", ".")) if match else None)


plugin = LogLines()


def _said(entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """What stands behind a name: a provider's body as its messages, anything else as the text that was written."""
    body = json_or_none(entry["text"])
    if entry["side"] == "assistant" and isinstance(body, dict) and (is_answer(body) or "generations" in body):
        return answer(body, conversation)
    if entry["side"] == "user" and isinstance(body, dict) and any(request_messages(body, conversation)):
        conversation.declares(declared_in(body))
        return new_prompts(body, conversation)
    return said_turns(entry["text"], conversation, entry["side"])


def _names_answers(records: list[str]) -> bool:
    entries = filter(None, map(_entry, records))
    return any("json" in entry or "objects" in entry or entry["side"] == "assistant" for entry in entries)


def _introduces(records: list[str]) -> bool:
    """Whether records introduce what was asked and what was answered."""
    sides = {entry.get("side") for entry in map(_introduced, records) if entry is not None}
    return {"user", "assistant"} <= sides or (None in sides and any(map(_CALLED.search, records)))


def _introduced(record: str) -> dict[str, Any] | None:
    """A record as what stands before and behind the word that introduces a text."""
    if pair := _PAIR.match(record):
        said = {"prompt": pair["asked"], "response": pair["said"]}
        return {"before": record[: pair.start("asked")], "json": said}
    match = _RULED.fullmatch(record) or _INTRODUCED.match(record)
    if match is None or any(words.fullmatch(match["said"].strip()) for words in (_STATUS, SAYS_NOTHING)):
        return None
    side = "user" if match["side"].lower().startswith(("prompt", "que", "ask", "user")) else "assistant"
    return {"before": record[: match.start("said")], "side": side, "text": match["said"]}


def _entry(record: str) -> dict[str, Any] | None:
    """A record as what stands before and behind the name of an answer or a prompt, or before and in its JSON."""
    record = as_line(record)
    if _ELSEWHERE.match(record):
        return None
    if (match := _MESSAGES.search(record)) and isinstance(messages := from_repr(match[1]), list):
        prompts = [message for message in messages if as_object(message).get("role") != "assistant"]
        return {"before": record[: match.start()], "json": {"messages": prompts}}
    before, brace, rest = record.partition("{")
    whole = opened_literal(f"{brace}{rest}".rstrip())
    if isinstance(whole, dict) and not whole.keys() & {"event", "type"}:  # zap's and winston's words before the fields
        whole = {"event": _WORDS_BEFORE.split(before.rstrip())[-1], **whole}
    if brace and whole is None and (before == "INFO " or TIME.fullmatch(before.rstrip())):  # out of JSON, a line each
        whole = json_or_none(brace + rest.partition("\n")[0])
    if (speaks(whole) and _mark(before) is None) or _asks(whole):
        return {"before": before, "json": whole}
    if objects := _objects(record):
        return {"before": record[: objects[0][0]], "objects": [printed for _, printed in objects]}
    if speaks(fields := _fields(record)) or _asks(fields):
        return {"before": record[:60], "json": fields}
    mark, introduced = _mark(record), _introduced(record)
    if mark is None and introduced is not None and is_printed(introduced.get("text")):
        return introduced
    if mark is None or SAYS_NOTHING.fullmatch((rest := record[mark[1] :].lstrip("\r\n")).strip()):
        return None
    text = _unquoted(rest) if record[mark[1] - 1] == "=" else rest
    return {"before": record[: mark[1]], "side": mark[0], "text": text}


def _asks(value: Any) -> bool:
    """Whether a record says what a model was asked, alone, or is the message that says it."""
    record = as_object(value)
    is_message = record.get("role") in ("user", "system") and isinstance(record.get("content"), str)
    return is_message or isinstance(record.get("prompt"), str)


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
    fields = {match[1]: _unquoted(match[2]) for match in quoted} if is_spoken else {}
    if "content" not in fields or speaks(fields) or "event" in fields:
        return fields
    said = next((_unquoted(match[2]) for match in matches if match[1] in LINES), None)  # what happened, as slog has it
    return {"event": said or _WORDS_BEFORE.split(record[: matches[0].start()].rstrip())[-1], **fields}


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
    counted = _COUNTED.search(record, match.start(), match.end() + _LONG)
    return side, counted.end() if counted and counted.start() < match.end() else match.end()


def _entries(source: Source, reads: Sequence[Callable[[str], Any]], also: Callable[[str], Any]) -> Entries:
    """The records that hold a prompt or an answer; last, how many there are that hold neither."""
    first, count = 0, 0
    for record in log_records(source, also):
        if isinstance(record, Problem):
            yield record
        elif (entry := next(filter(None, (read(record.text) for read in reads)), None)) is not None:
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
