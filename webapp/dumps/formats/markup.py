"""Texts whose marks say who speaks: elements of HTML or XML; headings and rules above what was asked and answered."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, SessionEntries, Sessions, Source
from webapp.dumps.decoding import json_or_none
from webapp.dumps.labels import side_of
from webapp.dumps.messages.bodies import said_turns
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import each_with, message_turns, text_turns, turns_of
from webapp.dumps.records import Turn
from webapp.dumps.told_texts import NAMES_MODEL, RUN_BY
from webapp.dumps.values import MODEL_NAMES, as_object, is_speech, text

_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w:-]{0,40}+)(?P<with>[^<>]{0,4000}+)>|<![A-Za-z][^<>]{0,400}+>")
"""a tag; what stands in it is bounded, so that reading stays linear"""
_BEGINS = re.compile(r"\s*<(?:!doctype html|html|\?xml|[a-z][\w-]{0,40}[\s>])", re.I)
_SAYING = re.compile(r"(?:data-)?(?:[\w-]*(?:role|author|sender|speaker|from)|class|name|type)", re.I)
"""attributes that say who speaks"""
_PLAINLY = re.compile(r"(?:data-)?[\w-]*(?:role|author|sender|speaker|from)", re.I)
"""attributes that are there to say it"""
_OF_MODELS = {"assistant", "ai", "bot", "gpt", "chatgpt", "claude"}
_OF_CHATS = {"message", "messages", "msg", "chat", "bubble", "turn", "response", "reply"}
"""beside which `agent` or `model` in a class is who speaks: `model-response`; alone it may be a car's"""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SIDES = {
    **dict.fromkeys(("user", "human", "you", "prompt", "question"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "agent", "gpt", "chatgpt", "claude", "answer"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    "tool": "tool",
}
_CALLS = {"function_call", "function-call", "tool_call", "tool-call", "tool_use"}
_RESULTS = {"function_result", "function-result", "tool_result", "tool-result"}
_VOID = {"br", "img", "hr", "input", "meta", "link", "source", "wbr", "col"}
_BLOCKS = {"p", "div", "li", "ul", "ol", "pre", "tr", "table", "section", "article", "blockquote", "h1", "h2", "h3"}
_UNSAID = {"script", "style", "head", "svg", "button", "nav", "title", "template"}
_LABEL = re.compile(
    r"(?i)(?:you|user|human|me|assistant|ai|bot|chatgpt|claude|gemini|copilot|system|model)(?: said)?:?"
)
_DEEPEST = 200


@dataclass(slots=True)
class _Element:
    """An element that says who speaks, or that is a call or a result; of others the text is that of what is around."""

    side: str | None
    about: dict[str, str] = field(default_factory=dict)
    parts: list[Any] = field(default_factory=list)
    sides: set[str] = field(default_factory=set)
    """who speaks in it or in what stands in it"""
    is_sure: bool = False
    """whether a model plainly speaks in it, or in what stands in it"""

    def inner(self) -> list[_Element]:
        return [part for part in self.parts if isinstance(part, _Element)]

    def said(self) -> str:
        """Its text, without that of calls and results, and without a line that only says who speaks."""
        spoken = [part for part in self.parts if isinstance(part, str) or part.side not in ("call", "result")]
        written = "".join(part if isinstance(part, str) else part.said() for part in spoken)
        lines = [line.removeprefix(" ").rstrip() for line in written.split("\n") if line.strip()]
        return "\n".join(lines[1:] if len(lines) > 1 and _LABEL.fullmatch(lines[0].strip()) else lines)


class Markup(Format):
    surest = 50
    shapes = "a chat as HTML or XML, whose elements say who speaks (role, class or data-… attributes)"

    def sniff(self, head: DumpHead) -> int:
        if head.shape != "text" or not _BEGINS.match(head.text[:500]):
            return 0
        tree = _tree(head.text)
        return 50 if tree.is_sure and {"user", "assistant"} <= {entry["role"] for entry in _messages(tree)} else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        entries = ((f"element {n}", entry) for n, entry in enumerate(_messages(_tree(source.plain_text())), start=1))
        yield SessionEntries(source.stem, entries)

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        if not conversation.entry:
            conversation.notes.append("of markup the text is read: what was bold, a list or a link is not seen in it")
        role = text(entry.get("role")) or "user"
        said, calls = text(entry.get("text")) or "", [_piece(part) for part in entry.get("calls", ())]
        turns = text_turns(said, role, conversation) if said or not calls else []
        return [*turns, *(turns_of(calls, role, conversation) if calls else [])]


def _piece(part: dict[str, Any]) -> Piece:
    """A call or a result."""
    name, ident = part.get("name"), part.get("id")
    if part["kind"] == "call":
        return Piece.of_call(part["text"], name, ident, {"arguments": part["text"]})
    return Piece("result", part["text"], name, ident)


def _messages(element: _Element) -> Iterator[dict[str, Any]]:
    """The outermost elements in which one side alone speaks, in their order."""
    if element.side and len(element.sides) == 1:
        inner = [part for part in element.inner() if part.side in ("call", "result")]
        calls = [{"kind": part.side, "text": part.said(), **part.about} for part in inner]
        words = element.said()
        if words or calls:
            yield {"role": element.side, "text": words, **({"calls": calls} if calls else {})}
        return
    for part in element.inner():
        yield from _messages(part)


def _tree(written: str) -> _Element:
    """The elements that say who speaks, with their texts; comments, scripts and the like are no text."""
    root = _Element(None)
    open_: list[tuple[str, _Element, bool]] = [("", root, False)]
    names, at = Counter[str](), 0
    written = _without_comments(written)
    for tag in _TAG.finditer(written):
        name, (_, around, unsaid) = (tag["name"] or "").lower(), open_[-1]
        if not unsaid:
            around.parts.append(_text(written[at : tag.start()], names["pre"] > 0))
        at = tag.end()
        if name in _BLOCKS or name == "br":
            around.parts.append("\n")
        if tag["end"] and names[name]:
            _close(open_, max(n for n, opened in enumerate(open_) if opened[0] == name), names)
        elif name and not tag["end"] and name not in _VOID and not tag["with"].endswith("/") and len(open_) < _DEEPEST:
            element = _element(name, tag["with"])
            if element is not None:
                around.parts.append(element)
            open_.append((name, element or around, unsaid or name in _UNSAID))
            names[name] += 1
    root.parts.append(_text(written[at:], False))
    _close(open_, 1, names)
    return root


def _close(open_: list[tuple[str, _Element, bool]], depth: int, names: Counter[str]) -> None:
    """Close the elements from this depth on: who speaks in each speaks in the one around it, too."""
    while len(open_) > depth:
        name, element, _ = open_.pop()
        names[name] -= 1
        open_[-1][1].sides.update(element.sides)
        open_[-1][1].is_sure |= element.is_sure


def _element(name: str, attributes: str) -> _Element | None:
    """An element that says who speaks, by its name or an attribute; None for another."""
    quoted = (attributes if '"' in attributes else attributes.replace("'", '"')).split('"')
    keys = (before.rstrip(" =").rpartition(" ")[2].lower() for before in quoted[::2])
    about = dict(zip(keys, quoted[1::2], strict=False))
    if name in _CALLS | _RESULTS:
        called = {key: value for key, value in about.items() if key in ("name", "id")}
        return _Element("call" if name in _CALLS else "result", called)
    if side := _SIDES.get(name):
        return _Element(side, sides={side}, is_sure=name in _OF_MODELS)
    for key, value in about.items():
        words = {word.lower() for word in _WORD.findall(value)}
        sides = {_SIDES[word] for word in words if word in _SIDES}
        if _SAYING.fullmatch(key) and len(sides) == 1 and len(value) <= 300:
            plainly = _PLAINLY.fullmatch(key) or words & _OF_MODELS or (key == "class" and words & _OF_CHATS)
            return _Element(next(iter(sides)), sides=sides, is_sure=sides == {"assistant"} and bool(plainly))
    return None


def _text(written: str, is_pre: bool) -> str:
    return html.unescape(written if is_pre else re.sub(r"\s+", " ", written))


def _without_comments(written: str) -> str:
    """Without comments, and with what stands in CDATA as other texts stand there."""
    first, *comments = written.split("<!--")
    written = first + "".join(part.partition("-->")[2] for part in comments)
    first, *sections = written.split("<![CDATA[")
    parts = (part.partition("]]>") for part in sections)
    return first + "".join(html.escape(inner) + after for inner, _, after in parts)


_CALLED = re.compile(
    r"^(?:#{1,6} (?P<heading>[^\n]{2,80}?)#*|\*\*(?P<bold>[^*\n]{2,80})\*\*:?"
    r"|<summary>(?:<\w+>)*(?P<summary>[^<\n]{2,80})(?:</\w+>)*</summary>"
    r"|[ \t]*[=*#~>-]{3,} ?(?P<ruled>[^\n]{2,80}?) ?[=*#~<-]{3,}|(?P<line>[^\W\d][\w ()-]{1,60}):)[ \t]*\r?$",
    re.M,
)
"""a line that is called as what stands below it"""
_IS_PROMPT = re.compile(r"\bprompt", re.I)
_LETTERS = re.compile(r"[\d:(].*")
_SAYS = re.compile(
    r"^(?P<sign>[^\w\s#*_=|>\[(<:`\"'/-]{1,3} ?| {2,8}|[-*] \*\*)(?P<name>[^\W\d_a-z][\w .-]{1,30}):(?:\*\*)? (?=\S)",
    re.M,
)
"""who says what behind a sign, as a program prints it for each that speaks"""
_MARKED = re.compile(r"^(?:[^\w\s\"'`(\[<*-]|[=─-]{4})", re.M)
_FENCE = re.compile(r"```\w*\r?\n(?P<said>(?:(?!^```)[\s\S])*?)\r?\n```(?=\s*(?:\Z|^-{3,}[ \t]*\r?$))", re.M)
"""all that stands below a line, or all above a rule"""
_AROUND = re.compile(
    r"\A(?:\s|[-=*_]{3,}\s)*|(?:\s|[-=*_]{3,}(?=\s*(?:</details>)?\s*\Z)|</details>"
    r"|(?<=\n)-{20,}\r?\n(?:[^\n]+\n){1,3}-{20,}(?=\s*\Z))*\Z"
)


class Sections(Format):
    called = "sections"
    surest = 44
    read_by = "no known shape: it is read by lines with the {}"
    shapes = "what a model was asked and answered below lines that say so (**Prompt sent**, === Raw response ===)"

    def sniff(self, head: DumpHead) -> int:
        return 44 if head.shape == "text" and _sections(head.text) else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, ((f"character {at}", said) for at, said in _sections(source.plain_text())))

    def checked(self, entry: dict[str, Any]) -> dict[str, Any]:
        return {"text": entry["text"]}

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        conversation.names[str(entry["label"])] += 1
        body = as_object(json_or_none(str(entry["text"]))) if entry["side"] == "assistant" else {}
        if "content" in body and body.keys() & {"tool_calls", "finish_reason"}:  # a message as a logger writes it
            return message_turns({"role": "assistant", **body}, conversation)
        turns = said_turns(str(entry["text"]), conversation, entry["side"])
        return each_with(turns, agent=text(entry["agent"])) if "agent" in entry else turns


