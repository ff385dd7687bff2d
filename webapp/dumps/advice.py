"""What to do about a dump of no known shape: what it is, and a command that was tried on its beginning."""

from __future__ import annotations

import io
import re
import shlex
from dataclasses import replace
from typing import Any, NamedTuple

from webapp import jsontext
from webapp.dumps.budget import BadDump
from webapp.dumps.decoding import json_or_none
from webapp.dumps.first_look import look
from webapp.dumps.json_path import MOST_NAMED, beside, parse_path, value_at
from webapp.dumps.labels import guessed_labels
from webapp.dumps.mappings import guessed, guessed_tables, is_crowded, is_no_answer, outline, speakers
from webapp.dumps.messages.calls import CAME_OF, TOOLS
from webapp.dumps.messages.framing import FENCED, undecorated
from webapp.dumps.messages.langchain import SERVED
from webapp.dumps.messages.printed import printed_objects
from webapp.dumps.messages.streams import chunks
from webapp.dumps.programs import BEGIN, LEVELS, LINES, SETTINGS, answerless, is_of_chats, looks_like
from webapp.dumps.records import Turn, UnknownFormat
from webapp.dumps.source import DumpHead, Source
from webapp.dumps.text_records import TABLE, is_unnamed_table
from webapp.dumps.told_texts import told_texts
from webapp.dumps.values import as_object, is_speech
from webapp.plugins import find

_KINDS = {
    "object": "a JSON object",
    "array": "JSON (a list)",
    "lines": "JSON (one value a line)",
    "parquet": "a Parquet file",
    "sqlite": "a SQLite file",
}
_BINARY = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1f\ud800-\udfff]")
_NO_ANSWER = re.compile(
    r"[0-9a-fA-F-]{16,}|\S+://\S+|[\w./\\-]+\.\w{1,5}|[\d\s:.TZ+/-]+|[^\s{\[']{1,12}|[A-Z]\w{0,20} [A-Z]\w{0,20}"
    r"|[A-Za-z0-9_.+/-]+={0,2}|[\w.-]+/[\w.-]*(?: [\w.-]+/[\w.-]*)*|/[\w./ -]+"
    r"|(?:@|def |class |import |async def )[\s\S]+|[1-5]\d\d [\w /;=-]{1,60}"
)
"""hashes, addresses, paths, versions, times, single words, names of two, code, what a server says of a page"""
_ASKED = re.compile(r"\{[\s\S]{0,200}?\"messages\"\s*:")
"""a request"""
_SAYING = re.compile(
    r"sa(?:id|ys?)|speech|spoken|words|utter|text|content|mess?a?ge?|msg|body|out|answer|respon|repl(?:y|ies)|complet"
    r"|generat|result|raw|llm|model|bot|assist|gpt|claude|gemini|json",
    re.I,
)
"""in names of what somebody says; of what is called otherwise nobody knows whether a model wrote it"""
_ASKER = re.compile(r"(?:user|human|prompter|you|me|prompt)(?:[_ ]?(?:message|input|prompt|query))?", re.I)
"""what says of a text that no model wrote it"""
_OF_NODE = re.compile(
    r"\s*(?:[A-Z]\w{1,60} \{\s*\""
    r"|(?:\w{1,60} )?[\[{]\s*(?:\w{0,60} ?\{\s*)?[A-Za-z_$][\w$]{0,60}: (?!$))"
)
_DRAWN = re.compile(r"[\u2500-\u259f]{4}")
_NAMED = (
    "user|human|you|me|assistant|ai|bot|agent|llm|model|system|prompt|response|chatgpt|claude|gemini"
    "|(?:github )?copilot|thought|observation|final answer"
)
_LABEL = re.compile(
    rf"^(?:<([\w .-]{{1,30}})>|(?i:\W{{0,6}}({_NAMED})\b[^\n]{{0,40}}[:：])|([^\W\d_][\w .-]{{0,30}}):)(?=\s)", re.M
)
"""who speaks before each line of a chat, whoever they are: one of them by a name that is known"""
_OF_SETTINGS = {"model", "system", "prompt", "agent"}
"""names that are, without any other, those of settings in YAML"""
_DIALOGUE = re.compile(r"^\W{0,6}(?:user|human|you|me|prompt)\b[^\n]{0,40}[:：]", re.I | re.M)
_BY_NAME = ("speaker", "sender", "sender_name", "senderName", "author", "who", "handle")
"""keys that name who wrote what stands beside them"""
_TOLD = re.compile(
    r'"(role(?="\s*:\s*"(?:assistant|model|ai|bot|agent|tool|function)")|messages?|content|prompt|completion|responses?|answer|output|conversations?|sender|text)"\s*:'
)
_OF_ANYBODY = {"message", "messages", "content", "sender", "text", "body", "memory", "response", "responses"}
"""of these, which chats of people and logs of servers have as well"""
_OF_MODEL = re.compile(
    r"(?i)assistant|\b(?:ai|bot|llama)|gpt|claude|gemini|llm|model|prompt|token|complet|agent|convers|answer"
)
"""words one of which is in the keys around a model's answer under a name that anybody's texts have, too"""
_KEY = re.compile(r'"([^"\\]{1,60})"\s*:')
ANSWERED = re.compile(r"(?:response|completion|output|answer|generation|reply)s?", re.I)
"""names under which a mapping finds what a model answered, and hardly anything else"""
_REPR = re.compile(
    r"\s*(?:[\[{(]?(?:[\[{]?'[^'\n]{0,80}'[:,\]]|[\w.]{1,80}\(\w{1,40}=)|\{<[A-Z]\w{0,80}\.|\[[A-Z]\w{1,60}\(['\"]"
    r"|\w{1,40}=['\"][^'\"\n]{0,80}['\"] \w{1,40}=)"
)
_ADDRESS = re.compile(r"(?i:response|completion|output|answer|reply|result)\w*\s*[:=]\s*<[\w.]{1,120} object at 0x")
"""what is printed of an answer whose class says nothing of what it holds"""
_LINE, _OBJECT_LINE = re.compile(r"^\S", re.M), re.compile(r"^\{", re.M)
_LONGEST_SHOWN = 60


