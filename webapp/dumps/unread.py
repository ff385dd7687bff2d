"""What of a session's entries was not read: each text that speaks and is in no turn, no note and no known field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any
from unicodedata import category

from webapp.dumps.decoding import opened_literal
from webapp.dumps.messages.calls import ARGUMENTS, as_json
from webapp.dumps.messages.printed import is_printed
from webapp.dumps.records import MODEL_KINDS, Problem, Turn
from webapp.dumps.values import is_speech

_MOST_TEXTS, _MOST_PATHS, _MOST_AT_PATH = 5000, 100, 20
"""texts of an entry, paths of a session, texts at each"""
_KNOWN = re.compile(
    r"(?:name|description|title|tools|functions|parameters|.*schema|.*headers|set-cookie|cited_text|citations"
    r"|grounding.*|.*signature|encrypted.*|stack_?trace|traceback(?:_ansi)?|errors?|user_?agent|cwd|(?:file_?)?path|url|uri"
    r"|(?:response|usage|provider)?_?metadata|.*type|logprobs|annotations|.*instructions?|system_?prompt|git|env|environment|examples?|summary"
    r"|response_format|generation_?config|model|.*command|before|translated_.*|formatted_.*|user_profile|stream"
    r"|old_?str.*|new_?str.*|(?:old|new)_content|thinking|reasoning.*|(?:finish|block_?reason)_?message"
    r"|observation|tool_?use_?result|extras|repr|warnings|expected.*|reference.*|canonical_.*|exception\..*|template"
    r"|logfire\.msg.*|host_skills|tests?|model_input_messages|cost_details)",
    re.I,
)
"""keys of what is said of a dialogue and is no part of it: declarations, headers, places, failures, files"""
_STREAM = re.compile(
    r"\s*(?:HTTP/|id:|:|<|\{[^\n]*\}\s*\n\s*\{)|(?s:.{0,2000}?)(?:^|\n)(?:data|event):|[^\n]*[\0-\x08]"
)
"""what holds the pieces of an answer, or is no text"""
_CALLED = {"name", "toolName", "tool_name", "function_name"}
_NO_TEXTS = (
    *("id", "Id", "ID", "name", "ime", "role", "status", "stamp", "_at", "At"),
    *("kind", "phase", "reason", "source"),
)
"""how keys end whose texts are nothing that was said"""
_ANSWER = re.compile(r"(?:answer|response|completion|output|reply|content|text)s?(?:\[\])?\Z", re.I)
_OF_MODEL = re.compile(r"(?:(?<![^\W_])(?:answer|response|completion|output|reply|content)|\w_text)(?:\[\])?\Z", re.I)
"""what is called so and is JSON may be a model's, damaged or sound"""
_JSON = re.compile(r"\s*(?:```(?:json)?\s*)?(?:\[\s*)?\{\s*\"")
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*+)"')
_SHORTEST = 8
"""characters of a string within a call that is remembered by itself"""
_MOST_SEEN = 1_000_000
_LATIN = "\u036f"
"""the last letter, or mark, that Latin texts have"""
_MOST_OF_CALL, _START = 6, 2000
_HOLDERS = (dict, list)
_ESCAPES = re.compile(r"\\[nrtu\"\\/]|[\s\"'\\]+")


class UnreadText(Problem):
    """A problem that says of a text of the dump that it is in no turn."""


class _Said:
    """What the turns of one entry say, joined once where it is asked for."""

    def __init__(self, raws: list[str]) -> None:
        self._raws = raws

    @cached_property
    def _written(self) -> str:
        return "\n".join(self._raws)

    @cached_property
    def _bare(self) -> list[str]:
        return [_ESCAPES.sub("", raw) for raw in self._raws]

    @cached_property
    def _bare_written(self) -> str:
        return "\n".join(self._bare)

    def holds(self, text: str) -> bool:
        """Whether a turn says a text, or parts of it are turns, whatever escapes and layout are between."""
        if text in self._written or json.dumps(text, ensure_ascii=False)[1:-1] in self._written:
            return True
        bare = _ESCAPES.sub("", text)
        return bare in self._bare_written or any(len(raw) > 1 and raw in bare for raw in self._bare)