plugins = (Markup(), Sections())


def _sections(written: str) -> list[tuple[int, dict[str, Any]]]:
    """What was asked and answered below labels of one kind, or what several said behind a sign; empty where neither."""
    for kind in ("summary", "ruled", "heading", "bold", "line"):
        marks = [mark for mark in _CALLED.finditer(written) if mark[kind]]
        is_run = RUN_BY.search(written, 0, next((mark.start() for mark in marks if side_of(mark[kind])), 0)) is not None
        if not (sides := _sides([mark[kind].strip() for mark in marks], kind, is_run)):
            continue
        stems = [_LETTERS.sub("", mark[kind]) for mark in marks]
        often = {stem for stem, n in Counter(stems).items() if n >= max(2, sides.count("assistant"))}
        told = zip(marks, sides, stems, strict=True)
        kept = [(mark, side) for mark, side, stem in told if side or kind != "heading" or stem in often]
        found = zip(kept, [*(mark.start() for mark, _ in kept[1:]), len(written)], strict=True)
        entries = [
            (mark.end(), _section(side, mark[kind], _below(mark, written[mark.end() : end])))
            for (mark, side), end in found
            if side
        ]
        before = "" if "user" in sides else written[: marks[0].start()]
        return [(0, _section("user", "the beginning", before)), *entries] if is_speech(before) else entries
    return _spoken(written)