class Tried(NamedTuple):
    mapping: dict[str, str]
    answers: int
    shown: list[str]
    named: str
    """how the path of the answers ends"""


def refused(head: DumpHead) -> UnknownFormat:
    """The error for a dump that no format recognises."""
    if head.led and 2 * len(_OBJECT_LINE.findall(head.text)) < len(_LINE.findall(head.text)):
        head = replace(head, shape="text")
    bare = answerless(head.told)
    lines = [_what_it_is(head), *([f"This looks like {bare}."] if bare else _what_to_do(head))]
    return UnknownFormat("\n".join(lines), speaks=_speaks(head))


def _what_it_is(head: DumpHead) -> str:
    if head.shape == "empty":
        return "The log begins with more empty space than is looked at."
    if _is_printed(head):
        return "What Python prints of an object is in the log, not its JSON: log its model_dump_json(), or json.dumps."
    if not any(head.objects) and _OF_NODE.match(head.text):
        return "What Node.js prints of an object is in the log, not its JSON: log its JSON.stringify(…)."
    if head.shape == "text" and SERVED.match(head.text):
        keys = sorted({str(key) for _, event in chunks(head.text) for key in as_object(event)})
        return f"The log is server-sent events of no known provider (their keys: {_listed(keys)})."
    if head.shape == "text" and _DRAWN.search(head.text):
        words = "The log is what a program drew in a terminal, boxes and lines: have it log its messages as JSON."
        return f"{words}{looks_like(head)}"
    if head.shape == "text" and is_unnamed_table(head.text) and not looks_like(head):
        words = "The log is a table whose columns have no names: write them above it, as"
        return f"{words} prompt,response or role,content."
    if head.shape == "text":
        return f"The log is not JSON: it begins with {head.text.lstrip()[:20]!r}.{looks_like(head)}"
    if head.samples and all(isinstance(sample, list) for sample in head.samples):
        if all(isinstance(text, str) for sample in head.samples for text in sample):
            return "The log is JSON of lists of texts, of which nothing says who speaks: log objects with a role."
        return "The log is JSON of lists, as LangGraph streams of several modes are: log each mode's values as objects."
    kind, parts, names = _KINDS.get(head.shape, "a file"), "keys", sorted(head.told)
    if head.shape == "sqlite":
        parts, names = "tables", head.names
    elif head.shape == "lines" and TABLE.search(head.filename):
        kind, parts = "a table", "columns"
    return f"The log is {kind} of no known shape (its {parts}: {_listed(names)}).{looks_like(head)}"


def _is_printed(head: DumpHead) -> bool:
    in_text = head.shape == "text" and (any(printed_objects(head.text)) or _ADDRESS.search(head.text))
    return bool(_REPR.match(head.text) or in_text)


