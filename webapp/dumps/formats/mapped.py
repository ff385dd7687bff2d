"""Any JSON or JSONL by a mapping from the fields of a turn to paths: raw=$.output.text, session=$.run_id …"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from webapp.dumps import grouping
from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, id_text, number, objects, text, whole
from webapp.dumps.formats._chat import as_json
from webapp.dumps.formats._turns import numbered, role_of
from webapp.dumps.head import Head
from webapp.dumps.records import BadDump, Kind, Problem, Record, SessionStart, Turn
from webapp.dumps.route import BadRoute, Route, at_route, route
from webapp.dumps.shelf import shelf
from webapp.dumps.source import Source
from webapp.dumps.stream import Member, walk
from webapp.dumps.times import moment

_KINDS = ("prompt", "response", "tool_call", "tool_result", "error", "event")
_BY_ROLE: dict[str, Kind] = {"user": "prompt", "system": "prompt", "developer": "prompt", "tool": "tool_result"}
_TEXTS = ("role", "agent", "model", "phase", "parent", "failure")
_NUMBERS = ("sounding", "round", "attempt", "tokens_in", "tokens_out")
FIELDS = ("raw", "prompt", "session", "title", "kind", "time", "cost", *_TEXTS, *_NUMBERS)
"""What a mapping may name; `raw` it must."""


class BadMapping(ValueError):
    """The mapping names a field that there is not, no `raw`, or a path that cannot be read; the message says which."""


@dataclass(frozen=True, slots=True)
class Mapped:
    name: str = "mapped"
    shapes: str = "any JSON or JSONL, by a mapping"
    mapping: Mapping[str, str] = field(default_factory=dict)

    def sniff(self, head: Head) -> int:
        return 0

    def by(self, mapping: Mapping[str, str]) -> Mapped:
        """This format with a mapping. Raises `BadMapping`."""
        _routes(mapping)
        return Mapped(mapping=dict(mapping))

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        if not self.mapping:
            raise BadDump("this format needs a mapping, as raw=$.output.text", "the mapping")
        routes = _routes(self.mapping)
        extra = {"mapping": dict(self.mapping)}
        for name, entries in _sessions(source, head, routes):
            first, entries = _peeked(entries)
            title = None if first is None else text(_value(first, routes, "title"))
            yield SessionStart(name, self.name, title=title, extra=extra)
            yield from self.turns(entries, extra)

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        given = context.get("mapping")
        try:
            routes = _routes(given if isinstance(given, dict) else self.mapping)
        except BadMapping as bad:
            return iter([Problem("mapping", str(bad)), *_events(entries)])
        return reported(_turns(entries, routes))


plugin = Mapped()


def _routes(mapping: Mapping[str, Any]) -> dict[str, Route]:
    if unknown := sorted(set(mapping) - set(FIELDS)):
        raise BadMapping(f"there is no field {unknown[0]!r} to map; there are: {', '.join(FIELDS)}")
    if "raw" not in mapping:
        raise BadMapping("the mapping names no path for raw, the text of a response")
    try:
        return {key: route(path) for key, path in mapping.items()}
    except BadRoute as bad:
        raise BadMapping(str(bad)) from bad


def _events(entries: Iterable[Entry | Problem]) -> Iterator[Turn | Problem]:
    kept = (entry for entry in entries if not isinstance(entry, Problem))
    yield from (Turn(count, "event", source=value) for count, (_, value) in enumerate(kept))


def _sessions(source: Source, head: Head, routes: dict[str, Route]) -> Iterator[tuple[str, Iterator[Entry | Problem]]]:
    """Entries by session: lines, a list's items, the items of the object's longest list, or the object itself."""
    if head.shape not in ("object", "array"):
        yield from grouping.by_session(source, lambda value: id_text(_value(value, routes, "session")))
        return
    if head.shape == "object" and (not head.items or routes["raw"][:1] in [(key,) for key in head.keys]):
        parts = [part for part in walk(source.text(), frozenset()) if isinstance(part, Member | Problem)]
        whole_document = {part.key: part.value for part in parts if isinstance(part, Member)}
        problems: list[Entry | Problem] = [part for part in parts if isinstance(part, Problem)]
        name = id_text(_value(whole_document, routes, "session")) or source.stem
        yield name, iter([*problems, ("the document", whole_document)])
        return
    key = "" if head.shape == "array" else max(head.items, key=lambda name: len(head.items[name]))
    with shelf() as aside:
        name, problems = source.stem, []
        for entry in objects(walk(source.text(), frozenset((key,))), key):
            if isinstance(entry, Problem):
                problems.append(entry)
                continue
            name = id_text(_value(entry[1], routes, "session")) or name
            aside.put(name, 0, *entry)
        for name, found in aside.sessions():
            yield name, (entry for part in (problems, found) for entry in cast("Iterable[Entry | Problem]", part))
            problems = []


def _peeked(entries: Iterator[Entry | Problem]) -> tuple[dict[str, Any] | None, Iterator[Entry | Problem]]:
    first = next(entries, None)
    value = first[1] if isinstance(first, tuple) else None
    return value, (entry for part in ([] if first is None else [first], entries) for entry in part)


def _value(value: dict[str, Any], routes: dict[str, Route], key: str) -> Any:
    return at_route(value, routes[key])[0] if key in routes else None


def _turns(entries: Iterable[Entry | Problem], routes: dict[str, Route]) -> Iterator[Turn | Problem]:
    count = 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        at, value = entry
        found, path = at_route(value, routes["raw"])
        raw = found if isinstance(found, str) or found is None else as_json(found)
        if raw is None:
            yield Problem(at, "nothing stands at the path of raw; kept as an event")
        about = _about(value, routes)
        turn = Turn(0, _kind(value, routes, about.get("role"), raw), raw=raw, **about)
        own = [(turn, path if isinstance(found, str) else None)]
        prompt, prompt_at = at_route(value, routes["prompt"]) if "prompt" in routes else (None, None)
        if isinstance(prompt, str):
            own.insert(0, (Turn(0, "prompt", raw=prompt, role="user", sent_at=turn.sent_at), prompt_at))
        yield from numbered(count, value, own)
        count += 1


def _kind(value: dict[str, Any], routes: dict[str, Route], role: str | None, raw: str | None) -> Kind:
    """The kind the mapping finds, else the one that the role means, else a response."""
    found = _value(value, routes, "kind")
    if found in _KINDS:
        return cast("Kind", found)
    if raw is None:
        return "event"
    return _BY_ROLE.get(role or "", "response")


def _about(value: dict[str, Any], routes: dict[str, Route]) -> dict[str, Any]:
    found: dict[str, Any] = {key: text(_value(value, routes, key)) for key in _TEXTS}
    found |= {key: whole(_value(value, routes, key)) for key in _NUMBERS}
    found["parent"] = id_text(_value(value, routes, "parent"))
    found["role"] = role_of({"role": found["role"]})
    return {**found, "sent_at": moment(_value(value, routes, "time")), "cost": number(_value(value, routes, "cost"))}
