"""The items of a list in a YAML file, one at a time: plain values only, no tag but `!!binary`, no alias, no code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from webapp.dumps.entries import Entry, entry_or_problem
from webapp.dumps.records import BadDump, Problem
from webapp.dumps.source import Source
from webapp.dumps.yaml_values import LOADER, Refused, value


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
