"""Values of YAML as its events say them: plain values only, no tag but `!!binary`, no alias, no code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import yaml

from webapp.dumps.budget import Allowance, current
from webapp.dumps.documents import Entry, entry_or_problem
from webapp.dumps.records import BadDump, Problem
from webapp.dumps.source import Source
from webapp.dumps.values import BINARY

_BINARY_TAG = "tag:yaml.org,2002:binary"
_PLAIN_TAGS = (None, "tag:yaml.org,2002:str", "!")
_DEEPEST = 100
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(e[-+]?\d+)?", re.I)
_WORDS = {"": None, "~": None, "null": None, "Null": None, "true": True, "True": True, "false": False, "False": False}


class Refused(ValueError):
    """Something that is not read from YAML: an alias, a tag, or what is nested too deeply."""


def records(file: BinaryIO, start: int) -> Iterator[Any] | None:
    """The items of the list that a file is, as they are asked for, an error as a text; None where it is none."""
    file.seek(start)
    events = yaml.parse(file, Loader=LOADER)
    try:
        for event in events:
            if isinstance(event, yaml.SequenceStartEvent):
                first = value(next(events), events, 1)
                return _with_rest(first, events) if isinstance(first, dict) else None
            if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
                return None
    except (yaml.YAMLError, Refused):
        return None
    return None


def document(file: BinaryIO, start: int) -> dict[str, Any] | None:
    """The object that a file is; None where it is none, or longer than is held."""
    if file.seek(0, 2) - start > current().characters():
        return None
    file.seek(start)
    events = yaml.parse(file, Loader=LOADER)
    try:
        for event in events:
            if isinstance(event, yaml.MappingStartEvent):
                found = value(event, events, 0)
                return found if isinstance(found, dict) else None
            if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
                return None
    except (yaml.YAMLError, Refused):
        return None
    return None


def _with_rest(first: Any, events: Iterator[Any]) -> Iterator[Any]:
    yield first
    try:
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            yield value(event, events, 1)
    except (yaml.YAMLError, Refused) as error:
        yield f"not YAML that is read here from here on ({getattr(error, 'problem', None) or error})"


def value(event: Any, events: Iterator[Any], level: int, allowance: Allowance | None = None) -> Any:
    """What begins with `event`; one item's, of which no more values are read than one may hold."""
    allowance = allowance or Allowance(current().values)
    allowance.left -= 1
    if level > _DEEPEST or allowance.left < 0:
        raise Refused("nested too deeply" if level > _DEEPEST else f"more than {allowance.values:,} values")
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
    raise Refused("aliases are not followed" if isinstance(event, yaml.AliasEvent) else "unexpected")


def _scalar(event: Any) -> Any:
    if event.tag == _BINARY_TAG:
        return {BINARY: "".join(event.value.split())}
    if event.tag not in _PLAIN_TAGS:
        raise Refused(f"the tag {event.tag!r} is not read")
    if event.style or event.tag is not None:
        return event.value
    if event.value in _WORDS:
        return _WORDS[event.value]
    if _INT.fullmatch(event.value):
        return int(event.value)
    return float(event.value) if _FLOAT.fullmatch(event.value) else event.value


def items(source: Source, key: str) -> Iterator[Entry | Problem]:
    """The items of the list under the top-level `key`; the file is read as they are asked for.

    Raises `BadDump` where the file is no YAML mapping with such a list; damage further on is a `Problem`.
    """
    source.file.seek(source.start)
    count, events = 0, yaml.parse(source.file, Loader=LOADER)
    try:
        _enter(events, key)
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            yield entry_or_problem(f"{key}[{count}]", value(event, events, 1))
            count += 1
    except (yaml.YAMLError, Refused) as error:
        mark = getattr(error, "problem_mark", None)
        at = f"line {mark.line + 1}" if mark is not None else f"{key}[{count}]"
        reason = f"not YAML that is read here ({getattr(error, 'problem', None) or error})"
        if not count:
            raise BadDump(reason, at) from error
        yield Problem(at, f"{reason}; what came before was read")


def _enter(events: Iterator[Any], key: str) -> None:
    """Go on to the first item of the list under `key`."""
    for event in events:
        if isinstance(event, yaml.MappingStartEvent):
            break
        if not isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            raise Refused("expected a mapping")
    for event in events:
        if isinstance(event, yaml.MappingEndEvent | yaml.StreamEndEvent):
            break
        name, started = value(event, events, 0), next(events)
        if name == key and isinstance(started, yaml.SequenceStartEvent):
            return
        value(started, events, 0)
    raise Refused(f"no list under {key}")
