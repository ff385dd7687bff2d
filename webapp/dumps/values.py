"""Plain values out of JSON: texts, ids, whole numbers and finite numbers, or None for anything else."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

WORDS: dict[str, str] = tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8"))
"""what keys are called"""
MODEL_NAMES = rf"(?:{WORDS['model_names'].replace(' ', '|')}|meta ai|my ai)[\w .:\-]{{0,40}}"
BINARY = "!!binary"
"""The one key of the object that stands for bytes in YAML: under it is their base64."""
UNNAMED = "nothing says who speaks in it: of texts in turn, the first is taken for asked and the next for answered"
_LEAST, _MOST = -(2**63), 2**63 - 1
_LONGEST_TITLE = 120
_NUMERIC = (int, float, str)
_NUMBER = re.compile(r"-?\d{1,18}(\.0*)?")


def id_text(value: Any) -> str | None:
    """A session's id as text; None where there is none. Numbers are taken as they print."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def whole(value: Any) -> int | None:
    """A whole number that fits 63 bits, from a number or its text; None for anything else, NaN included."""
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        value = int(value.partition(".")[0])
    if isinstance(value, float):
        value = int(value) if value.is_integer() else None
    return value if isinstance(value, int) and _LEAST <= value <= _MOST else None


def number(value: Any) -> float | None:
    """A finite number, from a number or its text; None for anything else."""
    if value is None or isinstance(value, bool) or not isinstance(value, _NUMERIC):
        return None
    try:
        finite = float(value)
    except (ValueError, OverflowError):
        return None
    return finite if abs(finite) < float("inf") else None


def text(value: Any) -> str | None:
    """A text that says something: None for an empty one and for all that is no text."""
    return value if isinstance(value, str) and value else None


def first_text(holder: Any, *keys: str) -> str | None:
    """The first text that says something under one of `keys`; None where `holder` is no object."""
    values = (holder.get(key) for key in keys) if isinstance(holder, dict) else ()
    return next((value for value in values if isinstance(value, str) and value), None)


def first_id(holder: dict[str, Any], *keys: str) -> str | None:
    """The first id under one of `keys` that is not empty, as text."""
    return next((name for key in keys if (name := id_text(holder.get(key)))), None)


def as_object(value: Any) -> dict[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """`value` where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def are_messages(value: Any) -> bool:
    """Whether this is a list of messages, each with its role."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "role" in item for item in value)


def in_turn(value: Any) -> list[str | None]:
    """The texts that two say in turn, of whom nothing says who they are: as many of each, or pairs; else none."""
    listed = as_list(value)
    are_pairs = all(map(is_text_pair, listed))
    texts = [text for pair in listed for text in pair] if are_pairs else listed
    if not are_pairs and (len(texts) % 2 or not all(isinstance(text, str) for text in texts)):
        return []
    speech = sum(is_speech(text) for text in texts if text)
    return texts if speech and (are_pairs or 2 * speech >= len(texts)) else []


def is_text_pair(value: Any) -> bool:
    """Whether this is what was asked and answered, or not answered yet, as two texts."""
    return isinstance(value, list) and len(value) == 2 and all(isinstance(text, str | None) for text in value)


def are_samples(value: Any) -> bool:
    """Whether these are texts that begin alike, as several samples do of code that goes on from one prompt."""
    starts = {text[:_ALIKE] if isinstance(text, str) else "" for text in as_list(value)}
    return isinstance(value, list) and len(value) > 1 and len(starts) == 1 and len(min(starts)) == _ALIKE


_ALIKE = 12
"""characters with which two who speak in turn do not both begin, time and again"""
_NAME = re.compile(r"[^\W\d_][\w .'-]{0,40}")


def names_in(pairs: list[Any], around: dict[str, Any], *, may_repeat: bool) -> list[str]:
    """The first texts of pairs where these name who says the second: they come again, or stand `around` too."""
    names = [pair[0] for pair in pairs if is_text_pair(pair) and _NAME.fullmatch(pair[0] or "")]
    again = may_repeat and len(names) > 2 and 1 < len(set(names)) < len(names)
    beside = {text for text in around.values() if isinstance(text, str)}
    return names if len(names) == len(pairs) and (again or beside.issuperset(names)) else []


def short_title(full_title: str | None) -> str | None:
    """The beginning of a prompt as the title of its session, with "…" where it goes on."""
    if not full_title or len(full_title) <= _LONGEST_TITLE:
        return full_title or None
    return full_title[: _LONGEST_TITLE - 1].rstrip() + "…"


_NUMERIC_TIME = re.compile(r"-?\d{1,20}(\.\d{1,20})?")


def moment(value: Any) -> datetime | None:
    """A Unix time (seconds, milliseconds, micro- or nanoseconds: told by size) or an ISO 8601 text, as UTC.

    A text without a zone is taken as UTC. None for anything else, and for what no calendar holds.
    """
    if isinstance(value, str):
        value = value.strip()
        return moment(float(value)) if _NUMERIC_TIME.fullmatch(value) else _written(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        return None
    try:
        return datetime.fromtimestamp(_seconds(value), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def first_moment(holder: Any, *keys: str) -> datetime | None:
    """The first time under one of `keys`; None where `holder` is no object."""
    for key in keys if isinstance(holder, dict) else ():
        if when := moment(holder.get(key)):
            return when
    return None


def _seconds(value: float) -> float:
    """Seconds reach 10^11 in the year 5138, milliseconds had passed it by 1973; and so on by thousands."""
    for _ in range(3):
        if abs(value) < 1e11:
            break
        value = value / 1000
    return value


def _written(value: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(value)
        return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


_WORD = re.compile(r"[^\W\d_]{2,}")
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""letters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese"""
_LEAST_SIGNS = 6
_LEAST_CHARACTERS, _LEAST_WORDS, _LOOKED_AT = 20, 4, 2000
"""characters and words of a text that speaks, and how much of it is looked at"""


def is_speech(text: str) -> bool:
    """Whether somebody may have said this: several words, or as many signs of a script without spaces."""
    text = text[:_LOOKED_AT]
    words = islice(_WORD.finditer(text), _LEAST_WORDS)
    is_spaced = len(text) >= _LEAST_CHARACTERS and " " in text.strip() and len(list(words)) == _LEAST_WORDS
    return is_spaced or (not text.isascii() and len(_UNSPACED.findall(text)) >= _LEAST_SIGNS)


def is_model(key: str) -> bool:
    """Whether a key is a model's name."""
    return re.fullmatch(rf"(?:[\w.-]+/)*{MODEL_NAMES}", key.lower()) is not None


def asks(value: Any) -> bool:
    """Whether it is what a model is asked: a text that speaks, messages, or a request that holds them."""
    return value.count(" ") > 1 if isinstance(value, str) else are_messages(as_object(value).get("messages", value))
