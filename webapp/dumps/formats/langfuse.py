"""Langfuse exports {trace, observations[]}: observations by start time, generations are responses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from webapp.dumps import grouping
from webapp.dumps.answered import reported
from webapp.dumps.base import Context, Entry, Seen, id_text, objects, text
from webapp.dumps.decoding import json_or_none
from webapp.dumps.documents import members, require_list
from webapp.dumps.formats._bodies import Exchanges, exchange
from webapp.dumps.formats._chat import Path, Piece, as_json
from webapp.dumps.formats._turns import Found, numbered, spent, turns_of
from webapp.dumps.head import Head
from webapp.dumps.records import Problem, Record, SessionStart, Turn
from webapp.dumps.shelf import shelf
from webapp.dumps.source import Source
from webapp.dumps.stream import walk
from webapp.dumps.times import moment

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OWN = ("startTime", "traceId", "parentObservationId")


class Langfuse:
    name = "langfuse"
    shapes = 'Langfuse exports {"trace", "observations": […]}'

    def sniff(self, head: Head) -> int:
        if head.shape == "object":
            listed = head.items.get("observations")
            first = next((item for item in listed or [] if isinstance(item, dict)), {})
            return (
                95 if "trace" in head.keys and listed is not None else 90 if any(map(first.__contains__, _OWN)) else 0
            )
        found = [sample for sample in head.samples if isinstance(sample, dict)]
        whole = all("observations" in sample and "trace" in sample for sample in found)
        return 95 if found and (whole or all(_is_observation(sample) for sample in found)) else 0

    def read(self, source: Source, head: Head) -> Iterator[Record]:
        if head.shape == "object":
            yield from _document(source, head)
            return
        if head.any_has("observations"):
            for number, entry in enumerate(_items(source, head), start=1):
                yield from [entry] if isinstance(entry, Problem) else _export(f"{source.stem}-{number}", *entry)
            return
        yield from _sorted(_items(source, head), lambda value: _session({}, value, source.stem), {})

    def turns(self, entries: Iterable[Entry | Problem], context: Context) -> Iterator[Turn | Problem]:
        return reported(_turns(entries))


plugin = Langfuse()


def _is_observation(value: dict[str, Any]) -> bool:
    return "traceId" in value and "startTime" in value and isinstance(value.get("type"), str)


def _items(source: Source, head: Head) -> Iterator[Entry | Problem]:
    return objects(walk(source.text(), frozenset()), "") if head.shape == "array" else grouping.lines(source)


def _document(source: Source, head: Head) -> Iterator[Record]:
    require_list(head, "observations")
    extra = members(source, head, "observations", wanted="trace")
    extra.pop("observations", None)
    trace = extra.get("trace")
    name = _session(trace if isinstance(trace, dict) else {}, {}, source.stem)
    entries = objects(walk(source.text(), frozenset(("observations",))), "observations")
    yield from _sorted(entries, lambda _: name, extra)


def _export(stem: str, at: str, value: dict[str, Any]) -> Iterator[Record]:
    """One export of several in a file."""
    observations = value.pop("observations", None)
    found = list(enumerate(observations)) if isinstance(observations, list) else []
    entries = [(f"{at}, observations[{index}]", inner) for index, inner in found if isinstance(inner, dict)]
    trace = value.get("trace")
    name = _session(trace if isinstance(trace, dict) else {}, {}, stem)
    yield from _sorted(entries, lambda _: name, value)
    if len(entries) < len(found) or not isinstance(observations, list):
        yield Problem(at, "observations: expected a list of objects; the others were skipped")


def _session(trace: dict[str, Any], value: dict[str, Any], stem: str) -> str:
    names = (trace.get("sessionId"), trace.get("id"), value.get("sessionId"), value.get("traceId"))
    return next((name for found in names if (name := id_text(found))), None) or stem


def _sorted(entries: Iterable[Entry | Problem], session_of: Any, extra: dict[str, Any]) -> Iterator[Record]:
    trace = extra.get("trace")
    title = text(trace.get("name")) if isinstance(trace, dict) else None
    with shelf() as aside:
        problems = []
        for entry in entries:
            if isinstance(entry, Problem):
                problems.append(entry)
            else:
                aside.put(session_of(entry[1]), _order(entry[1].get("startTime")), *entry)
        none = True
        for name, found in aside.sessions():
            yield SessionStart(name, plugin.name, title=title, extra=extra)
            yield from plugin.turns(found, extra)
            none = False
        if none and extra:
            yield SessionStart(session_of({}), plugin.name, title=title, extra=extra)
        yield from problems


def _order(value: Any) -> int:
    """Microseconds since 1970; what has no time comes first."""
    when = moment(value)
    return -(2**62) if when is None else (when - _EPOCH) // timedelta(microseconds=1)


def _turns(entries: Iterable[Entry | Problem]) -> Iterator[Turn | Problem]:
    state, seen, count = Exchanges(), Seen("observation id"), 0
    for entry in entries:
        if isinstance(entry, Problem):
            yield entry
            continue
        at, value = entry
        yield from seen.again(at, value.get("id"))
        yield from numbered(count, value, _observation(value, state))
        count += 1


def _observation(value: dict[str, Any], state: Exchanges) -> list[Found]:
    about = {"sent_at": moment(value.get("startTime")), "parent": text(value.get("parentObservationId"))}
    if value.get("type") == "GENERATION":
        found = _failed(_generation(value, state), value)
    elif value.get("type") == "TOOL" and value.get("output") is not None:
        raw, path = _text(value["output"], ("output",))
        found = turns_of([Piece("result", raw, path, text(value.get("name")))], "tool", state.talk)
    elif value.get("level") == "ERROR":
        found = [_error(value)]
    else:
        found = [(Turn(0, "event", role=text(value.get("type")), phase=text(value.get("name"))), None)]
    return [(_placed(turn, about), path) for turn, path in found]


def _failed(found: list[Found], value: dict[str, Any]) -> list[Found]:
    """A generation that failed ends with its error; where nothing was answered, there is no response."""
    if value.get("level") != "ERROR":
        return found
    kept = [pair for pair in found if pair[0].kind != "response" or pair[0].raw is not None]
    turn, path = _error(value)
    return [*kept, (replace(turn, phase=text(value.get("name"))), path)]


def _error(value: dict[str, Any]) -> Found:
    said = text(value.get("statusMessage"))
    return Turn(0, "error", raw=said), None if said is None else ("statusMessage",)


def _generation(value: dict[str, Any], state: Exchanges) -> list[Found]:
    """What was asked anew, then what the model answered: a text, JSON text, a list or an object."""
    model, name = text(value.get("model")), text(value.get("name"))
    asked, answered = _opened(value.get("input")), _opened(value.get("output"))
    request = asked if isinstance(asked, dict) else {"messages": asked} if isinstance(asked, list) else {"input": asked}
    state.talk.model = model
    found = exchange(request, None, (), (), state)
    found = [(turn, None) for turn, _ in found]
    if not found and asked is not None and not isinstance(asked, str):
        found = turns_of([Piece("text", as_json(asked))], "user", state.talk)
    state.talk.model = model or state.talk.model  # else the one that the request names
    once = {**spent(value.get("usageDetails") or value.get("usage")), **_cost(value)}
    return [*found, *_answers(value, answered, state, once, name)]


def _answers(
    value: dict[str, Any], answered: Any, state: Exchanges, once: dict[str, Any], name: str | None
) -> list[Found]:
    raw = value.get("output")
    if isinstance(answered, list):
        answered = {"choices": [{"message": message} for message in answered]}
    if isinstance(answered, dict):
        found = exchange(None, answered, (), ("output",), state)
        inside = isinstance(raw, dict)
        found = [(turn, path if inside else None) for turn, path in found]
        said = any(turn.raw for turn, _ in found)
    else:
        found, said = [], False
    if not said:
        raw_text, path = _text(raw, ("output",))
        found = turns_of([] if raw_text is None else [Piece("text", raw_text, path)], "assistant", state.talk)
    first = next((index for index, (turn, _) in enumerate(found) if turn.kind in ("response", "tool_call")), 0)
    found[first] = (_placed(found[first][0], once), found[first][1])
    return [(_placed(turn, {"agent": turn.agent, "phase": name}), path) for turn, path in found]


def _opened(value: Any) -> Any:
    """What a JSON text of a request or an answer says; other texts stay as they are."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    found = json_or_none(value)
    return found if _is_body(found) else value


def _is_body(value: Any) -> bool:
    """Whether this is a provider's body, and not what a model wrote as JSON."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) and "role" in item for item in value)
    return isinstance(value, dict) and bool(value.keys() & {"role", "choices", "candidates", "messages", "contents"})


def _text(value: Any, path: Path) -> tuple[str | None, Path | None]:
    if isinstance(value, str):
        return value, path
    return (None, None) if value is None else (as_json(value), None)


def _cost(value: dict[str, Any]) -> dict[str, Any]:
    details = value.get("costDetails")
    total = details.get("total") if isinstance(details, dict) else None
    costs = (total, value.get("totalCost"), value.get("calculatedTotalCost"))
    return spent(None, next((cost for cost in costs if cost is not None), None))


def _placed(turn: Turn, about: dict[str, Any]) -> Turn:
    return replace(turn, **{key: known for key, known in about.items() if known is not None})
