"""What a text is and what was taken from it: where every profile's verdict is derived, and where a value comes from.

Edits that were seen prove nothing: a lenient decoder shows none, and a program that goes on with a value may change it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from webapp import jsontext
from webapp.parsing.decode import decode, read
from webapp.parsing.edit import Edit, Span, apply, stripped
from webapp.parsing.trace import Attempt, Flag, Verdict

JSON_SPACE = " \t\r\n"
"""White space as RFC 8259 knows it; any other character beside a value means that the response is not JSON alone."""
PLACES = 20
"""openers at which a value is looked for of which its decoder gave no place"""
UNSEEN = "read by a lenient decoder; what it changed was not seen"
UNCHANGED = "read as it stands: Python's json takes NaN, Infinity and, if told to, line breaks in strings"
SURPLUS = "}]\n\r\t ,;"
"""what may stand behind a value as the rest of it: removing that is a repair, and no other text"""
LOCATED = "located: its value stands here unchanged"
_UNPLACED = frozenset(("returned", "derived", "unlocated", "json_repair"))
"""edits that stand for all that somebody's own code did"""
_opener = re.compile(r"[\[{]")
_MOST = 5_000  # keys and leaves of a value that are looked at
_LITERALS = ("null", "None", '""', "''", "~")
_PIECE = re.compile(r"[^\s\"\\]{4,}")
_WORDS = 8  # characters from which on a part of an error's message is known by
_ECHO = 40  # characters from which on the response's own beginning is no value read out of it


def verdict(raw: str, chosen: Sequence[Attempt], *, offered: bool) -> Verdict:
    """What `raw` is, of which the attempts `chosen`, as `settled` left them, gave the values.

    clean: all of it, less white space, is JSON (RFC 8259). extracted: what was taken is. repaired: a value was taken
    from text that is not JSON, whether its edits are known or not. none: nothing was there to take it from, as where
    an SDK makes {} of no text.
    """
    if not chosen:
        return "failed" if offered else "none"
    if not raw.strip().strip("\ufeff"):
        return "none"
    if not all(attempt.is_json for attempt in chosen):
        return "repaired"
    span, everything = chosen[0].span, stripped(raw, characters=JSON_SPACE)
    alone = len(chosen) == 1 and span.start <= everything.start and span.end >= everything.end
    return "clean" if alone else "extracted"


def settled(raw: str, attempt: Attempt, *, refused: bool = False) -> tuple[Attempt, Flag | None]:
    """An accepted attempt that knows whether its text is JSON, and a flag where its value is not what that JSON says.

    An edit that stands for code nobody saw is dropped where the text is JSON, or where the value stands in it as JSON.
    Linear: the text is decoded once more, unless it is known that it is `refused`, and at `PLACES` openers where the
    decoder gave no place.
    """
    if attempt.is_json:
        return attempt, None
    unseen = _is_unseen(attempt)
    decoded = None if refused else decode(attempt.span.of(raw), finite=True)
    if decoded and not decoded.failure:
        same = _same(decoded.value, attempt.value)
        edits = () if same or unseen else attempt.edits
        flag = None if same else Flag("changed_afterwards", attempt.span)
        return replace(attempt, edits=edits, is_json=True), flag
    if not unseen:
        return attempt, None
    if span := place_of(raw, attempt.span, attempt.value):
        behind = Span(span.end, attempt.span.end)
        if (surplus := behind.of(raw).strip()) and not surplus.strip(SURPLUS):
            edit = Edit("removed", behind, behind.of(raw), "")
            return replace(attempt, span=Span(span.start, behind.end), edits=(edit,), note=LOCATED), None
        return replace(attempt, span=span, edits=(), note=LOCATED, is_json=True), None
    if _same(decode(attempt.span.of(raw), strict=False).value, attempt.value):
        return replace(attempt, note="; ".join(filter(None, [attempt.note, UNCHANGED]))), None
    return replace(attempt, note=attempt.note or UNSEEN), None


def place_of(raw: str, within: Span, value: Any) -> Span | None:
    """The first place in `raw[within]` where the decoder itself reads `value`; None where it stands nowhere as JSON.

    A number, or another value that is no object and no list, is looked for in the beginning alone.
    """
    openers = (match.start() for match in islice(_opener.finditer(raw, *within), PLACES))
    for start in openers if isinstance(value, (dict, list)) else (within.start,):
        end, read_value = read(raw, start)[:2]
        if start < end <= within.end and _same(read_value, value):
            return Span(start, end)
    return None


def _is_unseen(attempt: Attempt) -> bool:
    """Whether no edit says how the value came about, or one that stands for the whole text."""
    if len(attempt.edits) != 1:
        return not attempt.edits
    edit = attempt.edits[0]
    return edit.repair in _UNPLACED or edit.repair == attempt.strategy


def _same(first: Any, second: Any) -> bool:
    """Equal as JSON; values that are too deep to be written are taken to be."""
    if type(first) is not type(second):
        return jsontext.same_as([first]) == jsontext.same_as([second])
    written = jsontext.canonical([first])
    return written is None or written == jsontext.canonical([second])


def canonical(value: Any) -> str:
    """The same for values that are the same JSON: 1 is 1.0."""
    return jsontext.same_as([value])


