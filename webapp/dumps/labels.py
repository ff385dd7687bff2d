"""Texts by the words behind which somebody speaks, as `Generated answer: 14` and `**Kane**:`; and a guess of these."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Any

from webapp.dumps.mappings import LABELS
from webapp.dumps.messages.framing import FENCED, MODEL, RULE, USER
from webapp.dumps.programs import BEGIN
from webapp.dumps.values import MODEL_NAMES, WORDS, is_speech

_SILENT = r"(?:\w+://\S+|True|False|None)(?: \d{3})?"
SAYS_NOTHING = re.compile(f"(?:{_SILENT})?")
_NOTED = r"[\])*_】>]{0,4}(?: ?[\[(][^\])\n]{1,60}[\])])?[*_]{0,3} ?"
_ENDS = r"(?:：[*_]{0,3}|:+[*_]{0,3}(?=\s)|[=-]>|(?<=[\]*_】])(?=\r?$))"
_CLOSE = rf"{_NOTED}{_ENDS}(?![ \t]*{_SILENT}[ \t]*\r?$)"
_LOGGER = r"(?:[^\n]{0,40}?\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\b)?[\]:\s]{1,3}[\w.]{1,60}:\s?"
_AHEAD = rf"(?:(?:{BEGIN.pattern})(?:{_LOGGER}|[^\n]{{0,160}}?[\s\]):|>-])?|[^\w\n]{{0,8}})"
_ANYBODY = r"[^\W\d_][\w.]{0,30}(?:[ _/'-][\w.]{1,30}){0,4}"
_COMING = re.compile(r"(?i)^(?:final|received) ")
_NAMED = re.compile(f"{USER}|{MODEL}|task (?:completed|finished|output|result)", re.I)
_UNSURE = re.compile(r"(?i)\b(?:tasks?|ask(?:ing|ed)?|messages?|msg|repl(?:y|ies))\b")
"""what builds, peers and mail servers have, too"""
_OF_MODELS = re.compile(rf"\b(?:llm|openai|anthropic|{MODEL_NAMES})", re.I)
_WEAK = {*WORDS["weak"].split(), "input", "request", "requests", "output"}
_ANY = re.compile(rf"^(?:{_AHEAD}(?P<known>{USER}|{MODEL}){_CLOSE}|{_AHEAD}(?P<who>{_ANYBODY}){_CLOSE})", re.M)
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_PROMPTS, _ANSWERS, _NO_LABEL = (
    frozenset(" ".join(WORDS[key] for key in keys).split())
    for keys in (("prompts", "in_labels"), ("answers",), ("else", "labels_else"))
)


def labels_of(mapping: Mapping[str, str]) -> re.Pattern[str]:
    """How a line begins on which one speaks whom a mapping names, its last group as the field that does."""
    words = {field: filter(None, map(str.strip, mapping.get(field, "").split(","))) for field in LABELS}
    named = (f"(?P<{field}>{'|'.join(map(re.escape, names)) or '(?!)'})" for field, names in words.items())
    return re.compile(rf"{_AHEAD}(?:{'|'.join(named)}){_CLOSE}", re.M)


def labels_in(records: list[str]) -> re.Pattern[str] | None:
    """The words behind which both sides speak."""
    named = guessed_labels("\n".join(records))
    return labels_of(named) if len(named) > 1 else None


def labelled(labels: re.Pattern[str], record: str, *, is_named: bool) -> dict[str, Any] | None:
    """A record as what stands behind one of these; of those that somebody named, also by whom it is."""
    match = labels.match(record)
    said = RULE.sub("", record[match.end() :].strip()).strip() if match else ""
    if match is None or not said:
        return None
    by = {"by": match[match.lastgroup or 0]} if is_named else {}
    side = "assistant" if match.lastgroup == "said" else "user"
    return {"before": record[: match.end()], "side": side, "text": said, **by}


def guessed_labels(written: str) -> dict[str, str]:
    """Who speaks in a text, as a mapping: `said` by those who answer, where their words tell, with `asked`; else by
    all who speak again and again in a chat. Empty where nobody does."""
    said, written = defaultdict[str, list[str]](list), FENCED.sub("", written)
    marks = list(_ANY.finditer(written))
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(written)], strict=False):
        said[mark["known"] or mark["who"]].append(written[mark.end() : end])
    sides = [side for mark in marks if (side := side_before(mark["known"] or mark["who"]))]
    is_of_model = _OF_MODELS.search(written) is not None
    least = 3 - is_of_model
    are_turns = sides[:least] == ["user", "assistant", "user"][:least]
    speak = any(map(_speaks, chain(*said.values())))
    spoken = [
        name
        for name, texts in said.items()
        if (are_turns and (is_of_model or _NAMED.fullmatch(name) or speak))
        or (len(texts) > least - 2 and any(map(is_speech, texts)))
    ]
    said_by = (",".join(name for name in spoken if side_before(name) == side) for side in ("assistant", "user"))
    named = dict(zip(LABELS, said_by, strict=True))
    is_sure = is_of_model or any(side_before(_UNSURE.sub("", name)) for name in spoken)
    if named["said"] and is_sure:
        return {field: names for field, names in named.items() if names}
    again = {name: texts for name, texts in said.items() if len(texts) > 1 and "_" not in name}
    are_spoken = all(2 * sum(map(is_speech, texts)) > len(texts) for texts in again.values())
    return {"said": ",".join(again)} if are_spoken and len(again) > 1 and not BEGIN.match(written) else {}


def _speaks(text: str) -> bool:
    return is_speech(text) or text.lstrip()[:1] in ("{", "[")


def side_before(name: str) -> str | None:
    """Who is said to speak behind a word."""
    if _NAMED.fullmatch(name):
        return "user" if re.fullmatch(USER, name, re.I) else "assistant"
    return None if name.lower() in _WEAK else side_of(_COMING.sub("", name))


def side_of(label: str) -> str | None:
    """Who said what stands below a label, where its words tell."""
    words = {word.lower() for word in _WORD.findall(label)}
    asks, answers = not _PROMPTS.isdisjoint(words), not _ANSWERS.isdisjoint(words)
    if not _NO_LABEL.isdisjoint(words) or asks is answers:
        return None
    return "user" if asks else "assistant"