def _listed(names: list[str]) -> str:
    return ", ".join(repr(name[:40]) for name in names[:8]) or "none"


def _what_to_do(head: DumpHead) -> list[str]:
    """A command and what it gave; else where it is said what is read."""
    tried = of_mappings(head)
    if tried is None and head.shape == "text" and BEGIN.match(head.text) and not _is_printed(head):
        words = "Of a program's log such records are read: `… prompt: …`, `… response: …`, or JSON with such keys."
        return [words, "What else can be read: fencepost formats, and docs/formats.md."]
    if tried is None:
        return ["What can be read: fencepost formats, and docs/formats.md.", *_whole(head), *_unnamed(head)]
    quoted = " and ".join(repr(text) for text in tried.shown)
    answers = f"{tried.answers:,} answer{'s' * (tried.answers != 1)}"
    is_of_any = "agent" in tried.mapping or tried.mapping.get("raw") == "$" or head.shape == "text"
    if_models = "If models wrote all of it, r" if is_of_any else "R"
    return [
        f"{if_models}ead it by a mapping: fencepost ingest {_arguments(tried.mapping)} {shlex.quote(head.filename)}",
        f"Tried on its beginning, this gives {answers}, as {quoted}. What else can be read: fencepost formats.",
    ]


def _whole(head: DumpHead) -> list[str]:
    """How a text is read that a model wrote from its first line to its last, which none says of itself."""
    is_told = looks_like(head) or is_of_chats(head) or _is_printed(head) or SERVED.match(head.text)
    if head.shape != "text" or is_told or _BINARY.search(head.text):
        return []
    return ["A text that is one response: --format responses; more between --- or ===: --format separated."]


def _unnamed(head: DumpHead) -> list[str]:
    """Where texts stand of which no name says that a model wrote them."""
    places = [place for place in outline(head.objects) if is_speech(place.text or "") and not is_no_answer(place.path)]
    paths = [place.path for place in sorted(places, key=lambda place: -len(place.text or ""))[:MOST_NAMED]]
    words = "No name in it says what a model wrote. Its longest texts are at"
    return [f"{words} {', '.join(paths)}."] if paths and not is_crowded(head, 1) else []


def _arguments(mapping: dict[str, str]) -> str:
    fields = ("said", "asked", "table", "each", "raw", "where", "role", "prompt", "session", "model", "agent")
    return " ".join(f"--map {shlex.quote(f'{name}={mapping[name]}')}" for name in fields if name in mapping)


def of_mappings(head: DumpHead) -> Tried | None:
    """The likeliest mapping that gives answers on the beginning; None where none does."""
    if head.shape == "text":
        labels = {} if _is_printed(head) or head.filename.endswith(SETTINGS) else guessed_labels(undecorated(head.text))
        return _tried(labels, head.text.encode("utf-8", "surrogateescape"), head.filename) if labels else None
    guesses = guessed_tables(head) if head.shape == "sqlite" else [guessed(head)]
    told = told_texts(head.objects) if head.shape != "sqlite" else []
    wider = [guess | other for guess in guesses for other in told if "each" in guess and "each" in other]
    wider = [mapping for mapping in wider if any(mapping["raw"] == guess.get("raw") for guess in guesses)]
    for mapping in (guess for guess in (*wider, *guesses, *told) if "raw" in guess):
        by = speakers(mapping, head)
        if by not in (None, *_BY_NAME) or _is_of_log(mapping["raw"], head):
            continue
        if mapping not in told and _holds_none(mapping["raw"], head, by):
            continue
        mapping |= {} if by is None else {"agent": beside(mapping["raw"], by)}
        objects = head.items[mapping["table"]] if "table" in mapping else head.objects
        written = "\n".join(map(jsontext.dumps, objects)) if head.shape != "object" else jsontext.dumps(head.document)
        tried = _tried(mapping, f"{written}\n".encode("ascii"), head.filename)
        if tried is not None and 3 * tried.answers >= len(objects) and not is_crowded(head, tried.answers):
            return tried
    return None


def _holds_none(path: str, head: DumpHead, by: str | None) -> bool:
    """Whether a name stands there, or what is called as no answer is."""
    name = str((parse_path(path) or ("",))[-1])
    telling = "_".join(word for word in name.split("_") if word not in _OF_ANYBODY)
    is_of_anybody = telling != name and not _SAYING.search(telling) and by is None
    return (
        not _SAYING.search(name)
        or is_no_answer(path)
        or (is_of_anybody and not any(map(_OF_MODEL.search, _KEY.findall(head.text))))
    )


