"""Failure groups as an Atom feed (RFC 4287), written with the standard library's XML writer."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from webapp.parsing.words import counted
from webapp.store.failures.group_line import GroupLine, Groups
from webapp.visible import visible

MOST_ENTRIES = 50
_ATOM = "http://www.w3.org/2005/Atom"


def atom(result: Groups, own_url: str, page: str, url_of: Callable[[str], str]) -> str:
    """The feed: an entry a group, the one that was first seen last in front. `own_url` and `page` are its addresses."""
    ET.register_namespace("", _ATOM)
    feed = ET.Element(f"{{{_ATOM}}}feed")
    lines = sorted(result.groups, key=lambda line: (line.known_since, line.key), reverse=True)
    newest = max((line.last_seen for line in lines), default=datetime.fromtimestamp(0, UTC))
    _add(feed, "title", "Fencepost: failure groups")
    _add(feed, "id", own_url)
    _add(feed, "updated", newest.isoformat())
    _add(_add(feed, "author"), "name", "Fencepost")
    _add(feed, "link", rel="self", href=own_url)
    _add(feed, "link", rel="alternate", href=page)
    if missing := _missing(result):
        _add(feed, "subtitle", "; ".join(missing))
    for line in lines:
        _entry(feed, line, url_of(line.key))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(feed, encoding="unicode") + "\n"


def _missing(result: Groups) -> list[str]:
    missing = []
    if result.coverage.not_run:
        missing.append(f"parser unknown for {counted(result.coverage.not_run, 'response')}: not looked at")
    if result.total > len(result.groups):
        missing.append(f"{len(result.groups):,} of {counted(result.total, 'group')}; the page lists all")
    return missing


def _entry(feed: ET.Element, line: GroupLine, url: str) -> None:
    entry = _add(feed, "entry")
    _add(entry, "title", f"{_mark(line)}{visible(line.title)}")
    _add(entry, "id", url)
    _add(entry, "link", rel="alternate", href=url)
    _add(entry, "published", line.known_since.isoformat())
    _add(entry, "updated", line.last_seen.isoformat())
    models = ", ".join(visible(model or "no model named") for model, _ in line.models)
    words = f"{counted(line.count, 'response')} in {counted(line.sessions, 'session')}"
    _add(entry, "summary", f"{words}, first seen {line.first_seen:%Y-%m-%d %H:%M} UTC; models: {models}")


def _mark(line: GroupLine) -> str:
    if line.state == "regressed":
        return "regressed: "
    if line.is_new:
        return "new: "
    return f"new on {', '.join(map(visible, line.new_models))}: " if line.new_models else ""


def _add(parent: ET.Element, name: str, text: str | None = None, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, f"{{{_ATOM}}}{name}", attributes)
    element.text = text
    return element
