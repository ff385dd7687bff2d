"""The items of a list in a YAML file, one at a time: plain values only, no tag but `!!binary`, no alias, no code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from webapp.dumps.entries import Entry, entry_or_problem
from webapp.dumps.records import BadDump, Problem
from webapp.dumps.source import Source

BINARY = "!!binary"
"""The one key of the object that stands for bytes: under it is their base64."""
_BINARY_TAG = "tag:yaml.org,2002:binary"
_PLAIN_TAGS = (None, "tag:yaml.org,2002:str", "!")
_DEEPEST = 100
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"[-+]?\d+\.\d*(e[-+]?\d+)?", re.I)
_WORDS = {"": None, "~": None, "null": None, "Null": None, "true": True, "True": True, "false": False, "False": False}


class _Refused(ValueError):
    """Something that is not read from YAML: an alias, a tag, or what is nested too deeply."""


def items(source: Source, key: str) -> Iterator[Entry | Problem]:
    """The items of the list under the top-level `key`; the file is read as they are asked for.

    Raises `BadDump` where the file is no YAML mapping with such a list; damage further on is a `Problem`.
    """
    source.file.seek(source.start)
    count, events = 0, yaml.parse(source.file, Loader=_LOADER)
    try:
        _enter(events, key)
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            yield entry_or_problem(f"{key}[{count}]", _value(event, events, 1))
            count += 1
    except (yaml.YAMLError, _Refused) as error:
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
            raise _Refused("expected a mapping")
    for event in events:
        if isinstance(event, yaml.MappingEndEvent | yaml.StreamEndEvent):
            break
        name, value = _value(event, events, 0), next(events)
        if name == key and isinstance(value, yaml.SequenceStartEvent):
            return
        _value(value, events, 0)
    raise _Refused(f"no list under {key}")


def _value(event: Any, events: Iterator[Any], level: int) -> Any:
    if level > _DEEPEST:
        raise _Refused("nested too deeply")
    if isinstance(event, yaml.ScalarEvent):
        return _scalar(event)
    if isinstance(event, yaml.SequenceStartEvent):
        listed = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            listed.append(_value(event, events, level + 1))
        return listed
    if isinstance(event, yaml.MappingStartEvent):
        mapping = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            name = _value(event, events, level + 1)
            mapping[name if isinstance(name, str) else str(name)] = _value(next(events), events, level + 1)
        return mapping
    raise _Refused("aliases are not followed" if isinstance(event, yaml.AliasEvent) else "unexpected")


def _scalar(event: Any) -> Any:
    if event.tag == _BINARY_TAG:
        return {BINARY: "".join(event.value.split())}
    if event.tag not in _PLAIN_TAGS:
        raise _Refused(f"the tag {event.tag!r} is not read")
    if event.style or event.tag is not None:
        return event.value
    if event.value in _WORDS:
        return _WORDS[event.value]
    if _INT.fullmatch(event.value):
        return int(event.value)
    return float(event.value) if _FLOAT.fullmatch(event.value) else event.value
