"""Chats saved as Markdown or plain text, with who speaks on a line of its own: **User**, ## Assistant, Human: …"""

from __future__ import annotations

import re
from bisect import bisect
from itertools import dropwhile, groupby
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Entries, Format, SessionEntries, Sessions, Source
from webapp.dumps.labels import side_before
from webapp.dumps.messages.framing import (
    BUFFERED,
    FENCED,
    HASHED,
    KINDS,
    MODEL,
    PANEL,
    PERPLEXITY,
    RULE,
    TEMPLATE,
    TOKENS,
    USER,
    after_stamps,
    are_fields,
    are_listed,
    body_of,
    framed,
    framing_of,
    parts_of,
    turns_of_names,
    undecorated,
    unfenced,
    with_calls,
)
from webapp.dumps.messages.langchain import pretty_printed
from webapp.dumps.messages.turns import event_turns, message_turns, note_once, result_turns, text_turns
from webapp.dumps.programs import BEGIN, SETTINGS
from webapp.dumps.records import Turn
from webapp.dumps.values import text

_NAME = rf"(?P<who>{USER}|{MODEL}|System|SYSTEM)"
_SIGN = r"(?:[^\w\s#*_=|>\[(<:`\"'-]{1,5} ?)?"
_NOTE = r"(?:[ \t]*(?:[(\[][^()\[\]\r\n]{0,80}[)\]]|`[^`\n]{1,40}`))?"
_AFTER = r"(?: (?:[-–—·•|] _?\d{1,4}[-/.:]\d[\w:., /+-]{2,40}_?|— (?=\S{0,60}\d)\S{1,60}))?"
"""an emoji before the name; what some write behind it: the time, the model"""
_HEADINGS = tuple(
    re.compile(rf"^{pattern}[ \t]*\r?$(?!\n: )", re.M)
    for pattern in (
        r"={10,80} (?P<who>System|Human|Ai|AI|Tool|Function|Chat) Message(?: Chunk)? ={10,80}",  # LangChain's print
        r">>(?:(?P<asks>User)|(?P<who>[^\s:][^:\n]{0,60})):",  # LibreChat's text
        r"▶ (?P<who>USER|ASSISTANT|SYSTEM|TOOL):",  # Chatbox'
        r"### [^\s#`A-Za-z]{1,4} (?P<who>User|Copilot|Reasoning|Info|`[^`\n]{1,60}`|\w{1,60} \((?:Completed|Failed)\))",
        rf"#{{1,6}} (?:{_SIGN}|\d{{1,4}}\. )(?i:{_NAME}){_NOTE}{_AFTER}(?: [^\w\s#]{{1,2}}(?:\u200d[^\w\s#])?)?:?",
        rf"> ?\[!(?i:{_NAME})\][^\n]*",  # Obsidian's callouts
        r"-{3}(?P<who>USER|ASSISTANT|SYSTEM|TOOL)",  # fast-agent's
        rf"[=*#-]{{5,80}}\r?\n(?i:{_NAME})\r?\n[=*#-]{{5,80}}",
        r"── (?P<who>user|assistant|system)(?: \[[^\]\n]*\])? ─{2,200}",  # ellmer's
        rf"(?i:[=*-]{{2,80}} ?\[?(?P<who>{USER}|{MODEL}|{'|'.join(KINDS)})\]?:? ?[=*-]{{2,80}})",
        rf"(?i:\[\d[^\]\n]{{4,30}}\] [=-]{{2,20}} {_NAME} [=-]{{2,20}})",
        rf"_?\*\*_?{_SIGN}{_NAME}{_NOTE}[:：]?_?\*\*_?{_NOTE}{_AFTER}[:：]?",
        rf"_\*\*{_NAME}(?:: [^\n(*]{{1,60}})? \([^()\n]{{1,80}}\)\*\*_",
        r"#{1,6} (?P<who>👤|🧑|🤖) (?:\*\*)?[^\n*#]{1,40}(?:\*\*)?[^\n*]{0,30}",
        rf"\[?{_NAME}(?: message| prompt \d{{1,4}} of \d{{1,4}} - [^\n]{{1,40}}?)?\]?{_NOTE}[:：]{_NOTE}",
    )
)
_OWN = {_HEADINGS[0]: "", _HEADINGS[1]: "===", _HEADINGS[2]: "---"}
"""which no other tool writes, with how what stands before the first ends"""
_ANYBODY = r"(?P<name>[^\W\d_][\w .@-]{0,40})"
_SAID = r"(?: {1,3}(?=\S)|[ \t]*\r?$)"
_LABELS = tuple(
    re.compile(pattern, re.M)
    for pattern in (
        rf"(?:\A\s{{0,20}}|(?<=\n\n)|(?<=\n\r\n)){_ANYBODY}: (?=\S)",
        rf"^\u200e?\[\d[^\]\n]{{4,30}}\] \[?{_ANYBODY}\]?:{_SAID}",
        rf"^\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}},? \d{{1,2}}:[\d:,.]{{2,10}}(?: ?[AaPp][Mm])? - {_ANYBODY}:{_SAID}",
        rf"^【{_ANYBODY}】:?\s?",
        rf"^{_ANYBODY}: (?=\S)",
    )
)
_PLAIN = _LABELS[-1]
"""who speaks, whoever that is, behind an empty line as VS Code copies a chat, or behind a time as WhatsApp has it"""
_OF_MODEL = re.compile(r"\b(?:AI|GPT|LLM|Bot|ASSIST|Assistant|Claude|Gemini|Copilot|Replika)\b|GPT$|[Bb]ot$")
_LABELLED = re.compile(
    r"(?:\A\s*+|\n\n\s{0,40}+|(?=### ))(?:### )?(?P<who>Human|Assistant|System|USER|ASSISTANT|SYSTEM|FUNCTION RESPONSE"
    r"|Instruction|Input|Response):\s?"
)
"""how sets of chats to train on write it within a text: HH's, Guanaco's, Alpaca's, Glaive's"""
_INLINE = re.compile(rf"^(?:{_NAME}{_NOTE}(?:[ \u00a0\u202f]?:{_SAID}|：[ \t]*)|(?P<sign>👤|🧑|🤖):? (?!\*\*))", re.M)
_BOLD = re.compile(rf"^(?:> |{_SIGN})\*\*(?!Model|Agent){_SIGN}{_NAME}{_NOTE}(?::\*\*|\*\*:){_SAID}", re.M)
_ROLES = re.compile(
    r"^(?:(?P<who>user|assistant|system|tool|function|human|ai):"
    r"|(?P<spaced>(?i:user|you|human|assistant|system|ai|model|bot)) :"
    r"|\[(?P<name>(?i:USER|ASSISTANT|SYSTEM|TOOL|HUMAN|AI))\]:?"
    r"|\*\*(?P<bold>user|assistant|system|human|ai)(?:\*\*:|:\*\*))(?: |[ \t]*\r?$)",
    re.M,
)
_BUFFER = re.compile(r"^(?P<who>Human|AI|System|Tool|Function): ", re.M)
"""LangChain's `get_buffer_string`, told by the calls that it prints behind what is said"""
_LINED = re.compile(rf"(?:^|(?<=[.!?…。！？\"'}})\]`] ))(?!Model|Agent){_NAME}: ?(?=\S)", re.M)
"""also without a space, and within a line behind what ends a sentence"""
_ALONE = re.compile(
    rf"^(?!Prompt|Customer|Bot|Agent|Model|MODEL|Response|Planner|Me\b){_NAME}[ \t]*\r?$(?!\n[-=~^]{{3}})", re.M
)
"""names that nothing marks, as pages are copied; told by their turns alone"""
_STYLES = (TEMPLATE, *_HEADINGS, _INLINE, _BOLD, _ROLES, _LINED)
_PROSE = re.compile(r"[^#<>_*|\s-]|\s+\S")
"""how no line of a title and the like begins"""
_TITLE_ROLE = "title"
_ASIDES = ("thinking", "event", _TITLE_ROLE)
"""of which nobody says anything"""
_MOST_BEFORE = 2000
"""characters of a title and the like before the first speaks"""
_REMARKS = {
    "drawn": "boxes that a terminal drew: a long line is several there, and is read as these",
    "headed": "of what was asked only a first line is told from the answer, as a heading",
    "alone": "two names of several that stand so: nothing else says that this is a chat",
}
_MOST_LED = 300
"""and of prose, where both speak in turn at once"""