def _below(mark: re.Match[str], body: str) -> str:
    """What stands below a line, its lines without the space that this one begins with."""
    space = re.match(r"[ \t]*", mark[0])
    return re.sub(rf"^{space[0]}", "", body, flags=re.M) if space and space[0] else body


def _sides(labels: list[str], kind: str, is_run: bool) -> list[str | None]:
    """Who said what stands below each label; empty where they are others. `is_run` where a model is named before."""
    sides = [side_of(label) for label in labels]
    told = [side for side in sides if side]
    named = [label for label, side in zip(labels, sides, strict=True) if side == "assistant"]
    is_named = is_run and any(map(NAMES_MODEL.search, named))
    least = 2 if kind in ("heading", "bold") and not is_named else 1  # a guide has such headings, too
    is_asked = (kind == "ruled" or is_run) and any(map(_IS_PROMPT.search, labels))
    is_told = is_asked or any(map(NAMES_MODEL.search, named))
    if told[:1] == ["user"] and len(named) >= least and is_told:
        return sides
    if told and "user" not in told and any(re.match(r"(?i)(?:input |output )?tokens\b", label) for label in labels):
        return sides
    models = [label for label in labels if re.match(MODEL_NAMES, label, re.I)]
    speak_again = not told and len(set(models)) < len(models)
    return ["assistant" if label in models else None for label in labels] if speak_again else []


def _spoken(written: str) -> list[tuple[int, dict[str, Any]]]:
    """What several said, each behind the same sign and the name, in a text that tells of models."""
    marks = list(_SAYS.finditer(written))
    names = [mark["name"] for mark in marks]
    is_alike = len({mark["sign"] for mark in marks}) == 1 and 1 < len({*names}) < len(names)
    in_turn = any(a == c != b for a, b, c in zip(names, names[1:], names[2:], strict=False))
    if not (is_alike and in_turn and RUN_BY.search(written, 0, marks[0].start())):
        return []
    entries, ends = [], re.compile("$", re.M) if marks[0]["sign"][:1] in " -*" else _MARKED
    for mark in marks:
        following = ends.search(written, mark.end())
        said = written[mark.end() : following.start() if following else len(written)]
        entry = _section(side_of(mark["name"]) or "assistant", mark["name"], said)
        entries.append((mark.end(), entry | {"agent": mark["name"]}))
    return entries


def _section(side: str, label: str, body: str) -> dict[str, Any]:
    said = _AROUND.sub("", body.partition("</details>")[0])
    fenced = _FENCE.match(said)
    return {"side": side, "label": label.strip(), "text": fenced["said"] if fenced else said}