def gives(raw: str, attempt: Attempt, tried: Sequence[Attempt]) -> bool:
    """Whether an accepted attempt read something out of this text: no empty text or nothing, nor the text itself.

    `json_repair` gives "" and YAML None or a plain text for what they do not take for JSON, and a program may keep its
    own constant as JSON, to decode it where one of those `tried` failed.
    """
    is_unlocated = any(edit.repair == "unlocated" for edit in attempt.edits)
    leaves = _leaves(attempt.value)
    has_texts_alone = bool(leaves) and all(isinstance(leaf, str) for leaf in leaves)  # numbers have other spellings
    if (is_unlocated or (attempt.edits and has_texts_alone)) and says_nothing(raw, attempt.value, tried):
        return attempt.value in ({}, []) and json.dumps(attempt.value)[0] in raw  # an opener that was closed
    if attempt.value is not None and not isinstance(attempt.value, str):
        return True
    text = apply(raw, attempt.span, attempt.edits).strip()
    return text in _LITERALS if not attempt.value else text[:1] in "\"'" or attempt.value.strip() != text


def origin(value: Any, attempts: Sequence[Attempt], tried: Sequence[Attempt]) -> Attempt | None:
    """The newest of the accepted `attempts` that shares a leaf with `value`, or a key if nothing `tried` after failed.

    One with the same value comes first. Where nothing failed, an empty object or list comes from what is empty too
    (null, 0, `[]`): nothing that was read is lost.
    """
    same = canonical(value)
    leaves, own = set(_leaves(value)), set(keys(value))
    newest_first = attempts[::-1]
    for attempt in newest_first:
        if canonical(attempt.value) == same:
            return attempt
    for attempt in newest_first:
        if leaves & set(_leaves(attempt.value)):
            return attempt
        both_empty = value in ({}, []) and not attempt.value
        if (both_empty or own & set(keys(attempt.value))) and not _failed_after(attempt, tried):
            return attempt
    return None


def _failed_after(attempt: Attempt, tried: Sequence[Attempt]) -> bool:
    later = tried[next((at + 1 for at, each in enumerate(tried) if each is attempt), 0) :]
    return any(item.outcome == "failed" for item in later)


def says_nothing(raw: str, value: Any, attempts: Sequence[Attempt]) -> bool:
    """Whether a value is empty or constant: no leaf of it is in the text but what it says of an error, or an echo.

    Where no decoder was seen to fail, one of its keys in the text is enough, since decoders may not have been seen.
    """
    has_failed = any(attempt.outcome == "failed" for attempt in attempts)
    if not has_failed and any(key in raw for key in keys(value) if key):
        return False
    errors = [words for attempt in attempts for words in _error_words(attempt)]
    return not any(_is_from(raw, leaf, errors) for leaf in _leaves(value))


def _error_words(attempt: Attempt) -> tuple[str, ...]:
    if attempt.error:
        return attempt.error.message, attempt.error.said
    return (attempt.reason,) if attempt.reason and attempt.outcome == "failed" else ()


def _is_from(raw: str, leaf: str | float, errors: Sequence[str]) -> bool:
    if not isinstance(leaf, str):
        return re.search(rf"(?<![\w.]){re.escape(jsontext.dumps(leaf))}(?![\w.])", raw) is not None
    text = leaf.strip()
    echoes = raw.strip().startswith(text) and (len(text) >= _ECHO or text == raw.strip())
    if echoes or any((text in words and len(text) >= _WORDS) or words in text for words in errors):
        return False
    return text in raw or any(piece in raw for piece in islice(_PIECE.findall(text), 20))


def difference(decoded: Any, value: Any) -> str:
    """In words how the program changed what was decoded: `… .count "1" became 1, .extra was added`."""
    words = "the program changed the value afterwards"
    if not isinstance(decoded, dict) or not isinstance(value, dict) or not set(decoded) & set(value):
        return f"{words}: {_shown(decoded)} became {_shown(value)}"
    both = [key for key in decoded if key in value and canonical(decoded[key]) != canonical(value[key])]
    parts = [f".{key} {_shown(decoded[key])} became {_shown(value[key])}" for key in both]
    parts += [f".{key} was added" for key in value if key not in decoded]
    parts += [f".{key} was left out" for key in decoded if key not in value]
    return f"{words}: {', '.join(parts[:6])}{' …' if len(parts) > 6 else ''}"


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,}"
    return jsontext.dumps(value)[:40]


def _leaves(value: Any) -> list[str | float]:
    """The texts and numbers of a value that are not empty; numbers by their value."""
    leaves = (leaf for leaf in _walk(value) if isinstance(leaf, str | int | float) and not isinstance(leaf, bool))
    return [leaf for leaf in leaves if leaf != ""]


def keys(value: Any, most: int = _MOST) -> Iterator[str]:
    """The keys of all objects among the first `most` parts of a value."""
    for inner in _walk(value, most):
        if isinstance(inner, dict):
            yield from inner


def _walk(value: Any, most: int = _MOST) -> Iterator[Any]:
    """A value and all within it, up to a bound, without recursion."""
    stack, visited = [value], 0
    while stack and visited < most:
        inner = stack.pop()
        visited += 1
        yield inner
        if isinstance(inner, dict):
            stack.extend(islice(inner.values(), most))
        elif isinstance(inner, list):
            stack.extend(islice(inner, most))
