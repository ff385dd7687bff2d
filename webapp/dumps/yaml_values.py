"""Values of YAML as its events say them: plain values only, no tag but `!!binary`, no alias, no code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import yaml

from webapp.dumps.budget import DEEPEST, Allowance, BadDump, TooLarge, current
from webapp.dumps.records import Entry, Problem
from webapp.dumps.source import entry_or_problem
from webapp.dumps.values import BINARY

_BINARY_TAG = "tag:yaml.org,2002:binary"
_PLAIN_TAGS = (None, "tag:yaml.org,2002:str", "!")
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(e[-+]?\d+)?", re.I)
_WORDS = {"": None, "~": None, "null": None, "Null": None, "true": True, "True": True, "false": False, "False": False}


_AROUND = (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentStartEvent, yaml.DocumentEndEvent)


class YamlRefused(ValueError):
    """Something that is not read from YAML: an alias, a tag, or what is nested too deeply."""


def read(file: BinaryIO, start: int, key: str | None = None) -> Iterator[Entry | Problem]:
    """The objects that its documents are, or the items of their lists (of that under the `key`), as they are asked for.

    A key leads on by dots, as `log.entries`. Raises `BadDump` where there is none; damage further on is a `Problem`.
    """
    size, _ = file.seek(0, 2) - start, file.seek(start)
    count, events = 0, yaml.parse(file, Loader=LOADER)
    try:
        while (entered := _entered(events, key)) is not None:
            if isinstance(entered, yaml.MappingStartEvent):
                if reason := current().too_long(size):
                    raise YamlRefused(reason)
                yield entry_or_problem(f"document {count + 1}", value(entered, events, 0))
                count += 1
                continue
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                yield entry_or_problem(f"{key or ''}[{count}]", value(event, events, 1))
                count += 1
            if key is not None:
                return
    except (yaml.YAMLError, YamlRefused, TooLarge, StopIteration) as error:
        mark = getattr(error, "problem_mark", None)
        at = f"line {mark.line + 1}" if mark is not None else f"{key or ''}[{count}]"
        reason = f"not YAML that is read here ({getattr(error, 'problem', None) or error})"
        if not count:
            raise BadDump(reason, at) from error
        yield Problem(at, f"{reason}; what came before was read")


def value(event: Any, events: Iterator[Any], level: int, allowance: Allowance | None = None) -> Any:
    """What begins with `event`; one item's, of which no more values are read than one may hold."""
    allowance = allowance or Allowance()
    allowance.take(1, "an item")
    if level > DEEPEST:
        raise YamlRefused("nested too deeply")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if isinstance(event, yaml.SequenceStartEvent):
        listed = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            listed.append(value(event, events, level + 1, allowance))
        return listed
    if isinstance(event, yaml.MappingStartEvent):
        mapping = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            name = value(event, events, level + 1, allowance)
            inner = value(next(events), events, level + 1, allowance)
            mapping[name if isinstance(name, str) else str(name)] = inner
        return mapping
    raise YamlRefused("aliases are not followed" if isinstance(event, yaml.AliasEvent) else "unexpected")


def _scalar(event: Any) -> Any:
    if event.tag == _BINARY_TAG:
        return {BINARY: "".join(event.value.split())}
    if event.tag not in _PLAIN_TAGS:
        raise YamlRefused(f"the tag {event.tag!r} is not read")
    if event.style or event.tag is not None:
        return event.value
    if event.value in _WORDS:
        return _WORDS[event.value]
    if _INT.fullmatch(event.value):
        return int(event.value)
    return float(event.value) if _FLOAT.fullmatch(event.value) else event.value


def _entered(events: Iterator[Any], key: str | None) -> Any:
    """The event with which the next document begins, or the list under its `key`; None behind the last."""
    root = next((event for event in events if not isinstance(event, _AROUND)), None)
    if root is None or (key is None and isinstance(root, yaml.MappingStartEvent | yaml.SequenceStartEvent)):
        return root
    if not isinstance(root, yaml.MappingStartEvent):
        raise YamlRefused("expected a mapping")
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        name, started = value(event, events, 0), next(events)
        if name == key and isinstance(started, yaml.SequenceStartEvent):
            return started
        if isinstance(started, yaml.MappingStartEvent) and key is not None and key.startswith(f"{name}."):
            key = key.removeprefix(f"{name}.")
            continue
        value(started, events, 0)
    raise YamlRefused(f"no list under {key}")