class Transcript(Format):
    shapes = "a chat as Markdown or text, who speaks on a line of its own (**User**, ## Assistant, Human:)"
    surest = 60

    def sniff(self, head: DumpHead) -> int:
        is_chat = head.shape == "text" and not head.filename.endswith(SETTINGS) and _style(head.text) is not None
        return 60 if is_chat else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _messages(source.plain_text(), _style(head.text) or _HEADINGS[0]))

    def checked(self, entry: dict[str, Any]) -> dict[str, Any]:
        """What LangChain and `llm logs` print of a call stands in no turn as it came."""
        return {} if entry.get("printed") or with_calls(str(entry.get("content"))) else entry

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        raw = str(entry.get("content"))
        for words in (words for key, words in _REMARKS.items() if key in entry):
            note_once(words, conversation)
        role = text(entry.get("role"))
        if role in _ASIDES:
            return event_turns(role, raw)
        if "_Thinking:_" in raw:
            note_once("a thought and what was answered below it are not told apart in it: both are read", conversation)
        if entry.get("printed"):
            return message_turns(pretty_printed(raw, role, conversation.notes), conversation)
        if role == "assistant" and (message := with_calls(raw)) is not None:
            return message_turns(message, conversation)
        if not (parts := list(parts_of(raw, role))):
            return text_turns(raw, role, conversation)
        return [turn for kind, part in parts for turn in _part_turns(kind, part, role, conversation)]