@dataclass(slots=True)
class UnreadTexts:
    """What was read of a session so far, as hashes, and the texts that were not, which later entries may still say."""

    read_texts: set[int] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    """hashes of texts that were looked at: requests repeat their histories"""
    suspects: dict[str, dict[int, tuple[str, int, list[int]]]] = field(default_factory=dict)
    """by path: the hash of each text, with the place of its entry, its length, and hashes of texts in it"""

    def learn(self, at: str, entry: dict[str, Any], turns: list[Turn]) -> None:
        """Hold the texts of an entry against its `turns` and those before them."""
        raws = [text for turn in turns for text in (turn.raw, turn.failure) if text]
        self.read_texts.update([hash(raw.strip()) for raw in raws])
        for raw in [turn.raw for turn in turns if turn.kind == "tool_call" and turn.raw]:
            self.read_texts.add(hash(_ESCAPES.sub("", raw)))
            literals = [literal[1] for literal in _LITERAL.finditer(raw) if len(literal[1]) > _SHORTEST]
            for literal in literals:  # what a call wrote may stand alone in its result
                self.read_texts.update((hash(literal), hash(_ESCAPES.sub("", literal))))
        by_model = [turn for turn in turns if turn.kind in MODEL_KINDS]
        is_answered = not by_model or any(turn.kind == "response" and turn.raw for turn in by_model)
        least = None if is_answered else 2 if raws else 1
        spoken = _Said(raws)
        self.seen = self.seen if len(self.seen) < _MOST_SEEN else set()
        self.seen.update(map(hash, raws))
        self.seen.update([hash(who) for turn in turns for who in (turn.role, turn.model) if who])
        for path, text in _spoken(entry, least, self.seen, self.read_texts):
            by_text = self.suspects.get(path, {})
            is_full = len(by_text) >= _MOST_AT_PATH or (not by_text and len(self.suspects) >= _MOST_PATHS)
            if (digest := hash(text.strip())) in self.read_texts or is_full:
                continue
            if hash(_ESCAPES.sub("", text)) not in self.read_texts and not spoken.holds(text):
                self.suspects.setdefault(path, {})[digest] = at, len(text), _hashes(opened_literal(text))

    def problems(self) -> Iterator[UnreadText]:
        """What is in no turn of the session, once all were read: a problem for each path."""
        for path, by_text in self.suspects.items():
            texts = [found for digest, found in by_text.items() if self.read_texts.isdisjoint((digest, *found[2]))]
            if texts:
                at, length, _ = texts[0]
                more = f", as are {len(texts) - 1} more there" if len(texts) > 1 else ""
                yield UnreadText(at, f"the text at ${path} ({length:,} characters) is in no turn{more}")


def _spoken(
    entry: dict[str, Any], least: int | None, seen: set[int], read_texts: set[int]
) -> Iterator[tuple[str, str]]:
    """The texts of an entry that speak, with their paths, whatever their number in a list; JSON in texts is opened.

    JSON of a model's of which nothing was read is one text. Where an answer says nothing, or only calls, the `least`
    number of words is enough: one, or two.
    """
    waiting: list[tuple[str, Any]] = [("", entry)]
    count = 0
    while waiting and count < _MOST_TEXTS:
        path, value = waiting.pop()
        if isinstance(value, dict):
            if len(value) == 2 and value.keys() == {"key", "value"} and isinstance(value["key"], str):  # of OTLP
                value = {value["key"]: value["value"]}
            if len(value) <= _MOST_OF_CALL:
                yield from _called(path, value)
            waiting += [
                (f"{path}.{str(key)[:40]}", inner)
                for key, inner in value.items()
                if (hash(inner) not in seen if (is_text := isinstance(inner, str)) else isinstance(inner, _HOLDERS))
                and not _is_known(str(key))
                and not (is_text and str(key).endswith("data"))
            ]
        elif isinstance(value, list):
            waiting += [(f"{path}[]", inner) for inner in value]
        elif isinstance(value, str) and value and (digest := hash(value)) not in seen:
            seen.add(digest)
            count += 1
            inner = opened_literal(value)
            if _is_json(path, value, inner) and read_texts.isdisjoint(_hashes(inner)):
                yield path, value
            elif isinstance(inner, _HOLDERS):
                waiting.append((path, inner))
            elif _is_said(value, least if not path.endswith(_NO_TEXTS) else None):
                yield path, value


@lru_cache(maxsize=4096)
def _is_known(key: str) -> bool:
    return any(map(_KNOWN.fullmatch, (key, key.rpartition(".")[2])))


def _is_json(path: str, text: str, value: Any) -> bool:
    """Whether a text is JSON of a model's, damaged or of this `value`: by its ends, and by what it is called."""
    if isinstance(value, list) and _hashes(value):  # it may be a stream, whose pieces are joined
        return False
    name = _ANSWER if value is None else _OF_MODEL
    by_ends = _JSON.match(text) and name.search(path) and text.rstrip().endswith(("}", "]", "```"))
    return bool(by_ends) and not _STREAM.match(text)


def _hashes(value: Any) -> list[int]:
    """Of the texts in a value."""
    if isinstance(value, dict | list):
        return [digest for inner in (value.values() if isinstance(value, dict) else value) for digest in _hashes(inner)]
    return [hash(value.strip())] if isinstance(value, str) else []


def _is_said(text: str, least: int | None) -> bool:
    """Whether it is speech, or has the `least` number of words, and holds no stream and no printed object."""
    start = text[:_START]
    words = least is not None and len(start.split()) >= least and any(map(str.isalpha, start))
    return (words or is_speech(text) or is_foreign(start)) and not _STREAM.match(text) and not is_printed(text)


def is_foreign(text: str) -> bool:
    """Whether there is a word in another script than Latin, in which hardly any name or state of a program is."""
    others = (char > _LATIN and (char.isalpha() or category(char)[0] == "M") for char in text)
    return not text.isascii() and sum(others) > 1


def _called(path: str, value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The arguments of what looks like a call, however short they are, with their path."""
    if not _CALLED.isdisjoint(value) and any(isinstance(value.get(key), str) for key in _CALLED):
        key = next((key for key in ARGUMENTS if value.get(key)), "")
        written = value.get(key)
        if isinstance(written, dict) or (isinstance(written, str) and written.lstrip()[:1] == "{"):
            yield f"{path}.{key}", _ESCAPES.sub("", as_json(written) if isinstance(written, dict) else written)
