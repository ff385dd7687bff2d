"""A prompt and its answer as texts, however they are called; also as an object of prompts and responses."""

from __future__ import annotations

import re
from typing import Any

from webapp.dumps.base import Conversation, DumpHead, Format, SessionEntries, Sessions, Source
from webapp.dumps.decoding import kind_of
from webapp.dumps.formats.transcript import templated
from webapp.dumps.messages.bodies import said_turns
from webapp.dumps.messages.named_texts import KEYED
from webapp.dumps.messages.pieces import Piece
from webapp.dumps.messages.turns import (
    each_filled,
    each_with,
    message_turns,
    result_turns,
    text_turns,
    turns_of,
    with_usage,
)
from webapp.dumps.records import Entries, Problem, Turn
from webapp.dumps.stream import DocumentMember, walk
from webapp.dumps.values import WORDS, are_messages, as_list, as_object, first_text, text

PROMPTS, ANSWERS = (tuple(WORDS[key].split()) for key in ("pair_prompts", "pair_answers"))
_PREFERENCES = (("chosen", "rejected"), ("chosen_messages", "rejected_messages"))
_TIMES = ("timestamp", "ts", "time", "created_at", "created")
_SYSTEM = ("system", "system_prompt")


_WEAK = ("question", "input", "query"), ("answer", "output", "result")
_OF_MODEL = re.compile(
    r"model|llm|prompt|token|usage|temperature|latency|system|provider|finish|run_?id|trace|agent|steps", re.I
)
"""in keys that show that a model answered"""
_OF_PEOPLE = re.compile(r"respondent|participant|interviewee|survey", re.I)


_OF_JUDGE = re.compile(r"(?:judge(?:ment)?|judgment|grader|evaluator)_(?:raw_)?(?:prompt|response|output|completion)")


