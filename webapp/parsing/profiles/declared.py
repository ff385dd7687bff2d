"""Profiles of steps that others take too: one TOML file each, beside this one, called as its profile is.

`about` is what a docstring is to other profiles; group, original and so on are the fields of `Described`. Then a table
called as one of `READERS`, with what tells this profile from others of its kind; or `steps`, tried in turn until one
has decided. A step is a name of `STEPS`, or a table: decode the whole text by `decode` (json.loads or JSON.parse) after
all of `replace`, patterns with what takes the place of each match; refuse a value by a `check`, or `make` another one
of it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from webapp.parsing.engine import Tracer
from webapp.parsing.profiles._about import Described, described
from webapp.parsing.profiles._arriving import by_closers, by_jiter, by_tokens
from webapp.parsing.profiles._cuts import by_cut
from webapp.parsing.profiles._fire_circle import evaluation
from webapp.parsing.profiles._grammar import VALUES, Grammar, ParameterPairs
from webapp.parsing.profiles._json_calls import json_calls
from webapp.parsing.profiles._llama_template import Template
from webapp.parsing.profiles._steps import WHITE, Change, Check, Parser, Step, empty, escapes, in_turn, loads, whole
from webapp.parsing.profiles._windlass import tool_calls
from webapp.parsing.profiles.partial_json import by_completion, by_partial_json, no_prototype


def _no_arguments(tracer: Tracer) -> bool:
    if not tracer.raw:
        tracer.reject("whole", whole(tracer.raw), "no text: there are no arguments")
    return not tracer.raw


def _texts_decoded(value: Any) -> Any:
    """The arguments with the texts among them that are JSON of a list, an object or null as that."""
    decoded = {key: _decoded(item) for key, item in value.items()} if isinstance(value, dict) else value
    return value if decoded == value else decoded


def _decoded(item: Any) -> Any:
    try:
        value = json.loads(item) if isinstance(item, str) else item
    except (ValueError, RecursionError):
        return item
    return item if isinstance(value, str | int | float) else value


STEPS: Mapping[str, Step] = {
    "json.loads": loads(),
    "JSON.parse": loads(finite=True),
    "jiter": by_jiter(),
    "jiter_keeping_cut_strings": by_jiter(strings=True),
    "partial_json": by_partial_json(numbers=True, dropped="__proto__"),
    "partial_json_without_cut_numbers": by_partial_json(numbers=False),
    "whole_tokens": by_tokens,
    "completed_by_vercel": by_completion,
    "closed_by_litellm": by_closers,
    "empty": empty(),
    "blank": empty(None),
    "blank_in_javascript": empty(WHITE),
    "no_arguments": _no_arguments,
    "end_at_other_errors": lambda tracer: escapes(tracer.attempts[-1]),
}
CHECKS: Mapping[str, Check] = {
    "object": lambda value: "" if isinstance(value, dict) else "ModelBehaviorError: expected a JSON object",
    "prototype": no_prototype,
    "input": lambda value: "a value that counts as false: no input" if value in (None, 0, "") else "",
}
CHANGES: Mapping[str, Change] = {
    "object_of_false": (lambda value: value or {}, "what Python counts as false is made {}"),
    "object_with_value": (lambda value: value if isinstance(value, dict) else {"value": value}, 'put under "value"'),
    "texts_decoded": (_texts_decoded, "texts among the arguments that are JSON are decoded"),
}


def _step(spec: str | Mapping[str, Any]) -> Step:
    return STEPS[spec] if isinstance(spec, str) else _decoding(**spec)


def _decoding(
    decode: str = "json.loads",
    replace: Sequence[Sequence[str]] = (),
    check: str = "",
    make: str = "",
    strict: bool = True,
    offers: bool = True,
) -> Step:
    """In the patterns of a JavaScript program, `\\s` is what it is there."""
    in_javascript = decode == "JSON.parse"
    space = f"[{WHITE}]" if in_javascript else r"\s"
    rules = [(re.compile(pattern.replace(r"\s", space)), new) for pattern, new in replace]
    checks, makes = CHECKS[check] if check else None, CHANGES[make] if make else None
    return loads(*rules, check=checks, make=makes, strict=strict, finite=in_javascript, offers=offers)


def _grammar(name: str = "", pairs: Mapping[str, Any] | None = None, **fields: Any) -> Grammar:
    return Grammar(**fields, name=re.compile(name) if name else None, pairs=_pairs(**pairs) if pairs else None)


def _pairs(opener: str, closer: str, between: str = "", value: str = "text", **fields: bool) -> ParameterPairs:
    until = re.compile(between) if between else None
    return ParameterPairs(re.compile(opener), re.compile(closer), VALUES[value], until, **fields)


READERS: Mapping[str, Callable[..., Parser]] = {
    "calls": json_calls,
    "cut": by_cut,
    "evaluation": evaluation,
    "grammar": lambda **fields: _grammar(**fields).read,
    "template": lambda **fields: Template(**fields).read,
    "tool_calls": tool_calls,
}


def parser_of(spec: dict[str, Any]) -> Parser:
    """What a file's steps or table make, which are taken out of it. Raises `ValueError` where there is none, or two."""
    kinds = spec.keys() & {"steps", *READERS}
    if len(kinds) != 1:
        raise ValueError(f"one of steps, {', '.join(READERS)} is needed, not {', '.join(sorted(kinds)) or 'none'}")
    (kind,) = kinds
    says = spec.pop(kind)
    return READERS[kind](**says) if kind in READERS else partial(in_turn, steps=[_step(step) for step in says])


def profile_of(file: Path) -> Described:
    """Raises `ValueError`, which names the file, for what cannot be read in it, or is not known or missing."""
    try:
        spec = tomllib.loads(file.read_text("utf-8"))
        parser = parser_of(spec)
        return described(file.stem, spec.pop("group"), spec.pop("about"), **spec)(parser)
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise ValueError(f"{file.name}: {error}") from error


plugins = tuple(map(profile_of, sorted(Path(__file__).parent.glob("*.toml"))))
