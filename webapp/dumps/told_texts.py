"""Texts in somebody's own JSON that come again, of which names in or around them tell that a model wrote them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from webapp.dumps.json_path import EACH, member, value_at
from webapp.dumps.mappings import is_no_answer
from webapp.dumps.values import MODEL_NAMES, WORDS, as_object, first_text, is_speech

_MOST, _LONGEST_PATH = 4, 200
"""mappings, the likeliest first; characters"""
_WRITER = re.compile(
    r"(?:.*[^a-z])?(?:chatgpt|gpt|claude|gemini|gemma|(?:code)?llama|qwen|mi[sx]tral|deepseek|grok|phi|o\d|\w*bert)(?![a-z]).*"
    r"|(?:llm|model|agente?|bot|assistant|player)[ _-]?\d?(?:\b[^_]*)?|(?:.*[^a-z])?agent",
    re.I,
)
"""keys that name the model, or the agent, that wrote what stands at them"""
_WRITTEN = re.compile(
    r"respon[sd]|complet|output|answer|repl(?:y|ies)|generat|predict|decoded|\bhyp|llm|though?t|thinking|reasoning|rationale|translat",
    re.I,
)
"""in names of what a model wrote or thought"""
_BESIDE = {"model", "model_name", "model_id", "llm", "prompt", "question", "observation", "prediction", "speaker"}
"""keys beside or around a text, whose name need then not say that a model wrote it"""
TELLS = re.compile(
    rf'"(?:\w+_)?model(?:_?(?:name|id))?"\s*:\s*"(?:[\w.-]+/|{MODEL_NAMES}")|"(?:\w+_)?llm"\s*:\s*"\w'
    r'|"(?:\w+_)?(?:output|completion)_?tokens"\s*:\s*\d'
    r'|"(?:token_?)?(?:usage|tokens|counts)"\s*:\s*\{',
    re.I,
)
"""what names a model that speaks, no car, or says what its answer took"""
_NAMING_MODEL = WORDS["naming_model"].split()
_SETTINGS = ("config", "attributes", "prompt", "settings", "params")
"""under which a log may name the model beside what it said"""
_TOOK = re.compile(
    r"(?:(?:output|completion|generated|eval)_?tokens|tokens_?out(?:put)?|latency\w*|elapsed\w*|seed|(?:finish|stop)_reason)",
    re.I,
)
"""what is kept beside a text of what it took a model to write it"""
OF_ANSWERS = frozenset(WORDS["else"].split())
"""in names of what is said of an answer"""
SPEAKS = re.compile(
    rf'"\w*(?:{WORDS["speakers"].replace(" ", "|")})\w*": ?"(?:[\w.-]*[/:])*{MODEL_NAMES}|"\w*llm\w*"', re.I
)
"""a model that is named as who speaks: beside what agents, bots and players say, who may be people or machines"""
MODEL_NAMED = re.compile(rf'"\w*model\w*": ?"(?:[\w.-]*[/:])*{MODEL_NAMES}"', re.I)
OF_MODEL = re.compile(r"(?:llm|model|bot|assistant|generated|response|reply|completion)[^.]*\Z", re.I)
"""in the last name of a path: the text below it may be a single word, where it was asked for"""
NAMES_MODEL = re.compile(rf"\b(?:llm|ai|agent|model(?! answers?$)|raw|{MODEL_NAMES})", re.I)
RUN_BY = re.compile(rf"🤖|[(`:=\[]\** ?(?:llm\b|{MODEL_NAMES})|(?:completion|output) tokens\W{{1,6}}\d", re.I)
"""in what is written before anybody speaks: that models do"""


def told_texts(records: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Mappings that read the texts at one path each, the likeliest first."""
    columns = defaultdict[str, list[str]](list)
    for path, text, is_told in (found for record in records for found in _texts(record, "$", False, False)):
        if text.strip() and (is_told or _is_named(path)) and not is_no_answer(path):
            columns[path].append(text)
    speaking = {
        path: sum(is_speech(text) or text.lstrip()[:1] in ("{", "[") for text in texts)
        for path, texts in columns.items()
        if len(texts) > 1
    }
    ranked = sorted(filter(speaking.get, speaking), key=lambda path: (_is_named(path), speaking[path]), reverse=True)
    split = (path.rpartition(EACH) for path in ranked[:_MOST])
    return [
        {"each": f"{each}{EACH}", "raw": f"${rest}"} if any_item else {"raw": rest} for each, any_item, rest in split
    ]


def model_of(holder: Any, path: Iterable[str | int]) -> str | None:
    """The model that is named nearest to a text of `holder`: beside it, or around it."""
    around = [holder]
    for step in path:
        around.append(value_at(around[-1], (step,))[0])
    inner = ([outer, *map(as_object, map(as_object(outer).get, _SETTINGS))] for outer in reversed(around))
    return next((model for told in chain(*inner) if (model := first_text(told, *_NAMING_MODEL))), None)


def is_written_by_model(holder: dict[str, Any]) -> bool:
    """Whether there stands beside a text what it took a model to write it, or why that stopped."""
    usage = next((as_object(holder[key]) for key in ("usage", "tokens", "token_usage", "counts") if key in holder), {})
    took = [value for key, value in holder.items() if _TOOK.fullmatch(key)]
    return any([*took, *(value for key, value in usage.items() if re.match("out|compl|eval", key))])


def _texts(value: Any, path: str, is_told: bool, by_writer: bool) -> Iterator[tuple[str, str, bool]]:
    """All texts with their paths, in which an item of a list, or member of an object whose keys are data, is `[*]`."""
    if len(path) > _LONGEST_PATH:
        return
    if isinstance(value, str):
        yield path, value, is_told or by_writer
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, f"{path}{EACH}", is_told, by_writer)
    elif isinstance(value, dict):
        by_writer = by_writer or _are_writers(value)
        is_keyed = _are_alike(list(value.values()), by_writer)
        is_told = is_told or (not is_keyed and not _BESIDE.isdisjoint(value))
        for key, inner in value.items():
            is_numbered = re.search(r"\d", key) is not None and isinstance(inner, list)  # by temperature, or by round
            step = EACH if is_keyed or is_numbered else member(key).removeprefix("$")
            yield from _texts(inner, f"{path}{step}", is_told or is_numbered, is_keyed and by_writer)


def _are_writers(keys: Iterable[str]) -> bool:
    """Whether keys name who wrote what stands at them, or are prompts themselves: texts of several lines."""
    names = [bool(_WRITER.fullmatch(key) or "\n" in key.strip()) for key in keys]
    return len(names) <= 2 * sum(names) and not any(is_no_answer(member(key)) for key in keys if "\n" not in key)


def _are_alike(values: list[Any], by_writer: bool) -> bool:
    """Whether these are several of one kind: objects that share most keys, lists of such; of writers, texts as well."""
    firsts = [value[0] if isinstance(value, list) and value else value for value in values]
    if len(values) < 2 or all(isinstance(first, str) for first in firsts):
        return len(values) > 1 and by_writer
    if not all(isinstance(first, dict) and first for first in firsts):
        return False
    return 2 * len(set.intersection(*map(set, firsts))) >= len(set.union(*map(set, firsts)))


def _is_named(path: str) -> bool:
    return bool(_WRITTEN.search(re.split(r"[.\]]", path)[-1]))