class Pairs(Format):
    read_by = "answers are read by the {}; nothing says that a model wrote them"
    shapes = 'a prompt and its answer as texts {"prompt", "output"} (or "completion", "response", "answer"), one a line'
    surest = 40
    times = _TIMES

    by_key = True

    def sniff(self, head: DumpHead) -> int:
        if head.shape not in ("lines", "array", "object", "parquet"):
            return 0
        fitting = [value for value in head.objects if _is_pair(value)]
        return 40 if not all(map(_is_measured, fitting)) and 2 * len(fitting) >= len(head.objects) else 0

    def read_entry(self, entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
        if spoken := _chat(entry):
            return [turn for role, said in spoken for turn in text_turns(said, role, conversation)]
        turns: list[Turn] = []
        for said, role in ((entry.get(_key(entry, _SYSTEM) or ""), "system"), (_prompt(entry), "user")):
            turns += text_turns(said, role, conversation) if said is not None else []
        if _prompt(entry) is None:
            turns += _asked(entry, conversation)
        turns += _steps(as_list(entry.get("intermediate_steps")), conversation)
        if answers_key := next((name for name in ANSWERS if are_messages(entry.get(name))), None):
            turns += _messages(entry[answers_key], conversation)
        key = None if answers_key else _key(entry, ANSWERS)
        model = first_text(entry, "model", "model_name", "modelName")
        if _is_weak(entry) and key is not None:
            conversation.names[str(key)] += 1
        if key is not None:
            turns += each_filled(said_turns(entry[key], conversation), model=model)
        elif not answers_key and not _preferences(entry):
            conversation.notes.append(f"no answer under any of {', '.join(ANSWERS)}")
        turns += _judged(entry, conversation)
        for branch, name in enumerate(_preferences(entry), start=1):
            answers = _preferred(entry[name], conversation)
            if not answers:
                conversation.notes.append(f"no known answer under {name!r}")
            turns += each_with(answers, sounding=branch)
        return with_usage(turns, entry.get("usage") or entry)


def _judged(entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """What a model that judges the answer was asked, and wrote."""
    keys = [key for key in entry if _OF_JUDGE.fullmatch(key) and isinstance(entry[key], str) and entry[key]]
    sides = {key: "user" if key.endswith("prompt") else "assistant" for key in keys}
    return [
        turn
        for key, role in sorted(sides.items(), key=lambda side: side[1], reverse=True)
        for turn in said_turns(entry[key], conversation, role)
    ]


def _key(entry: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((key for key in keys if isinstance(entry.get(key), str)), None)


def _prompt(entry: dict[str, Any]) -> str | None:
    """What is asked, where that is a text; an instruction stands before its input."""
    key = _key(entry, PROMPTS)
    if key == "input" and (instruction := text(entry.get("instruction"))):
        return f"{instruction}\n{entry[key]}" if entry[key] else instruction
    return None if key is None else entry[key]


def _is_pair(value: dict[str, Any]) -> bool:
    if "role" in value or "messages" in value:
        return False
    if _preferences(value) or _chat(value):
        return True
    listed = any(are_messages(value.get(name)) for name in ANSWERS)
    if value.keys() & KEYED and _key(value, ANSWERS) in _WEAK[1]:
        return False
    has_prompt = _key(value, PROMPTS) is not None or any(are_messages(value.get(name)) for name in PROMPTS)
    return has_prompt and (listed or _key(value, ANSWERS) is not None)


def _is_measured(value: dict[str, Any]) -> bool:
    """Whether what goes in and comes out of anything are single words or numbers, under names that say no more."""
    names = _key(value, PROMPTS), _key(value, ANSWERS)
    return _is_weak(value) and not any(" " in str(value.get(str(name))).strip() for name in names)


def _is_weak(value: dict[str, Any]) -> bool:
    """Whether anybody may have answered, or people did, as in a survey."""
    asked, answered = _key(value, PROMPTS), _key(value, ANSWERS)
    is_of_anybody = (asked in _WEAK[0] and answered in _WEAK[1]) or (asked, answered) == ("input", "generation")
    return (is_of_anybody or any(map(_OF_PEOPLE.search, value))) and not any(map(_OF_MODEL.search, value))


def _steps(steps: list[Any], conversation: Conversation) -> list[Turn]:
    """What LangChain's older agents did before they answered: pairs of an action and what came of it."""
    turns: list[Turn] = []
    for index, step in enumerate(step for step in steps if isinstance(step, list) and step):
        action = as_object(step[0].get("kwargs", step[0])) if isinstance(step[0], dict) else {}
        name, tool_input = first_text(action, "tool"), action.get("tool_input")
        log = text(action.get("log")) or ""
        if tool_input is None:
            conversation.notes.append(f"an action of no known shape in 'intermediate_steps[{index}]'; it was left out")
            continue
        is_written = log.strip() and not log.lstrip().startswith("Invoking: ")  # which LangChain writes itself
        written = [Piece("text", log)] if is_written else []
        turns += turns_of([*written, Piece.of_call(tool_input, name, None, action)], "assistant", conversation)
        if len(step) > 1:
            turns += result_turns(step[1], conversation, name)
    return turns


def _preferences(entry: dict[str, Any]) -> tuple[str, ...]:
    """The keys of two answers of which the first was preferred; none where there are no such."""
    return next((keys for keys in _PREFERENCES if all(isinstance(entry.get(key), str | list) for key in keys)), ())


def _asked(entry: dict[str, Any], conversation: Conversation) -> list[Turn]:
    """What was asked in messages; of two answers that end a list each, what both were given to."""
    for name in PROMPTS:
        if are_messages(entry.get(name)):
            return _messages(entry[name], conversation)
    for name in _preferences(entry)[:1]:
        if isinstance(entry[name], str):
            parts = templated(entry[name])[:-1]
            return [turn for role, spoken in parts for turn in text_turns(spoken, role, conversation)]
        return _messages(as_list(entry[name])[:-1], conversation)
    return []


def _messages(values: list[Any], conversation: Conversation) -> list[Turn]:
    messages = (message for message in values if isinstance(message, dict))
    return [turn for message in messages for turn in message_turns(message, conversation)]


def _preferred(value: Any, conversation: Conversation) -> list[Turn]:
    """One of two answers: a text, or messages, of which the last is the answer."""
    if isinstance(value, str):
        role, spoken = next(reversed(templated(value)), ("assistant", value))
        return text_turns(spoken, role, conversation)
    messages = as_list(value)
    last = as_object(messages[-1]) if messages else {}
    return message_turns(last, conversation) if last.get("role") == "assistant" else []


def _chat(entry: dict[str, Any]) -> list[tuple[str, str]]:
    """Who says what in a chat that is one text, as Glaive's sets have it."""
    written = "\n\n".join(said for key in ("system", "chat") if isinstance(said := entry.get(key), str))
    return templated(written) if "chat" in entry else []


class PromptMap(Pairs):
    called, by_key = "prompt_map", False
    shapes = "an object of prompts as keys and responses as values"

    def sniff(self, head: DumpHead) -> int:
        """Keys that are sentences: where all values are texts, and most keys hold more than one word."""
        if head.shape != "object" or head.items or not head.members:
            return 0
        texts = all(isinstance(value, str) for value in head.members.values())
        spoken = sum(len(key.split()) > 1 for key in head.members)
        told = sum(_is_translation(key, value) for key, value in head.members.items())
        return 30 if texts and 2 * spoken > len(head.members) >= 2 * told else 0

    def sessions(self, source: Source, head: DumpHead) -> Sessions:
        yield SessionEntries(source.stem, _pairs(source))


def _is_translation(key: str, value: Any) -> bool:
    """Whether a value may say the same as its key, as catalogs of messages have it: both are about as long."""
    if "\n" in key.strip() or key.rstrip().endswith("?") or not isinstance(value, str):
        return False
    return " " in value and value[:1] not in "{[" and len(key) <= 2 * len(value) <= 4 * len(key)


def _pairs(source: Source) -> Entries:
    for number, part in enumerate(walk(source.text(), frozenset())):
        if isinstance(part, Problem):
            yield part
        elif isinstance(part, DocumentMember) and isinstance(part.value, str):
            yield f"pair {number}", {"prompt": part.key, "response": part.value}
        elif isinstance(part, DocumentMember):
            yield Problem(f"pair {number}", f"expected a text as the response, found {kind_of(part.value)}; skipped")


plugins = (Pairs(), PromptMap())