def _is_of_log(path: str, head: DumpHead) -> bool:
    """Whether the lines of a program's log as JSON stand there."""
    return path.removeprefix("$.") in LINES and bool(head.told & {*LEVELS, "event", "event_type"})


def _tried(mapping: dict[str, str], beginning: bytes, filename: str) -> Tried | None:
    """What a reading of the beginning, by a mapping, gives without what who asks said; None where no model may have."""
    kind = find("webapp.dumps.formats", "mapped").by({key: path for key, path in mapping.items() if key != "table"})
    source = Source(io.BytesIO(beginning), filename)
    try:
        turns = [record for record in kind.read(source, look(source)) if isinstance(record, Turn)]
    except BadDump:
        return None
    answers = [turn.raw.strip() for turn in turns if turn.kind == "response" and turn.raw and turn.raw.strip()]
    typed = [as_object(json_or_none(text)) for text in answers]
    if typed and all(value.keys() == {"stringValue"} for value in typed):  # Firestore's
        return _tried({**mapping, "raw": f"{mapping['raw']}.stringValue"}, beginning, filename)
    spoken = [text for text in answers if not _NO_ANSWER.fullmatch(text) and not _ASKED.match(text)]
    is_dialogue = any(map(_DIALOGUE.search, answers))  # and so no answer
    is_constant = len(set(spoken)) == 1 and len(spoken) > 2  # as what a service says of itself
    if not spoken or 2 * len(spoken) < len(answers) or is_dialogue or is_constant:
        return None
    prompts = {turn.raw.strip() for turn in turns if turn.kind == "prompt" and turn.raw}
    item = ("each",) if "each" in mapping else ()
    records = [as_object(value_at(turn.source, item)[0]) for turn in turns if turn.kind == "response"]
    path = parse_path(mapping.get("raw", "$.text"))
    if any(as_object(value_at(record, path)[0]).keys() & {"status", "headers", "body"} for record in records):
        return None  # what a server answered
    holders = [as_object(value_at(record, path[:-1])[0]) for record in records]
    asking = [pair for holder in (*records, *holders) for pair in holder.items() if _asks(pair[1])]
    named = re.split(r"[.\]]", mapping.get("raw", "said"))[-1]
    tools = {*TOOLS, "action"} if named in CAME_OF else {*TOOLS}
    if prompts.intersection(answers) or any(record.keys() & tools for record in records):
        return None
    if asking and "where" not in mapping:
        place = mapping["raw"] if any(asking[0][0] in holder for holder in holders) else "$"
        where = f"{beside(place, asking[0][0])}!={asking[0][1]}"
        return _tried({**mapping, "where": where}, beginning, filename)
    return None if asking else Tried(mapping, len(answers), [_short(text) for text in spoken[:2]], named)


def _asks(who: Any) -> bool:
    """Whether it says of what stands beside it that no model wrote it, as `user` or `example.Message.User`."""
    return _ASKER.fullmatch(str(who).rpartition(".")[2]) is not None


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_SHOWN else line[: _LONGEST_SHOWN - 1] + "…"


def _speaks(head: DumpHead) -> bool:
    """Whether somebody seems to speak in it, so that passing it over in a folder is worth a word."""
    if is_of_chats(head) or (head.shape == "text" and _ADDRESS.search(head.text)):
        return True
    bare = answerless(head.told)
    if bare is not None and "CloudWatch" not in bare:  # whose events hold any log
        return False
    if head.shape == "text" and not head.filename.endswith(SETTINGS) and "</" not in head.text:
        names = ["".join(match.groups("")).lower() for match in _LABEL.finditer(FENCED.sub("", head.text))]
        known = {name for name in names if re.fullmatch(_NAMED, name)}
        if len(known - _OF_SETTINGS) > 2 or (known - _OF_SETTINGS and len(names) > len(set(names)) > 1):
            return True
    if head.shape in ("sqlite", "text"):
        return bool(_TOLD.search(jsontext.dumps(list(head.items.values())))) or of_mappings(head) is not None
    told = set(_TOLD.findall(head.text))
    if len(told) > 1 and told - _OF_ANYBODY:
        return True
    return (tried := of_mappings(head)) is not None and bool(ANSWERED.fullmatch(tried.named))