def _part_turns(kind: str, part: str, role: str | None, conversation: Conversation) -> list[Turn]:
    if kind == "said":
        return text_turns(part, role, conversation)
    return result_turns(part, conversation) if kind == "result" else event_turns(kind, part)


def templated(written: str) -> list[tuple[str, str]]:
    """Who says what in a text that a model's template wrote; nothing where it is none, or no model speaks."""
    marks = list(TEMPLATE.finditer(written)) or list(_LABELLED.finditer(written))
    needed = {"assistant"} if marks and marks[0].re is TEMPLATE else {"user", "assistant"}
    if not marks or TOKENS.sub("", written[: marks[0].start()]).strip() or not needed <= set(map(_side, marks)):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(written)]
    return [
        (_side(mark), TOKENS.sub("", written[mark.end() : end]).strip("\r\n"))
        for mark, end in zip(marks, ends, strict=True)
    ]


def _style(written: str) -> re.Pattern[str] | None:
    """How the names of those who speak are written, where both do, and no more than a title stands before the first."""
    written = undecorated(written)
    for style in (_BUFFER,) if BUFFERED.search(written) else _STYLES:
        marks = _marks(style, written)
        before = TOKENS.sub("", written[: marks[0].start()]).strip() if marks else ""
        titled = len(before) <= _MOST_BEFORE and not any(map(_PROSE.match, FENCED.sub("", before).split("\n")))
        plain = style in (TEMPLATE, _INLINE, _HEADINGS[-1], _ROLES, _BUFFER, _LINED)
        sides = [_side(mark) for mark in marks]
        turned = ["user", "assistant"] * (2 if plain else 1)
        most = 0 if style is TEMPLATE else _MOST_LED
        led = len(before) <= most and "```" not in before and len(sides) > 3 and sides[: len(turned)] == turned
        led &= not BEGIN.match(before)  # a program's log, whose records hold the chat again
        is_record = len(sides) == 2 and are_fields(written)
        begins = not (before or is_record) if plain else titled or (style in _OWN and before.endswith(_OWN[style]))
        begins &= plain or "assistant" in dropwhile("user".__ne__, sides)  # else headings of a page on both
        if {"user", "assistant"} <= set(sides) and (led or begins):
            return style
    if (label := _labelled(written)) is not None:
        return label
    return _ALONE if _alternate(written) else None


def _alternate(written: str) -> bool:
    """Whether names that stand alone on lines take turns, from the first line on but for what is asked first."""
    sides = [_side(mark) for mark in _marks(_ALONE, written)]
    first = _ALONE.search(written)
    is_turned = sides[:2] in (["user", "assistant"], ["assistant", "user"]) and len(sides) > 2
    led = first is not None and (sides[:1] == ["assistant"] or not written[: first.start()].strip())
    return is_turned and led and sides == (sides[:2] * len(sides))[: len(sides)]


def _labelled(written: str) -> re.Pattern[str] | None:
    """The names of two who speak in turn, of which one is a model's and the other may be anybody's."""
    for label in _LABELS:
        names = [match["name"] for match in label.finditer(written)]
        asking = [name for name in names if re.fullmatch(USER, name, re.I)]
        begins = names.index(asking[0]) if asking and label in _LABELS[1:3] else 0
        runs = [name for name, _ in groupby(names)] if label is _LABELS[0] else names[begins:]
        turns = turns_of_names(runs, 4 if label is _PLAIN else 3)
        known = {name for name in names if side_before(name) == "assistant" or _OF_MODEL.search(name)}
        known = set(turns[1:]) if label is _PLAIN or not known else known
        is_log = bool(asking) and label in _LABELS[1:3]  # other records may stand between them
        is_chat = (turns or len(set(names)) == 2) and names[0] not in known and label.match(written.lstrip())
        if len(known) == 1 and (is_log or is_chat):
            asks, answers = re.escape(asking[0] if is_log else names[0]), re.escape(known.pop())
            others = rf"|{label.pattern.partition(_ANYBODY)[0]}(?=(?P<event>[\s\S]))" if is_log else ""
            names_pattern = rf"(?:(?P<asks>{asks})|(?P<who>{answers}))"
            return re.compile(label.pattern.replace(_ANYBODY, names_pattern) + others, re.M)
    return None


def _marks(style: re.Pattern[str], written: str) -> list[re.Match[str]]:
    """Where each begins to speak. Of other names, which stand in answers as headings, the first of each side counts."""
    marks, names = list(style.finditer(written)), dict[str, str]()
    fenced = [match.span() for match in (FENCED if style is _ROLES else HASHED).finditer(written)]
    before = (bisect(fenced, (mark.start(), 0)) for mark in marks)
    marks = [mark for mark, n in zip(marks, before, strict=True) if not n or fenced[n - 1][1] <= mark.start()]
    level = next((mark[0].split()[0] for mark in marks if _side(mark) == "user"), "")
    for mark in sorted(marks, key=lambda mark: mark[0].split()[0] != level):  # of headings those as deep
        names.setdefault(_side(mark), _who(mark))
    return [mark for mark in marks if _who(mark) == names[_side(mark)] or _side(mark) in ("tool", *_ASIDES)]


def _who(mark: re.Match[str]) -> str:
    return next(name for name in mark.groups() if name)


def _side(mark: re.Match[str]) -> str:
    named = mark.groupdict()
    return "user" if named.get("asks") else "event" if named.get("event") else _role(_who(mark))


def _role(who: str) -> str:
    if who.title() in KINDS or who[0] == "`":
        return KINDS.get(who.title(), "tool")
    return "user" if re.fullmatch(USER, who, re.I) else "event" if who[-1] == ")" else "assistant"


def told(shown: str) -> list[dict[str, Any]]:
    """The messages of a dialogue that is one text; none where not both sides say something."""
    style = _style(shown) if ":" in shown or "#" in shown else None
    messages = [entry[1] for entry in _messages(shown, style) if isinstance(entry, tuple)] if style else []
    return messages if {"user", "assistant"} <= {said["role"] for said in messages if said["content"]} else []


def _messages(shown: str, style: re.Pattern[str]) -> Entries:
    """What stands between the names, without empty lines around it and the rule that ends it."""
    written = undecorated(shown)
    marks = _marks(style, written)
    about: dict[str, Any] = {"printed": True} if style is _HEADINGS[0] else {}
    if PANEL.search(shown):
        about = {"drawn": True}
    elif PERPLEXITY.match(shown):
        about = {"headed": True}
    elif are_listed(marks, written):
        about = {"alone": True}
    before = TOKENS.sub("", written[: marks[0].start()]).strip() if marks else ""
    if before:
        asks = style is _ALONE and _side(marks[0]) == "assistant"
        yield "character 0", {"role": "user" if asks else _TITLE_ROLE, "content": before}
    sides = [_side(mark) for mark in marks]
    framing, around = framing_of(before, written, sides.count("assistant")), TOKENS if style is TEMPLATE else RULE
    marks = framed(marks, sides, before, written)
    said = [mark for mark in marks if _side(mark) in ("user", "assistant")]
    begins = dict(zip(said, after_stamps(written, [mark.end() for mark in said]), strict=True))
    ends = dict(zip(marks, [*(mark.start() for mark in marks[1:]), len(written)], strict=True))
    frames = [framing.search(written, mark.end(), ends[mark]) for mark in marks]
    cuts = {mark: frame.start() if frame else ends[mark] for mark, frame in zip(marks, frames, strict=True)}
    bodies = {mark: body_of(mark, written[begins.get(mark, mark.end()) : cuts[mark]], around) for mark in marks}
    bodies |= zip(said, unfenced([bodies[mark] for mark in said]), strict=True)
    for mark in marks:
        yield f"character {mark.start()}", {"role": _side(mark), "content": bodies[mark], **about}
        if aside := written[cuts[mark] : ends[mark]].strip():
            yield f"character {cuts[mark]}", {"role": _TITLE_ROLE, "content": aside}


plugin = Transcript()
